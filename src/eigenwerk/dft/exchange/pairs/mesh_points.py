"""Points of a whole mesh, made of the irreducible ones by operations and time reversal.

Some meshes have fewer operations than their crystal.  An interaction that is known at all wave vectors then acts
between all points of the stars under all operations (`in_stars`), as it does for lists: levels that are alike in the
crystal stay so, and a mesh is its list of irreducible points.  One that is made for the differences of a mesh, 1/r with
a probe charge, or a part of the q-points, acts between points of the mesh as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.stars import stars_of


@dataclass(frozen=True)
class MeshPoint:
    """A point of the whole mesh: point_c fractional; weight, of all 1 in sum; the irreducible point and the operation
    that it is made of."""

    point_c: np.ndarray
    weight: float
    irreducible: int
    operation: int
    reverses: bool
    flips: bool


def in_stars(kpoints: KPoints, any_wave: bool) -> bool:
    """Whether exchange is that of the stars of k-points; any_wave: whether the interaction is known at all of them."""
    return kpoints.irreducible_of_full is None or (any_wave and not kpoints.has_crystal_symmetry)


def mesh_points(kpoints: KPoints, any_wave: bool = True) -> tuple[MeshPoint, ...]:
    """All points that orbitals are exchanged between, each as its operation makes it (not wrapped): of a mesh, or of
    the stars of its points, as `in_stars` says.

    Points share their weights with their stars, as their density does.
    """
    if kpoints.irreducible_of_full is None or in_stars(kpoints, any_wave):
        return tuple(_of_stars(kpoints))
    count = len(kpoints.irreducible_of_full)
    operation_k = np.zeros(count, int) if kpoints.operation_of_full is None else kpoints.operation_of_full
    reversed_k = np.zeros(count, bool) if kpoints.reversed_of_full is None else kpoints.reversed_of_full
    made_of = zip(kpoints.irreducible_of_full, operation_k, reversed_k, strict=True)
    matrix_occ = kpoints.symmetry.reciprocal_occ
    return tuple(_made(kpoints, matrix_occ, int(k), int(o), bool(reverses), 1 / count) for k, o, reverses in made_of)


def _made(
    kpoints: KPoints, matrix_occ: np.ndarray, k: int, o: int, reverses: bool, weight: float
) -> MeshPoint:
    point_c = matrix_occ[o] @ kpoints.point_kc[k]
    flips = bool(kpoints.symmetry.spin_flip_o[o])
    return MeshPoint(-point_c if reverses else point_c, weight, k, o, reverses, flips)


def _of_stars(kpoints: KPoints) -> Iterator[MeshPoint]:
    """The different images of all points with weight."""
    matrix_occ = kpoints.symmetry.reciprocal_occ
    for k, star in enumerate(stars_of(kpoints.point_kc, kpoints.symmetry)):
        weight = float(kpoints.weight_k[k]) / len(star.point_xc)
        for o, reverses in zip(star.operation_x, star.reversed_x, strict=True) if weight else ():
            yield _made(kpoints, matrix_occ, k, int(o), bool(reverses), weight)
