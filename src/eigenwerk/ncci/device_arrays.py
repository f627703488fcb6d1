"""Tables made with NumPy, on the device where vectors are, and vectors as the kernels there want them."""

from collections.abc import Callable

import numpy as np
import torch


def tensor(array: np.ndarray, device: torch.device | str) -> torch.Tensor:
    """The array on a device, in its own number type; on a processor it shares the memory where it can."""
    return torch.from_numpy(np.asarray(array, order="C")).to(device)


SIZES = (1, 2, 4, 8)
"""Numbers of interleaved vectors that kernels are made for."""


def by_blocks(x_nb: torch.Tensor, product: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """A linear product of all rows, (n, b), from one of interleaved blocks, (b, size) -> (b, size).

    Blocks are as large as possible; the last one is filled up with zeros.
    """
    if len(x_nb) in SIZES:
        return product(x_nb.T.contiguous()).T.contiguous()
    y_nb = torch.empty_like(x_nb, memory_format=torch.contiguous_format)
    for first in range(0, len(x_nb), SIZES[-1]):
        part_nb = x_nb[first : first + SIZES[-1]]
        size = next(size for size in SIZES if size >= len(part_nb))
        x_bn = x_nb.new_zeros(x_nb.shape[1], size)
        x_bn[:, : len(part_nb)] = part_nb.T
        y_nb[first : first + SIZES[-1]] = product(x_bn)[:, : len(part_nb)].T
    return y_nb
