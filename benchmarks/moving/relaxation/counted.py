"""A calculator that counts, and ends the run of an optimiser at the first arrangement that is at rest."""

import time

import numpy as np
from ase.calculators.calculator import Calculator, all_changes

KILOBAR = 1 / 1602.176634


class AtRest(Exception):
    """Forces and stress are small enough."""


class TooLong(Exception):
    """So many calls were made, or so much time was spent."""


class Counted(Calculator):
    """Energy, forces and, with cell, stress of another calculator.

    calls: arrangements computed; largest: force, eV/Å, of each; energies, eV.  Raises AtRest once forces on atoms that
    are not fixed and (cell) the stress are below the limits, TooLong after most calls or so many seconds.
    """

    implemented_properties = ("energy", "free_energy", "forces", "stress")

    def __init__(self, inner, cell, free_ac, force=0.01, stress=0.5 * KILOBAR, most=500, seconds=np.inf):
        super().__init__()
        self.inner, self.cell, self.free_ac = inner, cell, free_ac
        self.limits, self.most, self.end = (force, stress), most, time.monotonic() + seconds
        self.calls, self.largest, self.energies = 0, [], []

    def calculate(self, atoms=None, properties=(), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        copy = self.atoms.copy()
        copy.set_constraint()
        copy.calc = self.inner
        self.calls += 1
        energy, forces = copy.get_potential_energy(), copy.get_forces()
        if self.free_ac.all():
            forces = forces - forces.mean(axis=0)  # of a net force nothing is left but what a grid has added
        self.results = {"energy": energy, "free_energy": energy, "forces": forces}
        stress = 0.0
        if self.cell:
            self.results["stress"] = copy.get_stress()
            stress = np.abs(self.results["stress"]).max()
        largest = np.linalg.norm(np.where(self.free_ac, forces, 0.0), axis=1).max(initial=0.0)
        self.largest.append(float(largest))
        self.energies.append(float(energy))
        if largest <= self.limits[0] and stress <= self.limits[1]:
            raise AtRest
        if self.calls >= self.most:
            raise TooLong(f"{self.calls} calls are too many")
        if time.monotonic() > self.end:
            raise TooLong("the seconds are over")
