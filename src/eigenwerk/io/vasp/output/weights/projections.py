"""How projections on atoms are named in files, by LORBIT (no torch here)."""

import numpy as np

BY_L = (0, 5, 10)
"""LORBIT whose files have columns for l; the others have them for l and m."""

WITH_PHASES = (2, 12, 13, 14)
"""LORBIT whose PROCAR has phases."""

L_COLUMNS = ("s", "p", "d", "f")
LM_COLUMNS = (
    "s", "py", "pz", "px", "dxy", "dyz", "dz2", "dxz", "x2-y2", "fy3x2", "fxyz", "fyz2", "fz3", "fxz2", "fzx2", "fx3",
)  # fmt: skip
"""Real spherical harmonics in the order of VASP, m from -l to l."""


D, F = 3, 4
"""Numbers of l in the columns of VASP: up to d, and up to f where a data set has projectors of f."""


def columns(lorbit: int, kinds: int = F) -> tuple[str, ...]:
    """Names of the columns of one atom; kinds: numbers of l, D or F."""
    return L_COLUMNS[:kinds] if lorbit in BY_L else LM_COLUMNS[: kinds**2]


def by_l(value_xL: np.ndarray) -> np.ndarray:
    """Sums over m; (..., L) -> (..., l)."""
    first_l = [l * l for l in range(round(value_xL.shape[-1] ** 0.5))]
    return np.add.reduceat(value_xL, first_l, axis=-1)
