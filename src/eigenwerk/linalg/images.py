"""Vectors together with what makes H x and S x known, so that rotating vectors needs no operator.

Two forms.  `FullImages` hold H x and S x.  `SplitImages` are for pencils with a part of low rank,

    H = A + P^H D P,   S = 1 + P^H E P,

and hold A x and P x: a third less memory and rotations, and of the three products with P that H x and S x take, one
is left for P x and one for the residual A x - e x + P^H (D - e E) P x, the only vector in which H and S meet again.
Equations: docs/equations/davidson.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch

from eigenwerk.linalg.operator import ALL, Operator, SplitOperator, Which, of_those
from eigenwerk.linalg.products import inner


def images(
    operator: Operator, x_knx: torch.Tensor, k: Which = ALL, proj_kni: torch.Tensor | None = None
) -> Images:
    """The images of vectors in the form that the operator allows; proj_kni: P x, if it is known already."""
    if not isinstance(operator, SplitOperator) or not operator.splits:
        return FullImages(x_knx, *operator.apply(x_knx, k))
    first_knx = operator.first(x_knx, k)
    return SplitImages(x_knx, first_knx, operator.project(x_knx, k) if proj_kni is None else proj_kni, operator, k)


def images_of_parts(operator: Operator, parts: Sequence[torch.Tensor]) -> Images:
    """The same of all problems from `Images.parts`."""
    x_knx, second_knx, third_knx = parts
    if not isinstance(operator, SplitOperator) or not operator.splits:
        return FullImages(x_knx, second_knx, third_knx)
    return SplitImages(x_knx, second_knx, third_knx, operator, ALL)


def projections_of(vectors: Images) -> torch.Tensor | None:
    """P x of vectors that keep it, (k, n, i)."""
    return vectors.proj_kni if isinstance(vectors, SplitImages) else None


@dataclass(frozen=True)
class OperatorImage:
    """M x in the form y + P^H q, for M one of H, S and H - e S; q is None where y is all.

    y_knx: (k, n, x).  q_kni: (k, n, i).
    """

    y_knx: torch.Tensor
    q_kni: torch.Tensor | None = None
    operator: SplitOperator | None = None

    def whole(self, k: Which = ALL) -> torch.Tensor:
        """M x, (k, n, x), in the memory of y."""
        if self.q_kni is None or self.operator is None:
            return self.y_knx
        return self.operator.add_projected(self.q_kni, self.y_knx, k)

    def dots(self, other: Images) -> torch.Tensor:
        """This rank's share of <v_n|M x_n> with as many other vectors, (k, n)."""
        dot_kn = torch.linalg.vecdot(other.x_knx, self.y_knx)
        if self.q_kni is None or not isinstance(other, SplitImages):
            return dot_kn
        own = other.operator.own_i
        return dot_kn.add_(torch.linalg.vecdot(other.proj_kni[..., own], self.q_kni[..., own]))


@dataclass(frozen=True)
class Images(ABC):
    """Vectors x (k, n, x) and two more tensors that are linear in x, from which H x and S x follow."""

    x_knx: torch.Tensor

    @property
    @abstractmethod
    def parts(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """x and the two tensors: each moves as the vectors move."""

    @abstractmethod
    def of(self, parts: Sequence[torch.Tensor]) -> Self:
        """Images of the same form with other tensors."""

    @property
    @abstractmethod
    def last_parts(self) -> tuple[int, ...]:
        """Those of `parts` that are worth having where H x is not needed any more."""

    @property
    def eig_dtype(self) -> torch.dtype:
        """Number type of eigenvalues."""
        return self.x_knx.real.dtype

    @abstractmethod
    def rows(self, blocks: Sequence[Images]) -> tuple[torch.Tensor, torch.Tensor]:
        """This rank's share of <x_n|H|v_m> and <x_n|S|v_m> with all vectors of some blocks, (k, n, m) each.

        H acts on the v: on Ritz vectors its large parts cancel, on new directions they do not.
        """

    @abstractmethod
    def metric(self) -> OperatorImage:
        """S x."""

    @abstractmethod
    def pencil(self, eig_kn: torch.Tensor) -> OperatorImage:
        """H x - e S x, y a new tensor."""

    @abstractmethod
    def project(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor | None:
        """What `overlaps` needs beside other vectors x: P x, or nothing."""

    @abstractmethod
    def overlaps(self, x_knx: torch.Tensor, proj_kni: torch.Tensor | None) -> torch.Tensor:
        """This rank's share of <v_m|S|x_n> with other vectors x, (k, m, n)."""

    @abstractmethod
    def own_overlaps(self, x_knx: torch.Tensor, proj_kni: torch.Tensor | None) -> torch.Tensor:
        """This rank's share of <v_n|S|x_n>, (k, n)."""

    @abstractmethod
    def with_residual(self, residual_knx: torch.Tensor) -> Self:
        """H - e S in place of H, its images known."""

    @abstractmethod
    def without_residual(self, eig_kn: torch.Tensor, k: Which = ALL) -> Self:
        """`with_residual` undone, in the same memory."""

    def residual(self, eig_kn: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """H x - e S x, (k, n, x)."""
        return self.pencil(eig_kn).whole(k)

    def problems(self, k: Which) -> Self:
        """Only these problems (a copy where k are indices)."""
        return self.of([part[k] for part in self.parts])

    def pairs(self, k: torch.Tensor, n: torch.Tensor) -> Self:
        """Only the vectors with the indices k, n, which broadcast (a copy)."""
        return self.of([part[k, n] for part in self.parts])

    def replaced(self, k: torch.Tensor, new: Images) -> Self:
        """Other vectors in the problems with the indices k."""
        return self.of([part.index_copy(0, k, other) for part, other in zip(self.parts, new.parts, strict=True)])


@dataclass(frozen=True)
class FullImages(Images):
    """x, H x and S x, each (k, n, x)."""

    hx_knx: torch.Tensor
    sx_knx: torch.Tensor

    @property
    def parts(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self.x_knx, self.hx_knx, self.sx_knx

    @property
    def last_parts(self) -> tuple[int, ...]:
        return (0,)

    def of(self, parts: Sequence[torch.Tensor]) -> Self:
        x_knx, hx_knx, sx_knx = parts
        return type(self)(x_knx, hx_knx, sx_knx)

    def rows(self, blocks: Sequence[Images]) -> tuple[torch.Tensor, torch.Tensor]:
        parts_b = [block.parts for block in blocks]
        return _rows(self.x_knx, [parts[1] for parts in parts_b]), _rows(self.x_knx, [parts[2] for parts in parts_b])

    def metric(self) -> OperatorImage:
        return OperatorImage(self.sx_knx)

    def pencil(self, eig_kn: torch.Tensor) -> OperatorImage:
        return OperatorImage(_less(self.hx_knx, eig_kn, self.sx_knx))

    def project(self, x_knx: torch.Tensor, k: Which = ALL) -> None:
        return None

    def overlaps(self, x_knx: torch.Tensor, proj_kni: torch.Tensor | None) -> torch.Tensor:
        return inner(self.sx_knx, x_knx)

    def own_overlaps(self, x_knx: torch.Tensor, proj_kni: torch.Tensor | None) -> torch.Tensor:
        return torch.linalg.vecdot(self.sx_knx, x_knx)

    def with_residual(self, residual_knx: torch.Tensor) -> Self:
        return replace(self, hx_knx=residual_knx)

    def without_residual(self, eig_kn: torch.Tensor, k: Which = ALL) -> Self:
        self.hx_knx.addcmul_(eig_kn.unsqueeze(-1).to(self.sx_knx.dtype), self.sx_knx)
        return self


@dataclass(frozen=True)
class SplitImages(Images):
    """x, A x (k, n, x) and P x (k, n, i), complete on every rank, of some problems of the operator, `which`."""

    first_knx: torch.Tensor
    proj_kni: torch.Tensor
    operator: SplitOperator
    which: Which

    @property
    def parts(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self.x_knx, self.first_knx, self.proj_kni

    @property
    def last_parts(self) -> tuple[int, ...]:
        return (0, 2)

    @property
    def eig_dtype(self) -> torch.dtype:
        return torch.float64 if self.operator.double_sums else super().eig_dtype

    def of(self, parts: Sequence[torch.Tensor]) -> Self:
        x_knx, first_knx, proj_kni = parts
        return replace(self, x_knx=x_knx, first_knx=first_knx, proj_kni=proj_kni)

    def problems(self, k: Which) -> Self:
        return replace(super().problems(k), which=of_those(self.which, k))

    def pairs(self, k: torch.Tensor, n: torch.Tensor) -> Self:
        return replace(super().pairs(k, n), which=of_those(self.which, k[:, 0]))

    def rows(self, blocks: Sequence[Images]) -> tuple[torch.Tensor, torch.Tensor]:
        own, parts_b = self.operator.own_i, [block.parts for block in blocks]
        weighed_kxi = torch.cat([self._dh(self.proj_kni), self._ds(self.proj_kni)], 1)
        small_h, small_s = _rows(weighed_kxi[..., own], [parts[2][..., own] for parts in parts_b]).chunk(2, 1)
        in_double = self.operator.double_sums
        row_h, row_s = (_rows(self.x_knx, [parts[part] for parts in parts_b], in_double) for part in (1, 0))
        return row_h.add_(small_h), row_s.add_(small_s)

    def _dh(self, proj_kni: torch.Tensor) -> torch.Tensor:
        return self.operator.times_dh(proj_kni, self.which)

    def _ds(self, proj_kni: torch.Tensor) -> torch.Tensor:
        return self.operator.times_ds(proj_kni, self.which)

    def metric(self) -> OperatorImage:
        return OperatorImage(self.x_knx, self._ds(self.proj_kni), self.operator)

    def pencil(self, eig_kn: torch.Tensor) -> OperatorImage:
        q_kni = _less(self._dh(self.proj_kni), eig_kn, self._ds(self.proj_kni))
        return OperatorImage(_less(self.first_knx, eig_kn, self.x_knx), q_kni, self.operator)

    def project(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        return self.operator.project(x_knx, k)

    def overlaps(self, x_knx: torch.Tensor, proj_kni: torch.Tensor | None) -> torch.Tensor:
        assert proj_kni is not None
        own = self.operator.own_i
        weighed_kni = self._ds(proj_kni)[..., own]
        overlap_kmn = inner(self.x_knx, x_knx, in_double=self.operator.double_sums)
        return overlap_kmn.add_(inner(self.proj_kni[..., own], weighed_kni))

    def own_overlaps(self, x_knx: torch.Tensor, proj_kni: torch.Tensor | None) -> torch.Tensor:
        assert proj_kni is not None
        return OperatorImage(x_knx, self._ds(proj_kni), self.operator).dots(self)

    def with_residual(self, residual_knx: torch.Tensor) -> Self:
        return replace(self, first_knx=residual_knx)

    def without_residual(self, eig_kn: torch.Tensor, k: Which = ALL) -> Self:
        self.first_knx.addcmul_(eig_kn.unsqueeze(-1).to(self.x_knx.dtype), self.x_knx)
        q_kni = _less(self._dh(self.proj_kni), eig_kn, self._ds(self.proj_kni)).neg_()
        self.operator.add_projected(q_kni, self.first_knx, k)
        return self


def _less(h_knx: torch.Tensor, eig_kn: torch.Tensor, s_knx: torch.Tensor) -> torch.Tensor:
    """h - e s."""
    return torch.addcmul(h_knx, eig_kn.unsqueeze(-1).to(s_knx.dtype), s_knx, value=-1)


def _rows(bra_knx: torch.Tensor, kets: Sequence[torch.Tensor], in_double: bool = False) -> torch.Tensor:
    """<a_n|b_m> for the vectors b of all kets, (k, n, m)."""
    if len(bra_knx) == 1:
        return torch.cat([inner(bra_knx, ket_kmx, in_double=in_double) for ket_kmx in kets], -1)
    # with the conjugate taken once, no product copies
    bra_knx = bra_knx.conj().resolve_conj()
    return torch.cat([bra_knx @ ket_kmx.mT for ket_kmx in kets], -1)
