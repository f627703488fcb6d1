"""By what long vectors are multiplied and taken out of each other: compiled loops, kernels of a GPU, or PyTorch."""

from functools import cache
from typing import Protocol

import torch

from eigenwerk.linalg.long_vectors import cuda, native
from eigenwerk.linalg.long_vectors.plain import PlainProjections


class ProjectionKernels(Protocol):
    """What Gram-Schmidt does with the components of a rank; arithmetic and sums are in double precision."""

    def overlaps(self, basis_mx: torch.Tensor, w_nx: torch.Tensor) -> torch.Tensor:
        """c_mn = Σ_x basis_mx* w_nx, double."""
        ...

    def take_out(self, basis_mx: torch.Tensor, c_mn: torch.Tensor, w_nx: torch.Tensor) -> None:
        """w_n -= Σ_m c_mn basis_m, in place."""
        ...

    def take_out_and_overlap(self, basis_mx: torch.Tensor, c_mn: torch.Tensor, w_nx: torch.Tensor) -> torch.Tensor:
        """Both: the inner products with what is left."""
        ...


def projections(basis_mx: torch.Tensor, w_nx: torch.Tensor) -> ProjectionKernels:
    """Those for two sets of vectors of one type, on one device."""
    real = basis_mx.dtype == w_nx.dtype and basis_mx.dtype in native.C_REAL
    side_by_side = all(tensor.stride(1) == 1 or tensor.shape[1] < 2 for tensor in (basis_mx, w_nx))
    return _compiled(basis_mx.device, basis_mx.dtype) if real and side_by_side else PlainProjections()


@cache
def _compiled(device: torch.device, dtype: torch.dtype) -> ProjectionKernels:
    found: ProjectionKernels | None = None
    if device.type == "cuda":
        found = cuda.projections(device, dtype)
    elif device.type == "cpu":
        found = native.projections(dtype)
    return found or PlainProjections()
