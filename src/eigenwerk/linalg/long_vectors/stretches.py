"""Long vectors in stretches of components, of which double-precision copies are made."""

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
