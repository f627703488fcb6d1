"""Pairs of atoms that are near each other, images in neighbouring cells among them."""

from dataclasses import dataclass

import numpy as np

from eigenwerk.motion.relaxation.radii import COVALENT_RADII, OTHER_RADIUS

MOST_IMAGES = 30
"""In one direction; a cell that is thinner has collapsed."""


def covalent_radii(symbols: tuple[str, ...]) -> np.ndarray:
    """Å, of each atom."""
    return np.array([COVALENT_RADII.get(symbol, OTHER_RADIUS) for symbol in symbols])


@dataclass(frozen=True, eq=False)
class Pairs:
    """Both directions of every pair: first, second: atoms; image_xc: the cell of the second; vector_xv: from the first
    to it, Å; length: of that."""

    first: np.ndarray
    second: np.ndarray
    image_xc: np.ndarray
    vector_xv: np.ndarray
    length: np.ndarray


def near_pairs(lattice_cv: np.ndarray, scaled_ac: np.ndarray, reach_a: np.ndarray, extra: float) -> Pairs:
    """All pairs nearer than reach_a of one and the other together and extra, Å.

    Raises ValueError where the cell is so thin that there are too many images.
    """
    folds = np.floor(scaled_ac)
    inside = scaled_ac - folds
    position_av = inside @ lattice_cv
    farthest = 2 * reach_a.max() + extra
    heights = 1 / np.linalg.norm(np.linalg.inv(lattice_cv), axis=0)
    most = np.ceil(farthest / heights)
    if not np.all(most <= MOST_IMAGES):
        raise ValueError(f"the cell has a height of {heights.min():.3f} Å")
    limit = (reach_a[:, None] + reach_a[None] + extra) ** 2
    found = []
    for image in np.ndindex(*(2 * most.astype(int) + 1)):
        cell = np.array(image) - most
        margin = farthest / heights
        close = np.nonzero(((inside + cell > -margin) & (inside + cell < 1 + margin)).all(axis=1))[0]
        shifted = position_av[close] + cell @ lattice_cv
        square = np.zeros((len(inside), len(close)))
        for v in range(3):
            square += (shifted[None, :, v] - position_av[:, None, v]) ** 2
        if not cell.any():
            square[close, np.arange(len(close))] = np.inf
        first, second = np.nonzero(square < limit[:, close])
        found.append(
            (first, close[second], np.broadcast_to(cell, (len(first), 3)), shifted[second] - position_av[first])
        )
    first, second, cell, vector = (np.concatenate(parts) for parts in zip(*found, strict=True))
    image = cell - folds[second] + folds[first]
    order = np.lexsort((second, first))
    vector = vector[order]
    return Pairs(first[order], second[order], image[order], vector, np.linalg.norm(vector, axis=1))
