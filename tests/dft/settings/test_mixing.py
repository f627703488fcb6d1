"""Molecules in boxes: how far charge can move in them, and what mixing makes of it."""

from dataclasses import replace
from math import pi, sqrt
from types import SimpleNamespace

import numpy as np
import pytest

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.settings.mixing import (
    ATOM_RADIUS,
    FIT_MAG_FROM,
    MOLECULE_AMIX,
    Mixing,
    density_mixing,
    magnetic_fit_from,
    smallest_factor,
    smallest_sloshing_g,
)
from eigenwerk.io.vasp.input.incar import parse_incar

WATER_AV = np.array([[0.0, 0.0, 0.0], [0.0, 1.442, 1.126], [0.0, -1.442, 1.126]])


def in_box(position_av, *box_c):
    lattice_cv = np.diag(box_c)
    return Structure(lattice_cv, ("H",) * len(position_av), position_av @ np.linalg.inv(lattice_cv))


def ball(radius, spacing=4.5):
    axis = np.arange(-20, 21) * spacing
    point_av = np.stack(np.meshgrid(axis, axis, axis), -1).reshape(-1, 3)
    return point_av[np.linalg.norm(point_av, axis=1) <= radius]


def test_dipoles_of_a_ball_are_the_slowest_neutral_motion():
    """Largest eigenvalue of the Coulomb interaction in a ball for each l > 0; 4 pi R^2 / pi^2 is that of l = 1."""
    radius = 3.0
    node_x, weight_x = np.polynomial.legendre.leggauss(60)
    r_x, weight_x = radius * (node_x + 1) / 2, radius * weight_x / 2
    low_xx, high_xx = np.minimum(r_x, r_x[:, None]), np.maximum(r_x, r_x[:, None])
    root_x = np.sqrt(weight_x) * r_x
    largest = [
        np.linalg.eigvalsh(root_x * (4 * pi / (2 * l + 1) * low_xx**l / high_xx ** (l + 1)) * root_x[:, None])[-1]
        for l in (1, 2, 3)
    ]
    assert largest == sorted(largest, reverse=True)
    np.testing.assert_allclose(largest[0], 4 * pi * radius**2 / pi**2, rtol=1e-3)


def test_one_atom_and_a_filled_ball_have_their_own_radius():
    atom = smallest_sloshing_g(in_box(np.zeros((1, 3)), 20, 20, 20))
    np.testing.assert_allclose(atom, pi / ATOM_RADIUS)
    points = ball(40.0)
    np.testing.assert_allclose(smallest_sloshing_g(in_box(points, 120, 120, 120)), pi / 40, rtol=0.02)


def test_a_rod_counts_with_its_length():
    rod_av = np.linspace(0, 60, 31)[:, None] * [0.0, 0.6, 0.8]
    assert smallest_sloshing_g(in_box(rod_av, 30, 60, 80)) < pi / sqrt(5 * 60**2 / 12)


def test_the_place_in_the_box_and_its_size_do_not_matter():
    here = smallest_sloshing_g(in_box(WATER_AV, 15, 15, 15))
    for shift in (0.1, 7.0, 14.5):
        np.testing.assert_allclose(smallest_sloshing_g(in_box(WATER_AV + shift, 15, 15, 15)), here)
    np.testing.assert_allclose(smallest_sloshing_g(in_box(WATER_AV, 40, 15, 30)), here)


@pytest.mark.parametrize("box_c", [(8.2, 8.2, 8.2), (8.2, 8.2, 60.0), (8.2, 60.0, 60.0)])
def test_crystals_slabs_and_chains_keep_amin(box_c):
    """8.2 bohr parts the layers of caesium: no element has wider ones."""
    assert smallest_factor(Mixing(), in_box(np.zeros((1, 3)), *box_c)) == Mixing().amin


def test_small_molecules_are_mixed_with_amix_at_all_waves():
    assert smallest_factor(Mixing(), in_box(WATER_AV, 15, 15, 15)) == Mixing().amix


def test_clusters_are_damped_the_more_the_larger_they_are():
    factors = [smallest_factor(Mixing(), in_box(ball(r), 2 * r + 20, 2 * r + 20, 2 * r + 20)) for r in (5, 10, 20, 60)]
    assert factors == sorted(factors, reverse=True)
    assert Mixing().amin < factors[1] < Mixing().amix and factors[-1] == Mixing().amin


def test_a_larger_amin_stays():
    wide = in_box(WATER_AV, 15, 15, 15)
    assert smallest_factor(replace(Mixing(), amin=0.6, amix=0.7), wide) >= 0.6
    assert smallest_factor(replace(Mixing(), by_extent=False), wide) == Mixing().amin


@pytest.mark.parametrize("tag", ["AMIX = 0.4", "BMIX = 1.0", "AMIN = 0.1"])
def test_explicit_tags_mean_what_they_mean_in_vasp(tag):
    wide = in_box(WATER_AV, 15, 15, 15)
    assert density_mixing(parse_incar("ENCUT = 300"), wide)[0].by_extent
    given = density_mixing(parse_incar(f"ENCUT = 300\n{tag}"), wide)[0]
    assert not given.by_extent and given.amix == 0.4


def test_molecules_are_mixed_by_more_than_atoms_and_crystals():
    plain = parse_incar("ENCUT = 300")
    molecule, tags = density_mixing(plain, in_box(WATER_AV, 15, 15, 15))
    assert molecule.amix == MOLECULE_AMIX == tags["AMIX"].value
    for other in (in_box(WATER_AV[:1], 15, 15, 15), in_box(WATER_AV, 15, 15, 3)):
        assert density_mixing(plain, other)[0].amix == 0.4


@pytest.mark.parametrize(
    ("points", "shells", "begins"),
    [
        (1, [(3, 2, 6)], 0),  # an iron atom
        (8, [(3, 2, 6)], FIT_MAG_FROM),
        (8, [(4, 3, 3), (6, 0, 2)], 0),  # Pr
        (8, [(4, 3, 0), (5, 2, 1)], FIT_MAG_FROM),  # La
        (8, [(4, 3, 14)], FIT_MAG_FROM),  # Yb
    ],
)
def test_atoms_and_open_f_shells_are_mixed_by_their_response_from_the_start(points, shells, begins):
    states = [SimpleNamespace(n=n, l=l, f=f) for n, l, f in shells]
    assert magnetic_fit_from(points, [[SimpleNamespace(n=2, l=1, f=4)], states]) == begins
