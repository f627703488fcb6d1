"""Pairs of atoms that are near each other, images in neighbouring cells among them."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from eigenwerk.lattice_reduction import heights

COVALENT_RADII = dict(
    zip(
        "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr "
        "Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir "
        "Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm".split(),
        (
            *(0.31, 0.28, 1.28, 0.96, 0.84, 0.76, 0.71, 0.66, 0.57, 0.58, 1.66, 1.41, 1.21, 1.11, 1.07, 1.05, 1.02),
            *(1.06, 2.03, 1.76, 1.70, 1.60, 1.53, 1.39, 1.39, 1.32, 1.26, 1.24, 1.32, 1.22, 1.22, 1.20, 1.19, 1.20),
            *(1.20, 1.16, 2.20, 1.95, 1.90, 1.75, 1.64, 1.54, 1.47, 1.46, 1.42, 1.39, 1.45, 1.44, 1.42, 1.39, 1.39),
            *(1.38, 1.39, 1.40, 2.44, 2.15, 2.07, 2.04, 2.03, 2.01, 1.99, 1.98, 1.98, 1.96, 1.94, 1.92, 1.92, 1.89),
            *(1.90, 1.87, 1.87, 1.75, 1.70, 1.62, 1.51, 1.44, 1.41, 1.36, 1.36, 1.32, 1.45, 1.46, 1.48, 1.40, 1.50),
            *(1.50, 2.60, 2.21, 2.15, 2.06, 2.00, 1.96, 1.90, 1.87, 1.80, 1.69),
        ),
        strict=True,
    )
)
"""Å; of manganese, iron and cobalt those of low spin.  Source: B. Cordero et al., Dalton Trans., 2832 (2008)."""

OTHER_RADIUS = 1.5
"""Å, of elements that the table does not have."""

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
