"""Lists of k-points that are the irreducible part of a mesh are known as that mesh; others stay lists."""

import numpy as np
import pytest

from eigenwerk.dft.crystal.kpoints import explicit, generated_kpoints, mesh_kpoints
from eigenwerk.dft.crystal.listed_mesh import as_mesh
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry

FCC = (1 - np.eye(3)) / 2
CRYSTALS = {
    "diamond": Structure(10 * FCC, ("Si", "Si"), np.array([[0, 0, 0], [0.25, 0.25, 0.25]])),
    "hexagonal": Structure(
        np.array([[6, 0, 0], [-3, 27**0.5, 0], [0, 0, 10.0]]), ("Mg", "Mg"),
        np.array([[1 / 3, 2 / 3, 0.25], [2 / 3, 1 / 3, 0.75]]),
    ),
    "triclinic": Structure(
        np.array([[6, 0.3, 0], [-1, 7.0, 0.4], [0.2, 0, 8.0]]), ("Si", "C"), np.array([[0, 0, 0], [0.4, 0.45, 0.3]])
    ),
}  # fmt: skip
MESHES = [
    ((2, 2, 2), (0, 0, 0), True), ((4, 4, 4), (0, 0, 0), True), ((3, 3, 3), (0, 0, 0), False),
    ((2, 2, 2), (0.5, 0.5, 0.5), True), ((3, 3, 2), (0, 0, 0.5), True), ((5, 5, 1), (0, 0, 0), True),
    ((1, 1, 1), (0, 0, 0), True),
]  # fmt: skip


@pytest.mark.parametrize("level", [2, 0, -1])
@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("name", CRYSTALS)
def test_the_irreducible_points_of_a_mesh_written_with_few_digits_are_the_mesh(name, mesh, level):
    """Each point of the whole mesh is what its operation makes of its point of the list."""
    symmetry = find_symmetry(CRYSTALS[name], 1e-5, level)
    whole = mesh_kpoints(*mesh, symmetry)
    if whole.symmetry.order < symmetry.order:
        pytest.skip("the mesh lacks symmetry of the crystal, so that its points with all operations are more")
    found = as_mesh(explicit(whole.point_kc.round(5), whole.weight_k.round(5), whole.symmetry))
    assert found.mesh is None and found.full_count == whole.full_count
    np.testing.assert_array_equal(found.cells_cc, whole.cells_cc)
    np.testing.assert_allclose(found.point_kc, whole.point_kc, atol=1e-15)
    np.testing.assert_allclose(found.weight_k, whole.weight_k, atol=1e-15)
    sign_f = 1 - 2 * found.reversed_of_full
    made_fc = sign_f[:, None] * np.einsum(
        "fcd, fd -> fc", found.symmetry.reciprocal_occ[found.operation_of_full],
        found.point_kc[found.irreducible_of_full],
    )  # fmt: skip
    steps_fc = (made_fc - found.point_kc[0]) @ np.diag(mesh[0])
    np.testing.assert_allclose(steps_fc, np.rint(steps_fc), atol=1e-9)
    assert len(np.unique(np.rint(steps_fc) % mesh[0], axis=0)) == found.full_count


def test_points_of_a_star_written_twice_share_it():
    """The whole list with all operations: every star is complete, and each point is its own."""
    symmetry = find_symmetry(CRYSTALS["diamond"], 1e-5, 2)
    whole = mesh_kpoints((2, 2, 2), (0, 0, 0), True, find_symmetry(CRYSTALS["diamond"], 1e-5, -1))
    found = as_mesh(explicit(whole.point_kc, whole.weight_k, symmetry))
    assert found.full_count == 8 and sorted(found.irreducible_of_full) == list(range(8))
    np.testing.assert_allclose(found.weight_k, 1 / 8)


def test_a_mesh_that_no_axes_span_has_the_cell_in_which_its_waves_are_periodic():
    symmetry = find_symmetry(CRYSTALS["triclinic"], 1e-5, -1)
    steps_cc = np.array([[0.5, 0.25, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 1.0]])
    whole = generated_kpoints(steps_cc, (0, 0, 0), symmetry)
    found = as_mesh(explicit(whole.point_kc, whole.weight_k, symmetry))
    assert found.full_count == 4
    for kpoints in (whole, found):
        turns_kx = kpoints.point_kc @ kpoints.cells_cc  # columns are lattice vectors
        np.testing.assert_allclose(turns_kx, np.rint(turns_kx), atol=1e-9)
        assert abs(round(np.linalg.det(kpoints.cells_cc))) == 4


@pytest.mark.parametrize(
    ("points", "weights"),
    [
        ([[0, 0, 0], [0.5, 0, 0], [0.5, 0.5, 0]], [1, 3, 4]),
        ([[0, 0, 0], [0.5, 0, 0]], [1, 4]),
        ([[0, 0, 0], [0.1, 0.1, 0]], [1, 1]),
        ([[0, 0, 0], [0.123, 0.217, 0.331]], [1, 1]),
    ],
)
def test_other_lists_stay_what_they_are(points, weights):
    """Wrong weights, a star left out, points on no mesh or on none of that size."""
    kpoints = explicit(np.array(points), np.array(weights), find_symmetry(CRYSTALS["diamond"], 1e-5, 2))
    assert as_mesh(kpoints) is kpoints
