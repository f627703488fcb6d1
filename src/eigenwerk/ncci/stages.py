"""The way from an operator to states and what is observed of them: stages, each kept on the disk as it comes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from eigenwerk.linalg.operator import EigenResult
from eigenwerk.ncci.basis.basis_pairs import basis_pairs
from eigenwerk.ncci.inputs.inputs import Case
from eigenwerk.ncci.interaction.angular import total_spin
from eigenwerk.ncci.problem import CaseSpace
from eigenwerk.ncci.results.observation import SCALARS, Observation
from eigenwerk.ncci.results.separation import Shared, mixed, residuals, separated
from eigenwerk.ncci.solve.checkpoint import Checkpoint
from eigenwerk.ncci.solve.found_states import load_found, load_observed, save_found, save_observed
from eigenwerk.ncci.solve.operators import NuclearHamiltonian, pairs_on

STATES, RESIDUALS, SEPARATION = "states", "residuals", "separation"
"""What is asked for besides the parts of an `Observation`: states, their residuals, states of one J each."""


class Stages:
    """`ask` names what is missing next, `tell` takes it; None where all is there.

    Levels that the solver found as mixtures of several J are taken apart as soon as <J^2> is known, see `separation`,
    and observed again.  `apart`: whether that has happened.
    """

    def __init__(self, observation: Observation) -> None:
        self.observation, self.apart = observation, False
        self.found: EigenResult | None = None

    def ask(self) -> str | None:
        """The next stage."""
        if self.found is None:
            return STATES
        part = self.observation.ask()
        if part == SCALARS or self.apart or RESIDUALS in self.observation.parts:
            return part
        return SEPARATION if self.mixed_n.any() else RESIDUALS

    @property
    def mixed_n(self) -> np.ndarray:
        """Which states are mixtures of several J."""
        assert self.found is not None
        square_n, residual_n = self.observation.parts[SCALARS]["J2"], self.found.residual_kn[0].cpu().numpy()
        mixed_n = mixed(square_n, residual_n, self.observation.basis.nucleons, self.found.vectors_knx.dtype)
        return mixed_n & self.found.converged_kn[0].cpu().numpy()

    def tell(self, stage: str, told: EigenResult | dict[str, np.ndarray]) -> None:
        """Takes the result of a stage: states, or arrays (n, ...) by name."""
        if isinstance(told, EigenResult):
            self.restore(told, stage == SEPARATION, {})
        else:
            self.observation.tell(stage, told)

    def state(self) -> tuple[EigenResult | None, bool, dict[str, dict[str, np.ndarray]]]:
        """What may be kept."""
        return self.found, self.apart, self.observation.state()

    def restore(self, found: EigenResult, apart: bool, parts: dict[str, dict[str, np.ndarray]]) -> None:
        """Goes on from what was kept."""
        self.found, self.apart = found, apart
        self.observation.restore(parts)

    def result(self) -> EigenResult:
        """The states, with residuals that have the rounding of the product."""
        assert self.found is not None
        if self.apart:
            return self.found
        residual_n = torch.from_numpy(self.observation.parts[RESIDUALS]["residual_n"])
        return replace(self.found, residual_kn=residual_n.to(self.found.residual_kn.device)[None])


class Work:
    """What does the stages of a case, on every rank.  solved: gives the states.  saved: where what is there is kept."""

    def __init__(
        self, case: Case, problem: CaseSpace, operator: NuclearHamiltonian, solved: Callable[[], EigenResult],
        saved: Checkpoint | None,
    ) -> None:  # fmt: skip
        self.case, self.problem, self.operator, self.solved, self.saved = case, problem, operator, solved, saved
        self.whole: tuple[EigenResult | None, torch.Tensor] = (None, torch.empty(0))

    def continued(self, stages: Stages) -> None:
        """Tells what the run before has kept; collective."""
        if self.saved is None:
            return
        operator, choice = self.operator, self.case.solver
        if kept := load_found(self.saved, choice, operator.segments, operator.runtime.device):
            stages.restore(*kept, load_observed(self.saved, kept[0]))

    def do(self, stage: str, stages: Stages) -> None:
        """One stage, kept when it is done; collective."""
        if stage == STATES:
            stages.tell(stage, self.solved())
        elif stage == SEPARATION:
            stages.tell(stage, self._separated(stages))
        elif stage == RESIDUALS:
            stages.tell(stage, {"residual_n": self._residuals(stages)})
        else:
            whole_nb, world = self.whole_vectors(stages), self.operator.runtime.world
            stages.tell(stage, stages.observation.compute(stage, whole_nb, world))
        found, apart, parts = stages.state()
        if self.saved is None or found is None:
            return
        if stage in (STATES, SEPARATION):
            save_found(self.saved, found, self.case.solver, self.operator.segments, apart)
        else:
            save_observed(self.saved, found, parts)

    def whole_vectors(self, stages: Stages) -> torch.Tensor:
        """All components (n, b) of the states."""
        if stages.found is not None and self.whole[0] is not stages.found:
            self.whole = (None, torch.empty(0))
            self.whole = (stages.found, self.operator.segments.whole(stages.found.vectors_knx[0]))
        return self.whole[1]

    def _separated(self, stages: Stages) -> EigenResult:
        """Its products are not the solver's."""
        operator, basis = self.operator, self.operator.basis
        assert stages.found is not None
        spin = basis_pairs(basis, total_spin(self.problem.pairs, basis.nucleons))
        j_squared = pairs_on(operator.segments, basis, spin, operator.runtime).on_segments
        shared, tolerance = Shared(operator.sum, operator.eigh), self.case.solver.tolerance
        apart = separated(stages.found, stages.mixed_n, operator.on_vectors, j_squared, tolerance, shared)
        return replace(apart, applications=stages.found.applications)

    def _residuals(self, stages: Stages) -> np.ndarray:
        """One after the other: a block of them may not fit."""
        assert stages.found is not None
        shared = Shared(self.operator.sum, self.operator.eigh)
        true = [residuals(x_ns[None], self.operator.on_vectors, shared)[1] for x_ns in stages.found.vectors_knx[0]]
        return torch.cat(true).cpu().numpy()
