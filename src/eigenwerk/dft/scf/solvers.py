"""The eigensolvers as self-consistency uses them: how much of each a step takes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from eigenwerk.dft.hamiltonian import HamiltonianBlock
from eigenwerk.linalg.chebyshev import chebyshev
from eigenwerk.linalg.conjugate import conjugate
from eigenwerk.linalg.damped import damped
from eigenwerk.linalg.davidson import davidson
from eigenwerk.linalg.dense import DenseEigh, solve_dense
from eigenwerk.linalg.operator import EigenResult
from eigenwerk.linalg.rmm_diis import rmm_diis

FIRST_EXPANSIONS, EXPANSIONS = 3, 2
"""Davidson expansions in the first step and in the others."""

FIRST_DIRECTIONS, DIRECTIONS, MOST_DIRECTIONS = 4, 2, 4
"""Directions for each band in the first step and in the others, if bands move by themselves; what a band gets by
conjugate gradients whose residual those have not halved."""

MOTION_STEPS = 4
"""Steps of damped motion in each step of self-consistency."""

FIRST_DEGREE, DEGREE = 12, 8
"""Degree of the Chebyshev polynomial in the first step and in the others."""


@dataclass(frozen=True)
class Method:
    """One solver.

    short: its name in OSZICAR; words: its name in messages; solve(operator, start_knx, tolerance=, wanted_weight_kn=,
    eigh=) -> EigenResult; watched: whether it may stall, or leave a state out; dense: whether it diagonalises whole
    matrices; keeps: whether it takes and returns the projections of the orbitals (proj_kni).
    """

    short: str
    words: str
    solve: Callable[..., EigenResult]
    watched: bool = False
    dense: bool = False
    keeps: bool = False


def davidson_method(expansions: int = EXPANSIONS) -> Method:
    """Blocked Davidson."""
    return Method("DAV", "blocked Davidson", partial(davidson, expansions=expansions, final_residual=False), keeps=True)


def rmm_method(directions: int = DIRECTIONS) -> Method:
    """RMM-DIIS."""
    solve = partial(rmm_diis, steps=directions, final_residual=False)
    return Method("RMM", "RMM-DIIS", solve, watched=True, keeps=True)


def conjugate_method(directions: int = DIRECTIONS, most: int = MOST_DIRECTIONS) -> Method:
    """Conjugate gradients for all bands."""
    solve = partial(conjugate, steps=most, usual_steps=directions, final_residual=False)
    return Method("CG", "conjugate gradients for all bands", solve, watched=True, keeps=True)


def damped_method(time: float, steps: int = MOTION_STEPS) -> Method:
    """Damped motion of all bands."""
    solve = partial(damped, time=time, steps=steps, final_residual=False)
    return Method("DMP", "damped motion", solve, watched=True, keeps=True)


def chebyshev_method(degree: int = DEGREE) -> Method:
    """Chebyshev-filtered subspace iteration."""
    return Method("CHE", "Chebyshev filter", partial(chebyshev, degree=degree), watched=True)


def exact_method() -> Method:
    """Dense matrices of all plane waves."""
    return Method("EXA", "exact diagonalisation", _exact, dense=True)


def _exact(
    hamiltonian: HamiltonianBlock, start_knG: torch.Tensor, *, tolerance: float, wanted_weight_kn: torch.Tensor | None,
    eigh: DenseEigh,
) -> EigenResult:
    """All bands to rounding, whatever the tolerance and the weights."""
    first = hamiltonian.basis.runtime.bands.rank * start_knG.shape[2]
    return solve_dense(
        hamiltonian, start_knG, start_knG.shape[1], mask_kx=hamiltonian.mask_kG, first_component=first, eigh=eigh
    )
