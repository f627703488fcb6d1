"""Stars of k-points: all that the operations of a crystal make of some, and what is left of them when some are lost.

A density that is averaged over a group G is that of the stars of the k-points under G, in which each point shares its
weight w_k with its star, n = Σ_k w_k / |G k| Σ_{q in G k} n_q.  A displaced crystal has the operations of a subgroup
U only.  For its energy to be the same function of the places of the atoms it needs all points of the stars, of which U
makes one again where it can: their own mesh or list alone would have other energies, and forces where there are none.
Tetrahedra turn with the points.  Equations: docs/equations/symmetry.md.
"""

from dataclasses import dataclass, replace

import numpy as np

from eigenwerk.dft.crystal.kpoints import NO_SHIFT, KPoints, Orbits, orbits_of, star_matrices, wrapped
from eigenwerk.dft.crystal.lattice_points import integer_points
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.crystal.tetrahedra import Tetrahedra, tetrahedra_of_mesh
from eigenwerk.errors import InputError


@dataclass(frozen=True, eq=False)
class Star:
    """The different images of a point, which itself comes first, as operations make them (not wrapped); point_xc, the
    same as integers, and the operation of each and whether k -> -k follows."""

    point_xc: np.ndarray
    integer_xc: np.ndarray
    operation_x: np.ndarray
    reversed_x: np.ndarray


def stars_of(point_kc: np.ndarray, symmetry: Symmetry) -> list[Star]:
    """The star of each point."""
    return _stars(point_kc, *integer_points(point_kc), symmetry)


def _stars(point_kc: np.ndarray, integer_kc: np.ndarray, denominator: int, symmetry: Symmetry) -> list[Star]:
    matrix_xcc, operation_x, reversed_x = star_matrices(symmetry)
    found = []
    for point_c, integer_c in zip(point_kc, integer_kc, strict=True):
        image_xc = (matrix_xcc @ integer_c) % denominator
        x = np.sort(np.unique(image_xc, axis=0, return_index=True)[1])
        found.append(Star(matrix_xcc[x] @ point_c, image_xc[x], operation_x[x], reversed_x[x]))
    return found


@dataclass(frozen=True, eq=False)
class _Points:
    """Different points as fractions, integers over a denominator, and their weights."""

    point_uc: np.ndarray
    integer_uc: np.ndarray
    denominator: int
    weight_u: np.ndarray


def under(kpoints: KPoints, symmetry: Symmetry) -> KPoints:
    """The stars of k-points under their own operations as far as fewer operations leave them different.

    symmetry: a subgroup.  A mesh with the symmetry of the crystal stays a mesh, all else becomes a list.  Raises
    InputError for tetrahedra of a list, of which nobody knows where in the stars their corners lie.
    """
    is_mesh = kpoints.irreducible_of_full is not None and kpoints.has_crystal_symmetry
    points = _all_of_mesh(kpoints) if is_mesh else _all_of_stars(kpoints)
    parted = orbits_of(points.integer_uc, points.denominator, symmetry)
    made = replace(
        kpoints, point_kc=points.point_uc[parted.first], weight_k=np.bincount(parted.orbit_k, points.weight_u),
        symmetry=symmetry, tetrahedra=None, label_k=(), line_k=None,
    )  # fmt: skip
    if is_mesh:
        made = replace(
            made, irreducible_of_full=parted.orbit_k, operation_of_full=parted.operation_k,
            reversed_of_full=parted.reversed_k, kept_o=np.ones(symmetry.order, dtype=bool),
        )  # fmt: skip
    else:
        made = replace(
            made, mesh=None, shift=NO_SHIFT, cells_cc=None, full_count=len(points.point_uc), irreducible_of_full=None,
            operation_of_full=None, reversed_of_full=None, kept_o=None,
            source=f"{kpoints.source} turned by all operations of the crystal",
        )  # fmt: skip
    if kpoints.tetrahedra is None:
        return made
    return replace(made, tetrahedra=_turned_tetrahedra(kpoints, points, parted, symmetry))


def _all_of_mesh(kpoints: KPoints) -> _Points:
    """Those of a mesh in its order."""
    assert kpoints.irreducible_of_full is not None and kpoints.operation_of_full is not None
    assert kpoints.reversed_of_full is not None
    integer_kc, denominator = integer_points(kpoints.point_kc)
    matrix_kcc = kpoints.symmetry.reciprocal_occ[kpoints.operation_of_full]
    made_kc = np.einsum("kcd,kd->kc", matrix_kcc, integer_kc[kpoints.irreducible_of_full])
    made_kc = np.where(kpoints.reversed_of_full[:, None], -made_kc, made_kc) % denominator
    count = kpoints.full_count
    return _Points(kpoints.full_kc, made_kc, denominator, np.full(count, 1 / count))


def _all_of_stars(kpoints: KPoints) -> _Points:
    """Those of the stars, of which several may share some."""
    weighted = kpoints.weight_k > 0
    point_kc, (integer_kc, denominator) = kpoints.point_kc[weighted], integer_points(kpoints.point_kc[weighted])
    stars = _stars(point_kc, integer_kc, denominator, kpoints.symmetry)
    length_k = np.array([len(star.point_xc) for star in stars])
    weight_x = np.repeat(kpoints.weight_k[weighted] / length_k, length_k)
    integer_xc = np.concatenate([star.integer_xc for star in stars])
    _, first, place_x = np.unique(integer_xc, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    point_uc = np.concatenate([star.point_xc for star in stars])[first[order]]
    weight_u = np.bincount(place_x.reshape(-1), weight_x)[order]
    return _Points(wrapped(point_uc), integer_xc[first[order]], denominator, weight_u)


def _turned_tetrahedra(kpoints: KPoints, points: _Points, parted: Orbits, symmetry: Symmetry) -> Tetrahedra:
    """The tetrahedra of a mesh as all operations of the crystal turn them, on the points that are left of the stars.

    points: all of the stars; parted: which are left.
    """
    if kpoints.cells_cc is None or kpoints.irreducible_of_full is None:
        raise InputError(
            f"the {kpoints.source} has tetrahedra of its own, and nobody knows where they lie in a crystal with fewer "
            "operations. Give a mesh, or set ISMEAR = 0."
        )
    reciprocal_cv = np.linalg.inv(symmetry.lattice_cv).T
    plain = tetrahedra_of_mesh(kpoints.cells_cc, reciprocal_cv, np.arange(kpoints.full_count))
    whole = _all_of_mesh(kpoints)
    matrix_xcc, _, reversed_x = star_matrices(kpoints.symmetry)
    flip_u = symmetry.spin_flip_o[parted.operation_k]
    corner_u = 2 * parted.orbit_k + flip_u
    place_of = {tuple(integer_c): u for u, integer_c in enumerate(points.integer_uc.tolist())}
    turned = []
    for matrix_cc in matrix_xcc[~reversed_x]:  # k -> -k leaves energies
        image_kc = (whole.integer_uc @ matrix_cc.T) % whole.denominator
        place_k = np.array([place_of[tuple(image_c)] for image_c in image_kc.tolist()])
        turned.append(np.sort(corner_u[place_k][plain.corner_Tc], axis=1))
    corner_Tc, kind_T = np.unique(np.concatenate(turned), axis=0, return_inverse=True)
    weight_T = np.bincount(kind_T.reshape(-1), np.tile(plain.weight_T, len(turned))) / len(turned)
    return Tetrahedra(corner_Tc // 2, weight_T, corner_Tc % 2 == 1 if flip_u.any() else None)
