"""The eigensolvers of self-consistency, each declared once (no torch here).

A new one is a file in `linalg` and an entry below: ALGO and IALGO with their help, the steps of a run that it serves,
its names in OSZICAR and in messages follow from the entry.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

AUTOMATIC = "automatic"
"""`Parameters.solver` where the size of the job decides."""

DAVIDSON_STEPS = 2
"""Steps of blocked Davidson before bands move by themselves."""

MANY_BANDS_REAL, MANY_BANDS_COMPLEX = 160, 128
"""From so many bands on, bands that move by themselves save more (overlaps, dense problems of 3 n) than they lose."""


@dataclass(frozen=True)
class Request:
    """How INCAR asks for something: words of ALGO, number of IALGO; meaning: in the table of tags.

    by_letter: whether the first letter of a word is enough.
    """

    words: tuple[str, ...] = ()
    number: int | None = None
    meaning: str = ""
    by_letter: bool = False

    @property
    def word(self) -> str:
        """The one by which the number is explained."""
        return min(self.words)


@dataclass(frozen=True)
class Eigensolver:
    """One solver.

    name: of `Parameters.solver`; short: in OSZICAR; title: in messages.  function: "module:function", named in words
    because it loads PyTorch: (operator, start_knx, tolerance=, wanted_weight_kn=, eigh=, ...) -> EigenResult.
    first, later, always: its other arguments in the first step of all, in any other, in every one; of_job: arguments
    that are fields of `SolverJob`.  request: how INCAR asks for it; after_davidson: for it after two steps of Davidson;
    frozen_steps: default of |NELMDL|.  watched: whether it may stall, or leave a state out; dense: whether it
    diagonalises whole matrices; keeps: whether it takes and returns the projections of the orbitals (proj_kni).
    """

    name: str
    short: str
    title: str
    function: str
    request: Request
    first: Mapping[str, object] = field(default_factory=dict)
    later: Mapping[str, object] = field(default_factory=dict)
    always: Mapping[str, object] = field(default_factory=dict)
    of_job: Mapping[str, str] = field(default_factory=dict)
    after_davidson: Request | None = None
    frozen_steps: int = 0
    watched: bool = False
    dense: bool = False
    keeps: bool = False


_LAST_RESIDUAL_LEFT_OUT = {"final_residual": False}

EIGENSOLVERS = (
    Eigensolver(
        "davidson", "DAV", "blocked Davidson", "eigenwerk.linalg.bands.davidson:davidson",
        Request(("Normal",), 38, by_letter=True),
        {"expansions": 3}, {"expansions": 2}, _LAST_RESIDUAL_LEFT_OUT, keeps=True,
    ),
    Eigensolver(
        "rmm", "RMM", "RMM-DIIS", "eigenwerk.linalg.bands.rmm_diis:rmm_diis",
        Request(("VeryFast",), 48, by_letter=True),
        {"steps": 4}, {"steps": 2}, _LAST_RESIDUAL_LEFT_OUT, watched=True, keeps=True,
        after_davidson=Request(("Fast",), 68, "the first and then the second", by_letter=True),
        frozen_steps=3,  # it must first find the lowest states of the starting potential
    ),
    Eigensolver(
        # of later steps the bands get four whose residuals two have not halved
        "conjugate", "CG", "conjugate gradients for all bands", "eigenwerk.linalg.bands.conjugate:conjugate",
        Request(("Conjugate", "All"), 58, by_letter=True),
        {"usual_steps": 4, "steps": 4}, {"usual_steps": 2, "steps": 4}, _LAST_RESIDUAL_LEFT_OUT,
        after_davidson=Request(), watched=True, keeps=True,
    ),
    Eigensolver(
        "damped", "DMP", "damped motion", "eigenwerk.linalg.bands.damped:damped",
        Request(("Damped",), 53, by_letter=True),
        {"steps": 4}, {"steps": 4}, _LAST_RESIDUAL_LEFT_OUT, {"time": "motion_time"}, watched=True, keeps=True,
    ),
    Eigensolver(
        "exact", "EXA", "exact diagonalisation", "eigenwerk.dft.scf.solvers:exact",
        Request(("Exact",), 90, "dense matrices (small cells)"), dense=True,
    ),
    Eigensolver(
        "chebyshev", "CHE", "Chebyshev filter", "eigenwerk.linalg.bands.chebyshev:chebyshev",
        Request(("Chebyshev",), meaning="filtered subspaces (not in VASP)"),
        {"degree": 12}, {"degree": 8}, watched=True,
    ),
)  # fmt: skip


class Sequence(NamedTuple):
    """Which solver begins, for how many steps, and which one follows."""

    begins: Eigensolver
    steps: int
    follows: Eigensolver
    request: Request


def _sequences() -> dict[str, Sequence]:
    davidson, found = EIGENSOLVERS[0], {}
    for solver in EIGENSOLVERS:
        found[solver.name] = Sequence(solver, 0, solver, solver.request)
        if solver.after_davidson is not None:
            name = f"{davidson.name}, {solver.name}"
            found[name] = Sequence(davidson, DAVIDSON_STEPS, solver, solver.after_davidson)
    return found


SEQUENCES = _sequences()
"""By `Parameters.solver`."""

def sequence_for(solver: str, bands: int, real: bool) -> str:
    """The word of `SEQUENCES` that serves a job with this `Parameters.solver` and so many bands."""
    if solver != AUTOMATIC:
        return solver
    many = MANY_BANDS_REAL if real else MANY_BANDS_COMPLEX
    return "davidson, conjugate" if bands >= many else "davidson"


ALGOS = {"Automatic": AUTOMATIC} | {word: name for name, entry in SEQUENCES.items() for word in entry.request.words}
"""ALGO -> `Parameters.solver`; other words that are accepted are served by blocked Davidson."""

NUMBERS = {one.request.number: one.request.word for one in SEQUENCES.values() if one.request.number is not None}
"""IALGO -> ALGO."""
