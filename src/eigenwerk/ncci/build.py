"""From a case to its operator: basis, matrix elements between pairs of m-states, back end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from eigenwerk.ncci.basis.basis_pairs import BasisPairs, basis_pairs
from eigenwerk.ncci.estimate import Estimate, planned
from eigenwerk.ncci.inputs.inputs import Case
from eigenwerk.ncci.interaction.pair_blocks import PairBlock
from eigenwerk.ncci.interaction.two_body import TwoBody
from eigenwerk.ncci.problem import CaseSpace
from eigenwerk.ncci.ranks.scheme import AUTO, Scheme, scheme_named
from eigenwerk.ncci.refusal import refuse_host_memory, refuse_what_does_not_fit
from eigenwerk.ncci.results.case_levels import case_about, solver_about
from eigenwerk.ncci.results.one_nucleon import one_nucleon_matrix
from eigenwerk.ncci.solve.checkpoint import Checkpoint
from eigenwerk.ncci.solve.operators import NuclearHamiltonian, sharing_of
from eigenwerk.ncci.sources import Source, total
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.memory.device_memory import memory_shares
from eigenwerk.parallel.memory.main_memory import give_back_freed_memory, installed_memory
from eigenwerk.parallel.memory.node_arrays import Arrays, once_per_node
from eigenwerk.parallel.runtime import Runtime

Say = Callable[[str], None]


def silent(line: str) -> None:
    """What ranks other than the first one say."""


def fitting(case: Case, problem: CaseSpace, runtime: Runtime) -> tuple[Estimate, str]:
    """What a case costs and the back end that it takes here; collective.  Raises InputError where it does not fit."""
    world, device = runtime.world, runtime.device
    estimated, memory, backend = planned(case, problem, device.type, memory_shares(world, device), world.size)
    refuse_what_does_not_fit(case, problem, estimated, backend, memory)
    if device.type == "cuda":
        refuse_host_memory(case, estimated.cost(backend), world.size, installed_memory())
    return estimated, backend


@dataclass(frozen=True, eq=False)
class Built:
    """What the states are found with.  parts: the terms of H.  alone_bb: H of a single nucleon, MeV."""

    problem: CaseSpace
    estimated: Estimate
    parts: Mapping[str, TwoBody]
    alone_bb: np.ndarray | None
    operator: NuclearHamiltonian


def built_for(case: Case, source: Source, runtime: Runtime, checkpoint: Path | None, say: Say) -> Built:
    """Basis, matrix elements and operator, for vectors of the number type that the case asks for."""
    scheme = scheme_named(case.solver.scheme)
    scheme.check_world(runtime.world.size, runtime.world.transport)
    if case.solver.precision == "single":
        runtime = replace(runtime, real=torch.float32, complex=torch.complex64)
    span, world = runtime.trace.span, runtime.world
    problem = source.problem(case)
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
    there = None
    if checkpoint is not None:
        there = Checkpoint(checkpoint, case_about(case, problem) | solver_about(case), world)
        if done := there.products():
            say(f"continues  from {checkpoint}, after {done} products")
    with span("operator"):
        kept = there.layout() if there is not None and world.size > 1 else None
        operator = NuclearHamiltonian(basis, pairs, backend, runtime, sharing_of(case.solver, estimated, backend, kept))
    _say_operator(operator, case, scheme, say)
    return Built(problem, estimated, parts, alone_bb, operator)


def _say_operator(operator: NuclearHamiltonian, case: Case, scheme: Scheme, say: Say) -> None:
    """By what and where products are made."""
    world, device = operator.runtime.world, operator.runtime.device
    where = f"{device}" if world.size == 1 else f"{world.size} ranks ({device.type}, {world.transport})"
    if operator.shared_about:
        spread = operator.shared_about["nonzeros_max_over_mean"]
        how = {"dealt": "rows dealt out", "triangle": "blocks on a triangle"}[operator.shared_about["layout"]]
        where += f", {how}, nonzeros up to {spread:.2f} of the mean"
    where += "" if scheme.name == AUTO.name else f", scheme {scheme.name}"
    if "layout_trial" in operator.shared_about:
        say(f"layout     {operator.shared_about['layout_trial']}")
    say(f"operator   {operator.backend} on {where}, {case.solver.precision} precision, {operator.build_seconds:.1f} s")


BLOCK_ARRAYS = "first_x", "second_x", "quanta_x", "matrix_xx"
"""Of a block, in their order."""


def common_pairs(comm: Communicator, make: Callable[[], BasisPairs]) -> BasisPairs:
    """What `make` gives, which is called by one rank of each machine; collective.  Its InputError is everybody's."""
    if comm.size == 1:
        return make()
    found = _pairs(once_per_node(comm, lambda: _arrays(make())))
    give_back_freed_memory()
    return found


def _arrays(pairs: BasisPairs) -> Arrays:
    found = {}
    for kind, blocks in pairs.blocks.items():
        found[f"{kind} labels"] = np.array([(block.twice_M, block.parity) for block in blocks]).reshape(-1, 2)
        for number, block in enumerate(blocks):
            found |= {f"{kind} {number} {name}": getattr(block, name) for name in BLOCK_ARRAYS}
    return found


def _pairs(arrays: Arrays) -> BasisPairs:
    found = {}
    for kind in (name.removesuffix(" labels") for name in arrays if name.endswith(" labels")):
        labels = arrays[f"{kind} labels"].tolist()
        found[kind] = [
            PairBlock(twice_m, parity, *(arrays[f"{kind} {number} {name}"] for name in BLOCK_ARRAYS))
            for number, (twice_m, parity) in enumerate(labels)
        ]
    return BasisPairs(found)
