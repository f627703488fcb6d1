"""How many plane waves a sphere holds, without listing them."""

from dataclasses import dataclass
from math import prod

import numpy as np

from eigenwerk.dft.basis.grids import sphere, told_apart
from eigenwerk.dft.crystal.structure import Structure

COUNTING_BUDGET = 3_000_000
"""Columns of plane waves looked at before counting gives way to the volume formula: up to a second."""


@dataclass(frozen=True)
class PlaneWaveCounts:
    """Plane waves of the k-points: fewest, most, and their sum; exact, or from volumes beyond the budget."""

    fewest: int
    most: int
    total: int
    exact: bool


def count_plane_waves(structure: Structure, radius: float, point_kc: np.ndarray) -> PlaneWaveCounts:
    """Plane waves with |k + G| <= radius (1/bohr) for each k-point, by counting.

    Points beyond the budget are taken to hold the volume formula's number, N = Ω |G|³ / 6π².
    """
    columns = np.prod([2 * reach + 3 for reach in _reach(structure, radius)[:2]])
    counted = min(len(point_kc), max(1, int(COUNTING_BUDGET / columns)))
    if columns > COUNTING_BUDGET:
        estimate = round(sphere_volume_count(structure, radius))
        return PlaneWaveCounts(estimate, estimate, estimate * len(point_kc), False)
    count_k = [points_in_sphere(structure, radius, point_c) for point_c in point_kc[:counted]]
    missing = len(point_kc) - counted
    total = sum(count_k) + missing * round(sphere_volume_count(structure, radius))
    return PlaneWaveCounts(min(count_k), max(count_k), total, missing == 0)


def sphere_volume_count(structure: Structure, radius: float) -> float:
    """Volume of the sphere over that of the reciprocal cell, Ω |G|³ / 6π²."""
    return structure.volume * radius**3 / (6 * np.pi**2)


def points_in_sphere(structure: Structure, radius: float, centre_c: np.ndarray) -> int:
    """Number of integer G with |centre + G| <= radius."""
    _, low_x, high_x = _columns(structure, radius, centre_c)
    return int((high_x - low_x + 1).clip(min=0).sum())


def count_density_waves(structure: Structure, radius: float, size_c: tuple[int, int, int]) -> tuple[int, int]:
    """How many waves the density has on a grid, one of each pair ±g with |g| <= radius (1/bohr), and their columns.

    Beyond the budget those of the sphere, as many as the grid has points at most.
    """
    estimate = round(min(sphere_volume_count(structure, radius), float(prod(size_c))) / 2)
    if estimate > COUNTING_BUDGET:
        return estimate, columns_in_half_sphere(structure, radius)
    index_gc = sphere(structure, radius, np.zeros(3), half=True)
    index_gc = index_gc[told_apart(structure, index_gc, size_c)]
    return len(index_gc), len(np.unique(index_gc[:, :2], axis=0))


def columns_in_half_sphere(structure: Structure, radius: float) -> int:
    """Pairs (G_1, G_2) of the plane waves of a half sphere (`grids.sphere`) about zero.

    Beyond the budget: the area of a circle over that of the lattice of columns, π |G|² |b_3| Ω / (2π)³.
    """
    if np.prod([2 * reach + 3 for reach in _reach(structure, radius)[:2]]) > COUNTING_BUDGET:
        spacing = np.linalg.norm(structure.reciprocal_cv[2])
        return round(np.pi * radius**2 * spacing * structure.volume / (2 * np.pi) ** 3)
    pair_xc, low_x, high_x = _columns(structure, radius, np.zeros(3))
    # of those that reach only G_3 = 0, one of each pair is kept
    first_x, second_x = pair_xc.T
    flat_x = (second_x > 0) | ((second_x == 0) & (first_x >= 0))
    return int(((high_x >= np.maximum(low_x, 1)) | ((low_x <= 0) & (high_x >= 0) & flat_x)).sum())


def _columns(structure: Structure, radius: float, centre_c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(G_1, G_2) of the columns near a sphere, lowest and highest G_3 with |centre + G| <= radius; low > high: none.

    For fixed G_1, G_2 the condition is quadratic in t = centre_3 + G_3:  |p + t b_3|² <= R²; so each column of plane
    waves is an interval, and only its ends are tested.
    """
    reciprocal_cv = structure.reciprocal_cv
    reach = _reach(structure, radius)
    axis_c = [np.arange(-reach[c] - 1, reach[c] + 2) - np.round(centre_c[c]) for c in (0, 1)]
    pair_xc = np.stack(np.meshgrid(*axis_c, indexing="ij"), axis=-1).reshape(-1, 2)
    plane_xv = (pair_xc + centre_c[:2]) @ reciprocal_cv[:2]
    limit = radius**2 * (1 + 1e-12)
    square = reciprocal_cv[2] @ reciprocal_cv[2]
    middle_x = -(plane_xv @ reciprocal_cv[2]) / square
    half_x = (limit - (plane_xv**2).sum(axis=1)) / square + middle_x**2
    column = half_x > -1e-9  # rounding must not lose a column that only touches the sphere
    plane_xv, middle_x, half_x = plane_xv[column], middle_x[column], np.sqrt(half_x[column].clip(min=0.0))
    low_x = np.ceil(middle_x - half_x - centre_c[2] - 1e-6)
    high_x = np.floor(middle_x + half_x - centre_c[2] + 1e-6)

    def inside(index_x: np.ndarray) -> np.ndarray:
        vector_xv = plane_xv + (index_x + centre_c[2])[:, None] * reciprocal_cv[2]
        return (vector_xv**2).sum(axis=1) <= limit

    low_x = low_x + ~inside(low_x)
    return pair_xc[column], low_x, np.where(high_x >= low_x, high_x - ~inside(high_x), high_x)


def _reach(structure: Structure, radius: float) -> list[int]:
    """Largest integer coordinates within a radius of the origin: floor(|G| |a_c| / 2π)."""
    length_c = np.linalg.norm(structure.lattice_cv, axis=1)
    return [int(radius * length / (2 * np.pi) + 1e-9) for length in length_c]
