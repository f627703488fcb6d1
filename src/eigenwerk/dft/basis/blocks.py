"""Blocks of k-points whose orbitals are worked on together."""

from collections.abc import Callable
from typing import TypeVar

import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.parallel.memory.block_sizes import points_in_block, points_side_by_side
from eigenwerk.parallel.threads import each

Result = TypeVar("Result")


def k_blocks(basis: PlaneWaveBasis, bands: int, dtype: torch.dtype | None = None) -> list[slice]:
    """Blocks whose orbitals, of the basis' number type unless another is given, fit the block size."""
    k_count, step = len(basis.mask_kG), step_and_threads(basis, bands, dtype)[0]
    return [slice(start, min(start + step, k_count)) for start in range(0, k_count, step)]


def step_and_threads(
    basis: PlaneWaveBasis, bands: int, dtype: torch.dtype | None, spins: int = 1
) -> tuple[int, int]:
    """k-points (of so many spins) in a block, blocks at the same time."""
    runtime, (k_count, g_count) = basis.runtime, basis.mask_kG.shape
    point_bytes = bands * g_count * (dtype or basis.form.dtype).itemsize
    if runtime.device.type != "cpu":
        return points_in_block(spins * k_count, point_bytes, runtime.block_bytes), 1
    return points_side_by_side(k_count, point_bytes, runtime.block_bytes, runtime.threads)


def on_k_blocks(
    basis: PlaneWaveBasis, spins: int, bands: int, work: Callable[[int, slice], Result],
    dtype: torch.dtype | None = None,
) -> list[list[Result]]:  # fmt: skip
    """work(spin, k) for all blocks of k-points of all spins, side by side where threads are idle; by spin."""
    blocks = k_blocks(basis, bands, dtype)
    pieces = [(spin, k) for spin in range(spins) for k in blocks]
    found = each(lambda piece: work(*piece), pieces, step_and_threads(basis, bands, dtype)[1])
    return [found[spin * len(blocks) : (spin + 1) * len(blocks)] for spin in range(spins)]
