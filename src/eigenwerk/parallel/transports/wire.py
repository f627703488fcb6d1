"""How arrays look while they travel: flat, contiguous and real.

Transports move flat runs of plain numbers.  Complex numbers travel as pairs of real ones and bools as bytes, both
without a copy; a dtype that no transport knows travels in the next wider one.
"""

import math
from collections.abc import Sequence

import torch

WIDER = {torch.int16: torch.int32}
"""Number types that Gloo and NCCL do not know, and what carries them."""


def pack(array_x: torch.Tensor) -> torch.Tensor:
    """The array as it travels; the memory of the array itself wherever that is contiguous."""
    plain_x = array_x.detach() if array_x.requires_grad else array_x
    plain_x = plain_x.resolve_conj().resolve_neg().contiguous()
    if plain_x.is_complex():
        return torch.view_as_real(plain_x).view(-1)
    if plain_x.dtype == torch.bool:
        return plain_x.view(torch.uint8).view(-1)
    return (plain_x.to(WIDER[plain_x.dtype]) if plain_x.dtype in WIDER else plain_x).view(-1)


def unpack(flat: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """What `pack` made flat, in its shape and dtype again; the memory of `flat` unless a wider type carried it."""
    if dtype.is_complex:
        return torch.view_as_complex(flat.view([*shape, 2]))
    if dtype == torch.bool:
        return flat.view(torch.bool).view(list(shape))
    return flat.view(list(shape)).to(dtype) if dtype in WIDER else flat.view(list(shape))


def numbers(shape: Sequence[int], dtype: torch.dtype) -> int:
    """How many plain numbers an array of this shape and dtype is while it travels."""
    return math.prod(shape) * (2 if dtype.is_complex else 1)


def pinned_like(flat: torch.Tensor) -> torch.Tensor:
    """Pinned host memory for as many numbers."""
    return torch.empty(flat.shape, dtype=flat.dtype, pin_memory=True)


def pinned_copy(flat: torch.Tensor) -> torch.Tensor:
    """A copy of device memory in pinned host memory, complete on return."""
    host = pinned_like(flat)
    host.copy_(flat, non_blocking=True)
    torch.cuda.current_stream(flat.device).synchronize()
    return host
