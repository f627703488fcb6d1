"""The eigensolvers as self-consistency uses them: how much of each a step takes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from eigenwerk.linalg.conjugate import conjugate
from eigenwerk.linalg.davidson import davidson
from eigenwerk.linalg.operator import EigenResult
from eigenwerk.linalg.rmm_diis import rmm_diis

FIRST_EXPANSIONS, EXPANSIONS = 3, 2
"""Davidson expansions in the first step and in the others."""

FIRST_DIRECTIONS, DIRECTIONS = 4, 2
"""Directions for each band in the first step and in the others, if bands move by themselves."""


@dataclass(frozen=True)
class Method:
    """One solver.

    short: its name in OSZICAR; words: its name in messages; solve(operator, start_knx, tolerance=, wanted_weight_kn=,
    eigh=) -> EigenResult; watched: whether it may stall, or leave a state out.
    """

    short: str
    words: str
    solve: Callable[..., EigenResult]
    watched: bool = False


def davidson_method(expansions: int = EXPANSIONS) -> Method:
    """Blocked Davidson."""
    return Method("DAV", "blocked Davidson", partial(davidson, expansions=expansions, final_residual=False))


def rmm_method(directions: int = DIRECTIONS) -> Method:
    """RMM-DIIS."""
    return Method("RMM", "RMM-DIIS", partial(rmm_diis, steps=directions, final_residual=False), watched=True)


def conjugate_method(directions: int = DIRECTIONS) -> Method:
    """Conjugate gradients for all bands."""
    solve = partial(conjugate, steps=directions, final_residual=False)
    return Method("CG", "conjugate gradients for all bands", solve, watched=True)
