"""Chebyshev-filtered subspace iteration for batches of generalised Hermitian problems.

Equations and choices: docs/equations/chebyshev.md.
"""

from __future__ import annotations

import torch

from eigenwerk.linalg.dense import DenseEigh, dense_eigh
from eigenwerk.linalg.limits import Limits
from eigenwerk.linalg.operator import ALL, EigenResult, InvertibleOperator, Which, which_of
from eigenwerk.linalg.products import norms
from eigenwerk.linalg.ritz import first_ritz

BOUND_STEPS = 10
"""Lanczos steps for the upper end of the spectrum."""


def chebyshev(
    operator: InvertibleOperator,
    start_knx: torch.Tensor,
    *,
    degree: int = 8,
    tolerance: float | torch.Tensor = 0.0,
    wanted_weight_kn: torch.Tensor | None = None,
    eigh: DenseEigh = dense_eigh,
) -> EigenResult:
    """The lowest n pairs of H x = e S x, from n start vectors per problem: X becomes p(S^-1 H) X.

    Rayleigh-Ritz in the start vectors; a Chebyshev polynomial p of this degree that is at most 1 between the highest
    Ritz value and the upper end of the spectrum and grows steeply below; Rayleigh-Ritz in the filtered vectors.  H is
    applied degree + 1 times to every vector, and `BOUND_STEPS` times to one more.
    Source: Y. Zhou, Y. Saad, M. L. Tiago and J. R. Chelikowsky, J. Comput. Phys. 219, 172 (2006); with S: A. Levitt and
    M. Torrent, Comput. Phys. Commun. 187, 98 (2015).

    start_knx, tolerance, wanted_weight_kn, eigh, errors: as for `davidson`; problems whose wanted bands are at the
    tolerance are left as they are.  Returns EigenResult with the residuals of the result.
    """
    # the filter needs H x itself
    first = first_ritz(_Part(operator, ALL), start_knx, eigh)
    limits = Limits.of(tolerance, wanted_weight_kn, first.eig_kn)
    residual_kn = norms(first.images.residual(first.eig_kn), operator.sum).masked_fill(first.missing_kn, float("inf"))
    open_kn = limits.open(residual_kn, first.eig_kn, first.missing_kn)
    index_k = (~limits.done(open_kn)).nonzero()[:, 0] if limits.active else torch.arange(len(open_kn))
    eig_kn, vectors_knx, missing_kn = first.eig_kn, first.images.x_knx, first.missing_kn
    applications, notes, iterations = first.applications, first.notes, 0
    if len(index_k):
        part = _Part(operator, which_of(index_k))
        ritz = first.images.problems(index_k)
        upper_k = upper_bounds(part, ritz.x_knx)
        filtered_knx = _filtered(part, ritz.x_knx, ritz.parts[1], eig_kn[index_k], upper_k, degree)
        last = first_ritz(part, filtered_knx, eigh)
        last_residual_kn = norms(last.images.residual(last.eig_kn), operator.sum)
        vectors_knx[index_k] = last.images.x_knx
        eig_kn = eig_kn.index_copy(0, index_k, last.eig_kn)
        missing_kn = missing_kn.index_copy(0, index_k, last.missing_kn)
        residual_kn = residual_kn.index_copy(0, index_k, last_residual_kn)
        count = ritz.x_knx.shape[1]
        applications += last.applications + len(index_k) * ((degree - 1) * count + BOUND_STEPS)
        notes, iterations = (*notes, *last.notes), degree
    residual_kn = residual_kn.masked_fill(missing_kn, float("inf"))
    converged_kn = residual_kn <= limits.tolerance_kn
    return EigenResult(eig_kn, vectors_knx, residual_kn, applications, iterations, converged_kn, notes)


class _Part:
    """An operator for some of its problems."""

    def __init__(self, operator: InvertibleOperator, which: Which):
        self.operator, self.which = operator, which
        self.sum = operator.sum

    def apply(self, x_knx: torch.Tensor, k: Which = ALL) -> tuple[torch.Tensor, torch.Tensor]:
        return self.operator.apply(x_knx, self.which)

    def overlap(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        return self.operator.overlap(x_knx, self.which)

    def solve_overlap(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        return self.operator.solve_overlap(x_knx, self.which)

    def precondition(
        self, residual_knx: torch.Tensor, eig_kn: torch.Tensor, x_knx: torch.Tensor, k: Which = ALL
    ) -> torch.Tensor:
        return self.operator.precondition(residual_knx, eig_kn, x_knx, self.which)


def upper_bounds(operator: InvertibleOperator, like_knx: torch.Tensor) -> torch.Tensor:
    """Numbers (k,) above all eigenvalues: the highest Ritz value of a few Lanczos steps and the length of the rest.

    Lanczos for S^-1 H in the inner product of S.  Source: Y. Zhou and R.-C. Li, Linear Algebra Appl. 435, 480 (2011).
    """
    # the envelope of the vectors: the same however bands are turned and components are shared
    v_k1x = like_knx.abs().square().sum(-2, keepdim=True).sqrt().to(like_knx.dtype)
    before_k1x, beta_k = torch.zeros_like(v_k1x), None
    diagonal: list[torch.Tensor] = []
    side: list[torch.Tensor] = []
    for _ in range(BOUND_STEPS):
        sv_k1x = operator.overlap(v_k1x)
        length_k = operator.sum(torch.linalg.vecdot(v_k1x, sv_k1x).real)[:, 0].sqrt()
        if beta_k is not None:
            side.append(length_k)
        beta_k = length_k
        v_k1x = v_k1x / length_k.clamp_min(torch.finfo(length_k.dtype).tiny)[:, None, None]
        hv_k1x, _ = operator.apply(v_k1x)
        alpha_k = operator.sum(torch.linalg.vecdot(v_k1x, hv_k1x).real)[:, 0]
        diagonal.append(alpha_k)
        back_k = side[-1] if side else torch.zeros_like(alpha_k)
        rest_k1x = operator.solve_overlap(hv_k1x) - alpha_k[:, None, None] * v_k1x - back_k[:, None, None] * before_k1x
        before_k1x, v_k1x = v_k1x, rest_k1x
    rest_k = operator.sum(torch.linalg.vecdot(v_k1x, operator.overlap(v_k1x)).real)[:, 0].clamp_min(0).sqrt()
    matrix_kmm = torch.diag_embed(torch.stack(diagonal, -1)) + torch.diag_embed(torch.stack(side, -1), 1)
    matrix_kmm = matrix_kmm + torch.diag_embed(torch.stack(side, -1), -1)
    return torch.linalg.eigvalsh(matrix_kmm)[:, -1] + rest_k


def _filtered(
    operator: InvertibleOperator,
    x_knx: torch.Tensor,
    hx_knx: torch.Tensor,
    eig_kn: torch.Tensor,
    upper_k: torch.Tensor,
    degree: int,
) -> torch.Tensor:
    """p(S^-1 H) X with |p| <= 1 on [highest e, upper] and p(lowest e) = 1 in units in which nothing overflows."""
    lowest_k, highest_k = eig_kn[:, 0], eig_kn[:, -1]
    centre_k, half_k = (upper_k + highest_k) / 2, (upper_k - highest_k) / 2
    sigma_k = first_k = half_k / (lowest_k - centre_k)

    def moved(image_knx: torch.Tensor, from_knx: torch.Tensor, factor_k: torch.Tensor) -> torch.Tensor:
        shifted_knx = operator.solve_overlap(image_knx) - centre_k[:, None, None] * from_knx
        return shifted_knx * (factor_k / half_k)[:, None, None]

    old_knx, new_knx = x_knx, moved(hx_knx, x_knx, sigma_k)
    for _ in range(degree - 1):
        next_k = 1 / (2 / first_k - sigma_k)
        image_knx, _ = operator.apply(new_knx)
        raised_knx = moved(image_knx, new_knx, 2 * next_k) - (sigma_k * next_k)[:, None, None] * old_knx
        old_knx, new_knx, sigma_k = new_knx, raised_knx, next_k
    return new_knx
