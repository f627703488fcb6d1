"""Along which axes atoms touch from cell to cell."""

import numpy as np
import pytest

from eigenwerk.dft.crystal.connectivity import contact_axes
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.units import BOHR_ANGSTROM

FCC, BCC = (1 - np.eye(3)) / 2, np.ones((3, 3)) / 2 - np.eye(3)
BOX = 6 * np.eye(3)
HEXAGON = [[2.46, 0, 0], [-1.23, 2.13, 0]]
RING = [[0, 0, 0], [0, 1.42, 0]]
ALL, NONE = (True, True, True), (False, False, False)

CASES = {
    # lattice and places in Å, what runs on
    "water": (BOX, "OHH", [[0, 0, 0], [0.76, 0.59, 0], [-0.76, 0.59, 0]], NONE),
    "water across the border": (BOX, "OHH", [[0, 0, 0], [0.76, 5.41, 0], [5.24, 5.41, 0]], NONE),
    "carbon dioxide": (BOX, "COO", [[0, 0, 0], [0, 0, 1.16], [0, 0, -1.16]], NONE),
    "hydrogen fluoride in 5 x 5": (np.diag([5.0, 5, 14]), "HF", [[0, 0, 0], [0, 0, 0.93]], NONE),
    "chain": (np.diag([6, 6, 2.5]), "CC", [[0, 0, 0], [0, 0, 1.25]], (False, False, True)),
    "slanted chain": ([[2.5, 4, 0], [0, 4, 0], [0, 0, 6]], "C", [[0, 0, 0]], (True, True, False)),
    "graphene, 4.4 Å apart": ([*HEXAGON, [0, 0, 4.4]], "CC", RING, (True, True, False)),
    "graphite": ([*HEXAGON, [0, 0, 6.7]], "CCCC", [*RING, [0, 0, 3.35], [0, 2.84, 3.35]], ALL),
    "argon": (5.3 * FCC, ("Ar",), [[0, 0, 0]], ALL),
    "caesium": (6.1 * BCC, ("Cs",), [[0, 0, 0]], ALL),
    "salt": (5.64 * FCC, ("Na", "Cl"), [[0, 0, 0], [2.82, 2.82, 2.82]], ALL),
}


@pytest.mark.parametrize("name", CASES)
def test_molecules_end_and_crystals_go_on(name):
    lattice_cv, symbols, place_av, expected = CASES[name]
    lattice_cv = np.array(lattice_cv, dtype=float)
    structure = Structure(lattice_cv / BOHR_ANGSTROM, tuple(symbols), np.array(place_av) @ np.linalg.inv(lattice_cv))
    assert tuple(contact_axes(structure)) == expected
