"""Stars of k-points, and what is left of them where operations are lost."""

import numpy as np
import pytest

from eigenwerk.dft.crystal.kpoints import KPoints, explicit, mesh_kpoints
from eigenwerk.dft.crystal.stars import stars_of, under
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry, find_symmetry, subgroup
from eigenwerk.errors import InputError
from lattices import ANTIFERROMAGNET, FCC, MAGNESIUM, wrap

STRUCTURES = {
    "diamond": Structure(10.26 * FCC, ("Si", "Si"), [[0, 0, 0], [0.25] * 3]),
    "hexagonal close packed": MAGNESIUM,
    "antiferromagnet": ANTIFERROMAGNET,
}
SYMMETRIES = {name: find_symmetry(structure, 1e-5, 2) for name, structure in STRUCTURES.items()}
MESHES = [
    ((4, 4, 4), (0.0, 0.0, 0.0), False),
    ((2, 2, 2), (0.0, 0.0, 0.0), True),
    ((2, 3, 2), (0.5, 0.0, 0.25), True),
    ((2, 2, 2), (0.1234567891, 0.2345678912, 0.0), True),
]


def some_of(symmetry: Symmetry, which: str) -> Symmetry:
    identity_o = np.arange(symmetry.order) == 0
    proper_o = (np.linalg.det(symmetry.rotation_occ) > 0) & ~symmetry.spin_flip_o
    return subgroup(symmetry, {"identity": identity_o, "proper": proper_o}[which])


def wave_sum(kpoints: KPoints, index_rc: np.ndarray) -> np.ndarray:
    """Σ w_k exp(2πi k·R), averaged over the operations of the k-points as a density would be."""
    turned_orc = index_rc @ kpoints.symmetry.reciprocal_occ
    return np.cos(2 * np.pi * turned_orc @ kpoints.point_kc.T).mean(0) @ kpoints.weight_k


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_star_has_all_different_images_and_begins_with_its_point(name):
    symmetry, point_kc = SYMMETRIES[name], np.array([[0.125, 0.375, 0.0], [0, 0, 0], [0.1, 0.2, 0.37]])
    for point_c, star in zip(point_kc, stars_of(point_kc, symmetry), strict=True):
        np.testing.assert_allclose(star.point_xc[0], point_c)
        sign_x = np.where(star.reversed_x, -1, 1)[:, None]
        np.testing.assert_allclose(star.point_xc, sign_x * (symmetry.reciprocal_occ[star.operation_x] @ point_c))
        every_xc = np.concatenate([sign * symmetry.reciprocal_occ @ point_c for sign in (1, -1)])
        apart_xx = np.abs(wrap(every_xc[:, None] - star.point_xc[None])).max(-1)
        assert (apart_xx.min(1) < 1e-9).all()
        np.testing.assert_array_equal((apart_xx < 1e-9).sum(1), 1)


@pytest.mark.parametrize("which", ["identity", "proper"])
@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("name", STRUCTURES)
def test_fewer_operations_leave_the_same_sums_over_the_zone(name, mesh, which):
    symmetry = SYMMETRIES[name]
    kpoints = mesh_kpoints(*mesh, symmetry)
    fewer = some_of(symmetry, which)
    index_rc = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, -1, 0], [2, 1, 0], [0, 2, -1], [3, 1, 2], [4, 0, 0]])
    expected = wave_sum(kpoints, index_rc)
    for points in (kpoints, explicit(kpoints.point_kc, kpoints.weight_k, symmetry)):
        found = under(points, fewer)
        assert found.symmetry is fewer
        assert found.weight_k.sum() == pytest.approx(1, abs=1e-13)
        np.testing.assert_allclose(wave_sum(found, index_rc), expected, atol=1e-12)
        # each is in no other's star
        for star, others_kc in zip(
            stars_of(found.point_kc, fewer), (np.delete(found.point_kc, k, 0) for k in range(len(found.point_kc))),
            strict=True,
        ):  # fmt: skip
            apart = np.abs(wrap(star.point_xc[:, None] - others_kc[None])).max(-1) if len(others_kc) else 1
            assert np.min(apart) > 1e-9


def test_a_mesh_with_all_operations_stays_a_mesh_and_any_other_becomes_a_list():
    symmetry = SYMMETRIES["diamond"]
    identity = some_of(symmetry, "identity")
    found = under(mesh_kpoints((4, 4, 4), (0, 0, 0), True, symmetry), identity)
    assert found.mesh == (4, 4, 4)
    assert found.cells_cc is not None
    assert len(found.point_kc) == 36  # (64 + 8) / 2: eight points are their own reverse
    np.testing.assert_array_equal(found.irreducible_of_full.shape, 64)
    found = under(mesh_kpoints((4, 4, 4), (0, 0, 0), False, symmetry), identity)
    assert found.mesh is None
    assert found.irreducible_of_full is None
    assert (found.full_count, len(found.point_kc)) == (256, 128)  # four different meshes, none with such points


@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("name", STRUCTURES)
def test_turned_tetrahedra_fill_the_zone_and_their_sums_are_those_of_the_crystal(name, mesh):
    """A quarter of each tetrahedron at its corners is the weight of the points; squares of level differences within
    tetrahedra, of levels with the symmetry of the crystal, add up to the same whichever operations are left."""
    symmetry, structure = SYMMETRIES[name], STRUCTURES[name]
    kpoints = mesh_kpoints(*mesh, symmetry).with_tetrahedra(structure)

    def spread(points: KPoints) -> float:
        index_rc = np.array([[1, 0, 0], [0, 1, 2], [1, 1, -1]])
        level_k = np.cos(2 * np.pi * index_rc @ symmetry.reciprocal_occ @ points.point_kc.T).sum((0, 1))
        return float(level_k[points.tetrahedra.corner_Tc].var(-1) @ points.tetrahedra.weight_T)

    for which in ("identity", "proper"):
        found = under(kpoints, some_of(symmetry, which))
        tetrahedra = found.tetrahedra
        assert tetrahedra.weight_T.sum() == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(tetrahedra.weight_of_points(len(found.point_kc)), found.weight_k, atol=1e-12)
        assert spread(found) == pytest.approx(spread(kpoints), rel=1e-10)
        assert spread(found) > 0.1


def test_tetrahedra_of_a_list_cannot_be_turned():
    symmetry, structure = SYMMETRIES["diamond"], STRUCTURES["diamond"]
    kpoints = mesh_kpoints((4, 4, 4), (0, 0, 0), False, symmetry).with_tetrahedra(structure)
    listed = explicit(kpoints.point_kc, kpoints.weight_k, symmetry)
    object.__setattr__(listed, "tetrahedra", kpoints.tetrahedra)
    with pytest.raises(InputError, match="nobody knows where they lie"):
        under(listed, some_of(symmetry, "identity"))
