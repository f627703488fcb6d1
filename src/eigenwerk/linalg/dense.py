"""Small dense Hermitian problems in batches, and the slow twin of the iterative solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from eigenwerk.linalg import batched_eigh
from eigenwerk.linalg.operator import EigenResult, Operator
from eigenwerk.parallel.memory.block_sizes import solved_together

DenseEigh = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""h_kmm -> (ascending eigenvalues (k, m), columns (k, m, m)) of Hermitian matrices."""

UNIT_VECTORS = 256
"""Unit vectors that H is applied to at a time when a whole matrix is built."""

TORCH_BATCH = 32
"""Rows up to which `torch.linalg.eigh` solves many matrices together on a GPU; larger ones it takes in turn."""

BATCH_BYTES = 2**29
"""Matrices that are solved together fill at most so much: cuSOLVER's room grows with them."""


def dense_eigh(h_kmm: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenvalues and eigenvectors of Hermitian matrices by LAPACK or cuSOLVER."""
    if h_kmm.is_cuda and _together(h_kmm) and batched_eigh.library() is not None:
        return batched_eigh.solve(h_kmm)
    eig_km, columns_kmm = torch.linalg.eigh(h_kmm)
    return eig_km, columns_kmm


def _together(h_kmm: torch.Tensor) -> bool:
    """Whether cuSOLVER's batched routine is the faster one for these matrices."""
    problems, size, _ = h_kmm.shape
    fitting = size > TORCH_BATCH and h_kmm.numel() * h_kmm.element_size() <= BATCH_BYTES
    return fitting and solved_together(problems, size)


def host_eigh(h_kmm: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The same on the processor, for one problem at a time: the same numbers for every device of the vectors."""
    eig_km, columns_kmm = torch.linalg.eigh(h_kmm.cpu())
    return eig_km.to(h_kmm.device), columns_kmm.to(h_kmm.device)


def rank_threshold(dtype: torch.dtype) -> float:
    """Eigenvalue of a normalised overlap matrix below which a direction is taken as dependent.

    Gram matrices carry errors of a few machine epsilons; a direction of overlap s is known to eps / s.
    eps^(3/4), 2e-12 in double and 6e-6 in single precision, leaves a quarter of the digits to it.
    """
    return float(torch.finfo(dtype).eps ** 0.75)


def growth_limit(dtype: torch.dtype) -> float:
    """Pivot of a normalised overlap below which vectors may not join a space together with their images.

    A direction of overlap s amplifies the rounding errors of the inner products by 1 / s, and those of
    H x and S x, which are only rotated afterwards, by 1 / sqrt(s).  eps^(1/3), 6e-6 in double precision, leaves two
    thirds of the digits to the Ritz values; eps^(1/2), 3e-4 in single precision, half of them: pivots of 1e-3 are
    usual, and whoever works in single precision can do with the digits that are left.
    """
    eps = torch.finfo(dtype).eps
    return float(eps ** (1 / 3) if eps < 1e-10 else eps ** (1 / 2))


@dataclass(frozen=True)
class Overlap:
    """An overlap matrix scaled to unit diagonal, with its Cholesky factor.

    scale_km: d of d S d; zero for vectors without length, which have a one on the diagonal of s_kmm.
    pivot_k: square of the smallest diagonal element of the factor; zero (or NaN) where it failed.
    """

    scale_km: torch.Tensor
    s_kmm: torch.Tensor
    lower_kmm: torch.Tensor
    pivot_k: torch.Tensor

    @staticmethod
    def of(s_kmm: torch.Tensor) -> Overlap:
        """From S (k, m, m), positive semidefinite."""
        scale_km, s_kmm = _normalised(s_kmm)
        lower_kmm, info_k = torch.linalg.cholesky_ex(s_kmm)
        pivot_k = lower_kmm.diagonal(dim1=-2, dim2=-1).real.square().amin(-1)
        return Overlap(scale_km, s_kmm, lower_kmm, pivot_k.masked_fill(info_k != 0, 0))

    def problems(self, k: torch.Tensor) -> Overlap:
        """Only the problems with the indices k."""
        return Overlap(self.scale_km[k], self.s_kmm[k], self.lower_kmm[k], self.pivot_k[k])

    def scaled(self, h_kmm: torch.Tensor) -> torch.Tensor:
        """d H d."""
        return self.scale_km.unsqueeze(-1) * h_kmm * self.scale_km.unsqueeze(-2)


def generalised_eigh(
    h_kmm: torch.Tensor,
    s_kmm: torch.Tensor | Overlap,
    *,
    threshold: float | None = None,
    eigh: DenseEigh = dense_eigh,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """All pairs of H c = e S c for batches of Hermitian matrices, S positive semidefinite.

    S is scaled to unit diagonal and factorised by Cholesky; where that fails or finds S nearly
    singular, by its eigenvalues: directions of overlap below `threshold` (default `rank_threshold`)
    are projected out.  Canonical orthogonalisation: P.-O. Lowdin, Adv. Quantum Chem. 5, 185 (1970).

    h_kmm, s_kmm: (k, m, m).  Returns (eig_km ascending, c_kmm with eigenvectors as columns,
    C^H S C = 1, rank_k int64).  Pairs from rank_k on do not exist: their columns are zero and their
    eigenvalues lie above all others.  Never raises for dependent directions.
    """
    overlap = s_kmm if isinstance(s_kmm, Overlap) else Overlap.of(s_kmm)
    threshold = rank_threshold(overlap.s_kmm.dtype) if threshold is None else threshold
    # The pivots only bound the smallest eigenvalue from above, hence the factor ten.
    bad_k = ~(overlap.pivot_k > 10 * threshold)
    # both answers in one: to ask a GPU is to wait for it
    some_bad, some_missing = torch.stack([bad_k.any(), (overlap.scale_km == 0).any()]).tolist()
    if not some_bad:
        return _by_cholesky(h_kmm, overlap, eigh, some_missing)
    eig_km, c_kmm = torch.empty_like(overlap.scale_km), torch.empty_like(overlap.s_kmm)
    rank_k = torch.empty_like(bad_k, dtype=torch.int64)
    good, bad = (~bad_k).nonzero()[:, 0], bad_k.nonzero()[:, 0]
    if len(good):
        eig_km[good], c_kmm[good], rank_k[good] = _by_cholesky(h_kmm[good], overlap.problems(good), eigh, some_missing)
    eig_km[bad], c_kmm[bad], rank_k[bad] = _by_eigenvalues(h_kmm[bad], overlap.problems(bad), threshold, eigh)
    return eig_km, c_kmm, rank_k


def _normalised(s_kmm: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(d, d S d) with unit diagonal; d = 0 for vectors without length, which stand alone."""
    diagonal_km = s_kmm.diagonal(dim1=-2, dim2=-1).real
    tiny = torch.finfo(diagonal_km.dtype).tiny
    scale_km = diagonal_km.clamp_min(tiny).rsqrt().masked_fill(diagonal_km <= tiny, 0)
    s_kmm = scale_km.unsqueeze(-1) * s_kmm * scale_km.unsqueeze(-2)
    s_kmm.diagonal(dim1=-2, dim2=-1).fill_(1)
    return scale_km, s_kmm


def _by_cholesky(
    h_kmm: torch.Tensor, overlap: Overlap, eigh: DenseEigh, some_missing: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """S = L L^H:  (L^-1 H L^-H) y = e y,  c = L^-H y.  some_missing: whether there may be vectors without length."""
    lower_kmm, exists_km = overlap.lower_kmm, overlap.scale_km > 0
    half_kmm = torch.linalg.solve_triangular(lower_kmm, overlap.scaled(h_kmm), upper=False)
    reduced_kmm = hermitian_part(torch.linalg.solve_triangular(lower_kmm, half_kmm.mH, upper=False))
    if some_missing:
        reduced_kmm = _shifted(reduced_kmm, exists_km)
    eig_km, y_kmm = eigh(reduced_kmm)
    c_kmm = torch.linalg.solve_triangular(lower_kmm.mH, y_kmm, upper=True)
    # The scale is zero for vectors without length: so are the columns of the pairs that do not exist.
    return eig_km, overlap.scale_km.unsqueeze(-1) * c_kmm, exists_km.sum(-1)


def _by_eigenvalues(
    h_kmm: torch.Tensor, overlap: Overlap, threshold: float, eigh: DenseEigh
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """S = U s U^H, W = U s^-1/2 on the kept directions:  (W^H H W) y = e y,  c = W y."""
    without_length_km = (overlap.scale_km == 0).to(overlap.s_kmm.dtype)
    weight_km, u_kmm = eigh(overlap.s_kmm - torch.diag_embed(without_length_km))
    kept_km = weight_km > threshold
    root_km = weight_km.clamp_min(threshold).rsqrt().masked_fill(~kept_km, 0)
    w_kmm = u_kmm * root_km.unsqueeze(-2)
    reduced_kmm = hermitian_part(w_kmm.mH @ overlap.scaled(h_kmm) @ w_kmm)
    eig_km, y_kmm = eigh(_shifted(reduced_kmm, kept_km))
    rank_k = kept_km.sum(-1)
    exists_km = torch.arange(weight_km.shape[-1], device=rank_k.device) < rank_k.unsqueeze(-1)
    return eig_km, overlap.scale_km.unsqueeze(-1) * (w_kmm @ y_kmm) * exists_km.unsqueeze(-2), rank_k


def _shifted(reduced_kmm: torch.Tensor, kept_km: torch.Tensor) -> torch.Tensor:
    """The matrix with what was projected out (rows of zeros) sent above the spectrum (Gershgorin)."""
    above_k1 = 1 + 2 * reduced_kmm.abs().sum(-1).amax(-1, keepdim=True)
    return reduced_kmm + torch.diag_embed(above_k1 * ~kept_km).to(reduced_kmm.dtype)


def hermitian_part(a_kmm: torch.Tensor) -> torch.Tensor:
    """(A + A^H) / 2."""
    return (a_kmm + a_kmm.mH) * 0.5


def solve_dense(
    operator: Operator,
    like_knx: torch.Tensor,
    count: int | None = None,
    *,
    mask_kx: torch.Tensor | None = None,
    first_component: int = 0,
    eigh: DenseEigh = dense_eigh,
) -> EigenResult:
    """The lowest `count` (default: all) eigenpairs by building the matrices; the slow twin of the solvers.

    H and S are applied to the unit vectors of one problem after the other, `UNIT_VECTORS` at a time.  like_knx: any
    tensor with the operator's k, x, dtype and device (n does not matter).  mask_kx: (k, x) True for true components;
    without it the operator must return zero in padded components for unit vectors that lie there.  first_component:
    the global index of this rank's first component.
    """
    problems, own = like_knx.shape[0], like_knx.shape[-1]
    size = int(operator.sum(torch.tensor(own, dtype=torch.float64, device=like_knx.device)))
    own_m = torch.arange(first_component, first_component + own, device=like_knx.device)
    count = size if count is None else min(count, size)
    parts = []
    for k in range(problems):
        mask_x = None if mask_kx is None else mask_kx[k]
        h_kmm, s_kmm = _matrices(operator, like_knx, slice(k, k + 1), size, own_m, mask_x)
        eig_km, c_kmm, rank_k = generalised_eigh(hermitian_part(h_kmm), hermitian_part(s_kmm), eigh=eigh)
        parts.append((eig_km[:, :count], c_kmm[:, own_m, :count].mT.contiguous(), rank_k))
    eig_kn, vectors_knx, rank_k = (torch.cat(part) for part in zip(*parts, strict=True))
    hx_knx, sx_knx = operator.apply(vectors_knx)
    residual_knx = hx_knx - eig_kn.unsqueeze(-1) * sx_knx
    residual_kn = operator.sum(torch.linalg.vector_norm(residual_knx, dim=-1).square()).sqrt()
    exists_kn = torch.arange(count, device=rank_k.device) < rank_k.unsqueeze(-1)
    residual_kn = residual_kn.masked_fill(~exists_kn, float("inf"))
    return EigenResult(eig_kn, vectors_knx, residual_kn, size * problems, 0, exists_kn)


def _matrices(
    operator: Operator, like_knx: torch.Tensor, k: slice, size: int, own_m: torch.Tensor, mask_x: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """<m|H|m'> and <m|S|m'> between all unit vectors of a problem, complete on every rank; (1, size, size) each."""
    both_2mm = like_knx.new_zeros((2, size, size))
    for start in range(0, size, UNIT_VECTORS):
        rows = torch.arange(start, min(start + UNIT_VECTORS, size), device=like_knx.device)
        unit_mx = (rows.unsqueeze(-1) == own_m).to(like_knx.dtype)
        if mask_x is not None:
            unit_mx = unit_mx * mask_x
        images = operator.apply(unit_mx.unsqueeze(0), k)
        both_2mm[:, rows[:, None], own_m] = torch.cat(images)
    # row m holds H e_m, whose components are <m'|H|m>
    h_mm, s_mm = operator.sum(both_2mm).mT
    return h_mm.unsqueeze(0), s_mm.unsqueeze(0)
