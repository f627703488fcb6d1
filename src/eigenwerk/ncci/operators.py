"""The Hamiltonian of a case by one of the back ends, as the solvers of `linalg` want it."""

import time
from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import torch

from eigenwerk.linalg.operator import ALL, StandardOperator, Which
from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.diagonal import diagonal
from eigenwerk.ncci.pairs.pairs import pairs_hamiltonian
from eigenwerk.ncci.stored.csb import csb_hamiltonian
from eigenwerk.ncci.stored.dense import dense_hamiltonian
from eigenwerk.parallel.runtime import Runtime

SMALLEST_GAP = 5.0
"""Least difference (MeV) between the diagonal of H and an energy that the preconditioner divides by: it stays positive
definite."""


class Products(Protocol):
    """What a back end can do."""

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x, (n, b)."""
        ...


BUILDERS: dict[str, Callable[[ManyBodyBasis, BasisPairs, torch.dtype, torch.device], Products]] = {
    "csb": csb_hamiltonian,
    "pairs": pairs_hamiltonian,
    "dense": dense_hamiltonian,
}
"""Back ends by name."""


class Hamiltonian(StandardOperator):
    """H of a basis by one back end: one problem with S = 1, its vectors (1, n, b).

    build_seconds: what it took to build.
    """

    def __init__(self, basis: ManyBodyBasis, pairs: BasisPairs, backend: str, runtime: Runtime):
        begin = time.perf_counter()
        self.basis, self.pairs, self.backend, self.runtime = basis, pairs, backend, runtime
        self.products = BUILDERS[backend](basis, pairs, runtime.real, runtime.device)
        self.build_seconds = time.perf_counter() - begin

    @cached_property
    def diagonal_b(self) -> torch.Tensor:
        """<b|H|b>, made when a solver asks for a preconditioner."""
        return diagonal(self.basis, self.pairs, self.runtime.device).to(self.runtime.real)

    def first(self, x_knb: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """H x."""
        with self.runtime.trace.span("products"):
            return self.products.apply(x_knb[0]).unsqueeze(0)

    def precondition(
        self, residual_knb: torch.Tensor, eig_kn: torch.Tensor, x_knb: torch.Tensor, k: Which = ALL
    ) -> torch.Tensor:
        """r / max(diagonal - e, `SMALLEST_GAP`)."""
        gap_knb = self.diagonal_b - eig_kn.to(self.diagonal_b).unsqueeze(-1)
        return residual_knb / gap_knb.clamp_min_(SMALLEST_GAP)

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """Sum over the ranks that share the components."""
        return self.runtime.world.sum(tensor)
