"""What Gram-Schmidt does with long vectors, by PyTorch's operations: the slow twin of `native` and `cuda`.

Of vectors in single precision a double-precision copy is made, stretch after stretch of components; products and sums
are those of doubles, and what goes back is rounded once.
"""

import torch

STRETCH_BYTES = 1 << 25
"""Size of the double-precision copies made of stretches of single-precision vectors."""


def doubled(tensor: torch.Tensor) -> torch.Tensor:
    """In double precision; the tensor itself if it is."""
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def stretches(size: int, rows: int) -> list[slice]:
    """The components cut into pieces of which `rows` vectors fill about `STRETCH_BYTES` in double precision."""
    step = max(1, STRETCH_BYTES // (8 * max(rows, 1)))
    return [slice(first, min(first + step, size)) for first in range(0, max(size, 1), step)]


class PlainProjections:
    """Inner products with the rows of a basis, and their parts taken out of vectors; vectors are real or complex."""

    def overlaps(self, basis_mx: torch.Tensor, w_nx: torch.Tensor) -> torch.Tensor:
        """c_mn = Σ_x basis_mx* w_nx in double precision."""
        parts = stretches(w_nx.shape[1], len(basis_mx) + len(w_nx))
        return torch.stack([(doubled(w_nx[:, x]) @ doubled(basis_mx[:, x]).mH).mT for x in parts]).sum(0)

    def take_out(self, basis_mx: torch.Tensor, c_mn: torch.Tensor, w_nx: torch.Tensor) -> None:
        """w_n -= Σ_m c_mn basis_m, in place."""
        for x in stretches(w_nx.shape[1], len(basis_mx) + len(w_nx)):
            w_nx[:, x] = doubled(w_nx[:, x]) - c_mn.mT @ doubled(basis_mx[:, x])

    def take_out_and_overlap(self, basis_mx: torch.Tensor, c_mn: torch.Tensor, w_nx: torch.Tensor) -> torch.Tensor:
        """Both, one after the other: the inner products with what is left."""
        self.take_out(basis_mx, c_mn, w_nx)
        return self.overlaps(basis_mx, w_nx)
