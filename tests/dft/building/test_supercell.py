"""A supercell is the same crystal in a larger cell."""

import numpy as np
import pytest

from eigenwerk.dft.building.supercell import lattice_points_in, supercell
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.poscar import format_poscar, parse_poscar

MATRICES = {
    "diagonal": np.diag([2, 1, 3]),
    "body-centred": np.array([[-1, 1, 1], [1, -1, 1], [1, 1, -1]]),
    "left-handed": np.array([[1, 0, 0], [0, -2, 0], [1, 1, 1]]),
    "skew": np.array([[2, 1, 0], [-1, 3, 1], [0, 0, 1]]),
}


def neighbourhood(poscar, position_v, symbol, reach=6.0):
    """Sorted distances from a point to the atoms of an element up to `reach`."""
    spacing = 1.0 / np.linalg.norm(np.linalg.inv(poscar.lattice_cv), axis=0)
    count_c = np.ceil(reach / spacing).astype(int) + 1
    image_xc = np.array(list(np.ndindex(*(2 * count_c + 1)))) - count_c
    chosen = [atom for atom, other in enumerate(poscar.symbols) if other == symbol]
    offset_c = np.linalg.solve(poscar.lattice_cv.T, position_v)
    wrapped_ac = (poscar.scaled_ac[chosen] - offset_c) % 1.0
    distance = np.linalg.norm((wrapped_ac[:, None] + image_xc) @ poscar.lattice_cv, axis=2).ravel()
    return np.sort(distance[distance < reach])


@pytest.mark.parametrize("name", MATRICES)
def test_every_atom_keeps_its_surroundings(skewed, name):
    made = supercell(skewed, MATRICES[name])
    count = abs(round(np.linalg.det(MATRICES[name])))
    assert len(made.symbols) == 3 * count
    assert made.volume == pytest.approx(count * skewed.volume)
    for atom, position_v in enumerate(made.positions_av):
        for symbol in ("Si", "O"):
            expected = neighbourhood(skewed, skewed.positions_av[atom // count], symbol)
            np.testing.assert_allclose(neighbourhood(made, position_v, symbol), expected, atol=1e-9)


@pytest.mark.parametrize("name", MATRICES)
def test_atoms_lie_in_the_cell_and_none_twice(skewed, name):
    scaled_ac = supercell(skewed, MATRICES[name]).scaled_ac
    assert (scaled_ac >= 0.0).all() and (scaled_ac < 1.0).all()
    assert len(np.unique(np.round(scaled_ac, 6), axis=0)) == len(scaled_ac)


def test_runs_names_and_flags_are_repeated(arsenide):
    made = supercell(arsenide, np.diag([2, 1, 1]))
    assert made.species_runs == (("Ga", 8), ("As", 8))
    assert made.suffixes == ("_d", "")
    np.testing.assert_array_equal(made.selective_ac[::2], arsenide.selective_ac)
    assert parse_poscar(format_poscar(made)).symbols == made.symbols


def test_velocities_are_left_out(skewed):
    assert supercell(skewed, np.eye(3)).velocities_av is None


@pytest.mark.parametrize("name", MATRICES)
def test_lattice_points_are_as_many_as_the_determinant_says(name):
    point_xc = lattice_points_in(MATRICES[name])
    assert len(point_xc) == abs(round(np.linalg.det(MATRICES[name])))
    scaled_xc = point_xc @ np.linalg.inv(MATRICES[name])
    assert (scaled_xc > -1e-9).all() and (scaled_xc < 1 - 1e-9).all()


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.diag([1, 1, 0]), "determinant 0"),
        (np.diag([1.5, 1, 1]), "3 x 3 whole numbers"),
        (np.eye(2), "3 x 3 whole numbers"),
        (np.diag([100, 100, 10]), "300000 atoms; the limit"),
    ],
)
def test_matrices_that_are_no_supercell_are_refused(skewed, matrix, words):
    with pytest.raises(InputError, match=words):
        supercell(skewed, matrix)


def test_slanted_cells_cost_what_they_hold_and_no_more(skewed):
    """The box around such a cell has 10^12 points."""
    assert lattice_points_in(np.array([[1, 10_000, 0], [0, 1, 10_000], [0, 0, 1]])).tolist() == [[0, 0, 0]]
    point_xc = lattice_points_in(np.array([[2, 9_999, 0], [0, 3, 10_000], [0, 0, -2]]))
    assert len({tuple(point_c) for point_c in point_xc.tolist()}) == 12
    with pytest.raises(InputError, match="entries above 10000"):
        supercell(skewed, np.array([[1, 10_001, 0], [0, 1, 0], [0, 0, 1]]))
