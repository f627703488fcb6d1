"""Calculations of one system in a row, each of which begins where those before point to, whoever moves the atoms."""

from dataclasses import replace

import numpy as np
import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.inversion import Inversion
from eigenwerk.dft.crystal.stars import under
from eigenwerk.dft.crystal.symmetry import Symmetry, subgroup
from eigenwerk.dft.scf.start.carried import same_vectors
from eigenwerk.dft.scf.start.state_history import StateHistory
from eigenwerk.dft.scf.state import StartingPoint, State
from eigenwerk.motion.prediction import FIT

SAME_PLACE = 1e-6
"""Largest difference of fractional translations that are the same."""


class Continuation:
    """Keeps the last states.

    While plane waves and k-points stay the same, orbitals and density are predicted from several states; else those of
    the last one are taken over, as far as they can be.

    keeps_waves: whether plane waves, grids and k-points of the first calculation serve the others in their cells, too,
    as in a run whose cell moves; else each has those of its own cell.
    """

    def __init__(self, keeps_waves: bool = False) -> None:
        self.keeps_waves = keeps_waves
        self.latest: State | None = None
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
