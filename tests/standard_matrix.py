"""A standard eigenproblem given by its matrix: the slow twin of the Hamiltonians of ncci, and vectors to begin from."""

from dataclasses import dataclass, field

import torch

from eigenwerk.linalg.operator import ALL, StandardOperator
from eigenwerk.linalg.orthogonal import hashed


@dataclass
class StandardMatrix(StandardOperator):
    """One real symmetric matrix (x, x); counts the vectors that it is applied to."""

    matrix_xx: torch.Tensor
    applied: int = field(default=0)

    def first(self, x_knx, k=ALL):
        """H x, computed in the number type of the matrix."""
        self.applied += x_knx.shape[1]
        return (x_knx.to(self.matrix_xx.dtype) @ self.matrix_xx).to(x_knx.dtype)

    def sum(self, tensor):
        """One rank has all components."""
        return tensor


def starts(count, size, dtype=torch.float64):
    """(1, count, size)."""
    like = torch.zeros(1, dtype=dtype)
    return torch.cat([hashed(0, size, seed, like=like) for seed in range(count)]).unsqueeze(0)
