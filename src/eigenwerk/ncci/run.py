"""One case from its description to levels: basis, interaction, operator, states, observables, files."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eigenwerk import __version__
from eigenwerk.linalg.operator import EigenResult
from eigenwerk.linalg.products import Reduce
from eigenwerk.ncci.basis.basis_pairs import BasisPairs, basis_pairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.estimate import Estimate, planned
from eigenwerk.ncci.inputs.inputs import Case, block_size
from eigenwerk.ncci.interaction.angular import total_spin
from eigenwerk.ncci.interaction.two_body import TwoBody
from eigenwerk.ncci.problem import CaseSpace
from eigenwerk.ncci.ranks.common_pairs import common_pairs
from eigenwerk.ncci.ranks.scheme import AUTO, scheme_named
from eigenwerk.ncci.refusal import refuse_host_memory, refuse_what_does_not_fit
from eigenwerk.ncci.results.levels import COULOMB_LEFT, Levels, spin_of
from eigenwerk.ncci.results.levels_file import read_vectors, start_levels
from eigenwerk.ncci.results.observables import Observed, factors_of, not_computed, observe
from eigenwerk.ncci.results.one_nucleon import one_nucleon_matrix, one_nucleon_states
from eigenwerk.ncci.results.separation import Shared, mixed, residuals, separated
from eigenwerk.ncci.solve.checkpoint import Checkpoint
from eigenwerk.ncci.solve.operators import NuclearHamiltonian, pairs_on, sharing_of
from eigenwerk.ncci.solve.solving import Report, solve
from eigenwerk.ncci.solve.start_vectors import carried_over, noise_variance, start_vectors
from eigenwerk.ncci.sources import LAWSON, Source, source_of, total
from eigenwerk.parallel.launch.choice import DeviceRequest
from eigenwerk.parallel.launch.environment import Launch
from eigenwerk.parallel.launch.start import StartRequest, init_ranks
from eigenwerk.parallel.memory.device_memory import memory_shares
from eigenwerk.parallel.memory.main_memory import installed_memory
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.threads import intraop_threads
from eigenwerk.units import NUCLEON_MASS_MEV

Say = Callable[[str], None]


def silent(line: str) -> None:
    """What ranks other than the first one say."""


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


def fitting(case: Case, problem: CaseSpace, runtime: Runtime) -> tuple[Estimate, str]:
    """What a case costs and the back end that it takes here; collective.  Raises InputError where it does not fit."""
    world, device = runtime.world, runtime.device
    estimated, memory, backend = planned(case, problem, device.type, memory_shares(world, device), world.size)
    refuse_what_does_not_fit(case, problem, estimated, backend, memory)
    if device.type == "cuda":
        refuse_host_memory(case, estimated.cost(backend), world.size, installed_memory())
    return estimated, backend


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
    runtime, scheme = runtime or alone(case.solver.device), scheme_named(case.solver.scheme)
    scheme.check_world(runtime.world.size, runtime.world.transport)
    if case.solver.precision == "single":
        runtime = replace(runtime, real=torch.float32, complex=torch.complex64)
    say = say if runtime.writes else silent
    span, world = runtime.trace.span, runtime.world
    source = source or source_of(case)
    problem = source.problem(case)
    device = runtime.device
    estimated, backend = fitting(case, problem, runtime)
    with span("basis"):
        basis = problem.basis()
    determinants = f"{len(basis.protons)} proton and {len(basis.neutrons)} neutron determinants"
    say(f"basis      {basis.dimension} states, {determinants}")
    with span("matrix elements"):
        parts = source.parts(case, problem)
        number = np.float32 if case.solver.precision == "single" else np.float64
        alone_bb = one_nucleon_matrix(basis, source.energies()) if basis.nucleons == 1 else None
        if alone_bb is None:
            pairs = common_pairs(world, lambda: basis_pairs(basis, total(parts), number))
        else:
            pairs = BasisPairs({}, alone_bb)
    say(f"elements   {sum(b.matrix_xx.size for kind in pairs.blocks.values() for b in kind)} between pairs of m-states")
    about = _about(case, problem)
    what = about | _solver_about(case)
    there = Checkpoint(checkpoint, what, world) if checkpoint is not None else None
    if there is not None and (done := there.products()):
        say(f"continues  from {checkpoint}, after {done} products")
    with span("operator"):
        kept = there.layout() if there is not None and world.size > 1 else None
        operator = NuclearHamiltonian(basis, pairs, backend, runtime, sharing_of(case.solver, estimated, backend, kept))
    built = time.perf_counter()
    where = f"{device}" if world.size == 1 else f"{world.size} ranks ({device.type}, {world.transport})"
    if operator.shared_about:
        spread = operator.shared_about["nonzeros_max_over_mean"]
        how = {"dealt": "rows dealt out", "triangle": "blocks on a triangle"}[operator.shared_about["layout"]]
        where += f", {how}, nonzeros up to {spread:.2f} of the mean"
    where += "" if scheme.name == AUTO.name else f", scheme {scheme.name}"
    if "layout_trial" in operator.shared_about:
        say(f"layout     {operator.shared_about['layout_trial']}")
    say(f"operator   {operator.backend} on {where}, {case.solver.precision} precision, {operator.build_seconds:.1f} s")

    known = _known_states(case, source, operator, start)

    def begin_from(count: int) -> torch.Tensor:
        known_ns = None if known is None else torch.from_numpy(known[1])
        return start_vectors(operator.segments, count, known_ns, runtime.tensor([0]))

    cuts = operator.segments.cuts
    notes = {"layout": operator.shared_about.get("layout"), "ranks": world.size}
    saved = Checkpoint(checkpoint, what, world, cuts, notes) if checkpoint is not None else None
    with span("states"), intraop_threads(None, device):  # its small problems are for few threads
        if alone_bb is None:
            block = block_size(case.solver, case.states)
            variance = noise_variance(block, None if known is None else len(known[1]))
            found = solve(operator, begin_from, case.solver, case.states, saved, report, variance)
        else:
            found = one_nucleon_states(basis, alone_bb, case.states, runtime.tensor([0]))
    solved = time.perf_counter()
    say("; ".join([f"states     {found.applications} products, {solved - built:.1f} s", *found.notes]))
    solver = _solver_about(case) | {
        "backend": operator.backend,
        "products": found.applications,
        "build_seconds": built - begin,
        "solve_seconds": solved - built,
        "program": __version__,
        "ranks": world.size,
        "scheme": scheme.name,
        "tolerance": case.solver.tolerance,
    } | operator.shared_about
    states = f"{case.states} state{'s' if case.states > 1 else ''}"
    say(f"observing  {', '.join(['J', *case.observables])} of {states}")
    with span("observables"):
        left = source.coulomb_left(case, problem)
        beside = {} if left is None else {COULOMB_LEFT: left}
        levels, found, vectors_nb = _levels(case, problem, operator, parts, beside, estimated, found, about, solver)
        overlaps = {} if known is None else _overlaps(found.vectors_knx[0], *known, operator.sum)
        levels = replace(levels, smaller=overlaps)
    say(f"observed   {time.perf_counter() - solved:.1f} s")
    return CaseResult(case, problem, basis, levels, vectors_nb.cpu().numpy())


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


def _about(case: Case, problem: CaseSpace) -> dict[str, Any]:
    """The case in plain values, as it is stored."""
    natural = problem.lowest % 2
    return {
        "title": case.title,
        "nucleus": case.nucleus.name,
        "Z": case.nucleus.protons,
        "N": case.nucleus.neutrons,
        "valence_Z": problem.space.protons,
        "valence_N": problem.space.neutrons,
        "interaction": case.interaction,
        "srg_lambda": case.srg_lambda,
        "hw": case.hw,
        "Nmax": case.max_excitation,
        "weights": list(case.weights),
        "least_excitation": int(problem.space.parity != natural) if case.max_excitation is not None else 0,
        "twice_M": case.twice_m,
        "parity": 1 - 2 * problem.space.parity,
        "coulomb": case.coulomb,
        "lawson": case.lawson,
        "nucleon_mass": NUCLEON_MASS_MEV,
        "states": case.states,
    }


def _solver_about(case: Case) -> dict[str, Any]:
    choice = case.solver
    return {
        "method": choice.method,
        "precision": choice.precision,
        "block": block_size(choice, case.states),
        "space": choice.space,
    }


def _levels(
    case: Case,
    problem: CaseSpace,
    operator: NuclearHamiltonian,
    parts: Mapping[str, TwoBody],
    beside: Mapping[str, TwoBody],
    estimated: Estimate,
    found: EigenResult,
    about: dict[str, Any],
    solver: dict[str, Any],
) -> tuple[Levels, EigenResult, torch.Tensor]:
    """What is computed of the states, the states, and all their components (n, b), in the order of the energies without
    Lawson's term.

    beside: operators that are no part of H.  Levels that the solver found as mixtures of several J are taken apart
    first, see `separation`.
    """
    basis, factors = operator.basis, factors_of(case, problem)
    terms = {name: part for name, part in parts.items() if name != LAWSON and "terms" in case.observables}
    terms |= beside

    def observed_of(vectors_ns: torch.Tensor) -> tuple[Observed, torch.Tensor]:
        whole_nb = operator.segments.whole(vectors_ns)
        comm = operator.runtime.world
        return observe(problem, basis, operator.pairs, whole_nb, case.observables, factors, terms, comm), whole_nb

    observed, vectors_nb = observed_of(found.vectors_knx[0])
    residual_n = found.residual_kn[0].cpu().numpy()
    mixed_n = mixed(observed.values["J2"], residual_n, basis.nucleons, found.vectors_knx.dtype)
    mixed_n &= found.converged_kn[0].cpu().numpy()
    shared = Shared(operator.sum, operator.eigh)
    if mixed_n.any():
        spin = basis_pairs(basis, total_spin(problem.pairs, basis.nucleons))
        j_squared = pairs_on(operator.segments, basis, spin, operator.runtime).on_segments
        found = separated(found, mixed_n, operator.on_vectors, j_squared, case.solver.tolerance, shared)
        observed, vectors_nb = observed_of(found.vectors_knx[0])
    else:  # one after the other: a block of them may not fit
        true = [residuals(x_ns[None], operator.on_vectors, shared)[1] for x_ns in found.vectors_knx[0]]
        found = replace(found, residual_kn=torch.cat(true)[None])
    values = observed.values
    energy_n = found.eig_kn[0].cpu().numpy() - (case.lawson * values["N_cm"] if LAWSON in parts else 0.0)
    order_n = np.argsort(energy_n, kind="stable")
    order = torch.from_numpy(order_n).to(found.eig_kn.device)
    found = replace(
        found, eig_kn=found.eig_kn[:, order], vectors_knx=found.vectors_knx[:, order],
        residual_kn=found.residual_kn[:, order], converged_kn=found.converged_kn[:, order],
    )  # fmt: skip
    vectors_nb = vectors_nb[order]
    values = {name: array[order_n] for name, array in values.items()}
    levels = Levels(
        about=about | {
            "observables": list(case.observables),
            "not_computed": list(not_computed(problem, case.observables if "observables" in case.given else ())),
            "core": None if problem.core is None else list(problem.core),
            "orbital_hw": problem.hw,
            "effective_charges": list(factors.charge),
            "g_orbital": list(factors.g_orbital),
            "g_spin": list(factors.g_spin),
        },
        dimension=basis.dimension,
        nonzeros=estimated.nonzeros or 0,
        energy_n=energy_n[order_n],
        residual_n=found.residual_kn[0].cpu().numpy(),
        converged=bool(found.converged_kn.all()),
        j_n=spin_of(values["J2"]),
        isospin_n=spin_of(values["T2"]) if "T2" in values else np.full(len(energy_n), np.nan),
        values=values,
        transitions={name: matrix[np.ix_(order_n, order_n)] for name, matrix in observed.transitions.items()},
        orbitals={
            "p": np.array(problem.space.orbitals_p.labels, dtype=np.int64),
            "n": np.array(problem.space.orbitals_n.labels, dtype=np.int64),
        },
        solver=solver,
    )  # fmt: skip
    return levels, found, vectors_nb
