"""Parts of the differences between points of a mesh: mutual, as many for each, on the lattice that they belong to."""

import numpy as np
import pytest

from eigenwerk.dft.crystal.downsampling import EVEN, ODD, Downsampling
from eigenwerk.dft.crystal.kpoints import explicit, mesh_kpoints
from eigenwerk.dft.crystal.symmetry import find_symmetry

CASES = [
    (Downsampling((2, 2, 2)), (4, 4, 2)), (Downsampling((1, 3, 1)), (2, 3, 1)),
    (Downsampling((1, 1, 1), EVEN), (4, 2, 2)), (Downsampling((1, 1, 1), EVEN), (2, 4, 1)),
]  # fmt: skip


def differences(mesh):
    axes = [np.arange(size) / size for size in mesh]
    point_kc = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    return point_kc[:, None] - point_kc


@pytest.mark.parametrize(("part", "mesh"), [*CASES, (Downsampling((1, 1, 1), ODD), (2, 4, 1))])
def test_pairs_are_mutual_and_each_point_has_as_many(part, mesh):
    kept_kk = part.kept(differences(mesh).reshape(-1, 3), mesh).reshape(2 * [int(np.prod(mesh))])
    np.testing.assert_array_equal(kept_kk, kept_kk.T)
    np.testing.assert_array_equal(kept_kk.sum(1), np.prod(mesh) // part.times_fewer)


@pytest.mark.parametrize(("part", "mesh"), CASES)
def test_kept_waves_are_those_that_are_periodic_in_the_cells(part, mesh):
    """All of them and no others, with whole reciprocal vectors added."""
    cells_cc, wave_xc = part.cells(mesh), differences(mesh).reshape(-1, 3) + np.array([1, -2, 3])
    turns_xc = wave_xc @ cells_cc.T
    periodic_x = (np.abs(turns_xc - np.rint(turns_xc)) < 1e-9).all(1)
    np.testing.assert_array_equal(periodic_x, part.kept(wave_xc, mesh))
    assert abs(np.linalg.det(cells_cc)) == pytest.approx(np.prod(mesh) / part.times_fewer)


def test_what_does_not_fit_a_mesh_is_said(crystal):
    symmetry = find_symmetry(crystal("si"), 1e-5, 2)
    mesh, odd = mesh_kpoints((4, 4, 4), (0, 0, 0), True, symmetry), mesh_kpoints((3, 3, 3), (0, 0, 0), True, symmetry)
    assert Downsampling((2, 2, 2)).fault(mesh) == ""
    assert Downsampling((2, 2, 2)).fault(odd) == "2 does not divide the 3 points of 3 x 3 x 3 along axis 1"
    assert "do not have the symmetry" in Downsampling((2, 1, 1)).fault(mesh)
    assert "an even number of points, and the mesh is 3 x 3 x 3" in Downsampling((1, 1, 1), EVEN).fault(odd)
    listed = explicit(np.zeros((1, 3)), np.ones(1), symmetry)
    assert "needs a regular mesh" in Downsampling((2, 2, 2)).fault(listed)
    with pytest.raises(ValueError, match="no lattice"):
        Downsampling((1, 1, 1), ODD).cells((2, 2, 2))
