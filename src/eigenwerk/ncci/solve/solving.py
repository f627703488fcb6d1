"""From an operator and a choice of solver to states, with progress and checkpoints on the way."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import torch

from eigenwerk.linalg.bands.davidson import DavidsonState, davidson
from eigenwerk.linalg.lanczos import LanczosPlan, LanczosState, lanczos
from eigenwerk.linalg.operator import EigenResult
from eigenwerk.ncci.inputs.inputs import SolverSettings, block_size
from eigenwerk.ncci.solve.checkpoint import Checkpoint
from eigenwerk.ncci.solve.operators import NuclearHamiltonian
from eigenwerk.parallel.communicator import Communicator

UNSEEN = 3e-5
"""Of Lanczos' method: levels that may be expected to be missing below the highest wanted one when it stops.  Of
18 240 runs in the sd and p shells three missed a level where nobody asks, one where two guards converge, with this
none."""

CARRIED_SHARE = 0.1
"""Where states of a smaller space are the start, of which the wanted ones are made, at most a tenth more products: of
levels that these do not know there is little noise to find them by."""

ASK = 0.2
"""After this part of the steps that are expected until a checkpoint is due, ranks ask each other again."""


@dataclass(frozen=True)
class SolverProgress:
    """Where a solver is: products done, lowest energies (MeV), their residuals, seconds since it began."""

    products: int
    energies: tuple[float, ...]
    residual: float
    restarts: int
    seconds: float


Report = Callable[[SolverProgress], None]


def solve(
    operator: NuclearHamiltonian,
    start_nb: Callable[[int], torch.Tensor],
    choice: SolverSettings,
    states: int,
    checkpoint: Checkpoint | None,
    report: Report | None,
    variance: float = 1.0,
) -> EigenResult:
    """The lowest states; of several ranks each has its components of them.

    start_nb(n): n start vectors, called only where no checkpoint is found.  variance: that of the noise in them, see
    `LanczosPlan`.  checkpoint: what lies there is continued.
    """
    runtime, block = operator.runtime, min(block_size(choice, states), operator.basis.dimension)
    resume = checkpoint.load(operator, runtime.device) if checkpoint is not None else None
    start_knb = start_nb(block).unsqueeze(0) if resume is None else None
    watch = _Watch(states, choice.checkpoint_minutes, checkpoint, report, runtime.world)
    if choice.method == "lanczos":
        plan = LanczosPlan(
            states, choice.tolerance, choice.products, choice.fixed, choice.space, UNSEEN, variance,
            CARRIED_SHARE if variance < 1 else inf, first_component=operator.segments.own.start, eigh=operator.eigh,
            trace=runtime.trace,
        )  # fmt: skip
        known = resume if isinstance(resume, LanczosState) else None
        return lanczos(operator, start_knb, plan, resume=known, watch=watch)
    # LOBPCG: Davidson in a space of three blocks; vectors beyond the wanted ones guard the convergence of the last
    wanted_kn = (torch.arange(block, device=runtime.device) < states).unsqueeze(0)
    found = davidson(
        operator, start_knb, expansions=inf, max_space=3, tolerance=choice.tolerance, relative=True,
        wanted_weight_kn=wanted_kn, products=choice.products, eigh=operator.eigh, watch=watch,
        resume=resume if isinstance(resume, DavidsonState) else None,
    )  # fmt: skip
    return replace(
        found, eig_kn=found.eig_kn[:, :states], vectors_knx=found.vectors_knx[:, :states],
        residual_kn=found.residual_kn[:, :states], converged_kn=found.converged_kn[:, :states],
    )  # fmt: skip


class _Watch:
    """Called by the solver after every step, on all ranks."""

    def __init__(
        self, states: int, minutes: float, checkpoint: Checkpoint | None, report: Report | None, world: Communicator
    ) -> None:
        self.states, self.minutes, self.checkpoint, self.report = states, minutes, checkpoint, report
        self.world = world
        self.begin = self.saved = time.monotonic()
        self.steps, self.ask_at = 0, 1

    def __call__(self, state: LanczosState | DavidsonState) -> None:
        now = time.monotonic()
        if self.report is not None:
            try:
                self.report(_step(state, self.states, now - self.begin))
            except KeyboardInterrupt:  # who looks on may stop the run here, between two steps
                if self.checkpoint is not None:
                    self.checkpoint.save(state)
                raise
        if self.checkpoint is not None and self._due(now):
            self.checkpoint.save(state)
            self.saved, self.steps, self.ask_at = time.monotonic(), 0, 1

    def _due(self, now: float) -> bool:
        """Whether ranks save now.  They ask each other rarely while that is far away: a step may take milliseconds."""
        self.steps += 1
        if self.steps < self.ask_at:
            return False
        passed = float(self.world.max(torch.tensor([now - self.saved], dtype=torch.float64)))
        left = 60 * self.minutes - passed
        self.ask_at = self.steps + max(1, int(min(ASK * left / max(passed / self.steps, 1e-6), 1e6)))
        return left <= 0


def _step(state: LanczosState | DavidsonState, states: int, seconds: float) -> SolverProgress:
    if isinstance(state, LanczosState):
        eig_n, residual_n, products, restarts = state.eig_m, state.residual_m, state.products, state.restarts
    else:
        eig_n, residual_n, products, restarts = state.eig_kn[0], state.residual_kn[0], state.applications, 0
    worst = float(residual_n[:states].max()) if len(residual_n) >= states else float("inf")
    return SolverProgress(products, tuple(eig_n[:states].tolist()), worst, restarts, seconds)
