"""Search spaces: blocks of vectors with their images, and the pencil projected on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from eigenwerk.linalg.dense import DenseEigh, Overlap, dense_eigh, generalised_eigh, hermitian_part, rank_threshold
from eigenwerk.linalg.images import Images
from eigenwerk.linalg.long_vectors.plain import doubled
from eigenwerk.linalg.operator import ALL, Which
from eigenwerk.linalg.products import Reduce, combine


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
        row_h, row_s = reduce(doubled(torch.stack(new.rows(blocks))))
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

    def overlaps(self, x_knx: torch.Tensor, reduce: Reduce, k: Which = ALL) -> torch.Tensor:
        """<v_m|S|x_n> with all vectors of the space, (k, m, n), in double precision; k: which problems these are."""
        proj_kni = self.blocks[0].project(x_knx, k)
        return reduce(doubled(torch.cat([block.overlaps(x_knx, proj_kni) for block in self.blocks], 1)))

    def rotated(self, c_kmn: torch.Tensor) -> Images:
        """The vectors with coefficients in the columns of c, and their images, without applying H."""
        return self._rotated(c_kmn, range(3))

    def rotated_last(self, c_kmn: torch.Tensor) -> Images:
        """The vectors alone, with P x where it is kept; what else their images hold does not belong to them."""
        return self._rotated(c_kmn, self.blocks[0].last_parts)

    def vectors(self, c_kmn: torch.Tensor) -> torch.Tensor:
        """The vectors alone with coefficients in the columns of c."""
        return _combined(c_kmn, [block.x_knx for block in self.blocks])

    def _rotated(self, c_kmn: torch.Tensor, turned: Iterable[int]) -> Images:
        parts = list(self.blocks[0].parts)
        for part in turned:
            parts[part] = _combined(c_kmn, [block.parts[part] for block in self.blocks])
        return self.blocks[0].of(parts)


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
    empty_k00 = doubled(start.x_knx.new_zeros((problems, 0, 0)))
    return Subspace((), empty_k00, empty_k00).grown(start, reduce)


def ritz_subspace(ritz: Images, eig_kn: torch.Tensor, missing_kn: torch.Tensor) -> Subspace:
    """The space of Ritz vectors, whose projected pencil is known: H = diag(e), S = 1.

    missing_kn: (k, n) True for vectors that do not exist (they are zero); S and H vanish there.
    """
    unit_kn = (~missing_kn).to(eig_kn.dtype)
    h_kmm, s_kmm = (doubled(torch.diag_embed(d_kn).to(ritz.x_knx.dtype)) for d_kn in (eig_kn * unit_kn, unit_kn))
    return Subspace((ritz,), h_kmm, s_kmm)


def _bordered(a_kmm: torch.Tensor, row_knm: torch.Tensor) -> torch.Tensor:
    """The Hermitian matrix a extended by the new rows (k, n, m + n)."""
    size = a_kmm.shape[-1]
    corner_knn = hermitian_part(row_knm[..., size:])
    if size == 0:
        return corner_knn
    side_knm = row_knm[..., :size]
    return torch.cat([torch.cat([a_kmm, side_knm.mH], -1), torch.cat([side_knm, corner_knn], -1)], -2)
