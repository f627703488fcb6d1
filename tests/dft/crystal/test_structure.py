"""The crystal: validation, derived quantities, shortest distance."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenwerk.dft.crystal.structure import Structure, shortest_distance
from eigenwerk.errors import InputError

SKEW = np.array([[4.0, 0.0, 0.0], [1.5, 5.0, 0.0], [-0.5, 0.7, 6.0]])


def test_reciprocal_vectors_are_dual_to_the_lattice():
    structure = Structure(SKEW, ("H",), np.zeros((1, 3)))
    np.testing.assert_allclose(structure.lattice_cv @ structure.reciprocal_cv.T, 2 * np.pi * np.eye(3), atol=1e-13)


def test_volume_is_positive_for_a_left_handed_cell():
    right = Structure(SKEW, ("H",), np.zeros((1, 3)))
    left = Structure(SKEW[[1, 0, 2]], ("H",), np.zeros((1, 3)))
    assert right.volume == pytest.approx(120.0)
    assert left.volume == pytest.approx(right.volume)


def test_positions_and_species():
    structure = Structure(SKEW, ["O", "H", "O"], [[0.5, 0.5, 0], [0, 0, 0], [0, 1, -1]])
    assert structure.symbols == ("O", "H", "O")
    assert structure.species == ("O", "H")
    np.testing.assert_allclose(structure.positions_av, [[2.75, 2.5, 0], [0, 0, 0], [2.0, 4.3, -6.0]])


def test_arrays_are_private_copies_that_cannot_be_changed():
    lattice_cv = SKEW.copy()
    structure = Structure(lattice_cv, ("H",), np.zeros((1, 3)))
    lattice_cv[0, 0] = 99.0
    assert structure.lattice_cv[0, 0] == 4.0
    with pytest.raises(ValueError, match="read-only"):
        structure.scaled_ac[0, 0] = 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lattice_cv": np.eye(2)}, "lattice vectors have shape"),
        ({"lattice_cv": [[1, 0, 0], [0, 1, 0], [1, 1, 0]]}, "span no volume"),
        ({"lattice_cv": np.zeros((3, 3))}, "span no volume"),
        ({"lattice_cv": [["a", 0, 0], [0, 1, 0], [1, 1, 0]]}, "not numbers"),
        ({"scaled_ac": [[0, 0, np.nan]]}, "positions contain nan at entry \\(1, 3\\)"),
        ({"scaled_ac": np.zeros((2, 3))}, "positions have shape \\(2, 3\\)"),
        ({"magmom_a": [1.0, 2.0]}, "starting moments have shape"),
        ({"magmom_a": [np.inf]}, "starting moments contain inf"),
        ({"symbols": (), "scaled_ac": np.zeros((0, 3))}, "no atoms"),
    ],
)
def test_bad_input_is_named(change, message):
    good = {"lattice_cv": np.eye(3), "symbols": ("H",), "scaled_ac": np.zeros((1, 3))}
    with pytest.raises(InputError, match=message):
        Structure(**(good | change))


def brute_force_distance(structure: Structure, reach: int) -> float:
    image_xc = np.array(list(product(range(-reach, reach + 1), repeat=3)))
    offset_aaxc = structure.scaled_ac[:, None, None] - structure.scaled_ac[None, :, None] + image_xc[None, None]
    distance_aax = np.linalg.norm(offset_aaxc @ structure.lattice_cv, axis=-1)
    for a in range(len(structure.symbols)):
        distance_aax[a, a, (image_xc == 0).all(axis=1)] = np.inf
    return float(distance_aax.min())


@pytest.mark.slow
@given(st.integers(min_value=0, max_value=2**32 - 1), st.integers(min_value=1, max_value=4))
def test_shortest_distance_equals_brute_force_in_skewed_cells(seed, atoms):
    rng = np.random.default_rng(seed)
    lattice_cv = rng.normal(size=(3, 3)) + 3 * np.eye(3)
    if abs(np.linalg.det(lattice_cv)) < 3.0:
        return
    structure = Structure(lattice_cv, ("H",) * atoms, rng.uniform(-2, 2, size=(atoms, 3)))
    i, j, distance = shortest_distance(structure)
    assert i <= j
    assert distance == pytest.approx(brute_force_distance(structure, 9), rel=1e-12)
    pair = Structure(lattice_cv, ("H", "H"), structure.scaled_ac[[i, j]]) if i != j else structure
    assert brute_force_distance(pair, 9) == pytest.approx(distance, rel=1e-12)


def test_shortest_distance_sees_through_the_cell_border_and_extreme_skew():
    structure = Structure(10 * np.eye(3), ("H", "H", "O"), [[0.01, 0, 0], [0.99, 0, 0], [0.5, 0.5, 0.5]])
    assert shortest_distance(structure)[:2] == (0, 1)
    assert shortest_distance(structure)[2] == pytest.approx(0.2)
    skew = np.array([[1, 0, 0], [9, 1, 0], [0, -7, 1]]) @ (5 * np.eye(3))
    i, j, distance = shortest_distance(Structure(skew, ("H",), np.zeros((1, 3))))
    assert (i, j) == (0, 0)
    assert distance == pytest.approx(5.0)


def test_atoms_on_one_site_are_at_distance_zero():
    structure = Structure(SKEW, ("H", "He"), [[0.2, 0.3, 0.4], [1.2, -0.7, 0.4]])
    assert shortest_distance(structure) == (0, 1, pytest.approx(0.0, abs=1e-12))
