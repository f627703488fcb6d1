"""The Hamiltonian of a case by one of the back ends, as the solvers of `linalg` want it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import torch

from eigenwerk.linalg.dense import DenseEigh, host_eigh
from eigenwerk.linalg.operator import ALL, StandardOperator, Which
from eigenwerk.linalg.shared_dense import SharedEigh
from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.diagonal import diagonal
from eigenwerk.ncci.estimate import SHARED, Estimate
from eigenwerk.ncci.inputs.inputs import SolverSettings
from eigenwerk.ncci.matrix_free.pairs import pairs_hamiltonian
from eigenwerk.ncci.ranks.four_steps import FourSteps, group_for
from eigenwerk.ncci.ranks.scheme import AUTO, Scheme, scheme_named
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.ncci.stored.csb import csb_hamiltonian
from eigenwerk.ncci.stored.csb_on_ranks import CsbOnRanks, csb_on_ranks
from eigenwerk.ncci.stored.csb_trial import ProductWork
from eigenwerk.ncci.stored.dense import dense_hamiltonian
from eigenwerk.parallel.memory.main_memory import give_back_freed_memory
from eigenwerk.parallel.runtime import Runtime

SMALLEST_GAP = 5.0
"""Least difference (MeV) between the diagonal of H and an energy that the preconditioner divides by: it stays positive
definite."""


class BackEnd(Protocol):
    """What a back end can do."""

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x, (n, b)."""
        ...


class OnRanks(Protocol):
    """An operator whose vectors ranks share."""

    @property
    def segments(self) -> Segments:
        """Which components each rank has."""
        ...

    def by_scheme(self, runtime: Runtime, scheme: Scheme) -> "OnRanks":
        """The same operator, with vectors that travel by another scheme; collective."""
        ...

    def on_segments(self, x_ns: torch.Tensor) -> torch.Tensor:
        """The own components (n, s) of H x, from those of x; collective."""
        ...


@dataclass(frozen=True)
class Sharing:
    """How several ranks share an operator.  layout: of stored blocks, "triangle", "dealt", or "" for the triangle where
    there is one; scheme: how vectors travel.  work: of a product, where a short trial may take another layout."""

    layout: str = ""
    scheme: Scheme = AUTO
    work: ProductWork | None = None


USUAL = Sharing()


def sharing_of(choice: SolverSettings, estimated: Estimate, backend: str, kept: str | None) -> Sharing:
    """How a case is shared: by the layout that it asks for, or that of the checkpoint it goes on from; else by the
    faster one, by the estimate and a trial."""
    scheme = scheme_named(choice.scheme)
    if backend != "csb" or choice.layout != "auto" or kept:
        return Sharing(kept or choice.layout, scheme)
    usual = next((cost.layout for cost in estimated.costs if cost.backend == backend), "")
    nonzeros = estimated.nonzeros
    return Sharing(usual, scheme, None if nonzeros is None else ProductWork(nonzeros, estimated.block))


@dataclass(frozen=True, eq=False)
class Gathered:
    """An operator of which each rank applies its share to whole vectors; on one rank, all of it."""

    steps: FourSteps
    products: BackEnd

    @property
    def segments(self) -> Segments:
        """Which components each rank has."""
        return self.steps.home

    def by_scheme(self, runtime: Runtime, scheme: Scheme) -> "Gathered":
        """The same operator, with vectors that travel by another scheme; collective."""
        return replace(self, steps=_one_home(self.segments.dimension, runtime, scheme))

    def on_segments(self, x_ns: torch.Tensor) -> torch.Tensor:
        """All-gather, products, reduce-scatter."""
        x_nb = self.steps.gather(x_ns)
        return self.steps.scatter(self.steps.work(lambda: self.products.apply(x_nb)))


def pairs_on(segments: Segments, basis: ManyBodyBasis, pairs: BasisPairs, runtime: Runtime) -> Gathered:
    """The matrix-free operator of `pairs` for vectors in such segments."""
    return _matrix_free(FourSteps(segments, runtime.device, runtime.trace), basis, pairs, runtime)


def _matrix_free(steps: FourSteps, basis: ManyBodyBasis, pairs: BasisPairs, runtime: Runtime) -> Gathered:
    world = runtime.world
    share = pairs_hamiltonian(basis, pairs, runtime.real, runtime.device, ranks=world.size, rank=world.rank)
    return Gathered(steps, share)


def _one_home(dimension: int, runtime: Runtime, scheme: Scheme) -> FourSteps:
    """All ranks share the components of all: two of the four steps."""
    column = group_for(scheme, runtime.world, 0, runtime.world.rank, "column")
    return FourSteps(Segments(dimension, column), runtime.device, runtime.trace, scheme=scheme)


def _pairs(basis: ManyBodyBasis, pairs: BasisPairs, runtime: Runtime, sharing: Sharing) -> OnRanks:
    return _matrix_free(_one_home(basis.dimension, runtime, sharing.scheme), basis, pairs, runtime)


def _csb(basis: ManyBodyBasis, pairs: BasisPairs, runtime: Runtime, sharing: Sharing) -> OnRanks:
    if runtime.world.size > 1:
        return csb_on_ranks(basis, pairs, runtime, sharing.layout, sharing.scheme, sharing.work)
    whole = csb_hamiltonian(basis, pairs, runtime.real, runtime.device)
    return Gathered(_one_home(basis.dimension, runtime, sharing.scheme), whole)


def _dense(basis: ManyBodyBasis, pairs: BasisPairs, runtime: Runtime, sharing: Sharing) -> OnRanks:
    whole = dense_hamiltonian(basis, pairs, runtime.real, runtime.device)
    return Gathered(_one_home(basis.dimension, runtime, sharing.scheme), whole)


BUILDERS: dict[str, Callable[[ManyBodyBasis, BasisPairs, Runtime, Sharing], OnRanks]] = {
    "csb": _csb,
    "pairs": _pairs,
    "dense": _dense,
}
"""Back ends by name."""


class NuclearHamiltonian(StandardOperator):
    """H of a basis by one back end: one problem with S = 1, its vectors (1, n, s) the `segments` of this rank.

    sharing: how several ranks do.  build_seconds: what it took to build.  Raises ValueError for a back end that several
    ranks do not share.
    """

    def __init__(
        self, basis: ManyBodyBasis, pairs: BasisPairs, backend: str, runtime: Runtime, sharing: Sharing = USUAL
    ):
        if runtime.world.size > 1 and backend not in SHARED:
            raise ValueError(f"back end {backend} on {runtime.world.size} ranks")
        begin = time.perf_counter()
        self.basis, self.pairs, self.backend, self.runtime = basis, pairs, backend, runtime
        self.shared = BUILDERS[backend](basis, pairs, runtime, sharing)
        give_back_freed_memory()
        self.build_seconds = time.perf_counter() - begin

    @property
    def segments(self) -> Segments:
        """Which components of vectors each rank has."""
        return self.shared.segments

    @property
    def shared_about(self) -> dict[str, Any]:
        """How the ranks share it, for records; empty where there is nothing to say."""
        return self.shared.about if isinstance(self.shared, CsbOnRanks) else {}

    @cached_property
    def diagonal_s(self) -> torch.Tensor:
        """<b|H|b>, made when a solver asks for a preconditioner."""
        return diagonal(self.basis, self.pairs, self.runtime.device, self.segments.own).to(self.runtime.real)

    @cached_property
    def eigh(self) -> DenseEigh:
        """Solves small dense problems that the ranks have in common, with the same bits on all of them."""
        return SharedEigh(self.runtime.world, self.runtime.trace, host_eigh)

    def first(self, x_kns: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """H x."""
        return self.on_vectors(x_kns[0]).unsqueeze(0)

    def on_vectors(self, x_ns: torch.Tensor) -> torch.Tensor:
        """H x of one problem, (n, s)."""
        with self.runtime.trace.span("products"):
            return self.shared.on_segments(x_ns)

    def precondition(
        self, residual_kns: torch.Tensor, eig_kn: torch.Tensor, x_kns: torch.Tensor, k: Which = ALL
    ) -> torch.Tensor:
        """r / max(diagonal - e, `SMALLEST_GAP`)."""
        gap_kns = self.diagonal_s - eig_kn.to(self.diagonal_s).unsqueeze(-1)
        return residual_kns / gap_kns.clamp_min_(SMALLEST_GAP)

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """Sum over the ranks that share the components."""
        return self.runtime.world.sum(tensor)
