"""Search spaces: blocks of vectors with their images under H and S, and the pencil projected on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from eigenwerk.linalg.dense import DenseEigh, Overlap, dense_eigh, generalised_eigh, hermitian_part, rank_threshold

Reduce = Callable[[torch.Tensor], torch.Tensor]
"""Sum over the ranks that share the components; `Operator.sum`."""


def inner(a_knx: torch.Tensor, b_kmx: torch.Tensor) -> torch.Tensor:
    """<a_n | b_m> = sum_x conj(a_nx) b_mx on this rank: (k, n, x), (k, m, x) -> (k, n, m).

    A single problem goes to the plain matrix product, which hands the conjugation to BLAS;
    the batched one would copy, and copies the first argument only when written this way round.
    """
    if a_knx.shape[0] == 1:
        return (b_kmx[0] @ a_knx[0].mH).mT.unsqueeze(0)
    return a_knx.conj() @ b_kmx.mT


def combine(c_kmn: torch.Tensor, x_kmx: torch.Tensor) -> torch.Tensor:
    """sum_m c_mn x_m: the vectors whose coefficients are the columns of c; (k, n, x)."""
    if x_kmx.shape[0] == 1:
        return (c_kmn[0].mT @ x_kmx[0]).unsqueeze(0)
    return c_kmn.mT @ x_kmx


def norms(x_knx: torch.Tensor, reduce: Reduce) -> torch.Tensor:
    """2-norms (k, n) of vectors whose components may be shared by several ranks."""
    real_knx = torch.view_as_real(x_knx).flatten(-2) if x_knx.is_complex() else x_knx
    return reduce(torch.linalg.vector_norm(real_knx, dim=-1).square()).sqrt()


@dataclass(frozen=True)
class Images:
    """Vectors with their images: x, H x and S x, each (k, n, x)."""

    x_knx: torch.Tensor
    hx_knx: torch.Tensor
    sx_knx: torch.Tensor

    def residual(self, eig_kn: torch.Tensor) -> torch.Tensor:
        """H x - e S x, (k, n, x)."""
        return torch.addcmul(self.hx_knx, eig_kn.unsqueeze(-1).to(self.sx_knx.dtype), self.sx_knx, value=-1)

    def problems(self, k: torch.Tensor) -> Images:
        """Only the problems with the indices k (a copy)."""
        return Images(self.x_knx[k], self.hx_knx[k], self.sx_knx[k])

    def pairs(self, k: torch.Tensor, n: torch.Tensor) -> Images:
        """Only the vectors with the indices k, n, which broadcast (a copy)."""
        return Images(self.x_knx[k, n], self.hx_knx[k, n], self.sx_knx[k, n])

    def replaced(self, k: torch.Tensor, new: Images) -> Images:
        """Other vectors in the problems with the indices k."""
        return Images(
            self.x_knx.index_copy(0, k, new.x_knx),
            self.hx_knx.index_copy(0, k, new.hx_knx),
            self.sx_knx.index_copy(0, k, new.sx_knx),
        )


@dataclass(frozen=True)
class Subspace:
    """The span of some blocks of vectors, with H and S projected on it.

    blocks: m vectors in all.  h_kmm, s_kmm: (k, m, m) <x_i|H|x_j> and <x_i|S|x_j>, complete (reduced over
    ranks), in double precision whatever the vectors have: they are small and decide the accuracy.
    """

    blocks: tuple[Images, ...]
    h_kmm: torch.Tensor
    s_kmm: torch.Tensor

    @property
    def size(self) -> int:
        """Number of vectors m."""
        return int(self.h_kmm.shape[-1])

    def problems(self, k: torch.Tensor) -> Subspace:
        """Only the problems with the indices k (a copy)."""
        return Subspace(tuple(block.problems(k) for block in self.blocks), self.h_kmm[k], self.s_kmm[k])

    def grown(self, new: Images, reduce: Reduce) -> Subspace:
        """The space with a block added; only inner products with the new vectors are computed."""
        blocks = (*self.blocks, new)
        # With the conjugate taken once, no product below copies; a single problem needs no copy at all.
        bra_knx = new.x_knx if new.x_knx.shape[0] == 1 else new.x_knx.conj().resolve_conj()
        row_h = torch.cat([_products(bra_knx, block.hx_knx) for block in blocks], -1)
        row_s = torch.cat([_products(bra_knx, block.sx_knx) for block in blocks], -1)
        row_h, row_s = reduce(_double(torch.stack([row_h, row_s])))
        return Subspace(blocks, _bordered(self.h_kmm, row_h), _bordered(self.s_kmm, row_s))

    def rayleigh_ritz(
        self, eigh: DenseEigh = dense_eigh, overlap: Overlap | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(eig_km, c_kmm, rank_k) of the projected pencil, as `dense.generalised_eigh` gives them.

        overlap: `Overlap.of(s_kmm)` if it is known already.
        """
        threshold = rank_threshold(self.blocks[0].x_knx.dtype)
        s_kmm = self.s_kmm if overlap is None else overlap
        return generalised_eigh(self.h_kmm, s_kmm, threshold=threshold, eigh=eigh)

    def overlaps(self, x_knx: torch.Tensor, reduce: Reduce) -> torch.Tensor:
        """<v_m|S|x_n> with all vectors of the space, (k, m, n), in double precision."""
        return reduce(_double(torch.cat([inner(block.sx_knx, x_knx) for block in self.blocks], 1)))

    def rotated(self, c_kmn: torch.Tensor) -> Images:
        """The vectors with coefficients in the columns of c, and their images, without applying H."""
        return Images(
            _combined(c_kmn, [block.x_knx for block in self.blocks]),
            _combined(c_kmn, [block.hx_knx for block in self.blocks]),
            _combined(c_kmn, [block.sx_knx for block in self.blocks]),
        )

    def vectors(self, c_kmn: torch.Tensor) -> torch.Tensor:
        """The vectors alone with coefficients in the columns of c."""
        return _combined(c_kmn, [block.x_knx for block in self.blocks])


def _combined(c_kmn: torch.Tensor, parts: list[torch.Tensor]) -> torch.Tensor:
    """`combine` for vectors that lie in several blocks."""
    shares = c_kmn.to(parts[0].dtype).split([part_knx.shape[1] for part_knx in parts], dim=1)
    total_knx = combine(shares[0], parts[0])
    for share_kmn, part_kmx in zip(shares[1:], parts[1:], strict=True):
        if len(total_knx) == 1:
            total_knx[0].addmm_(share_kmn[0].mT, part_kmx[0])
        else:
            total_knx.baddbmm_(share_kmn.mT, part_kmx)
    return total_knx


def subspace(start: Images, reduce: Reduce) -> Subspace:
    """The space of a first block of vectors."""
    problems = start.x_knx.shape[0]
    empty_k00 = _double(start.x_knx.new_zeros((problems, 0, 0)))
    return Subspace((), empty_k00, empty_k00).grown(start, reduce)


def ritz_subspace(ritz: Images, eig_kn: torch.Tensor, missing_kn: torch.Tensor) -> Subspace:
    """The space of Ritz vectors, whose projected pencil is known: H = diag(e), S = 1.

    missing_kn: (k, n) True for vectors that do not exist (they are zero); S and H vanish there.
    """
    unit_kn = (~missing_kn).to(eig_kn.dtype)
    h_kmm, s_kmm = (_double(torch.diag_embed(d_kn).to(ritz.x_knx.dtype)) for d_kn in (eig_kn * unit_kn, unit_kn))
    return Subspace((ritz,), h_kmm, s_kmm)


def _products(bra_knx: torch.Tensor, ket_kmx: torch.Tensor) -> torch.Tensor:
    """inner(a, b), with the bra already conjugated when there are several problems."""
    return inner(bra_knx, ket_kmx) if len(bra_knx) == 1 else bra_knx @ ket_kmx.mT


def _bordered(a_kmm: torch.Tensor, row_knm: torch.Tensor) -> torch.Tensor:
    """The Hermitian matrix a extended by the new rows (k, n, m + n)."""
    size = a_kmm.shape[-1]
    corner_knn = hermitian_part(row_knm[..., size:])
    if size == 0:
        return corner_knn
    side_knm = row_knm[..., :size]
    return torch.cat([torch.cat([a_kmm, side_knm.mH], -1), torch.cat([side_knm, corner_knn], -1)], -2)


def _double(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)
