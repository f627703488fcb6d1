"""Tetrahedra fill the Brillouin zone, and symmetry only counts them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenwerk.dft.crystal.kpoints import explicit, generated_kpoints, mesh_kpoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.crystal.tetrahedra import _six_tetrahedra, tetrahedra_of_mesh
from eigenwerk.errors import InputError

FCC = (1 - np.eye(3)) / 2


def crystal(lattice_cv, level):
    structure = Structure(7.6 * np.asarray(lattice_cv, float), ("Al",), np.zeros((1, 3)))
    return structure, find_symmetry(structure, 1e-5, level)


@given(st.lists(st.floats(-2, 2), min_size=9, max_size=9))
def test_six_tetrahedra_fill_a_cell_around_its_shortest_diagonal(entries):
    step_cv = np.array(entries).reshape(3, 3) + 3 * np.eye(3)
    shapes_xcc = _six_tetrahedra(step_cv)
    volume_x = np.linalg.det(shapes_xcc[:, 1:] - shapes_xcc[:, :1])
    np.testing.assert_allclose(abs(volume_x), 1)  # a sixth of the cell each
    ends_xc = shapes_xcc[:, 3] - shapes_xcc[:, 0]
    assert (ends_xc == ends_xc[0]).all()
    signs_xc = np.array([[1, y, z] for y in (1, -1) for z in (1, -1)])
    shortest = np.linalg.norm(signs_xc @ step_cv, axis=1).min()
    assert np.linalg.norm(ends_xc[0] @ step_cv) == pytest.approx(shortest, rel=2e-6)
    points_xc = np.random.default_rng(1).random((50, 3))
    inside_xx = np.array([
        (np.linalg.solve(np.vstack([shape.T, np.ones(4)]), np.column_stack([points_xc, np.ones(50)]).T) > 0).all(0)
        for shape in shapes_xcc.astype(float)
    ])  # fmt: skip
    assert (inside_xx.sum(0) == 1).all()


@pytest.mark.parametrize("level", [-1, 0, 2])
@pytest.mark.parametrize(
    ("mesh", "shift"), [((4, 4, 4), (0, 0, 0)), ((3, 3, 3), (0.5, 0.5, 0.5)), ((4, 1, 1), (0, 0, 0))]
)
def test_points_get_the_weights_of_their_stars(mesh, shift, level):
    structure, symmetry = crystal(FCC, level)
    kpoints = mesh_kpoints(mesh, shift, True, symmetry).with_tetrahedra(structure)
    found = kpoints.tetrahedra
    np.testing.assert_allclose(found.weight_of_points(len(kpoints.point_kc)), kpoints.weight_k, atol=1e-14)
    assert found.weight_T.sum() == pytest.approx(1, abs=1e-14)
    assert len(np.unique(found.corner_Tc, axis=0)) == len(found.corner_Tc) <= 6 * np.prod(mesh)


def test_corners_are_neighbours():
    cells_cc = np.diag([4, 5, 6])
    full = np.arange(120)
    corner_Tc = tetrahedra_of_mesh(cells_cc, np.eye(3), full).corner_Tc
    place_Tcc = np.stack(np.unravel_index(corner_Tc, (4, 5, 6), order="F"), axis=-1)
    apart_Tcc = (place_Tcc - place_Tcc[:, :1] + 1) % (4, 5, 6)
    assert len(corner_Tc) == 720 and apart_Tcc.max() <= 2


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(-3, 3), min_size=9, max_size=9))
def test_generalised_meshes_have_tetrahedra_of_the_same_kind(entries):
    """Each point of the full mesh is a corner of 24 of the six times as many tetrahedra."""
    cells_cc = np.array(entries).reshape(3, 3) + 4 * np.eye(3, dtype=int)
    if abs(np.linalg.det(cells_cc)) < 4:
        return
    structure, symmetry = crystal(np.eye(3), -1)
    symmetry = type(symmetry)(**{**vars(symmetry), "time_reversal": False})
    kpoints = generated_kpoints(np.linalg.inv(cells_cc), (0.1, 0.2, 0.3), symmetry).with_tetrahedra(structure)
    np.testing.assert_allclose(kpoints.tetrahedra.weight_of_points(len(kpoints.weight_k)), kpoints.weight_k, atol=1e-12)


def test_what_has_no_tetrahedra_is_refused():
    structure, symmetry = crystal(FCC, 2)
    with pytest.raises(InputError, match="has 3 points, and tetrahedra need at least 4"):
        mesh_kpoints((3, 1, 1), (0, 0, 0), True, symmetry).with_tetrahedra(structure)
    with pytest.raises(InputError, match="explicit list has no tetrahedra"):
        explicit(np.zeros((1, 3)), np.ones(1), symmetry).with_tetrahedra(structure)
