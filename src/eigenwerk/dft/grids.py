"""FFT grids and spheres of plane waves, as integers (numpy only: `check` uses it without torch).

The wave grid carries orbitals and the pseudo density, the density grid (twice as fine) the
exchange-correlation energy and the electrostatics of the compensation charges.
"""

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from eigenwerk.dft.structure import Structure

PRECISION_FACTOR = {"Normal": 1.5, "Accurate": 2.0}
"""Radius of the density sphere over that of the orbitals, by PREC."""

ELECTROSTATIC_FACTOR = sqrt(2.0)
"""Radius of the electrostatic sphere over twice the radius of the orbitals: |g|²/2 <= 8 ENCUT."""


@dataclass(frozen=True)
class GridSizes:
    """Grid points along the three lattice axes: wave grid and density grid."""

    wave: tuple[int, int, int]
    fine: tuple[int, int, int]


def sphere_radius(cutoff: float) -> float:
    """G_cut = sqrt(2 E_cut), bohr⁻¹."""
    return sqrt(2 * cutoff)


def choose_grids(
    structure: Structure,
    cutoff: float,
    precision: str,
    multiples: tuple[int, int, int] = (1, 1, 1),
    equal_axes: tuple[tuple[int, ...], ...] = (),
) -> GridSizes:
    """Smallest FFT-friendly grids that hold the density sphere without wrap-around of its surface.

    An axis of length a needs 2 floor(G a / 2π) + 1 points for all |g| <= G, G = factor · G_cut.
    `multiples`: each size is divisible by it (glide and screw translations map grid points on grid
    points); `equal_axes`: axes that symmetry exchanges get the same size.
    """
    radius = PRECISION_FACTOR[precision] * sphere_radius(cutoff)
    length_c = np.linalg.norm(structure.lattice_cv, axis=1)
    # the sphere's extent along axis c in integer coordinates is |G| |a_c| / 2π
    needed = [2 * int(radius * length / (2 * np.pi) + 1e-9) + 1 for length in length_c]
    size = [_friendly(n, m) for n, m in zip(needed, multiples, strict=True)]
    for group in equal_axes:
        common = int(np.lcm.reduce([multiples[c] for c in group]))
        largest = _friendly(max(needed[c] for c in group), common)
        for c in group:
            size[c] = largest
    wave = (size[0], size[1], size[2])
    return GridSizes(wave=wave, fine=(2 * wave[0], 2 * wave[1], 2 * wave[2]))


def _friendly(minimum: int, multiple: int) -> int:
    """Smallest even multiple of `multiple` >= minimum whose prime factors are 2, 3, 5 and 7."""
    step = int(np.lcm(2, multiple))
    size = step * ceil(minimum / step)
    while not _only_small_factors(size):
        size += step
    return size


def _only_small_factors(size: int) -> bool:
    for prime in (2, 3, 5, 7):
        while size % prime == 0:
            size //= prime
    return size == 1


def sphere(structure: Structure, radius: float, centre_c: np.ndarray, half: bool = False) -> np.ndarray:
    """Integer G with |centre + G| <= radius, sorted by length; shape (G, 3).

    half: only one of each pair ±G (centre must be zero): first G = 0, then those whose last nonzero
    index, looked at from the third axis, is positive.
    """
    length_c = np.linalg.norm(structure.lattice_cv, axis=1)
    reach_c = (radius * length_c / (2 * np.pi) + np.abs(centre_c) + 1).astype(int)
    axis_c = [np.arange(-n, n + 1) for n in reach_c]
    if half:
        axis_c[2] = np.arange(0, reach_c[2] + 1)
    index_Gc = np.stack(np.meshgrid(*axis_c, indexing="ij"), axis=-1).reshape(-1, 3)
    if half:
        i, j, k = index_Gc.T
        index_Gc = index_Gc[(k > 0) | ((k == 0) & ((j > 0) | ((j == 0) & (i >= 0))))]
    norm2_G = (((index_Gc + centre_c) @ structure.reciprocal_cv) ** 2).sum(axis=1)
    inside = norm2_G <= radius**2 * (1 + 1e-12)
    index_Gc, norm2_G = index_Gc[inside], norm2_G[inside]
    # rounding makes equal lengths differ in the last bits: sort by rounded length, then by index
    order = np.lexsort((*index_Gc.T[::-1], np.round(norm2_G, 9)))
    return index_Gc[order]
