"""From an operator and a choice of solver to states, with progress and checkpoints on the way."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from eigenwerk.linalg.lanczos import LanczosPlan, LanczosState, lanczos
from eigenwerk.linalg.lobpcg import LobpcgPlan, LobpcgState, Precondition, lobpcg
from eigenwerk.linalg.operator import EigenResult
from eigenwerk.ncci.checkpoint import Checkpoint
from eigenwerk.ncci.inputs import SolverSettings, block_size
from eigenwerk.ncci.operators import Hamiltonian


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
    operator: Hamiltonian,
    start_nb: Callable[[int], torch.Tensor],
    choice: SolverSettings,
    states: int,
    device: torch.device,
    checkpoint: Checkpoint | None,
    report: Report | None,
    precondition: Callable[[], Precondition] | None = None,
) -> EigenResult:
    """The lowest states.

    start_nb(n): n start vectors, called only where no checkpoint is found.  precondition: makes what LOBPCG uses.
    """
    resume = checkpoint.load(device) if checkpoint is not None else None
    watch = _Watch(states, choice.checkpoint_minutes, checkpoint, report)
    start = None if resume is not None else start_nb(block_size(choice, states))
    if choice.method == "lobpcg":
        plan = LobpcgPlan(states, choice.tolerance, choice.products)
        known = resume if isinstance(resume, LobpcgState) else None
        helper = None if precondition is None else precondition()
        return lobpcg(operator, start, plan, precondition=helper, resume=known, watch=watch)
    return lanczos(
        operator,
        start,
        LanczosPlan(states, choice.tolerance, choice.products, choice.fixed, choice.space),
        resume=resume if isinstance(resume, LanczosState) else None,
        watch=watch,
    )


class _Watch:
    """Called by the solver after every step."""

    def __init__(self, states: int, minutes: float, checkpoint: Checkpoint | None, report: Report | None) -> None:
        self.states, self.minutes, self.checkpoint, self.report = states, minutes, checkpoint, report
        self.begin = self.saved = time.monotonic()

    def __call__(self, state: LanczosState | LobpcgState) -> None:
        now = time.monotonic()
        if self.report is not None:
            try:
                self.report(_step(state, self.states, now - self.begin))
            except KeyboardInterrupt:  # who looks on may stop the run here, between two steps
                if self.checkpoint is not None:
                    self.checkpoint.save(state)
                raise
        if self.checkpoint is not None and now - self.saved >= 60 * self.minutes:
            self.checkpoint.save(state)
            self.saved = time.monotonic()


def _step(state: LanczosState | LobpcgState, states: int, seconds: float) -> SolverProgress:
    if isinstance(state, LanczosState):
        eig, residual, restarts = state.eig_m, state.residual_m, state.restarts
    else:
        eig, residual, restarts = state.eig_n, state.residual_n, 0
    worst = float(residual[:states].max()) if len(residual) >= states else float("inf")
    return SolverProgress(state.products, tuple(eig[:states].tolist()), worst, restarts, seconds)
