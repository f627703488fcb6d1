"""One case from its description to levels."""

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eigenwerk import __version__
from eigenwerk.linalg.products import Reduce
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.build import Built, Say, built_for, silent
from eigenwerk.ncci.inputs.inputs import Case, block_size
from eigenwerk.ncci.interaction.two_body import TwoBody
from eigenwerk.ncci.problem import CaseSpace
from eigenwerk.ncci.ranks.scheme import scheme_named
from eigenwerk.ncci.results.case_levels import case_about, levels_of, solver_about, taken
from eigenwerk.ncci.results.levels import COULOMB_LEFT, Levels
from eigenwerk.ncci.results.levels_file import read_vectors, start_levels
from eigenwerk.ncci.results.observables import factors_of
from eigenwerk.ncci.results.observation import Observation
from eigenwerk.ncci.results.one_nucleon import one_nucleon_states
from eigenwerk.ncci.solve.checkpoint import Checkpoint
from eigenwerk.ncci.solve.operators import NuclearHamiltonian
from eigenwerk.ncci.solve.solving import Report, solve
from eigenwerk.ncci.solve.start_vectors import carried_over, noise_variance, start_vectors
from eigenwerk.ncci.sources import LAWSON, Source, source_of
from eigenwerk.ncci.stages import STATES, Stages, Work
from eigenwerk.parallel.launch.choice import DeviceRequest
from eigenwerk.parallel.launch.environment import Launch
from eigenwerk.parallel.launch.start import StartRequest, init_ranks
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.threads import intraop_threads


@dataclass(frozen=True, eq=False)
class CaseResult:
    """Levels with the vectors (n, b), whole on every rank, and the basis that they belong to."""

    case: Case
    problem: CaseSpace
    basis: ManyBodyBasis
    levels: Levels
    vectors_nb: np.ndarray


def alone(device: str) -> Runtime:
    """One rank on the device that is asked for in the words of --device.  Raises InputError where there is none."""
    with init_ranks(Launch(), lambda: StartRequest(DeviceRequest(device))) as team:
        return team.runtime


def run_case(
    case: Case,
    *,
    runtime: Runtime | None = None,
    source: Source | None = None,
    start: CaseResult | None = None,
    checkpoint: Path | None = None,
    report: Report | None = None,
    say: Say = silent,
) -> CaseResult:
    """Compute one case; of several ranks all call it, and all get the result.

    runtime: ranks, device and trace; the device that the case asks for where it is None.  source: an interaction made
    in Python, in place of the one that the case names.  start: a result of the same nucleus in a smaller space, to
    begin from.
    checkpoint: a folder for the way of the solver; what lies there is continued, on any number of ranks.  report:
    called after every step, on every rank.  say: called with a line for each stage, on the first rank.
    Raises InputError for a case that cannot be.
    """
    begin = time.perf_counter()
    runtime = runtime or alone(case.solver.device)
    say = say if runtime.writes else silent
    source = source or source_of(case)
    built = built_for(case, source, runtime, checkpoint, say)
    operator, solving = built.operator, time.perf_counter()
    known = _known_states(case, source, operator, start)
    work = _work(case, built, checkpoint, known, report)
    stages = Stages(_observation(case, source, built))
    seconds = _found_and_observed(work, stages, say)
    observed, quanta = stages.observation.result(), case.lawson if LAWSON in built.parts else 0.0
    energy_n = stages.result().eig_kn[0].cpu().numpy() - (quanta * observed.values["N_cm"] if quanta else 0.0)
    order_n = np.argsort(energy_n, kind="stable")
    found, observed = taken(stages.result(), observed, order_n)
    solver = solver_about(case) | {
        "backend": operator.backend,
        "products": found.applications,
        "build_seconds": solving - begin,
        "solve_seconds": seconds,
        "program": __version__,
        "ranks": runtime.world.size,
        "scheme": scheme_named(case.solver.scheme).name,
        "tolerance": case.solver.tolerance,
    } | operator.shared_about
    smaller = {} if known is None else _overlaps(found.vectors_knx[0], *known, operator.sum)
    sizes = operator.basis.dimension, built.estimated.nonzeros or 0
    levels = levels_of(
        case, built.problem, stages.observation.factors, found, observed, energy_n[order_n], sizes, solver, smaller
    )
    vectors_nb = work.whole_vectors(stages)[torch.from_numpy(order_n).to(runtime.device)]
    return CaseResult(case, built.problem, operator.basis, levels, vectors_nb.cpu().numpy())


def _work(
    case: Case, built: Built, folder: Path | None, known: tuple[Levels, np.ndarray] | None, report: Report | None
) -> Work:
    """How states are found: by the solver from the known ones and noise, of a single nucleon exactly."""
    operator, alone_bb = built.operator, built.alone_bb
    runtime, segments = operator.runtime, operator.segments
    if alone_bb is not None:
        matrix_bb = alone_bb
        exact = partial(one_nucleon_states, operator.basis, matrix_bb, case.states, runtime.tensor([0]))
        return Work(case, built.problem, operator, exact, None)

    def begin_from(count: int) -> torch.Tensor:
        known_ns = None if known is None else torch.from_numpy(known[1])
        return start_vectors(segments, count, known_ns, runtime.tensor([0]))

    saved = None
    if folder is not None:
        notes = {"layout": operator.shared_about.get("layout"), "ranks": runtime.world.size}
        what = case_about(case, built.problem) | solver_about(case)
        saved = Checkpoint(folder, what, runtime.world, segments.cuts, notes)
    variance = noise_variance(block_size(case.solver, case.states), None if known is None else len(known[1]))
    find = partial(solve, operator, begin_from, case.solver, case.states, saved, report, variance)
    return Work(case, built.problem, operator, find, saved)


def _observation(case: Case, source: Source, built: Built) -> Observation:
    """What is wanted of the states; with H term by term, and operators that are no part of it."""

    def terms() -> dict[str, TwoBody]:
        left = source.coulomb_left(case, built.problem)
        of_h = {name: part for name, part in built.parts.items() if name != LAWSON and "terms" in case.observables}
        return of_h | ({} if left is None else {COULOMB_LEFT: left})

    operator, factors = built.operator, factors_of(case, built.problem)
    return Observation(built.problem, operator.basis, operator.pairs, case.observables, factors, terms)


def _found_and_observed(work: Work, stages: Stages, say: Say) -> float:
    """Goes through the stages that are missing; seconds that it took to have the states."""
    runtime, states = work.operator.runtime, work.case.states
    begin = time.perf_counter()
    with runtime.trace.span("states"), intraop_threads(None, runtime.device):  # its small problems are for few threads
        work.continued(stages)
        if stages.ask() == STATES:
            work.do(STATES, stages)
    solved = time.perf_counter()
    found, _, parts = stages.state()
    assert found is not None
    say("; ".join([f"states     {found.applications} products, {solved - begin:.1f} s", *found.notes]))
    if parts:
        say(f"observed   {', '.join(parts)} before the run was stopped")
    say(f"observing  {', '.join(['J', *work.case.observables])} of {states} state{'s' if states > 1 else ''}")
    with runtime.trace.span("observables"):
        while (stage := stages.ask()) is not None:
            work.do(stage, stages)
    say(f"observed   {time.perf_counter() - solved:.1f} s")
    return solved - begin


def _known_states(
    case: Case, source: Source, operator: NuclearHamiltonian, start: CaseResult | None
) -> tuple[Levels, np.ndarray] | None:
    """States of a smaller case and their vectors (m, s) in this basis, the components of this rank: of a file that the
    case names, else of `start`."""
    basis, own = operator.basis, operator.segments.own
    if case.solver.start is None:
        return None if start is None else (start.levels, carried_over(start.basis, basis, start.vectors_nb, own))
    levels = start_levels(case)
    assert levels is not None
    about = levels.about
    smaller = replace(case, max_excitation=about["Nmax"], weights=tuple(about["weights"]), parity=None)
    return levels, carried_over(source.problem(smaller).basis(), basis, read_vectors(case.solver.start), own)


def _overlaps(vectors_ns: torch.Tensor, smaller: Levels, known_ms: np.ndarray, add: Reduce) -> dict[str, Any]:
    """How much of each smaller state is in each state; see `Levels.smaller`."""
    known = torch.from_numpy(known_ms).to(vectors_ns)
    return {
        "Nmax": smaller.about["Nmax"],
        "hw": smaller.about["hw"],
        "energy_m": smaller.energy_n,
        "overlap_nm": (add(vectors_ns @ known.T) ** 2).double().cpu().numpy(),
    }
