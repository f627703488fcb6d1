"""Points of a whole mesh, made of the irreducible ones by operations and time reversal."""

from dataclasses import dataclass

import numpy as np

from eigenwerk.dft.crystal.kpoints import KPoints

SAME_POINT = 10**7
"""Coordinates of k-points that agree to as many parts are one."""


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


def mesh_points(kpoints: KPoints) -> tuple[MeshPoint, ...]:
    """All points of a mesh, each as its operation makes it (not wrapped); of a list, the stars of its points.

    Points of a list share their weights with their stars, as their density does.
    """
    if kpoints.irreducible_of_full is None:
        return tuple(point for k in range(len(kpoints.point_kc)) for point in _star(kpoints, k))
    count = len(kpoints.irreducible_of_full)
    operation_k = np.zeros(count, int) if kpoints.operation_of_full is None else kpoints.operation_of_full
    reversed_k = np.zeros(count, bool) if kpoints.reversed_of_full is None else kpoints.reversed_of_full
    made_of = zip(kpoints.irreducible_of_full, operation_k, reversed_k, strict=True)
    return tuple(_made(kpoints, int(k), int(o), bool(reverses), 1 / count) for k, o, reverses in made_of)


def _made(kpoints: KPoints, k: int, o: int, reverses: bool, weight: float) -> MeshPoint:
    point_c = kpoints.symmetry.reciprocal_occ[o] @ kpoints.point_kc[k]
    flips = bool(kpoints.symmetry.spin_flip_o[o])
    return MeshPoint(-point_c if reverses else point_c, weight, k, o, reverses, flips)


def _star(kpoints: KPoints, k: int) -> list[MeshPoint]:
    """The different images of a point of a list; none without weight."""
    if kpoints.weight_k[k] == 0:
        return []
    symmetry, found = kpoints.symmetry, dict[tuple[int, ...], tuple[int, bool]]()
    for reverses in (False, True) if symmetry.time_reversal else (False,):
        for o, matrix_cc in enumerate(symmetry.reciprocal_occ):
            image_c = (-1 if reverses else 1) * (matrix_cc @ kpoints.point_kc[k])
            key = tuple(int(x) % SAME_POINT for x in np.rint(image_c * SAME_POINT))
            found.setdefault(key, (o, reverses))
    return [_made(kpoints, k, *way, float(kpoints.weight_k[k]) / len(found)) for way in found.values()]
