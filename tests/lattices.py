"""Lattices and crystals of tests of symmetry and k-points; lengths in bohr."""

import numpy as np

from eigenwerk.dft.crystal.structure import Structure

FCC = 0.5 * np.array([[0.0, 1, 1], [1, 0, 1], [1, 1, 0]])
HEX = np.array([[1.0, 0, 0], [-0.5, np.sqrt(0.75), 0], [0, 0, 1.0]])
RUTILE = [
    [0, 0, 0], [0.5, 0.5, 0.5], [0.3, 0.3, 0], [-0.3, -0.3, 0], [0.8, 0.2, 0.5], [0.2, 0.8, 0.5],
]  # fmt: skip
MAGNESIUM = Structure(HEX * [6.06, 6.06, 9.84], ("Mg", "Mg"), [[1 / 3, 2 / 3, 0.25], [2 / 3, 1 / 3, 0.75]])
ANTIFERROMAGNET = Structure(
    np.diag([9.2, 9.2, 6.2]), ("Mn", "Mn", "F", "F", "F", "F"), RUTILE, [5, -5, 0, 0, 0, 0]
)  # fmt: skip


def wrap(values: np.ndarray) -> np.ndarray:
    """To the nearest of equivalent reduced coordinates, -1/2 to 1/2."""
    return values - np.round(values)
