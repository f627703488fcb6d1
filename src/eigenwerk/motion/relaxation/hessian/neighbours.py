"""Pairs of atoms that are near each other, images in neighbouring cells among them."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from eigenwerk.io.vasp.elements import COVALENT_RADII, OTHER_RADIUS
from eigenwerk.lattice_reduction import heights

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
    height_c = heights(lattice_cv)
    most = np.ceil(farthest / height_c)
    if not np.all(most <= MOST_IMAGES):
        raise ValueError(f"the cell has a height of {height_c.min():.3f} Å")
    margin = farthest / height_c
    atom, cell = [], []
    for image in np.ndindex(*(2 * most.astype(int) + 1)):
        shift = np.array(image) - most
        close = np.nonzero(((inside + shift > -margin) & (inside + shift < 1 + margin)).all(axis=1))[0]
        atom.append(close)
        cell.append(np.broadcast_to(shift, (len(close), 3)))
    atom_p, cell_p = np.concatenate(atom), np.concatenate(cell)
    place_pv = position_av[atom_p] + cell_p @ lattice_cv
    near = cKDTree(position_av).sparse_distance_matrix(cKDTree(place_pv), farthest, output_type="ndarray")
    first, image = near["i"], near["j"]
    second, cell = atom_p[image], cell_p[image]
    vector = place_pv[image] - position_av[first]
    keep = (vector**2).sum(axis=1) < (reach_a[first] + reach_a[second] + extra) ** 2
    keep &= (first != second) | cell.any(axis=1)
    first, second, cell, vector, image = (x[keep] for x in (first, second, cell, vector, image))
    order = np.lexsort((image, second, first))
    image_xc = cell - folds[second] + folds[first]
    vector = vector[order]
    return Pairs(first[order], second[order], image_xc[order], vector, np.linalg.norm(vector, axis=1))
