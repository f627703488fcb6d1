"""Atoms of which nothing is symmetric, for benchmarks that let them move."""

import numpy as np
from ase import Atoms
from ase.build import molecule


def rattled(atoms: Atoms, by: float = 0.05) -> Atoms:
    """The same atoms, each displaced by a normal distribution, Å; always alike."""
    atoms.rattle(by, seed=1)
    return atoms


def water_dimer(vacuum: float) -> Atoms:
    """Two molecules of water above each other, 2.9 Å apart, with so much vacuum (Å) on all sides."""
    pair = molecule("H2O", vacuum=vacuum)
    other = pair.copy()
    other.translate([0, 0, 2.9])
    dimer = pair + other
    dimer.set_cell(dimer.cell + np.diag([0, 0, 2.9]))
    return rattled(dimer, 0.02)
