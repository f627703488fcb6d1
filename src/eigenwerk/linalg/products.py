"""Products of blocks of vectors: inner products, linear combinations, lengths."""

from __future__ import annotations

from collections.abc import Callable

import torch

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
