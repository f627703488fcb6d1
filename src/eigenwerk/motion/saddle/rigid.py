"""Turns of all atoms together, which change no energy and which the springs of a band would drive for ever.

A molecule with vacuum on all sides may be turned.  The springs see that as length of the path: images turn, the path
grows longer, and its forces never come to rest.  (Shifts, of which the same holds, are left out by `Chart`.)
"""

import numpy as np

DEPENDENT = 1e-6
"""Share of the largest below which a turn is none of its own: that of a line about itself."""


def without_turns(vector_av: np.ndarray, position_av: np.ndarray) -> np.ndarray:
    """Of forces or steps, what is no turn of all atoms about their centre; (a, 3)."""
    around_av = position_av - position_av.mean(axis=0)
    motion_xz = np.array([np.cross(axis, around_av).ravel() for axis in np.eye(3)])
    _, size_x, unit_xz = np.linalg.svd(motion_xz, full_matrices=False)
    unit_xz = unit_xz[size_x > DEPENDENT * size_x[0]]
    left_z = vector_av.ravel() - unit_xz.T @ (unit_xz @ vector_av.ravel())
    return left_z.reshape(-1, 3)
