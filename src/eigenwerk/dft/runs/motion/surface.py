"""The energy surface of density-functional theory, on which each state begins where those before it point to."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from eigenwerk.dft.calculation import Calculation, GroundState
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.scf.start.earlier import earlier_of
from eigenwerk.dft.scf.start.state_history import StateHistory
from eigenwerk.dft.scf.state import StartingPoint, State
from eigenwerk.motion.surface import Arrangement, SurfacePoint
from eigenwerk.units import (
    BOHR_ANGSTROM,
    EV_PER_ANGSTROM3_GPA,
    FORCE_EV_PER_ANGSTROM,
    HARTREE_EV,
    STRESS_KILOBAR,
)

Operations = tuple[int, ...] | None

STRESS_EV_PER_ANGSTROM3 = STRESS_KILOBAR / (10 * EV_PER_ANGSTROM3_GPA)


class DensityFunctionalSurface:
    """Calculations of one system at arrangements that somebody asks for, all on the plane waves of the first one.

    Arrangements that keep all operations of the start, or the same of them, have k-points and orbitals in common: those
    are predicted from one to the next (`StateHistory`).  Where operations change, the density alone is taken along.
    """

    def __init__(self, first: Calculation, method: str, kpoints_of: Callable[[tuple[int, ...]], KPoints]):
        """first: at the start; method: of prediction; kpoints_of: those that some operations of the start leave."""
        self._first, self._kpoints_of, self.method = first, kpoints_of, method
        self._bases: dict[Operations, Calculation] = {None: first}
        self._state_histories: dict[Operations, StateHistory] = {}
        self._latest: State | None = None

    def calculation_at(self, arrangement: Arrangement) -> Calculation:
        """Ready to be solved there."""
        base = self.base(arrangement.operation_x)
        structure = self.structure_at(arrangement)
        same = np.array_equal(structure.lattice_cv, base.structure.lattice_cv)
        if same and np.array_equal(structure.scaled_ac, base.structure.scaled_ac):
            return base
        return base.moved(structure)

    def structure_at(self, arrangement: Arrangement) -> Structure:
        """In bohr; the lattice of the start, to the bit, where it is the same."""
        first = self._first.structure
        lattice_cv = arrangement.lattice_cv / BOHR_ANGSTROM
        if np.allclose(lattice_cv, first.lattice_cv, rtol=0, atol=1e-12):
            lattice_cv = first.lattice_cv
        return replace(first, lattice_cv=lattice_cv, scaled_ac=arrangement.scaled_ac)

    def base(self, operations: Operations) -> Calculation:
        """At the start, with the k-points that some operations leave."""
        if operations not in self._bases:
            assert operations is not None
            self._bases[operations] = self._first.at_points(self._kpoints_of(operations))
        return self._bases[operations]

    @staticmethod
    def force_error(arrangement: Arrangement) -> float | None:
        """How well forces have to be known there, hartree per bohr; None where nobody says it."""
        asked = arrangement.force_error
        return None if asked is None else asked / FORCE_EV_PER_ANGSTROM

    def state_history_for(self, operations: Operations) -> StateHistory:
        """The states with these operations so far."""
        if operations not in self._state_histories:
            # others are not come back to, but for those with all operations
            self._state_histories = {None: self._state_histories[None]} if None in self._state_histories else {}
            self._state_histories[operations] = StateHistory(self.method, self._first.parameters.electrons)
        return self._state_histories[operations]

    def start(self, arrangement: Arrangement, calculation: Calculation) -> StartingPoint | None:
        """As the states before predict it; None at the first one."""
        state_history = self._state_histories.get(arrangement.operation_x)
        if state_history is not None and state_history.kept:
            return state_history.predict(calculation.atoms)
        if self._latest is not None:
            return calculation.start_from(earlier_of(self._latest), orbitals=False)
        return None

    def add(self, arrangement: Arrangement, calculation: Calculation, ground: GroundState) -> SurfacePoint:
        """Take in what was found there; the same as a point of the surface."""
        state = ground.state
        if state.converged:
            self.state_history_for(arrangement.operation_x).add(state, calculation.atoms)
            self._latest = state
        stress_vv = ground.stress_vv
        return SurfacePoint(
            arrangement, state.energies.free * HARTREE_EV, ground.forces_av * FORCE_EV_PER_ANGSTROM,
            None if stress_vv is None else stress_vv * STRESS_EV_PER_ANGSTROM3,
            ground.force_error * FORCE_EV_PER_ANGSTROM, state.converged,
        )  # fmt: skip
