"""A list of k-points that is the irreducible part of a mesh, told by its stars.

The images of all points of the list under the operations of the crystal (and time reversal) are a mesh where their
differences form a group modulo reciprocal lattice vectors, and where each image has the same share of the weights.
Hybrids need the mesh: it says in which crystal orbitals are periodic, and so what stands for exchange at zero wave
vector.
"""

from dataclasses import dataclass, replace

import numpy as np

from eigenwerk.dft.crystal.kpoints import MOST_POINTS, KPoints

NEAR = 1e-4
"""Coordinates written by hand may miss those of their mesh by this much (fractional)."""

SAME_SHARE = 1e-3
"""Weights written by hand may miss those of their stars by this share."""

MOST_PARTS = 120
"""Points of a mesh along an axis."""


@dataclass(frozen=True, eq=False)
class _Images:
    """place_xc: integers, in parts_c of reciprocal lattice vectors from the first point; of which point of the list,
    by which operation, and whether reversed; (x,)."""

    place_xc: np.ndarray
    point_x: np.ndarray
    operation_x: np.ndarray
    reversed_x: np.ndarray


def as_mesh(kpoints: KPoints) -> KPoints:
    """The same points with what is known of their mesh, on which they are put to the last digit; a mesh, and a list
    that is none, as it is.

    `mesh` and `shift` stay those of a list.
    """
    if kpoints.irreducible_of_full is not None or not kpoints.weight_k.all():
        return kpoints
    first_c = _snapped(kpoints.point_kc[0])
    found = _images(kpoints, first_c)
    if found is None:
        return kpoints
    images, parts_c = found
    full_fc, full_x = np.unique(images.place_xc, axis=0, return_inverse=True)
    steps_cc = _steps(full_fc, parts_c)
    if round(float(np.prod(parts_c / np.diag(steps_cc)))) != len(full_fc):  # differences of differences lie beside
        return kpoints
    full_x = full_x.reshape(-1)
    weight_k = _weights(kpoints.weight_k, images.point_x, full_x, len(full_fc))
    if weight_k is None:
        return kpoints
    # the identity comes first, so that a point of the list is made of itself
    maker_f = np.unique(full_x, return_index=True)[1]
    own_k = images.place_xc[images.operation_x * 2 + images.reversed_x == 0]
    exact_kc = first_c + own_k / parts_c
    exact_kc += np.rint(kpoints.point_kc - exact_kc)
    return replace(
        kpoints,
        point_kc=exact_kc,
        weight_k=weight_k,
        full_count=len(full_fc),
        irreducible_of_full=images.point_x[maker_f],
        operation_of_full=images.operation_x[maker_f],
        reversed_of_full=images.reversed_x[maker_f],
        cells_cc=np.rint(np.linalg.inv(steps_cc / parts_c)).astype(np.int64),
    )


def _snapped(point_c: np.ndarray) -> np.ndarray:
    """A point on the nearest fractions with a small denominator, if there are any."""
    found = []
    for value in point_c:
        parts = _parts(np.array([value]))
        found.append(value if parts is None else round(value * parts) / parts)
    return np.array(found)


def _parts(value_x: np.ndarray) -> int | None:
    """The smallest number of parts of which all values are multiples; None if there is none."""
    for parts in range(1, 2 * MOST_PARTS + 1):
        if (np.abs(value_x - np.rint(value_x * parts) / parts) < NEAR).all():
            return parts
    return None


def _images(kpoints: KPoints, first_c: np.ndarray) -> tuple[_Images, np.ndarray] | None:
    """All images of all points, those by the identity first, and parts of each axis; None if they are on no grid."""
    symmetry, count = kpoints.symmetry, len(kpoints.point_kc)
    signs = (1, -1) if symmetry.time_reversal else (1,)
    ways = [(o, sign) for o in range(symmetry.order) for sign in signs]
    if len(ways) * count > MOST_POINTS:
        return None
    image_wkc = np.stack([sign * (kpoints.point_kc @ symmetry.reciprocal_occ[o].T) for o, sign in ways])
    offset_xc = (image_wkc - first_c).reshape(-1, 3)
    parts = [_parts(offset_xc[:, c]) for c in range(3)]
    if any(one is None or one > MOST_PARTS for one in parts):
        return None
    parts_c = np.array(parts, dtype=np.int64)
    place_xc = np.rint(offset_xc * parts_c).astype(np.int64) % parts_c
    operation_w, sign_w = np.array(ways).T
    return _Images(
        place_xc, np.tile(np.arange(count), len(ways)), np.repeat(operation_w, count), np.repeat(sign_w < 0, count)
    ), parts_c


def _steps(full_fc: np.ndarray, parts_c: np.ndarray) -> np.ndarray:
    """Rows that generate all places and whole reciprocal lattice vectors, an upper triangle; (3, 3) integers."""
    rows, steps = np.concatenate([full_fc, np.diag(parts_c)]).tolist(), []
    for c in range(3):
        pivot, rest = [0, 0, 0], set()
        for row in rows:
            while row[c]:  # Euclid
                times = pivot[c] // row[c]
                pivot, row = row, [a - times * b for a, b in zip(pivot, row, strict=True)]
            behind = zip(row[c + 1 :], parts_c[c + 1 :].tolist(), strict=True)
            rest.add((*row[: c + 1], *(x % part for x, part in behind)))
        steps.append([x if pivot[c] > 0 else -x for x in pivot])
        rows = [list(row) for row in rest] + np.diag(parts_c)[c + 1 :].tolist()
    steps_cc = np.array(steps, dtype=np.int64)
    for c in (1, 2):
        steps_cc[:c] -= steps_cc[:c, c : c + 1] // steps_cc[c, c] * steps_cc[c]
    return steps_cc


def _weights(weight_k: np.ndarray, point_x: np.ndarray, full_x: np.ndarray, count: int) -> np.ndarray | None:
    """Weights of the points of the list as those of a mesh; None if they are not."""
    star = {(int(k), int(f)) for k, f in zip(point_x, full_x, strict=True)}
    star_k, share_f = np.zeros(len(weight_k)), np.zeros(count)
    for k, _ in star:
        star_k[k] += 1
    for k, f in star:
        share_f[f] += weight_k[k] / star_k[k]
    if np.abs(share_f * count - 1).max() > SAME_SHARE:
        return None
    # of points that share a star each keeps its part of it
    exact_k = np.zeros(len(weight_k))
    for k, f in star:
        exact_k[k] += weight_k[k] / star_k[k] / (share_f[f] * count)
    return exact_k / exact_k.sum()

