"""FFT grids and spheres of plane waves, as integers (numpy only: `check` uses it without torch).

The wave grid carries orbitals and the pseudo density, the density grid (twice as fine) the
exchange-correlation energy and the electrostatics of the compensation charges.
"""

from dataclasses import dataclass
from itertools import product
from math import ceil, log, sqrt

import numpy as np

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.lattice_reduction import reduced

DENSITY_FACTOR = 2.0
"""Radius of the sphere that holds all products of orbitals over that of the orbitals."""

PRECISION_FACTOR = {"Normal": 1.75, "Accurate": DENSITY_FACTOR}
"""Radius of the sphere that the wave grid holds over that of the orbitals, by PREC.  The density has all waves of the
sphere of `DENSITY_FACTOR` that the grid tells apart (`told_apart`): the corners of the grid as well."""

LEAST_FACTOR = 1.5
"""The same for NGX, NGY, NGZ: the least that they may hold."""

TIE = 1e-4
"""Waves nearer than this share to the middle of a period of the grid do not count as told apart from their twins."""

PAIR_FACTOR = {"Low": 1.0, "Fast": 1.25, "Normal": 1.5, "Accurate": 2.0}
"""Radius of the sphere of pair densities of exact exchange over that of the orbitals, by PRECFOCK."""

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
    """Smallest FFT-friendly grids that hold the sphere of PREC without wrap-around of its surface.

    An axis of length a needs 2 floor(G a / 2π) + 1 points for all |g| <= G, G = factor · G_cut.
    `multiples`: each size is divisible by it (glide and screw translations map grid points on grid
    points); `equal_axes`: axes that symmetry exchanges get the same size.
    """
    wave = smallest_grid(structure, PRECISION_FACTOR[precision] * sphere_radius(cutoff), multiples, equal_axes)
    return GridSizes(wave=wave, fine=(2 * wave[0], 2 * wave[1], 2 * wave[2]))


def smallest_grid(
    structure: Structure,
    radius: float,
    multiples: tuple[int, int, int] = (1, 1, 1),
    equal_axes: tuple[tuple[int, ...], ...] = (),
) -> tuple[int, int, int]:
    """The smallest grid that holds a sphere of waves of this radius, bohr⁻¹, around any centre; see `choose_grids`."""
    needed = room(structure, radius)
    size = [_friendly(n, m) for n, m in zip(needed, multiples, strict=True)]
    for group in equal_axes:
        common = int(np.lcm.reduce([multiples[c] for c in group]))
        largest = _friendly(max(needed[c] for c in group), common)
        for c in group:
            size[c] = largest
    return size[0], size[1], size[2]


def room(structure: Structure, radius: float) -> list[int]:
    """Points per axis that hold all plane waves within a radius, bohr⁻¹: 2 floor(|G| |a_c| / 2π) + 1."""
    length_c = np.linalg.norm(structure.lattice_cv, axis=1)
    return [2 * int(radius * length / (2 * np.pi) + 1e-9) + 1 for length in length_c]


def fine_room(structure: Structure, cutoff: float) -> list[int]:
    """Points per axis that the electrostatic sphere of a cutoff (hartree) needs: the least of NGXF, NGYF, NGZF."""
    return room(structure, 2 * ELECTROSTATIC_FACTOR * sphere_radius(cutoff))


def told_apart(structure: Structure, index_gc: np.ndarray, size_c: tuple[int, int, int]) -> np.ndarray:
    """Which waves are the shortest of all that have their values on a grid; (g,) bool.

    Waves g and g + (N_1 m_1, N_2 m_2, N_3 m_3) are the same on its points.  Shortest is g where |g·L| < |L|²/2 for all
    periods L, and those of a reduced basis with coefficients -1, 0 and 1 suffice.  Symmetry that maps points on points
    maps these waves on each other.
    """
    period_cv = reduced(structure.reciprocal_cv * np.array(size_c)[:, None])
    coefficient_xc = np.array(list(product((-1, 0, 1), repeat=3)))[14:]  # one of each ±L
    period_xv = coefficient_xc @ period_cv
    apart_g = np.ones(len(index_gc), dtype=bool)
    for period_v in period_xv:
        along_c = structure.reciprocal_cv @ period_v
        apart_g &= np.abs(index_gc @ along_c) < (1 - TIE) / 2 * (period_v @ period_v)
    return apart_g


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
    low_c = np.array([-reach_c[0], -reach_c[1], 0 if half else -reach_c[2]])
    axis_c = [np.arange(low, reach + 1) for low, reach in zip(low_c, reach_c, strict=True)]
    shifted_cx = [axis + at for axis, at in zip(axis_c, centre_c, strict=True)]
    # Cartesian components of what each axis adds: |centre + G|² of all G without a list of all G
    part_cvx = [np.multiply.outer(b_v, x) for b_v, x in zip(structure.reciprocal_cv, shifted_cx, strict=True)]
    norm2_ijk = np.zeros([len(x) for x in axis_c])
    for first, second, third in zip(*part_cvx, strict=True):
        norm2_ijk += (first[:, None, None] + second[:, None] + third) ** 2
    inside_ijk = norm2_ijk <= radius**2 * (1 + 1e-12)
    if half:
        first, second = axis_c[0][:, None], axis_c[1]
        inside_ijk[:, :, 0] &= (second > 0) | ((second == 0) & (first >= 0))
    # rounding makes equal lengths differ in the last bits: sort by rounded length; what is equal stays sorted by index
    order = np.argsort(np.round(norm2_ijk[inside_ijk], 9), kind="stable")
    return np.asarray(np.argwhere(inside_ijk)[order] + low_c)


def wave_excess(structure: Structure, point_kc: np.ndarray, weight_k: np.ndarray, cutoff: float) -> float:
    """ln(N / N̄): by how much there are more waves for a k-point than spheres of this cutoff hold in the mean.

    N̄ = Ω (2 E_cut)^(3/2) / 6π².  In small cells N jumps when the cell or the cutoff changes a little, and energies with
    it; they are smooth functions of N.  weight_k: (k,), sum 1.
    """
    radius = sphere_radius(cutoff)
    count = sum(
        weight * len(sphere(structure, radius, point_c))
        for point_c, weight in zip(point_kc, weight_k, strict=True) if weight
    )  # fmt: skip
    return log(count / (structure.volume * radius**3 / (6 * np.pi**2)))


@dataclass(frozen=True)
class WaveLimits:
    """orbital: largest wave vector G of orbitals; alias: γ, from which on the grid mixes components; bohr⁻¹."""

    orbital: float
    alias: float


def wave_limits(structure: Structure, grids: GridSizes, cutoff: float) -> WaveLimits:
    """G = sqrt(2 E_cut) and γ = K - G, K the shortest reciprocal vector of the wave grid's own lattice."""
    multiple_xc = np.stack(np.meshgrid(*[range(-2, 3)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    vector_xv = (multiple_xc * np.array(grids.wave)) @ structure.reciprocal_cv
    shortest = np.linalg.norm(vector_xv[multiple_xc.any(axis=1)], axis=1).min()
    return WaveLimits(sqrt(2 * cutoff), float(shortest) - sqrt(2 * cutoff))
