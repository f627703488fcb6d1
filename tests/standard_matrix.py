"""Eigenproblems given by their matrices, and vectors to begin from."""

from dataclasses import dataclass, field

import torch

from eigenwerk.linalg.operator import ALL, StandardOperator, Which
from eigenwerk.linalg.orthogonal import hashed


@dataclass
class StandardMatrix(StandardOperator):
    """One real symmetric matrix (x, x), the slow twin of the Hamiltonians of ncci; counts what it is applied to."""

    matrix_xx: torch.Tensor
    applied: int = field(default=0)

    def first(self, x_knx, k=ALL):
        """H x, computed in the number type of the matrix."""
        self.applied += x_knx.shape[1]
        return (x_knx.to(self.matrix_xx.dtype) @ self.matrix_xx).to(x_knx.dtype)

    def sum(self, tensor):
        """One rank has all components."""
        return tensor


@dataclass(frozen=True)
class MatrixOperator:
    """A pencil given by its matrices.

    h_kxx, s_kxx: (k, x, x) Hermitian.  The preconditioner is diagonal, 1 / (|h_xx - e s_xx| + 0.1).
    """

    h_kxx: torch.Tensor
    s_kxx: torch.Tensor

    def apply(self, x_knx: torch.Tensor, k: Which = ALL) -> tuple[torch.Tensor, torch.Tensor]:
        """(H x, S x)."""
        return x_knx @ self.h_kxx[k].mT, self.overlap(x_knx, k)

    def overlap(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """S x."""
        return x_knx @ self.s_kxx[k].mT

    def solve_overlap(self, x_knx: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """S^-1 x, for S without padding."""
        return torch.linalg.solve(self.s_kxx[k], x_knx.mT).mT

    def precondition(
        self, residual_knx: torch.Tensor, eig_kn: torch.Tensor, x_knx: torch.Tensor, k: Which = ALL
    ) -> torch.Tensor:
        """r / (|h_xx - e s_xx| + 0.1)."""
        h_k1x, s_k1x = (a[k].diagonal(dim1=-2, dim2=-1).real.unsqueeze(-2) for a in (self.h_kxx, self.s_kxx))
        return residual_knx / ((h_k1x - eig_kn.unsqueeze(-1) * s_k1x).abs() + 0.1)

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """One rank holds everything."""
        return tensor


def starts(count, size, dtype=torch.float64):
    """(1, count, size)."""
    like = torch.zeros(1, dtype=dtype)
    return torch.cat([hashed(0, size, seed, like=like) for seed in range(count)]).unsqueeze(0)
