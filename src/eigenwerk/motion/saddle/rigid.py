"""Motions of all atoms together, which change no energy and which the springs of a band would drive for ever.

A crystal without fixed atoms may be shifted; a molecule with vacuum on all sides may be turned, too.  The springs see
both as length of the path: images turn, the path grows longer, and its forces never come to rest.
"""

import numpy as np

VACUUM = 3.0
"""Å without atoms along each vector of the cell; a molecule with so much around it may be turned."""

DEPENDENT = 1e-6
"""Share of the largest below which a motion is none of its own: the turning of a line about itself."""


def turns_freely(lattice_cv: np.ndarray, scaled_xac: np.ndarray) -> bool:
    """Whether there is vacuum around the atoms of all images, on all sides."""
    height_c = 1 / np.linalg.norm(np.linalg.inv(lattice_cv), axis=0)
    place_nc = np.sort((scaled_xac % 1.0).reshape(-1, 3), axis=0)
    gap_nc = np.diff(np.concatenate([place_nc, place_nc[:1] + 1.0]), axis=0)
    return bool(np.all(gap_nc.max(axis=0) * height_c >= VACUUM))


def without_rigid_motions(vector_av: np.ndarray, position_av: np.ndarray, turns: bool) -> np.ndarray:
    """Of forces or steps, what is neither a shift of all atoms nor, where it turns freely, a turn; (a, 3)."""
    shifts = [np.tile(axis, (len(position_av), 1)) for axis in np.eye(3)]
    around_av = position_av - position_av.mean(axis=0)
    rolls = [np.cross(axis, around_av) for axis in np.eye(3)] if turns else []
    motion_xz = np.array([one.ravel() for one in (*shifts, *rolls)])
    _, size_x, unit_xz = np.linalg.svd(motion_xz, full_matrices=False)
    unit_xz = unit_xz[size_x > DEPENDENT * size_x[0]]
    left_z = vector_av.ravel() - unit_xz.T @ (unit_xz @ vector_av.ravel())
    return left_z.reshape(-1, 3)
