"""Calculations of one system in a row, each of which begins where those before point to.

A mover asks for arrangements (`DensityFunctionalSurface`); whoever else moves the atoms, ASE say, hands over the next
calculation (`Continuation`).
"""

from dataclasses import replace

import numpy as np
import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.calculation import Calculation, GroundState
from eigenwerk.dft.crystal.inversion import Inversion
from eigenwerk.dft.crystal.stars import under
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry, subgroup
from eigenwerk.dft.scf.start.carried import same_vectors
from eigenwerk.dft.scf.start.earlier import earlier_of
from eigenwerk.dft.scf.start.state_history import StateHistory
from eigenwerk.dft.scf.state import StartingPoint, State
from eigenwerk.motion.prediction import FIT, NONE
from eigenwerk.motion.surface import Arrangement, Operations, SurfacePoint
from eigenwerk.units import (
    BOHR_ANGSTROM,
    EV_PER_ANGSTROM3_GPA,
    FORCE_EV_PER_ANGSTROM,
    HARTREE_EV,
    STRESS_KILOBAR,
)

SAME_PLACE = 1e-6
"""Largest difference of fractional translations that are the same."""

STRESS_EV_PER_ANGSTROM3 = STRESS_KILOBAR / (10 * EV_PER_ANGSTROM3_GPA)


class DensityFunctionalSurface:
    """Calculations of one system at arrangements that somebody asks for, all on the plane waves of the first one.

    Arrangements that keep all operations of the start, or the same of them, have k-points and orbitals in common: those
    are predicted from one to the next (`StateHistory`).  Where operations change, the density alone is taken along.
    """

    def __init__(self, first: Calculation, method: str = NONE):
        """first: at the start; method: of prediction."""
        self._first, self.method = first, method
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
            kpoints = self._first.kpoints
            keep_o = np.isin(np.arange(kpoints.symmetry.order), operations)
            self._bases[operations] = self._first.at_points(under(kpoints, subgroup(kpoints.symmetry, keep_o)))
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
        return self.point(arrangement, ground)

    @staticmethod
    def point(arrangement: Arrangement, ground: GroundState) -> SurfacePoint:
        """What was found as a point of the surface."""
        state, stress_vv = ground.state, ground.stress_vv
        return SurfacePoint(
            arrangement, state.energies.free * HARTREE_EV, ground.forces_av * FORCE_EV_PER_ANGSTROM,
            None if stress_vv is None else stress_vv * STRESS_EV_PER_ANGSTROM3,
            ground.force_error * FORCE_EV_PER_ANGSTROM, state.converged,
        )  # fmt: skip


class Continuation:
    """Keeps the last states, or begins with one, `latest`.

    While plane waves and k-points stay the same, orbitals and density are predicted from several states; else those of
    the last one are taken over, as far as they can be.

    keeps_waves: whether plane waves, grids and k-points of the first calculation serve the others in their cells, too,
    as in a run whose cell moves; else each has those of its own cell.
    """

    def __init__(self, keeps_waves: bool = False, latest: State | None = None) -> None:
        self.keeps_waves, self.latest = keeps_waves, latest
        self._first: Calculation | None = None
        self._state_history: StateHistory | None = None
        self._calculation: Calculation | None = None

    def on_kept_waves(self, wanted: Calculation) -> Calculation:
        """What is to be solved in place of a calculation of the same atoms with the same settings.

        A mesh that depends on the cell, by KSPACING, stays that of the first cell; rotations that the waves of the
        first cell lack are not used.
        """
        if not self.keeps_waves:
            return wanted
        if self._first is None:
            self._first = wanted
            return wanted
        first, symmetry = self._first, wanted.kpoints.symmetry
        known_occ = first.kpoints.symmetry.rotation_occ
        kept_o = np.array([(known_occ == one_cc).all(axis=(1, 2)).any() for one_cc in symmetry.rotation_occ])
        here = replace(subgroup(symmetry, kept_o), lattice_cv=first.structure.lattice_cv)
        if not _same_operations(first.kpoints.symmetry, here):
            first = first.at_points(under(first.kpoints, here))
        return first.moved(wanted.structure)

    def start(self, calculation: Calculation) -> StartingPoint | State | None:
        """Where a calculation begins; None at the first one."""
        before, self._calculation = self._calculation, calculation
        fits = before is not None and _same_waves(before.basis, calculation.basis)
        if self._state_history is not None and fits:
            return self._state_history.predict(calculation.atoms)
        self._state_history = None
        return self.latest

    def add(self, state: State) -> None:
        """Take in the state that the calculation just begun has come to."""
        assert self._calculation is not None, "a calculation begins before it ends"
        if self._state_history is None:
            self._state_history = StateHistory(FIT, self._calculation.parameters.electrons)
        self._state_history.add(state, self._calculation.atoms)
        self.latest = state


def _same_operations(old: Symmetry, new: Symmetry) -> bool:
    """Whether operations are the same, and take atoms to the same places."""
    return (
        np.array_equal(old.rotation_occ, new.rotation_occ)
        and np.allclose(old.translation_oc, new.translation_oc, rtol=0, atol=SAME_PLACE)
        and np.array_equal(old.spin_flip_o, new.spin_flip_o)
        and np.array_equal(old.atom_map_oa, new.atom_map_oa)
    )


def _same_centre(old: Inversion | None, new: Inversion | None) -> bool:
    """Whether orbitals that an inversion makes real have the same phases in both."""
    if old is None or new is None:
        return old is new
    return np.allclose(old.translation_c, new.translation_c, rtol=0, atol=SAME_PLACE)


def _same_waves(old: PlaneWaveBasis, new: PlaneWaveBasis) -> bool:
    """Whether coefficients of one mean the same in the other."""
    return (
        same_vectors(old, new)
        and old.spin == new.spin
        and _same_centre(old.inversion, new.inversion)
        and np.array_equal(old.kpoints.point_kc, new.kpoints.point_kc)
        and old.density_count == new.density_count
        and torch.equal(old.index_gc[: old.density_count], new.index_gc[: new.density_count])
    )
