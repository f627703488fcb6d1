"""Lattice vectors as short as possible, and how far planes of lattice points are apart."""

import numpy as np

_ROUNDS = 1000


def heights(lattice_cv: np.ndarray) -> np.ndarray:
    """Distances of the planes of lattice points that two vectors span, by the third; (3,), in the same units."""
    return np.asarray(1 / np.linalg.norm(np.linalg.inv(lattice_cv), axis=0))


def reduced(lattice_cv: np.ndarray) -> np.ndarray:
    """Minkowski-reduced vectors of the same lattice, (3, 3), rows by growing length, in the same units.

    The second vector is made shorter by the first, the third by both, until nothing changes.
    Source: I. Semaev, Cryptography and Lattices (LNCS 2146), 181 (2001).  lattice_cv: independent rows.
    """
    lattice_cv = np.array(lattice_cv, dtype=float)
    neighbours = np.array(list(np.ndindex(3, 3))) - 1
    for _ in range(_ROUNDS):
        before = np.linalg.norm(lattice_cv, axis=1)
        lattice_cv = lattice_cv[np.argsort(before, kind="stable")]
        first, second, third = lattice_cv
        second = second - np.rint(first @ second / (first @ first)) * first
        plane = np.stack([first, second])
        middle = np.rint(np.linalg.lstsq(plane.T, third, rcond=None)[0])
        candidates = third - (middle + neighbours) @ plane
        third = candidates[np.argmin(np.linalg.norm(candidates, axis=1))]
        lattice_cv = np.stack([first, second, third])
        if np.linalg.norm(lattice_cv, axis=1).sum() >= before.sum() * (1 - 1e-12):
            break
    return lattice_cv[np.argsort(np.linalg.norm(lattice_cv, axis=1), kind="stable")]
