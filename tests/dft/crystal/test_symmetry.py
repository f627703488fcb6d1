"""Symmetry operations: they form a group, map the crystal onto itself, and none is missed."""

import json
import subprocess
import sys
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import spglib
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import (
    Symmetry,
    deviation,
    equivalent_axes,
    find_symmetry,
    keeping_fixed,
    keeping_strains,
    keeps_points,
    no_symmetry,
    subgroup,
    symmetrise_lattice,
    symmetrise_positions,
    translation_denominators,
    without_spin_flips,
)
from eigenwerk.errors import InputError
from eigenwerk.motion.relaxation.chart import followed_strains
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
from eigenwerk.units import BOHR_ANGSTROM

TOLERANCE = 1e-5 / BOHR_ANGSTROM
FCC = 0.5 * np.array([[0.0, 1, 1], [1, 0, 1], [1, 1, 0]])
BCC = 0.5 * np.array([[-1.0, 1, 1], [1, -1, 1], [1, 1, -1]])
HEX = np.array([[1.0, 0, 0], [-0.5, np.sqrt(0.75), 0], [0, 0, 1.0]])
THIRD = 1 / 3
NIO = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]])


def rutile(u: float = 0.305, moments: tuple[float, float] | None = None) -> Structure:
    scaled_ac = [[0, 0, 0], [0.5, 0.5, 0.5], [u, u, 0], [-u, -u, 0], [0.5 + u, 0.5 - u, 0.5], [0.5 - u, 0.5 + u, 0.5]]
    magmom_a = None if moments is None else [*moments, 0, 0, 0, 0]
    return Structure(np.diag([8.68, 8.68, 5.59]), ("Ti", "Ti", "O", "O", "O", "O"), scaled_ac, magmom_a)


def quartz() -> Structure:
    """Alpha quartz of one handedness, P3_2 2 1; the mirror image is P3_1 2 1."""
    u, x, y, z = 0.47, 0.4146, 0.2678, 0.1189
    silicon = [[u, 0, 2 * THIRD], [0, u, THIRD], [-u, -u, 0]]
    oxygen = [[x, y, z], [-y, x - y, z + 2 * THIRD], [y - x, -x, z + THIRD]]
    oxygen += [[y, x, -z], [x - y, -y, THIRD - z], [-x, y - x, 2 * THIRD - z]]
    return Structure(HEX * [9.29, 9.29, 10.22], ("Si",) * 3 + ("O",) * 6, silicon + oxygen)


CRYSTALS = {
    "fcc": (Structure(7.6 * FCC, ("Al",), [[0, 0, 0]]), 48, "Fm-3m (225)", "m-3m"),
    "diamond": (Structure(10.26 * FCC, ("Si", "Si"), [[0, 0, 0], [0.25] * 3]), 48, "Fd-3m (227)", "m-3m"),
    "zincblende": (Structure(10.6 * FCC, ("Ga", "As"), [[0, 0, 0], [0.25] * 3]), 24, "F-43m (216)", "-43m"),
    "hcp": (
        Structure(HEX * [6.06, 6.06, 9.84], ("Mg", "Mg"), [[THIRD, 2 * THIRD, 0.25], [2 * THIRD, THIRD, 0.75]]),
        24, "P6_3/mmc (194)", "6/mmm",
    ),
    "rutile": (rutile(), 16, "P4_2/mnm (136)", "4/mmm"),
    "quartz": (quartz(), 6, "P3_221 (154)", "32"),
    "bcc iron": (Structure(5.4 * BCC, ("Fe",), [[0, 0, 0]], [2.2]), 48, "Im-3m (229)", "m-3m"),
    "antiferromagnetic chromium": (
        Structure(5.4 * np.eye(3), ("Cr", "Cr"), [[0, 0, 0], [0.5] * 3], [1, -1]), 96, "Pm-3m (221)", "m-3m",
    ),
    "antiferromagnetic nickel oxide": (
        Structure(7.9 * NIO, ("Ni", "Ni", "O", "O"), [[0] * 3, [0.5] * 3, [0.25] * 3, [0.75] * 3], [2, -2, 0, 0]),
        24, "R-3m (166)", "-3m",
    ),
    "antiferromagnetic rutile": (rutile(moments=(2.0, -2.0)), 16, "Cmmm (65)", "4/mmm"),
    "ferrimagnetic rutile": (rutile(moments=(2.0, -1.0)), 8, "Cmmm (65)", "mmm"),
    "low symmetry": (
        Structure([[8, 0, 0], [1, 9, 0], [2, 1, 10]], tuple("HOC"), [[0.1, 0.2, 0.3], [0.4, 0.7, 0.1], [0.9, 0, 0.6]]),
        1, "P1 (1)", "1",
    ),
}


@pytest.fixture(params=CRYSTALS, scope="module")
def case(request) -> tuple[Structure, Symmetry]:
    structure = CRYSTALS[request.param][0]
    return structure, find_symmetry(structure, TOLERANCE, 2)


@pytest.mark.parametrize("name", CRYSTALS)
def test_number_of_operations_and_labels(name):
    structure, order, spacegroup, point_group = CRYSTALS[name]
    symmetry = find_symmetry(structure, TOLERANCE, 2)
    assert symmetry.order == order
    assert symmetry.spacegroup == spacegroup
    assert symmetry.point_group == point_group
    assert symmetry.time_reversal


def wrap(values: np.ndarray) -> np.ndarray:
    return values - np.round(values)


def assert_orthogonal(rotation_xvv: np.ndarray) -> None:
    product_xvv = rotation_xvv @ np.swapaxes(rotation_xvv, -1, -2)
    np.testing.assert_allclose(product_xvv, np.broadcast_to(np.eye(3), product_xvv.shape), atol=1e-12)


def by_rotation_and_first_image(symmetry: Symmetry) -> dict[tuple[bytes, int], int]:
    pairs = zip(symmetry.rotation_occ, symmetry.atom_map_oa, strict=True)
    return {(rotation_cc.tobytes(), int(map_a[0])): o for o, (rotation_cc, map_a) in enumerate(pairs)}


def test_operations_form_a_group(case):
    _, symmetry = case
    table = by_rotation_and_first_image(symmetry)
    assert len(table) == symmetry.order
    assert np.array_equal(symmetry.rotation_occ[0], np.eye(3))
    assert not symmetry.translation_oc[0].any()
    for first, second in product(range(symmetry.order), repeat=2):
        rotation_cc = symmetry.rotation_occ[first] @ symmetry.rotation_occ[second]
        map_a = symmetry.atom_map_oa[first][symmetry.atom_map_oa[second]]
        both = table[rotation_cc.tobytes(), map_a[0]]
        assert np.array_equal(symmetry.atom_map_oa[both], map_a)
        assert symmetry.spin_flip_o[both] == symmetry.spin_flip_o[first] ^ symmetry.spin_flip_o[second]
        translation_c = symmetry.rotation_occ[first] @ symmetry.translation_oc[second] + symmetry.translation_oc[first]
        assert np.abs(wrap(translation_c - symmetry.translation_oc[both])).max() < 1e-13


def test_operations_map_atoms_moments_and_lattice(case):
    structure, symmetry = case
    for o, (rotation_cc, rotation_vv) in enumerate(zip(symmetry.rotation_occ, symmetry.rotation_ovv, strict=True)):
        map_a = symmetry.atom_map_oa[o]
        image_ac = structure.scaled_ac @ rotation_cc.T + symmetry.translation_oc[o]
        assert np.abs(wrap(image_ac - structure.scaled_ac[map_a])).max() < 1e-9
        assert [structure.symbols[a] for a in map_a] == list(structure.symbols)
        assert_orthogonal(rotation_vv)
        position_av = structure.positions_av @ rotation_vv.T + symmetry.translation_oc[o] @ structure.lattice_cv
        np.testing.assert_allclose(position_av, image_ac @ structure.lattice_cv, atol=1e-9)
        if structure.magmom_a is not None:
            sign = -1 if symmetry.spin_flip_o[o] else 1
            np.testing.assert_allclose(structure.magmom_a[map_a], sign * structure.magmom_a)


def test_reciprocal_matrices_rotate_k_like_the_cartesian_ones(case):
    structure, symmetry = case
    point_c = np.array([0.11, -0.27, 0.43])
    for reciprocal_cc, rotation_vv in zip(symmetry.reciprocal_occ, symmetry.rotation_ovv, strict=True):
        rotated_v = (reciprocal_cc @ point_c) @ structure.reciprocal_cv
        np.testing.assert_allclose(rotated_v, rotation_vv @ (point_c @ structure.reciprocal_cv), atol=1e-12)


def test_spin_densities_are_invariant_with_spins_exchanged_by_flips(case):
    """n_s(W x + t) = n_s'(x) for a sum of atomic Gaussians of different height per element and spin."""
    structure, symmetry = case
    image_xc = np.array(list(product(range(-3, 4), repeat=3)))
    moment_a = np.zeros(len(structure.symbols)) if structure.magmom_a is None else structure.magmom_a
    charge_a = np.array([3.0 + structure.species.index(symbol) for symbol in structure.symbols])

    def density(point_c: np.ndarray) -> np.ndarray:
        offset_axc = wrap(point_c - structure.scaled_ac)[:, None] + image_xc
        gauss_a = np.exp(-0.3 * np.square(offset_axc @ structure.lattice_cv).sum(-1)).sum(-1)
        return np.array([(charge_a + moment_a) @ gauss_a, (charge_a - moment_a) @ gauss_a])

    point_c = np.array([0.17, 0.31, 0.44])
    here_s = density(point_c)
    for o, flip in enumerate(symmetry.spin_flip_o):
        there_s = density(symmetry.rotation_occ[o] @ point_c + symmetry.translation_oc[o])
        np.testing.assert_allclose(there_s, here_s[::-1] if flip else here_s, rtol=1e-7, atol=1e-9)


def brute_force_order(structure: Structure) -> int:
    """Counts operations by trying every matrix of -1, 0, 1 and every translation of the first atom."""
    matrix_xcc = np.array(list(product((-1, 0, 1), repeat=9))).reshape(-1, 3, 3)
    metric_cc = structure.lattice_cv @ structure.lattice_cv.T
    same_x = np.abs(matrix_xcc.transpose(0, 2, 1) @ metric_cc @ matrix_xcc - metric_cc).max(axis=(1, 2)) < 1e-6
    moment_a = np.zeros(len(structure.symbols)) if structure.magmom_a is None else structure.magmom_a
    symbol_a = np.array(structure.symbols)
    count = 0
    for matrix_cc, target in product(matrix_xcc[same_x], range(len(symbol_a))):
        image_ac = (structure.scaled_ac - structure.scaled_ac[0]) @ matrix_cc.T + structure.scaled_ac[target]
        apart_aa = np.abs(wrap(image_ac[:, None] - structure.scaled_ac[None])).max(axis=-1)
        map_a = apart_aa.argmin(axis=1)
        kept = np.array_equal(moment_a[map_a], moment_a) or np.array_equal(moment_a[map_a], -moment_a)
        count += bool(apart_aa.min(axis=1).max() < 1e-6 and (symbol_a[map_a] == symbol_a).all() and kept)
    return count


def test_no_operation_is_missed(case):
    structure, symmetry = case
    assert symmetry.order == brute_force_order(structure)


@pytest.mark.parametrize("name", ["antiferromagnetic chromium", "antiferromagnetic nickel oxide", "bcc iron"])
def test_spin_flips_are_the_time_reversals_of_spglib(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        _compare_with_spglib(CRYSTALS[name][0])


def _compare_with_spglib(structure: Structure) -> None:
    found = find_symmetry(structure, TOLERANCE, 2)
    numbers = [structure.species.index(symbol) for symbol in structure.symbols]
    cell = (structure.lattice_cv, structure.scaled_ac, numbers, structure.magmom_a)
    reference = spglib.get_magnetic_symmetry(cell, symprec=1e-5)
    theirs = zip(reference["rotations"].reshape(-1, 9).tolist(), reference["time_reversals"].tolist(), strict=True)
    ours = zip(found.rotation_occ.reshape(-1, 9).tolist(), found.spin_flip_o.tolist(), strict=True)
    assert sorted(ours) == sorted(theirs)


UNIMODULAR = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-2, 2)), max_size=6)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(CRYSTALS)), UNIMODULAR, st.booleans(), st.integers(min_value=0, max_value=2**32 - 1)
)
def test_order_does_not_depend_on_cell_choice_handedness_origin_orientation_or_atom_order(name, steps, mirror, seed):
    structure, order, spacegroup, _ = CRYSTALS[name]
    rng = np.random.default_rng(seed)
    change_cc = np.eye(3)
    for target, source, factor in steps:
        if target != source:
            change_cc[target] += factor * change_cc[source]
    if mirror:
        change_cc = change_cc[[1, 0, 2]]
    turn_vv, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    turn_vv *= np.linalg.det(turn_vv)
    atoms = rng.permutation(len(structure.symbols))
    moved = Structure(
        change_cc @ structure.lattice_cv @ turn_vv.T,
        tuple(structure.symbols[a] for a in atoms),
        ((structure.scaled_ac + rng.uniform(size=3)) @ np.linalg.inv(change_cc))[atoms],
        None if structure.magmom_a is None else structure.magmom_a[atoms],
    )
    symmetry = find_symmetry(moved, TOLERANCE, 2)
    assert symmetry.order == order
    assert symmetry.spacegroup == spacegroup
    assert_orthogonal(symmetry.rotation_ovv)


def test_supercell_has_all_pure_translations():
    primitive = CRYSTALS["diamond"][0]
    image_xc = np.array(list(product(range(3), repeat=3)))
    scaled_ac = ((primitive.scaled_ac[:, None] + image_xc) / 3).reshape(-1, 3)
    symmetry = find_symmetry(Structure(3 * primitive.lattice_cv, ("Si",) * 54, scaled_ac), TOLERANCE, 2)
    assert symmetry.order == 48 * 27
    assert symmetry.spacegroup == "Fd-3m (227)"
    image_oac = np.einsum("ocd,ad->oac", symmetry.rotation_occ, scaled_ac) + symmetry.translation_oc[:, None]
    assert np.abs(wrap(image_oac - scaled_ac[symmetry.atom_map_oa])).max() < 1e-9


def test_vacancy_in_a_supercell_leaves_the_site_group():
    image_xc = np.array(list(product(range(2), repeat=3)))
    scaled_ac = (CRYSTALS["diamond"][0].scaled_ac[:, None] + image_xc).reshape(-1, 3)[1:] / 2
    symmetry = find_symmetry(Structure(2 * 10.26 * FCC, ("Si",) * 15, scaled_ac), TOLERANCE, 2)
    assert symmetry.order == 24
    assert not symmetry.translation_oc.any()


def test_levels():
    structure = CRYSTALS["diamond"][0]
    assert [find_symmetry(structure, TOLERANCE, level).order for level in (-1, 0, 1, 2, 3)] == [1, 1, 48, 48, 48]
    assert [find_symmetry(structure, TOLERANCE, level).time_reversal for level in (-1, 0, 2)] == [False, True, True]
    assert find_symmetry(structure, TOLERANCE, 3).level == 3


def test_bad_level_and_tolerance_are_named():
    structure = CRYSTALS["fcc"][0]
    with pytest.raises(InputError, match="ISYM = 4"):
        find_symmetry(structure, TOLERANCE, 4)
    for tolerance in (0.0, -1e-5, np.nan):
        with pytest.raises(InputError, match="SYMPREC"):
            find_symmetry(structure, tolerance, 2)


def test_failed_search_falls_back_to_the_identity_with_a_note():
    structure = Structure(10 * np.eye(3), ("H", "H"), [[0, 0, 0], [0, 0, 0]])
    symmetry = find_symmetry(structure, TOLERANCE, 2)
    assert symmetry.order == 1
    assert symmetry.time_reversal
    assert "failed" in symmetry.notes[0]


def test_different_moments_on_equal_atoms_lower_the_symmetry():
    plain = Structure(5.4 * np.eye(3), ("Fe", "Fe"), [[0, 0, 0], [0.5] * 3])
    assert find_symmetry(plain, TOLERANCE, 2).order == 96
    unequal = find_symmetry(Structure(plain.lattice_cv, plain.symbols, plain.scaled_ac, [2.0, 1.0]), TOLERANCE, 2)
    assert unequal.order == 48
    assert not unequal.spin_flip_o.any()


def test_zero_moments_flip_nothing():
    structure = Structure(5.4 * np.eye(3), ("Fe", "Fe"), [[0, 0, 0], [0.5] * 3], [0.0, 0.0])
    symmetry = find_symmetry(structure, TOLERANCE, 2)
    assert symmetry.order == 96
    assert not symmetry.spin_flip_o.any()


def test_moment_pattern_that_breaks_part_of_the_group_is_noted():
    """Four iron atoms in a row, up up down down: every operation either keeps or reverses the pattern, or goes."""
    scaled_ac = [[0, 0, z / 4] for z in range(4)]
    structure = Structure(np.diag([5.0, 5.0, 20.0]), ("Fe",) * 4, scaled_ac, [1, 1, -1, -1])
    symmetry = find_symmetry(structure, TOLERANCE, 2)
    assert symmetry.order == brute_force_order(structure) == 32
    assert symmetry.spin_flip_o.sum() == 16
    mixed = Structure(structure.lattice_cv, structure.symbols, scaled_ac, [1, 1, 1, -1])
    assert find_symmetry(mixed, TOLERANCE, 2).order == brute_force_order(mixed) == 16
    assert "48 operations" in find_symmetry(mixed, TOLERANCE, 2).notes[0]


def test_without_spin_flips_keeps_a_group_and_says_so():
    symmetry = find_symmetry(CRYSTALS["antiferromagnetic rutile"][0], TOLERANCE, 2)
    kept = without_spin_flips(symmetry)
    assert (symmetry.order, kept.order) == (16, 8)
    assert not kept.spin_flip_o.any()
    assert "8 operations" in kept.notes[-1]
    assert without_spin_flips(kept) is kept


def test_selective_dynamics_keeps_operations_that_take_free_directions_into_free_ones():
    """A slab of five layers, and a molecule along z, whose atoms may move in part."""
    heights = np.arange(5) / 10 + 0.2
    places = [[0.5 * (layer % 2), 0.5 * (layer % 2), z] for layer, z in enumerate(heights)]
    slab = Structure(np.diag([5.0, 5.0, 40.0]), ("Al",) * 5, np.array(places))
    symmetry = find_symmetry(slab, TOLERANCE, 2)
    assert symmetry.order == 16
    free = np.ones((5, 3), dtype=bool)
    for fixed, order in (([], 16), ([2], 16), ([0, 4], 16), ([0], 8), ([0, 1], 8), ([0, 1, 2, 3], 8)):
        free[:] = True
        free[fixed] = False
        kept = keeping_fixed(symmetry, free)
        assert kept.order == order and (kept is symmetry or f"{16 - order} operations" in kept.notes[-1])
        assert order == 16 or (kept.rotation_occ[:, 2, 2] == 1).all()
    free[:] = True
    free[0, 2] = False  # the lowest layer slides in its plane
    assert keeping_fixed(symmetry, free).order == 8
    free[:, 0] = False  # and nothing moves along x: the axes across are no longer alike
    assert keeping_fixed(symmetry, free).order == 4
    assert keeping_fixed(symmetry, None) is symmetry and keeping_fixed(symmetry, np.zeros((5, 3), bool)) is symmetry


@pytest.mark.parametrize("name", CRYSTALS)
def test_what_selective_dynamics_keeps_is_the_stabiliser_of_what_is_free(name):
    structure = CRYSTALS[name][0]
    symmetry = find_symmetry(structure, TOLERANCE, 2)
    rng = np.random.default_rng(5)
    for _ in range(5):
        free_ac = rng.random((len(structure.symbols), 3)) < 0.8
        free_ac[0] = True
        kept = {tuple(w.ravel()) + tuple(m) for w, m in _operations(keeping_fixed(symmetry, free_ac))}
        wanted = set()
        for w, m in _operations(symmetry):
            spans = [np.linalg.matrix_rank(np.hstack([w[:, free_ac[a]], np.eye(3)[:, free_ac[m[a]]]])) for a in
                     range(len(m))]  # fmt: skip
            same = [free_ac[a].sum() == free_ac[m[a]].sum() == span for a, span in enumerate(spans)]
            if all(same):
                wanted.add(tuple(w.ravel()) + tuple(m))
        assert kept == wanted


@pytest.mark.parametrize(
    ("isif", "free", "order"),
    [
        (3, (True, True, True), 192),
        (3, (False, False, True), 64),
        (3, (True, True, False), 64),
        (3, (True, False, False), 64),
        (3, (False, False, False), 192),
        (2, (True, True, False), 192),
        (4, (True, True, True), 192),
        (7, (True, True, True), 192),
    ],
)
def test_a_cell_that_may_not_follow_all_strains_has_fewer_operations(isif, free, order):
    """Aluminium in its cubic cell, four atoms."""
    places = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    cubic = find_symmetry(Structure(np.eye(3) * 7.6, ("Al",) * 4, places), TOLERANCE, 2)
    strains = followed_strains(RelaxationSettings(isif=isif, lattice_free=free))
    kept = keeping_strains(cubic, strains)
    assert cubic.order == 192 and kept.order == order
    # what keeps the strains keeps a cell that has followed one
    grown = np.eye(3) + 0.03 * sum(strains, np.zeros((3, 3)))
    if len(strains) in (1, 3) and isif == 3:
        assert deviation(kept, Structure(np.eye(3) * 7.6 @ np.diag(np.diag(grown)), ("Al",) * 4, places)) < 1e-6


def _operations(symmetry):
    return list(zip(symmetry.rotation_occ, symmetry.atom_map_oa, strict=True))


def test_atoms_that_leave_their_symmetry_are_seen():
    structure = CRYSTALS["antiferromagnetic rutile"][0]
    symmetry = find_symmetry(structure, TOLERANCE, 2)
    ideal = symmetrise_positions(structure, symmetry)
    assert deviation(symmetry, ideal) < 1e-9
    moved_ac = ideal.scaled_ac.copy()
    moved_ac[0, 2] += 0.01 / np.linalg.norm(ideal.lattice_cv[2])
    assert 0.01 <= deviation(symmetry, replace(ideal, scaled_ac=moved_ac)) <= 0.03


def test_noisy_positions_give_exact_operations_and_can_be_symmetrised():
    rng = np.random.default_rng(0)
    ideal = rutile()
    noisy = Structure(ideal.lattice_cv, ideal.symbols, ideal.scaled_ac + rng.uniform(-2e-7, 2e-7, size=(6, 3)))
    symmetry = find_symmetry(noisy, TOLERANCE, 2)
    assert symmetry.order == 16
    table = by_rotation_and_first_image(symmetry)
    for first, second in product(range(16), repeat=2):
        both = table[
            (symmetry.rotation_occ[first] @ symmetry.rotation_occ[second]).tobytes(),
            symmetry.atom_map_oa[first][symmetry.atom_map_oa[second][0]],
        ]
        translation_c = symmetry.rotation_occ[first] @ symmetry.translation_oc[second] + symmetry.translation_oc[first]
        assert np.abs(wrap(translation_c - symmetry.translation_oc[both])).max() < 1e-14
    better = symmetrise_positions(noisy, symmetry)
    image_oac = np.einsum("ocd,ad->oac", symmetry.rotation_occ, better.scaled_ac) + symmetry.translation_oc[:, None]
    assert np.abs(wrap(image_oac - better.scaled_ac[symmetry.atom_map_oa])).max() < 1e-14
    assert 0 < np.abs(better.scaled_ac - noisy.scaled_ac).max() < 1e-6
    np.testing.assert_allclose(symmetrise_positions(better, symmetry).scaled_ac, better.scaled_ac, atol=1e-15)


def test_atoms_displaced_beyond_the_tolerance_lose_the_symmetry():
    ideal = rutile()
    scaled_ac = ideal.scaled_ac.copy()
    scaled_ac[2] += [1e-4, 2e-4, 3e-4]
    displaced = Structure(ideal.lattice_cv, ideal.symbols, scaled_ac)
    assert find_symmetry(displaced, TOLERANCE, 2).order == 1
    assert find_symmetry(displaced, 0.02, 2).order == 16


def test_lattice_with_few_digits_is_noted_and_can_be_symmetrised():
    rough = Structure(np.round(CRYSTALS["hcp"][0].lattice_cv, 5), ("Mg", "Mg"), CRYSTALS["hcp"][0].scaled_ac)
    symmetry = find_symmetry(rough, 1e-4, 2)
    assert symmetry.order == 24
    assert "more digits" in symmetry.notes[0]
    better = symmetrise_lattice(rough, symmetry)
    metric_cc = better.lattice_cv @ better.lattice_cv.T
    for rotation_cc in symmetry.rotation_occ:
        np.testing.assert_allclose(rotation_cc.T @ metric_cc @ rotation_cc, metric_cc, atol=1e-12)
    np.testing.assert_allclose(better.lattice_cv, rough.lattice_cv, atol=2e-5)
    strain_vv = np.linalg.inv(rough.lattice_cv) @ better.lattice_cv
    np.testing.assert_allclose(strain_vv, strain_vv.T, atol=1e-13)
    exact = find_symmetry(better, 1e-4, 2)
    assert exact.notes == ()
    assert_orthogonal(symmetry.rotation_ovv)


@pytest.mark.parametrize(
    ("name", "axes", "denominators"),
    [
        ("diamond", [(0, 1, 2)], (4, 4, 4)),
        ("hcp", [(0, 1), (2,)], (1, 1, 2)),
        ("rutile", [(0, 1), (2,)], (2, 2, 2)),
        ("quartz", [(0, 1), (2,)], (1, 1, 3)),
        ("low symmetry", [(0,), (1,), (2,)], (1, 1, 1)),
    ],
)
def test_grid_helpers(name, axes, denominators):
    symmetry = find_symmetry(CRYSTALS[name][0], TOLERANCE, 2)
    assert equivalent_axes(symmetry) == axes
    assert translation_denominators(symmetry) == denominators


def test_translations_off_every_small_grid_have_no_denominator():
    ideal = CRYSTALS["diamond"][0]
    moved = Structure(ideal.lattice_cv, ideal.symbols, ideal.scaled_ac + [0.0123, 0.0345, 0.0567])
    assert translation_denominators(find_symmetry(moved, TOLERANCE, 2)) == (1, 1, 1)


@pytest.mark.parametrize("name", ["diamond", "hcp", "rutile", "quartz", "antiferromagnetic nickel oxide"])
def test_grids_chosen_with_the_helpers_are_mapped_onto_themselves(name):
    symmetry = find_symmetry(CRYSTALS[name][0], TOLERANCE, 2)
    size_c = np.array([12 * n for n in translation_denominators(symmetry)])
    for group in equivalent_axes(symmetry):
        size_c[list(group)] = np.lcm.reduce(size_c[list(group)])
    for rotation_cc, translation_c in zip(symmetry.rotation_occ, symmetry.translation_oc, strict=True):
        step_cc = size_c[:, None] * rotation_cc / size_c[None]
        assert np.array_equal(step_cc, np.rint(step_cc))
        assert np.abs(size_c * translation_c - np.rint(size_c * translation_c)).max() < 1e-9


def test_operations_that_keep_points_are_exactly_the_stabiliser():
    symmetry = find_symmetry(CRYSTALS["fcc"][0], TOLERANCE, 2)
    point_kc = np.array([[0.5, 0.0, 0.0], [0.1, 0.1, 0.0]])
    kept_o = keeps_points(symmetry, point_kc)
    expected = 0
    for reciprocal_cc in symmetry.reciprocal_occ:
        both = [
            all(np.abs(wrap(sign * (reciprocal_cc @ k) - point_kc)).max(axis=1).min() < 1e-9 for k in point_kc)
            for sign in (1, -1)
        ]
        expected += any(both)
    assert kept_o.sum() == expected
    assert 1 < expected < 48


def test_subgroup_and_no_symmetry():
    structure = CRYSTALS["diamond"][0]
    symmetry = find_symmetry(structure, TOLERANCE, 2)
    proper = subgroup(symmetry, np.linalg.det(symmetry.rotation_occ) > 0, "proper only")
    assert proper.order == 24
    assert proper.notes[-1] == "proper only"
    assert no_symmetry(structure).time_reversal is False


@pytest.mark.slow
def test_reference_counts_without_fractional_translations(shared_dir):
    """GPAW 26.7.0 counts the operations that need no translation; all cases of reference/dft with n_symmetries."""
    checked = set()
    for path in sorted((shared_dir / "reference" / "dft").glob("*_pbe.json")):
        for run in json.loads(path.read_text())["runs"]:
            data = run["structure"]
            lattice_cv = np.array(data["cell_A"]) / BOHR_ANGSTROM
            structure = Structure(lattice_cv, tuple(data["symbols"]), data["scaled_positions"])
            symmetry = find_symmetry(structure, TOLERANCE, 2)
            without = (np.abs(wrap(symmetry.translation_oc)) < 1e-9).all(axis=1).sum()
            assert without == run["results"]["n_symmetries"], (path.name, run["label"])
            checked.add((path.stem, symmetry.order, symmetry.spacegroup))
    assert ("hfo2_monoclinic_pbe", 4, "P2_1/c (14)") in checked
    assert ("si_diamond_pbe", 48, "Fd-3m (227)") in checked


@pytest.mark.slow
def test_symmetry_and_kpoints_do_not_load_torch():
    modules = "eigenwerk.dft.crystal.kpoints, eigenwerk.dft.crystal.rotations"
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
