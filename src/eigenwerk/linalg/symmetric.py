"""Large real symmetric problems, one at a time: what their solvers know; sums of single-precision vectors in double.

Vectors are rows, `x_nx`: n vectors of x components, float64 or float32.  Inner products are float64 in both cases:
single-precision vectors are turned to double in stretches of components, and the sums are exact products of floats.
Over several ranks each holds a stretch of the components; `sum` adds what they found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

STRETCH_BYTES = 1 << 25
"""Size of the double-precision copies made of stretches of single-precision vectors."""

Sum = Callable[[torch.Tensor], torch.Tensor]


class SymmetricOperator(Protocol):
    """A real symmetric matrix H given by its products."""

    def apply(self, x_nx: torch.Tensor) -> torch.Tensor:
        """H x, (n, x), in the number type of x; an array that the solver may overwrite."""
        ...

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """The sum over the ranks that share the components x; the tensor itself when there is one."""
        ...


@dataclass(frozen=True)
class SymmetricMatrix:
    """A dense matrix as such an operator: the slow twin of every other one."""

    matrix_xx: torch.Tensor

    def apply(self, x_nx: torch.Tensor) -> torch.Tensor:
        """x H, because H is symmetric; computed in the type of the matrix, returned in that of x."""
        return (x_nx.to(self.matrix_xx.dtype) @ self.matrix_xx).to(x_nx.dtype)

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """One rank has all components."""
        return tensor


def inner(a_mx: torch.Tensor, b_nx: torch.Tensor, total: Sum) -> torch.Tensor:
    """<a_m|b_n>, (m, n), float64 sums over all components of all ranks."""
    if a_mx.dtype == torch.float64:
        return total(a_mx @ b_nx.T)
    found_mn = a_mx.new_zeros((a_mx.shape[0], b_nx.shape[0]), dtype=torch.float64)
    for part in stretches(a_mx.shape[1], a_mx.shape[0] + b_nx.shape[0]):
        found_mn += a_mx[:, part].double() @ b_nx[:, part].double().T
    return total(found_mn)


def combined(c_mn: torch.Tensor, a_mx: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """sum_m c_mn a_m, (n, x), added up in double and rounded once.  `out` may be the first rows of `a_mx`."""
    result_nx = a_mx.new_empty((c_mn.shape[1], a_mx.shape[1])) if out is None else out
    for part in stretches(a_mx.shape[1], a_mx.shape[0] + c_mn.shape[1]):
        result_nx[:, part] = (c_mn.T @ a_mx[:, part].double()).to(result_nx.dtype)
    return result_nx


def stretches(size: int, rows: int) -> list[slice]:
    """The components cut into pieces of which `rows` vectors fill about `STRETCH_BYTES` in double precision."""
    step = max(1, STRETCH_BYTES // (8 * max(rows, 1)))
    return [slice(first, min(first + step, size)) for first in range(0, size, step)]


def project_out(basis_mx: torch.Tensor, w_nx: torch.Tensor, total: Sum) -> torch.Tensor:
    """Take the part inside an orthonormal basis out of `w_nx`, in place; returns the coefficients <basis_m|w_n>.

    Two passes of block Gram-Schmidt: "twice is enough" (L. Giraud, J. Langou, M. Rozloznik and J. van den Eshof,
    Numer. Math. 101, 87 (2005)).
    """
    sum_mn = basis_mx.new_zeros((basis_mx.shape[0], w_nx.shape[0]), dtype=torch.float64)
    if basis_mx.shape[0] == 0:
        return sum_mn
    for _ in range(2):
        c_mn = inner(basis_mx, w_nx, total)
        w_nx.sub_(c_mn.T.to(w_nx.dtype) @ basis_mx)
        sum_mn += c_mn
    return sum_mn


def orthonormalised(
    basis_mx: torch.Tensor, w_nx: torch.Tensor, scale: float, total: Sum, first_component: int = 0
) -> torch.Tensor:
    """Make rows that are orthogonal to a basis orthonormal among themselves, in place; returns r with w = r^T w_new.

    A row that is nothing but rounding errors (below 100 eps of `scale`) is replaced by `hashed_noise` orthogonal to
    everything before it, with zeros in r: so a Lanczos process walks on when an invariant subspace is full.
    """
    count = w_nx.shape[0]
    r_nn = w_nx.new_zeros((count, count), dtype=torch.float64)
    least = 100 * torch.finfo(w_nx.dtype).eps * max(scale, torch.finfo(w_nx.dtype).tiny)
    for row in range(count):
        w_1x = w_nx[row : row + 1]
        r_nn[:row, row] = project_out(w_nx[:row], w_1x, total)[:, 0]
        length = float(inner(w_1x, w_1x, total)) ** 0.5
        if length > least:
            w_1x /= length
            r_nn[row, row] = length
        else:
            w_1x.copy_(hashed_noise(first_component, w_1x.shape[1], basis_mx.shape[0] + row, like=w_nx))
        # Normalising a short row magnifies what the projections left of the basis in it.
        if length < 1e-2 * scale:
            for before_mx in (basis_mx, w_nx[:row], basis_mx, w_nx[:row]):
                project_out(before_mx, w_1x, total)
            w_1x /= float(inner(w_1x, w_1x, total)) ** 0.5
    return r_nn


def hashed_noise(first: int, count: int, seed: int, *, like: torch.Tensor) -> torch.Tensor:
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
