"""Radial grids of PAW data sets: the formulas of their points, and functions brought from one grid to another."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RadialGrid:
    """Points r_i of a radial grid and the derivatives dr/di, i = istart...iend.

    r_g, dr_g: (g,) in bohr, increasing; `eq` is the formula of the file, e.g. "r=a*i/(n-i)".
    r_g[0] is 0 for most formulas, but positive for r=a*exp(d*i).
    """

    r_g: Array
    dr_g: Array
    eq: str


GRID_FORMULAS: dict[str, tuple[str, Callable[..., tuple[Array, Array]]]] = {
    "r=d*i": ("d", lambda i, d: (d * i, d + 0 * i)),
    "r=a*exp(d*i)": ("ad", lambda i, a, d: (a * np.exp(d * i), a * d * np.exp(d * i))),
    "r=a*(exp(d*i)-1)": ("ad", lambda i, a, d: (a * np.expm1(d * i), a * d * np.exp(d * i))),
    "r=a*i/(1-b*i)": ("ab", lambda i, a, b: (a * i / (1 - b * i), a / (1 - b * i) ** 2)),
    "r=a*i/(n-i)": ("an", lambda i, a, n: (a * i / (n - i), a * n / (n - i) ** 2)),
    "r=(i/n+a)^5/a-a^4": ("an", lambda i, a, n: ((i / n + a) ** 5 / a - a**4, 5 * (i / n + a) ** 4 / (a * n))),
}
"""Formula in a file, without blanks -> its parameters, and (i, parameters) -> (r, dr/di)."""


def regrid(value_g: Array, r_g: Array, r_x: Array) -> Array:
    """Cubic Lagrange interpolation through the four nearest points, exact at the old points, zero beyond them.

    Below the first point (grids r=a*exp(d*i)) the same cubic extrapolates.
    """
    first_x = np.clip(np.searchsorted(r_g, r_x) - 2, 0, r_g.size - 4)
    value_x = np.zeros_like(r_x)
    for node in range(4):
        weight_x = np.ones_like(r_x)
        for other in range(4):
            if other != node:
                r_other_x, r_node_x = r_g[first_x + other], r_g[first_x + node]
                weight_x *= (r_x - r_other_x) / (r_node_x - r_other_x)
        value_x += weight_x * value_g[first_x + node]
    value_x[r_x > r_g[-1]] = 0.0
    return value_x
