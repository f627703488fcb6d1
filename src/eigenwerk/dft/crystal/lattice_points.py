"""Sets of k-points as integers over a common denominator, so that symmetry acts on them exactly.

k_c = n_c / Q modulo 1.  An integer matrix M maps the set onto itself when every M n mod Q is in the set: no tolerance
is left once the integers exist.
"""

from fractions import Fraction
from math import lcm

import numpy as np

SNAP = 1e-6
"""Coordinates this close to a fraction with a small denominator are that fraction (0.333333 is 1/3)."""

LARGEST_DENOMINATOR = 2000
COARSE_DENOMINATOR = 720720 * 10**4
"""For coordinates that are no such fractions: a fine grid that holds all fractions up to 1/16 exactly."""


MOST_VALUES = 10 * LARGEST_DENOMINATOR
"""More different coordinates than this have no small common denominator, and finding that out takes minutes."""

LARGEST_TABLE = 1 << 23
"""Places of a table of points, or of values along an axis."""


def integer_points(point_kc: np.ndarray) -> tuple[np.ndarray, int]:
    """Fractional k-points as integers n_kc in 0 ... Q-1 and the common denominator Q, k = n / Q modulo 1.

    Coordinates that are not fractions within SNAP are rounded to 1/COARSE_DENOMINATOR; symmetry may then be missed
    (fewer operations, more points) but none is invented.
    """
    wrapped_kc = point_kc - np.round(point_kc)
    value_x, inverse_x = np.unique(wrapped_kc, return_inverse=True)
    if len(value_x) > MOST_VALUES:
        integer_x = np.rint(value_x * COARSE_DENOMINATOR).astype(np.int64)
        return integer_x[inverse_x].reshape(point_kc.shape) % COARSE_DENOMINATOR, COARSE_DENOMINATOR
    fractions = [_odd_fraction(float(value)) for value in value_x]
    error = max(abs(float(fraction) - value) for fraction, value in zip(fractions, value_x, strict=True))
    denominator = lcm(*(fraction.denominator for fraction in fractions))
    if error > SNAP or denominator > COARSE_DENOMINATOR:
        denominator = COARSE_DENOMINATOR
    integer_x = np.array(
        [
            round(fraction * denominator) if error <= SNAP else round(value * denominator)
            for fraction, value in zip(fractions, value_x, strict=True)
        ],
        dtype=np.int64,
    )
    return integer_x[inverse_x].reshape(point_kc.shape) % denominator, denominator


def image_indices(integer_kc: np.ndarray, denominator: int, matrix_xcc: np.ndarray) -> np.ndarray:
    """Where integer matrices take a set of distinct points: index_xk with M_x k_k = k_{index_xk}, or -1 outside.

    integer_kc: (k, 3) from `integer_points`.  matrix_xcc: (x, 3, 3) integers acting on columns.  Returns (x, k) int64.
    """
    axis_values = [np.unique(integer_kc[:, c]) for c in range(3)]
    if denominator <= LARGEST_TABLE and np.prod([len(values) for values in axis_values]) <= LARGEST_TABLE:
        return _images_by_table(integer_kc, denominator, matrix_xcc, axis_values)
    key_k = _keys(integer_kc, axis_values)
    order_k = np.argsort(key_k)
    sorted_k = key_k[order_k]
    index_xk = np.empty((len(matrix_xcc), len(integer_kc)), dtype=np.int64)
    for x, matrix_cc in enumerate(np.asarray(matrix_xcc, dtype=np.int64)):
        image_k = _keys((integer_kc @ matrix_cc.T) % denominator, axis_values)
        place_k = np.minimum(np.searchsorted(sorted_k, image_k), len(sorted_k) - 1)
        index_xk[x] = np.where(sorted_k[place_k] == image_k, order_k[place_k], -1)
    return index_xk


def _images_by_table(
    integer_kc: np.ndarray, denominator: int, matrix_xcc: np.ndarray, axis_values: list[np.ndarray]
) -> np.ndarray:
    """The same for the points of meshes, ten times faster: places along each axis, and points, are looked up."""
    tables = []
    for values in axis_values:
        table_n = np.full(denominator, -1, dtype=np.int32)
        table_n[values] = np.arange(len(values))
        tables.append(table_n)
    lengths = [len(values) for values in axis_values]
    point_n = np.full(int(np.prod(lengths)) + 1, -1, dtype=np.int64)  # the last for points beside all values
    point_n[_table_keys(integer_kc, tables, lengths)] = np.arange(len(integer_kc))
    images = ((integer_kc @ matrix_cc.T) % denominator for matrix_cc in np.asarray(matrix_xcc, dtype=np.int64))
    return np.array([point_n[_table_keys(image_kc, tables, lengths)] for image_kc in images], dtype=np.int64)


def _table_keys(integer_kc: np.ndarray, tables: list[np.ndarray], lengths: list[int]) -> np.ndarray:
    """As `_keys`; the last place of the table of points for those that occur nowhere."""
    place_kc = np.stack([table_n[integer_kc[:, c]] for c, table_n in enumerate(tables)], axis=1).astype(np.int64)
    key_k = (place_kc[:, 0] * lengths[1] + place_kc[:, 1]) * lengths[2] + place_kc[:, 2]
    return np.where((place_kc >= 0).all(axis=1), key_k, lengths[0] * lengths[1] * lengths[2])


def _odd_fraction(value: float) -> Fraction:
    """The nearest simple fraction, with f(-x) = -f(x) so that k and -k stay partners."""
    fraction = Fraction(abs(value)).limit_denominator(LARGEST_DENOMINATOR)
    return fraction if value >= 0.0 else -fraction


def _keys(integer_kc: np.ndarray, axis_values: list[np.ndarray]) -> np.ndarray:
    """One integer per point from its place among the coordinates that occur on each axis; -1 if one does not occur."""
    key_k = np.zeros(len(integer_kc), dtype=np.int64)
    known_k = np.ones(len(integer_kc), dtype=bool)
    for c, values in enumerate(axis_values):
        place_k = np.minimum(np.searchsorted(values, integer_kc[:, c]), len(values) - 1)
        known_k &= values[place_k] == integer_kc[:, c]
        key_k = key_k * len(values) + place_k
    return np.where(known_k, key_k, -1)
