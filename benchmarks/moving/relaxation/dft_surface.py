"""Density-functional energies, forces and stresses of this package on the plane waves of the start, and what they cost.

`Surface` is what `eigenwerk run` moves atoms on: a state follows the atoms, orbitals and density are predicted.
`OnSurface` is the same as a calculator of ASE, so that other optimisers walk on it, too.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes
from dft_cases import DftCase

from eigenwerk.dft.calculation import Calculation, Made
from eigenwerk.dft.runs.api.incar import inputs_of
from eigenwerk.dft.runs.api.structures import structure_given
from eigenwerk.dft.runs.motion.surface import DensityFunctionalSurface
from eigenwerk.dft.scf.state import ScfStep, State
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.motion.prediction import FIT
from eigenwerk.motion.surface import Arrangement, SurfacePoint
from eigenwerk.units import HARTREE_EV


@dataclass
class Spent:
    """Points, steps of self-consistency, applications of H to an orbital; points that did not converge."""

    points: int = 0
    scf_steps: int = 0
    applications: int = 0
    unconverged: int = 0


LOOSE = 0.02
"""Å; EDIFF over the error that forces may have, where EDIFF follows it."""

LOOSEST = 1e-3
"""eV."""


class Surface:
    """Points of a case, each of which begins where those before point to.

    follow: what of the accuracy that is asked for counts: "forces" (self-consistency goes on until they are known so
    well), "energies" too (EDIFF grows with it), or nothing ("").
    """

    def __init__(self, case: DftCase, follow: str = "forces", **tags: Any):
        self.follow = follow
        poscar, moments, charge = structure_given(case.atoms())
        settings = {"ediff": 1e-5, "isym": 0, "lcharg": False, "lwave": False, **case.tags, **tags}
        inputs = inputs_of(poscar, moments, charge, settings, case.mesh)
        inputs.raise_on_errors()
        datasets = {symbol: read_paw_xml(data.path) for symbol, data in inputs.data.items()}
        first = Calculation(inputs.structure, inputs.kpoints, inputs.parameters, datasets)
        self._inner, self.spent = DensityFunctionalSurface(first, FIT), Spent()

    def __call__(self, arrangement: Arrangement) -> SurfacePoint:
        spent, calculation = self.spent, self._inner.calculation_at(arrangement)

        def count(step: ScfStep, _: State) -> None:
            spent.scf_steps += 1
            spent.applications += step.applications

        given, asked = calculation.parameters, self._inner.force_error(arrangement) if self.follow else None
        if self.follow == "energies" and arrangement.force_error is not None:
            tolerance = min(LOOSE * arrangement.force_error, LOOSEST) / HARTREE_EV
            looser = replace(given, energy_tolerance=max(tolerance, given.energy_tolerance))
            calculation = replace(calculation, parameters=looser, made=Made(calculation.atoms, calculation.symmetrise))
        ground = calculation.run(count, self._inner.start(arrangement, calculation), asked)
        point = self._inner.add(arrangement, calculation, ground)
        spent.points += 1
        spent.unconverged += not point.converged
        return point


class OnSurface(Calculator):
    """ASE's way to ask a surface; `energy` is the free energy, of which forces and stress are derivatives."""

    implemented_properties = ("energy", "free_energy", "forces", "stress")

    def __init__(self, surface: Surface):
        super().__init__()
        self.surface = surface
        self.force_error: float | None = None
        """That the next point may have, eV/Å."""

    def calculate(self, atoms: Atoms | None = None, properties: Any = (), system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        assert self.atoms is not None
        cell_cv = np.array(self.atoms.cell)
        scaled_ac = np.linalg.solve(cell_cv.T, self.atoms.positions.T).T
        point = self.surface(Arrangement(cell_cv, scaled_ac, self.force_error))
        self.results = {"energy": point.free_energy, "free_energy": point.free_energy, "forces": point.forces_av}
        if point.stress_vv is not None:
            self.results["stress"] = point.stress_vv[(0, 1, 2, 1, 0, 0), (0, 1, 2, 2, 2, 1)]
        self.last = point
