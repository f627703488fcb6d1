"""S-orthonormal vectors from any vectors, dependent ones included."""

from __future__ import annotations

import torch

from eigenwerk.linalg.dense import DenseEigh, dense_eigh, generalised_eigh, growth_limit, hermitian_part, rank_threshold
from eigenwerk.linalg.operator import ALL, Operator, Which
from eigenwerk.linalg.products import Reduce, combine, inner, norms
from eigenwerk.linalg.subspace import Subspace

ATTEMPTS = 3
"""How often dependent vectors are replaced before giving up."""


def complement(
    operator: Operator, space: Subspace, x_knx: torch.Tensor, k: Which = ALL, *, eigh: DenseEigh = dense_eigh
) -> torch.Tensor:
    """What vectors add to a space: S-orthonormal and S-orthogonal to it, (k, n, x); zero where they add nothing.

    Projection and canonical orthonormalisation, both twice: "twice is enough" (L. Giraud, J. Langou,
    M. Rozloznik and J. van den Eshof, Numer. Math. 101, 87 (2005)).  What remains of the vectors is
    kept down to sqrt(rank_threshold) of their length.
    """
    threshold = rank_threshold(x_knx.dtype)
    # V (C C^H) V^H S projects on the space, C^H S_mm C = 1; this way for a space with zero vectors, too.
    _, c_kmm, _ = generalised_eigh(-space.s_kmm, space.s_kmm, threshold=threshold, eigh=eigh)
    least_k1 = threshold * _gram(operator, x_knx, k).diagonal(dim1=-2, dim2=-1).real.amax(-1, keepdim=True)
    for _ in range(2):
        inside_kmn = c_kmm @ (c_kmm.mH @ space.overlaps(x_knx, operator.sum, k))
        x_knx = x_knx - space.vectors(inside_kmn)
        weight_kn, u_knn = eigh(_gram(operator, x_knx, k))
        root_kn = weight_kn.clamp_min(torch.finfo(weight_kn.dtype).tiny).rsqrt().masked_fill(weight_kn <= least_k1, 0)
        x_knx = combine((u_knn * root_kn.unsqueeze(-2)).to(x_knx.dtype), x_knx)
        least_k1 = torch.full_like(least_k1, 0.5)
    return x_knx


def _gram(operator: Operator, x_knx: torch.Tensor, k: Which) -> torch.Tensor:
    """<x_i|S|x_j> (k, n, n) in double precision."""
    s_knn = hermitian_part(operator.sum(inner(x_knx, operator.overlap(x_knx, k))))
    return s_knn.to(torch.complex128 if s_knn.is_complex() else torch.float64)


def moved(c_kmn: torch.Tensor, first: int, s_kmm: torch.Tensor, *, eigh: DenseEigh = dense_eigh) -> torch.Tensor:
    """Coefficients of the directions in which vectors have left the first basis vectors; (k, m, d), d <= n.

    Orthonormal, and orthogonal to the vectors c themselves (C^H S C = 1), in the metric S.  Columns
    are zero where there are fewer directions than in another problem.  Source: U. Hetmaniuk and
    R. Lehoucq, J. Comput. Phys. 218, 324 (2006), section 4.
    """
    d_kmn = c_kmn.clone()
    d_kmn[:, :first] = 0
    limit = growth_limit(c_kmn.dtype)
    for _ in range(2):
        d_kmn = d_kmn - c_kmn @ (c_kmn.mH @ (s_kmm @ d_kmn))
        gram_knn = hermitian_part(d_kmn.mH @ (s_kmm @ d_kmn))
        # What is shorter than a few rounding errors of the coefficients is no direction.
        length_kn = gram_knn.diagonal(dim1=-2, dim2=-1).real
        noise_kn = length_kn <= (100 * torch.finfo(length_kn.dtype).eps) ** 2
        gram_knn = gram_knn * ~(noise_kn.unsqueeze(-1) | noise_kn.unsqueeze(-2))
        _, turn_knn, rank_k = generalised_eigh(-gram_knn, gram_knn, threshold=limit, eigh=eigh)
        d_kmn = d_kmn @ turn_knn[..., : int(rank_k.amax())]
        if d_kmn.shape[-1] == 0:
            break
    return d_kmn


def noise(x_knx: torch.Tensor, count: int, seed: int = 0) -> torch.Tensor:
    """`count` reproducible random vectors shaped like the given ones: (k, count, x).

    Uniform noise times the envelope sqrt(sum_n |x_n|^2): zero where the given vectors are (padding
    stays padding), and as smooth as they are.  The same on every device.
    """
    generator = torch.Generator().manual_seed(1729 + seed)
    shape = (count, x_knx.shape[-1], 2)
    random_nx2 = torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1
    random_nx = torch.view_as_complex(random_nx2) if x_knx.is_complex() else random_nx2[..., 0]
    envelope_k1x = x_knx.abs().square().sum(-2, keepdim=True).sqrt()
    return envelope_k1x * random_nx.to(x_knx)


def refilled(x_knx: torch.Tensor, rank_k: torch.Tensor, reduce: Reduce, seed: int = 0) -> torch.Tensor:
    """The vectors with those from rank_k on replaced by normalised `noise`."""
    count = x_knx.shape[1]
    missing_kn = torch.arange(count, device=rank_k.device) >= rank_k.unsqueeze(-1)
    fresh_knx = noise(x_knx, count, seed)
    length_kn = norms(fresh_knx, reduce)
    fresh_knx = fresh_knx / torch.where(length_kn > 0, length_kn, torch.ones_like(length_kn)).unsqueeze(-1)
    return torch.where(missing_kn.unsqueeze(-1), fresh_knx, x_knx)
