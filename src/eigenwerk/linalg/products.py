"""Products of blocks of vectors: inner products, linear combinations, lengths.

Long vectors in single precision are multiplied in double by `long_vectors`, without copies of all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from eigenwerk.linalg.long_vectors.plain import doubled, stretches
from eigenwerk.linalg.long_vectors.projections import projections

Reduce = Callable[[torch.Tensor], torch.Tensor]
"""Sum over the ranks that share the components; `Operator.sum`."""


def inner(a_knx: torch.Tensor, b_kmx: torch.Tensor, *, in_double: bool = False) -> torch.Tensor:
    """<a_n | b_m> = sum_x conj(a_nx) b_mx on this rank: (k, n, x), (k, m, x) -> (k, n, m); also without the axis k.

    A single problem goes to the plain matrix product, which hands the conjugation to BLAS;
    the batched one would copy, and copies the first argument only when written this way round.
    in_double: sums of single-precision numbers are double-precision sums of their exact products.
    """
    if in_double and a_knx.dtype not in (torch.float64, torch.complex128):
        return _inner_in_double(a_knx, b_kmx)
    if a_knx.ndim == 2:
        return (b_kmx @ a_knx.mH).mT
    if a_knx.shape[0] == 1:
        return (b_kmx[0] @ a_knx[0].mH).mT.unsqueeze(0)
    return a_knx.conj() @ b_kmx.mT


def _inner_in_double(a_knx: torch.Tensor, b_kmx: torch.Tensor) -> torch.Tensor:
    """The rows that are more stand as the basis: they are read once for several of the others."""
    if a_knx.ndim == 2:
        if len(a_knx) < len(b_kmx) and not a_knx.is_complex():
            return projections(b_kmx, a_knx).overlaps(b_kmx, a_knx).mT
        return projections(a_knx, b_kmx).overlaps(a_knx, b_kmx)
    return torch.stack([_inner_in_double(a_nx, b_mx) for a_nx, b_mx in zip(a_knx, b_kmx, strict=True)])


def combine(c_kmn: torch.Tensor, x_kmx: torch.Tensor) -> torch.Tensor:
    """sum_m c_mn x_m: the vectors whose coefficients are the columns of c; (k, n, x)."""
    if x_kmx.shape[0] == 1:
        return (c_kmn[0].mT @ x_kmx[0]).unsqueeze(0)
    return c_kmn.mT @ x_kmx


def combine_long(c_mn: torch.Tensor, x_mx: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """The same for one problem, (n, x), added up in double and rounded once; `out` may be the first rows of `x_mx`."""
    result_nx = x_mx.new_empty((c_mn.shape[1], x_mx.shape[1])) if out is None else out
    for part in stretches(x_mx.shape[1], x_mx.shape[0] + c_mn.shape[1]):
        result_nx[:, part] = (c_mn.mT @ doubled(x_mx[:, part])).to(result_nx.dtype)
    return result_nx


def norms(x_knx: torch.Tensor, reduce: Reduce) -> torch.Tensor:
    """2-norms (k, n) of vectors whose components may be shared by several ranks."""
    real_knx = torch.view_as_real(x_knx).flatten(-2) if x_knx.is_complex() else x_knx
    return reduce(torch.linalg.vector_norm(real_knx, dim=-1).square()).sqrt()
