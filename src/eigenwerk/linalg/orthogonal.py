"""Orthonormal vectors from any vectors, dependent ones included; the noise that replaces what is missing.

`complement` serves batches of pencils.  `project_out` and `orthonormalise` serve one problem with S = 1, in the memory
of vectors of which there is hardly room for a second set.
"""

from __future__ import annotations

import torch

from eigenwerk.linalg.bands.subspace import Subspace
from eigenwerk.linalg.dense import DenseEigh, dense_eigh, generalised_eigh, growth_limit, hermitian_part, rank_threshold
from eigenwerk.linalg.long_vectors.projections import projections
from eigenwerk.linalg.operator import ALL, Operator, Which
from eigenwerk.linalg.products import Reduce, combine, inner, norms

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
    return hermitian_part(operator.sum(inner(x_knx, operator.overlap(x_knx, k), in_double=True)))


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


def project_out(basis_mx: torch.Tensor, w_nx: torch.Tensor, reduce: Reduce) -> torch.Tensor:
    """Take the part inside an orthonormal basis out of `w_nx`, in place; returns the coefficients <basis_m|w_n>.

    Two passes of block Gram-Schmidt, as in `complement`; arithmetic and coefficients are double, whatever the vectors
    are kept in.  Where the first pass writes what it leaves, the second one begins: the basis is read three times.
    """
    if basis_mx.shape[0] == 0:
        return basis_mx.new_zeros((0, w_nx.shape[0]), dtype=torch.float64)
    first_mn = reduce(projections(basis_mx, w_nx).overlaps(basis_mx, w_nx))
    return first_mn + _again(basis_mx, first_mn, w_nx, reduce)


def project_out_of(
    basis_mx: torch.Tensor, w_nx: torch.Tensor, reduce: Reduce
) -> tuple[torch.Tensor, torch.Tensor]:
    """`project_out`, and with the same sum over ranks the inner products <w_m|w_n> of what was given."""
    by, count = projections(basis_mx, w_nx), len(basis_mx)
    both = torch.cat([by.overlaps(basis_mx, w_nx), inner(w_nx, w_nx, in_double=True)])
    first_mn, gram_nn = reduce(both).split([count, len(w_nx)])
    return first_mn + _again(basis_mx, first_mn, w_nx, reduce), gram_nn


def _again(
    basis_mx: torch.Tensor, first_mn: torch.Tensor, w_nx: torch.Tensor, reduce: Reduce
) -> torch.Tensor:
    """Takes out what a first pass has found and what a second one finds, which is returned."""
    by = projections(basis_mx, w_nx)
    second_mn = reduce(by.take_out_and_overlap(basis_mx, first_mn, w_nx))
    by.take_out(basis_mx, second_mn, w_nx)
    return second_mn


def orthonormalise(
    basis_mx: torch.Tensor,
    w_nx: torch.Tensor,
    scale: float | torch.Tensor,
    reduce: Reduce,
    first_component: int = 0,
) -> torch.Tensor:
    """Make rows that are orthogonal to a basis orthonormal among themselves, in place; returns r with w = r^T w_new.

    A row that is nothing but rounding errors (below 100 eps of `scale`) is replaced by `hashed` numbers orthogonal to
    everything before it, with zeros in r: so a Lanczos process walks on when an invariant subspace is full.  A scale on
    the device is waited for after the first length.
    """
    count = w_nx.shape[0]
    r_nn = torch.zeros((count, count), dtype=torch.float64)
    tiny = torch.finfo(w_nx.dtype).tiny
    for row in range(count):
        w_1x = w_nx[row : row + 1]
        inside_m1 = project_out(w_nx[:row], w_1x, reduce)
        length = longest(w_1x, reduce)
        scale = float(scale)
        r_nn[:row, row] = inside_m1[:, 0]
        if length > 100 * torch.finfo(w_nx.dtype).eps * max(scale, tiny):
            w_1x /= length
            r_nn[row, row] = length
        else:
            w_1x.copy_(hashed(first_component, w_1x.shape[1], basis_mx.shape[0] + row, like=w_nx))
        # Normalising a short row magnifies what the projections left of the basis in it.
        if length < 1e-2 * scale:
            for before_mx in (basis_mx, w_nx[:row], basis_mx, w_nx[:row]):
                project_out(before_mx, w_1x, reduce)
            w_1x /= longest(w_1x, reduce)
    return r_nn


def longest(w_nx: torch.Tensor, reduce: Reduce) -> float:
    """The length of the longest of some vectors."""
    return float(reduce(inner(w_nx, w_nx, in_double=True)).diagonal().amax()) ** 0.5


def noise(x_knx: torch.Tensor, count: int, seed: int = 0) -> torch.Tensor:
    """`count` reproducible random vectors shaped like the given ones: (k, count, x).

    `hashed` numbers times the envelope sqrt(sum_n |x_n|^2): zero where the given vectors are (padding
    stays padding), and as smooth as they are.
    """
    parts = 2 if x_knx.is_complex() else 1
    like, size = x_knx.real, x_knx.shape[-1]
    rows = [hashed(0, parts * size, 1729 + seed * count + row, like=like) for row in range(count)]
    random_nx = torch.cat(rows) if parts == 1 else torch.view_as_complex(torch.cat(rows).view(count, size, 2))
    envelope_k1x = x_knx.abs().square().sum(-2, keepdim=True).sqrt()
    return envelope_k1x * random_nx


def hashed(first: int, count: int, seed: int, *, like: torch.Tensor) -> torch.Tensor:
    """Uniform numbers in (-1, 1) that depend on the index of the component and the seed only; (1, count).

    The 64-bit mixer of G. Steele, D. Lea and C. Flood, OOPSLA 2014 (SplitMix): the same on every device and for every
    distribution of the components over ranks.
    """
    state_x = torch.arange(first, first + count, dtype=torch.int64, device=like.device)
    state_x = (state_x + 1) * _signed(0x9E3779B97F4A7C15) + seed * 1_000_003
    state_x = (state_x ^ _shifted(state_x, 30)) * _signed(0xBF58476D1CE4E5B9)
    state_x = (state_x ^ _shifted(state_x, 27)) * _signed(0x94D049BB133111EB)
    state_x = state_x ^ _shifted(state_x, 31)
    return (_shifted(state_x, 11).double() / (1 << 52) - 1).to(like.dtype).unsqueeze(0)


def _shifted(bits_x: torch.Tensor, by: int) -> torch.Tensor:
    """A shift to the right that brings in zeros."""
    return (bits_x >> by) & ((1 << (64 - by)) - 1)


def _signed(word: int) -> int:
    """An unsigned 64-bit number as the signed one with the same bits."""
    return word - (1 << 64) if word >= 1 << 63 else word


def refilled(x_knx: torch.Tensor, rank_k: torch.Tensor, reduce: Reduce, seed: int = 0) -> torch.Tensor:
    """The vectors with those from rank_k on replaced by normalised `noise`."""
    count = x_knx.shape[1]
    missing_kn = torch.arange(count, device=rank_k.device) >= rank_k.unsqueeze(-1)
    fresh_knx = noise(x_knx, count, seed)
    length_kn = norms(fresh_knx, reduce)
    fresh_knx = fresh_knx / torch.where(length_kn > 0, length_kn, torch.ones_like(length_kn)).unsqueeze(-1)
    return torch.where(missing_kn.unsqueeze(-1), fresh_knx, x_knx)
