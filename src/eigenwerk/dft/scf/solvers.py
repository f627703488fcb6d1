"""The eigensolvers as self-consistency uses them: how much of each a step takes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pkgutil import resolve_name

import torch

from eigenwerk.dft.hamiltonian.hamiltonian import HamiltonianBlock
from eigenwerk.eigensolvers import EIGENSOLVERS, Eigensolver
from eigenwerk.linalg.dense import DenseEigh, solve_dense
from eigenwerk.linalg.operator import EigenResult


@dataclass(frozen=True)
class SolverJob:
    """What the choice depends on.  solver: "automatic" or a word of `SEQUENCES`; bands: NBANDS; real: number type;
    energy_tolerance: EDIFF (hartree); motion_time: TIME (hartree⁻¹) of damped motion."""

    solver: str
    bands: int
    real: bool
    energy_tolerance: float
    motion_time: float = 0.4


@dataclass(frozen=True)
class BandSolver:
    """A solver with its arguments; solve(operator, start_knx, tolerance=, wanted_weight_kn=, eigh=) -> EigenResult."""

    solver: Eigensolver
    solve: Callable[..., EigenResult]

    @staticmethod
    def of(solver: Eigensolver, job: SolverJob | None = None, *, first: bool = False, **more: object) -> "BandSolver":
        """As a step takes it, the first of all or another; more: other values of arguments."""
        options = {**solver.always, **(solver.first if first else solver.later)}
        options |= {name: getattr(job, field) for name, field in solver.of_job.items()}
        return BandSolver(solver, partial(resolve_name(solver.function), **options | more))


def davidson_method(expansions: int | None = None) -> BandSolver:
    """Blocked Davidson as in later steps, or with so many expansions."""
    davidson = EIGENSOLVERS[0]
    return BandSolver.of(davidson, expansions=davidson.later["expansions"] if expansions is None else expansions)


def exact(
    hamiltonian: HamiltonianBlock, start_knG: torch.Tensor, *, tolerance: float, wanted_weight_kn: torch.Tensor | None,
    eigh: DenseEigh,
) -> EigenResult:
    """All bands to rounding, whatever the tolerance and the weights."""
    first = hamiltonian.basis.runtime.bands.rank * start_knG.shape[2]
    return solve_dense(
        hamiltonian, start_knG, start_knG.shape[1], mask_kx=hamiltonian.mask_kG, first_component=first, eigh=eigh
    )
