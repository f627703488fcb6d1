"""Along which lattice axes atoms are in contact from cell to cell: all in a crystal, none in a molecule in a box.

Atoms touch where they are as near as bonds, or as layers of graphite and molecules of solid nitrogen and argon lie to
each other: van der Waals radii are covalent ones and 0.8 Å (L. Pauling, The Nature of the Chemical Bond, 1960).
"""

import numpy as np

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.lattice_reduction import heights
from eigenwerk.motion.relaxation.hessian.neighbours import COVALENT_RADII, OTHER_RADIUS
from eigenwerk.units import BOHR_ANGSTROM

VAN_DER_WAALS, LOOSE = 0.8, 0.35
"""Å: by how much radii are larger than covalent ones; and how far from touching a contact may be."""


def contact_axes(structure: Structure) -> np.ndarray:
    """Which axes a chain of contacts runs along from an atom to one of its own images; (3,) bool.

    A molecule that lies across the border of the cell has none.
    """
    lattice_cv = structure.lattice_cv * BOHR_ANGSTROM
    wrapped_ac = structure.scaled_ac % 1.0
    radius_a = np.array([COVALENT_RADII.get(symbol, OTHER_RADIUS) for symbol in structure.symbols])
    radius_a = radius_a + VAN_DER_WAALS + LOOSE / 2
    most_c = np.ceil(2 * radius_a.max() / heights(lattice_cv)).astype(int)
    image_xc = np.stack(np.meshgrid(*[np.arange(-most, most + 1) for most in most_c], indexing="ij"), -1).reshape(-1, 3)
    cell_ac: dict[int, np.ndarray] = {}
    runs_c = np.zeros(3, bool)
    for start in range(len(radius_a)):
        if start in cell_ac:
            continue
        cell_ac[start], ahead = np.zeros(3, int), [start]
        while ahead:
            here = ahead.pop()
            for there, image_c in _contacts(here, wrapped_ac, lattice_cv, radius_a, image_xc):
                place_c = cell_ac[here] + image_c
                if there not in cell_ac:
                    cell_ac[there] = place_c
                    ahead.append(there)
                runs_c |= place_c != cell_ac[there]
    return runs_c


def _contacts(
    here: int, wrapped_ac: np.ndarray, lattice_cv: np.ndarray, radius_a: np.ndarray, image_xc: np.ndarray
) -> list[tuple[int, np.ndarray]]:  # fmt: skip
    """The atoms that one atom touches, with the cells they lie in."""
    apart_xav = (wrapped_ac - wrapped_ac[here] + image_xc[:, None]) @ lattice_cv
    near_xa = (apart_xav**2).sum(-1) < (radius_a + radius_a[here]) ** 2
    return [(int(a), image_xc[x]) for x, a in np.argwhere(near_xa)]
