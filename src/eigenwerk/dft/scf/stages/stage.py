"""What stands around the cycle of self-consistency: asked in an order that whoever makes the cycle chooses."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.density.density import Density, atomic_density
from eigenwerk.dft.density.symmetrise import Symmetriser
from eigenwerk.dft.filling.occupations import Occupations
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.cycle_settings import ScfSettings
from eigenwerk.dft.scf.state import ScfStep, Solved, StartingPoint, State, System

KEPT, RENEWED, NEW = "kept", "renewed", "new"
"""What becomes of the mixer: another potential is mixed with what it has learnt, another density with a new one."""


@dataclass(frozen=True, eq=False)
class CycleScene:
    """What a cycle works on, and its stages."""

    system: System
    atoms: PawAtoms
    symmetrise: Symmetriser
    settings: ScfSettings

    def with_moments(self, moment_a: np.ndarray) -> Density:
        """Superposed atoms with these moments, Bohr magneton."""
        return self.symmetrise(atomic_density(self.atoms, self.settings.electrons, moment_a))


@dataclass(frozen=True, eq=False)
class Verdict:
    """On a converged state: one more step, for what it lacks in words; or from another density; or it `ends`."""

    words: str = ""
    density: Density | None = None
    ends: bool = False


class Stage:
    """Does nothing; a stage has those of these that it needs."""

    def begin(self, start: StartingPoint) -> tuple[str, Density]:
        """Words for the first step, and the density that it begins with."""
        return "", start.density

    def keeps(self, done: int) -> bool:
        """Whether the density stays as it is after a step, with so many done before."""
        return False

    def tolerance(self, given: float) -> float:
        """Energy tolerance of the density, hartree."""
        return given

    def occupied(self, filled: Occupations, eig_skn: torch.Tensor) -> Occupations:
        """The occupations of a step."""
        return filled

    def doubts(self, density: Density, output: Density, solved: Solved) -> tuple[str, str]:
        """Why a step is refused, and why it cannot be the end, in words."""
        return "", ""

    def enough(self, steps: list[ScfStep], tolerance: float) -> str:
        """Why the last step is the end though it has not converged, in words."""
        return ""

    def settled(self, state: State, solved: Solved, last: bool) -> tuple[State, str]:
        """A state whose density has converged: what it is to this stage, and what becomes of the mixer."""
        return state, KEPT

    def remarks(self, steps: list[ScfStep], state: State, converged: bool) -> tuple[str, ...]:
        """What the last step tells of the way; steps: since the potential is what it is."""
        return ()

    def objection(self, state: State) -> Verdict | None:
        """Of a converged state that may go on."""
        return None

    def memory(self) -> dict[str, Any]:
        """Fields of the State that it keeps."""
        return {}

    def end(self, state: State) -> State:
        """The state that the cycle ends with."""
        return state


class Frozen(Stage):
    """Keeps the starting density for some steps (NELMDL), while orbitals become those of its potential."""

    def __init__(self, steps: int):
        self.steps = steps

    def begin(self, start: StartingPoint) -> tuple[str, Density]:
        """A start may say how many."""
        self.steps = self.steps if start.frozen_steps is None else start.frozen_steps
        return "", start.density

    def keeps(self, done: int) -> bool:
        """In the first ones."""
        return done < self.steps
