"""Spheres hold exactly the plane waves they should, grids hold the spheres."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenwerk.dft.basis.grids import choose_grids, sphere, sphere_radius, told_apart, wave_excess
from eigenwerk.dft.crystal.structure import Structure

SKEWED = Structure(np.array([[5.0, 0.3, 0.0], [2.0, 6.0, -1.0], [-1.5, 0.7, 7.0]]), ("H",), np.zeros((1, 3)))
NEEDLE = Structure(np.array([[4.0, 0.0, 0.0], [3.9, 1.2, 0.0], [0.0, 0.0, 21.0]]), ("H",), np.zeros((1, 3)))


def brute_force(structure, radius, centre_c, reach=40):
    axis = np.arange(-reach, reach + 1)
    index_xc = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    length_x = np.linalg.norm((index_xc + centre_c) @ structure.reciprocal_cv, axis=1)
    return {tuple(row) for row in index_xc[length_x <= radius]}


@pytest.mark.parametrize("structure", [SKEWED, NEEDLE], ids=["skewed", "needle"])
@pytest.mark.parametrize("centre_c", [np.zeros(3), np.array([0.5, -0.5, 0.25]), np.array([1.3, -2.2, 0.9])])
def test_sphere_equals_brute_force_search(structure, centre_c):
    index_Gc = sphere(structure, 4.0, centre_c)
    assert len(index_Gc) == len({tuple(row) for row in index_Gc}) > 50
    assert {tuple(row) for row in index_Gc} == brute_force(structure, 4.0, centre_c)


@pytest.mark.parametrize("structure", [SKEWED, NEEDLE], ids=["skewed", "needle"])
def test_half_sphere_and_its_mirror_image_make_the_sphere(structure):
    half_gc = sphere(structure, 4.0, np.zeros(3), half=True)
    assert tuple(half_gc[0]) == (0, 0, 0)
    mirrored = [tuple(row) for row in np.concatenate([half_gc, -half_gc[1:]])]
    assert len(set(mirrored)) == len(mirrored)
    assert set(mirrored) == {tuple(row) for row in sphere(structure, 4.0, np.zeros(3))}


def test_sphere_is_sorted_by_length():
    for half in (False, True):
        index_Gc = sphere(SKEWED, 5.0, np.zeros(3), half)
        length_G = np.linalg.norm(index_Gc @ SKEWED.reciprocal_cv, axis=1)
        assert (np.diff(length_G) > -1e-8).all()


@pytest.mark.parametrize("half", [False, True])
def test_waves_of_equal_length_are_sorted_by_index(half):
    cube = Structure(7.3 * np.eye(3), ("H",), np.zeros((1, 3)))
    index_Gc = sphere(cube, 4.0, np.zeros(3), half)
    assert [tuple(row) for row in index_Gc] == sorted(map(tuple, index_Gc), key=lambda row: (np.dot(row, row), row))


def test_order_does_not_depend_on_rounding():
    """A crystal turned in space lists its plane waves in the same order, although lengths differ in the last bit."""
    angle = 0.7
    turn_vv = np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    cube = Structure(7.3 * np.eye(3), ("H",), np.zeros((1, 3)))
    turned = Structure(7.3 * np.eye(3) @ turn_vv, ("H",), np.zeros((1, 3)))
    np.testing.assert_array_equal(sphere(cube, 4.0, np.zeros(3)), sphere(turned, 4.0, np.zeros(3)))


def test_number_of_plane_waves_is_the_volume_of_the_sphere():
    big = Structure(20.0 * np.eye(3), ("H",), np.zeros((1, 3)))
    count = len(sphere(big, 5.0, np.zeros(3)))
    assert count == pytest.approx(big.volume * 5.0**3 / (6 * np.pi**2), rel=2e-3)


lengths, shears = st.floats(3.0, 25.0), st.floats(-0.45, 0.45)


@settings(max_examples=40, deadline=None)
@given(lengths, lengths, lengths, shears, shears, st.sampled_from(["Normal", "Accurate"]))
def test_grids_hold_the_sphere_of_prec(a, b, c, shear, tilt, precision):
    structure = Structure(np.array([[a, 0, 0], [shear * a, b, 0], [tilt * a, shear * b, c]]), ("H",), np.zeros((1, 3)))
    grids = choose_grids(structure, 4.0, precision)
    radius = {"Normal": 1.75, "Accurate": 2.0}[precision] * sphere_radius(4.0)
    reach_c = np.abs(sphere(structure, radius, np.zeros(3), half=True)).max(axis=0)
    assert (np.array(grids.wave) >= 2 * reach_c + 1).all()
    # the longer electrostatic sphere fits the fine grid
    reach_c = np.abs(sphere(structure, 2 * np.sqrt(2) * sphere_radius(4.0), np.zeros(3), half=True)).max(axis=0)
    assert (np.array(grids.fine) >= 2 * reach_c + 1).all()


@pytest.mark.parametrize("multiples", [(1, 1, 1), (3, 4, 6), (1, 2, 5)])
def test_grid_sizes_are_even_smooth_and_multiples(multiples):
    grids = choose_grids(NEEDLE, 6.0, "Accurate", multiples)
    for size, multiple in zip(grids.wave, multiples, strict=True):
        assert size % 2 == 0 and size % multiple == 0
        for prime in (2, 3, 5, 7):
            while size % prime == 0:
                size //= prime
        assert size == 1
    assert grids.fine == tuple(2 * size for size in grids.wave)


def test_axes_that_symmetry_exchanges_have_equal_sizes():
    free = choose_grids(NEEDLE, 6.0, "Accurate")
    tied = choose_grids(NEEDLE, 6.0, "Accurate", (1, 3, 1), ((0, 1), (2,)))
    assert tied.wave[0] == tied.wave[1] >= max(free.wave[:2])
    assert tied.wave[0] % 3 == 0
    assert tied.wave[2] == free.wave[2]


LATTICES = {
    "cubic": 7.0 * np.eye(3),
    "face-centred": 5.0 * (np.ones((3, 3)) - np.eye(3)),
    "needle": np.array([[5.0, 0, 0], [2.4, 4.1, 0], [11.0, 7.5, 9.0]]),
}


@pytest.mark.parametrize("lattice", LATTICES)
def test_waves_told_apart_are_the_shortest_with_their_values_on_the_grid(lattice):
    structure = Structure(LATTICES[lattice], ("H",), np.zeros((1, 3)))
    size_c = choose_grids(structure, 4.0, "Normal").wave
    index_gc = sphere(structure, 2 * sphere_radius(4.0), np.zeros(3))
    apart_g = told_apart(structure, index_gc, size_c)
    norm_g = np.linalg.norm(index_gc @ structure.reciprocal_cv, axis=1)
    for shift_c in np.ndindex(7, 7, 7):
        period_c = (np.array(shift_c) - 3) * np.array(size_c)
        if period_c.any():
            twin_gv = (index_gc[apart_g] + period_c) @ structure.reciprocal_cv
            assert (np.linalg.norm(twin_gv, axis=1) > norm_g[apart_g]).all()
    places = np.ravel_multi_index(tuple((index_gc[apart_g] % size_c).T), size_c)
    assert len(np.unique(places)) == len(places)
    assert apart_g[norm_g <= 1.75 * sphere_radius(4.0)].all(), "the sphere of PREC is among them"
    assert apart_g.all() == (lattice != "cubic"), "corners of a cubic grid lack the caps of the sphere"


def test_accurate_tells_the_whole_sphere_apart():
    structure = Structure(LATTICES["needle"], ("H",), np.zeros((1, 3)))
    index_gc = sphere(structure, 2 * sphere_radius(4.0), np.zeros(3))
    assert told_apart(structure, index_gc, choose_grids(structure, 4.0, "Accurate").wave).all()


def test_waves_in_excess_are_none_on_a_dense_mesh_and_jump_on_a_coarse_one():
    """ln(N / N̄), with the volume of a sphere in reciprocal space for N̄."""
    axis = (np.arange(8) + 0.5) / 8
    dense_kc = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    assert abs(wave_excess(SKEWED, dense_kc, np.full(512, 1 / 512), 3.0)) < 2e-3
    found = [wave_excess(SKEWED, np.zeros((1, 3)), np.ones(1), cutoff) for cutoff in np.linspace(2.5, 3.5, 21)]
    assert abs(np.mean(found)) < 0.01 < np.ptp(found)
    radius = sphere_radius(3.0)
    count = len(sphere(SKEWED, radius, np.zeros(3)))
    mean = SKEWED.volume * radius**3 / (6 * np.pi**2)
    points_kc, weight_k = np.array([[0.0, 0, 0], [0.3, 0, 0]]), np.array([1.0, 0.0])
    assert wave_excess(SKEWED, points_kc, weight_k, 3.0) == pytest.approx(np.log(count / mean), abs=1e-12)
