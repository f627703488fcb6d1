"""What a solver knows of an eigenproblem: four verbs; and what it gives back.

A solver treats a block of k independent generalised Hermitian problems H x = e S x at once.
Vectors are rows: `x_knx` holds, for each problem k, n vectors of x components, float64, complex128
or their single-precision forms.  Problems of different size are padded along x to the longest one.
Padded components are zero in everything that goes in and comes out.

Both engines speak this language.  `SplitOperator` is a Hamiltonian of dft; `StandardOperator`, with S = 1, is one of
ncci: a single problem, k = 1, so that its vectors (n, x) are views of (1, n, x) and nothing is copied.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import torch

Which = slice | torch.Tensor
"""Which problems of an operator's block the rows belong to: anything that indexes its axis k."""

ALL = slice(None)
"""All problems of the block."""


def which_of(index_k: torch.Tensor) -> Which:
    """A slice where the problems are neighbours: slicing an operator's tensors copies nothing."""
    first, last = int(index_k[0]), int(index_k[-1])
    return slice(first, last + 1) if last - first + 1 == len(index_k) else index_k


def of_those(outer: Which, inner: Which) -> Which:
    """Which problems of the block the `inner` ones of the `outer` ones are."""
    if not isinstance(outer, slice):
        return outer[inner]
    start = outer.start or 0
    if not isinstance(inner, slice):
        return inner + start if start else inner
    return slice(start + (inner.start or 0), outer.stop if inner.stop is None else start + inner.stop)


class Operator(Protocol):
    """The pencil (H, S) of a block of problems, S positive definite on the unpadded components.

    `k` says which problems of the block the first axis of the arguments runs over: `ALL`, a slice,
    or a tensor of indices (solvers let converged problems leave the batch).  An operator that
    indexes its own per-problem tensors with `k` serves all three.
    """

    def apply(self, x_knx: torch.Tensor, k: Which = ALL) -> tuple[torch.Tensor, torch.Tensor]:
        """(H x, S x), both (k, n, x), in one pass."""
        ...

    def overlap(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """S x, (k, n, x)."""
        ...

    def precondition(
        self, residual_knx: torch.Tensor, eig_kn: torch.Tensor, x_knx: torch.Tensor, k: Which = ALL
    ) -> torch.Tensor:
        """An approximation of (H - e S)^-1 r up to sign and length, (k, n, x), for the pairs (e, x)."""
        ...

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """The sum over the ranks that share the components x; the tensor itself when there is one."""
        ...


class InvertibleOperator(Operator, Protocol):
    """A pencil whose S can be inverted."""

    def solve_overlap(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """S^-1 x, (k, n, x)."""
        ...


class SplitOperator(ABC):
    """A pencil with a part of low rank:  H = A + P^H D P,  S = 1 + P^H E P;  P (k, i, x) with i << x.

    D and E are Hermitian, (i, i), and may differ from problem to problem.  Solvers keep A x and P x of their vectors
    (`images.SplitImages`) in place of H x and S x.  splits: False where they should not, because P x costs too much
    on its own.  own_i: the components i that this rank adds to sums over ranks; P x itself is complete on every rank.
    """

    splits: bool = True
    own_i: slice = slice(None)
    double_sums: bool = False
    """Whether solvers add up inner products of single-precision vectors in double, and keep eigenvalues in double."""

    @abstractmethod
    def first(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """A x, (k, n, x), a new tensor."""

    @abstractmethod
    def project(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """P x, (k, n, i), summed over ranks."""

    @abstractmethod
    def times_dh(self, proj_kni: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """D P x, (k, n, i)."""

    @abstractmethod
    def times_ds(self, proj_kni: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """E P x, (k, n, i)."""

    @abstractmethod
    def add_projected(self, q_kni: torch.Tensor, onto_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """onto + P^H q, (k, n, x), in the memory of `onto`."""

    @abstractmethod
    def precondition(
        self, residual_knx: torch.Tensor, eig_kn: torch.Tensor, x_knx: torch.Tensor, k: Which = ALL
    ) -> torch.Tensor:
        """As for `Operator`."""

    @abstractmethod
    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """As for `Operator`."""

    def apply(self, x_knx: torch.Tensor, k: Which = ALL) -> tuple[torch.Tensor, torch.Tensor]:
        """(H x, S x)."""
        first_knx, proj_kni = self.first(x_knx, k), self.project(x_knx, k)
        h_knx = self.add_projected(self.times_dh(proj_kni, k), first_knx, k)
        return h_knx, self.add_projected(self.times_ds(proj_kni, k), x_knx.clone(), k)

    def overlap(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """S x."""
        return self.add_projected(self.times_ds(self.project(x_knx, k), k), x_knx.clone(), k)


class StandardOperator(SplitOperator):
    """A pencil with S = 1: H = A, and P has no rows, so that solvers keep x and H x of their vectors.

    Its vectors may be as long as memory allows, hence the sums in double: those of 10^8 single-precision numbers would
    cost the energies their last digits.
    """

    double_sums = True

    def precondition(
        self, residual_knx: torch.Tensor, eig_kn: torch.Tensor, x_knx: torch.Tensor, k: Which = ALL
    ) -> torch.Tensor:
        """None: the residual itself."""
        return residual_knx

    def project(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """Nothing, (k, n, 0)."""
        return x_knx[..., :0]

    def times_dh(self, proj_kni: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """Nothing."""
        return proj_kni

    def times_ds(self, proj_kni: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """Nothing."""
        return proj_kni

    def add_projected(self, q_kni: torch.Tensor, onto_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """`onto` itself."""
        return onto_knx

    def apply(self, x_knx: torch.Tensor, k: Which = ALL) -> tuple[torch.Tensor, torch.Tensor]:
        """(H x, x): the second is the argument, no copy."""
        return self.first(x_knx, k), x_knx

    def overlap(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """x."""
        return x_knx

    def solve_overlap(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """x."""
        return x_knx


@dataclass(frozen=True)
class EigenResult:
    """Eigenpairs and what they cost.

    eig_kn: (k, n) ascending, in the operator's unit.  vectors_knx: (k, n, x), S-orthonormal.
    residual_kn: (k, n) the 2-norms |H x - e S x|; infinite where no vector could be found.
    applications: how many vectors H was applied to.  iterations: how often the space was expanded.
    converged_kn: (k, n) residual at or below the tolerance.
    notes: what a person should know, in words.
    proj_kni: P x of the vectors of a `SplitOperator`, from solvers that keep it: the start of the next call.
    """

    eig_kn: torch.Tensor
    vectors_knx: torch.Tensor
    residual_kn: torch.Tensor
    applications: int
    iterations: int
    converged_kn: torch.Tensor
    notes: tuple[str, ...] = ()
    proj_kni: torch.Tensor | None = None
