"""Calculations of one system in a row, each of which begins where those before point to, whoever moves the atoms."""

import numpy as np
import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.moving.trail import Trail
from eigenwerk.dft.scf.carried import same_vectors
from eigenwerk.dft.scf.state import StartingPoint, State
from eigenwerk.motion.prediction import FIT


class Follower:
    """Keeps the last states.

    While plane waves and k-points stay the same, orbitals and density are predicted from several states; else those of
    the last one are taken over, as far as they can be.
    """

    def __init__(self) -> None:
        self.latest: State | None = None
        self._trail: Trail | None = None
        self._calculation: Calculation | None = None

    def start(self, calculation: Calculation) -> StartingPoint | State | None:
        """Where a calculation begins; None at the first one."""
        before, self._calculation = self._calculation, calculation
        fits = before is not None and _same_waves(before.basis, calculation.basis)
        if self._trail is not None and fits:
            return self._trail.predict(calculation.atoms)
        self._trail = None
        return self.latest

    def add(self, state: State) -> None:
        """Take in the state that the calculation just begun has come to."""
        assert self._calculation is not None, "a calculation begins before it ends"
        if self._trail is None:
            self._trail = Trail(FIT, self._calculation.parameters.electrons)
        self._trail.add(state, self._calculation.atoms)
        self.latest = state


def _same_waves(old: PlaneWaveBasis, new: PlaneWaveBasis) -> bool:
    """Whether coefficients of one mean the same in the other."""
    return (
        same_vectors(old, new)
        and old.spin == new.spin
        and old.inversion is None
        and new.inversion is None
        and np.array_equal(old.kpoints.point_kc, new.kpoints.point_kc)
        and old.density_count == new.density_count
        and torch.equal(old.index_gc[: old.density_count], new.index_gc[: new.density_count])
    )
