"""The two layouts of orbitals inside a k-group, and the way from one to the other.

waves: every rank holds all bands on its own plane waves, (k, n, G).  Overlaps, rotations and projections are matrix
products there, with a sum over the band ranks.
bands: every rank holds some of the bands on the whole sphere, (k, b, W), b of n / ranks bands (rounded up), W of all
plane waves.  The local potential needs it: no FFT is shared between ranks.

An all-to-all turns one into the other.  Bands are padded with zeros to equal shares; with one rank both are the same.
A rank gets neighbours, or (dealt) bands one by one in turn, so that ranks have as many of the lowest ones.
"""

from collections.abc import Callable, Iterator
from math import ceil

import torch
from torch.nn.functional import pad

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.basis.transforms import orbital_blocks
from eigenwerk.parallel.communicator import Communicator, Handle
from eigenwerk.parallel.pipeline import pipeline
from eigenwerk.parallel.threads import threads_for

TRANSFER_BLOCKS = 4
"""Blocks of bands that travel one after the other, so that all but the first and the last are hidden by FFTs."""


def bands_per_rank(comm: Communicator, count: int) -> int:
    """Bands of one rank, padding included."""
    return ceil(count / comm.size)


def own_bands(comm: Communicator, count: int) -> slice:
    """Which of `count` bands this rank gets by `start_to_bands`."""
    size = bands_per_rank(comm, count)
    return slice(min(comm.rank * size, count), min((comm.rank + 1) * size, count))


def dealt_bands(comm: Communicator, count: int) -> slice:
    """Which of `count` bands this rank gets where they are dealt one by one."""
    return slice(comm.rank, count, comm.size)


class ToBands:
    """Orbitals on their way from waves (k, n, G) to bands (k, b, W); `wait` gives them."""

    def __init__(self, comm: Communicator, x_knG: torch.Tensor, dealt: bool = False):
        self.handle: Handle[torch.Tensor] | None = None
        self.x_knG = x_knG
        if comm.size > 1:
            missing = bands_per_rank(comm, x_knG.shape[1]) * comm.size - x_knG.shape[1]
            padded_knG = pad(x_knG, (0, 0, 0, missing)) if missing else x_knG
            if dealt:
                x_pkbG = padded_knG.unflatten(1, (-1, comm.size)).movedim(2, 0)
            else:
                x_pkbG = padded_knG.unflatten(1, (comm.size, -1)).movedim(1, 0)
            self.handle = comm.start_all_to_all(x_pkbG.contiguous())

    def wait(self) -> torch.Tensor:
        """(k, b, W)."""
        return self.x_knG if self.handle is None else self.handle.wait().movedim(0, 2).flatten(2)


class ToWaves:
    """The way back: orbitals from bands (k, b, W) to waves (k, n, G) with `count` bands; `wait` gives them."""

    def __init__(self, comm: Communicator, x_kbW: torch.Tensor, count: int, dealt: bool = False):
        self.handle: Handle[torch.Tensor] | None = None
        self.x_kbW, self.count, self.dealt = x_kbW, count, dealt
        if comm.size > 1:
            self.handle = comm.start_all_to_all(x_kbW.unflatten(2, (comm.size, -1)).movedim(2, 0).contiguous())

    def wait(self) -> torch.Tensor:
        """(k, n, G)."""
        if self.handle is None:
            return self.x_kbW
        return self.handle.wait().movedim(0, 2 if self.dealt else 1).flatten(1, 2)[:, : self.count]


def transfer_blocks(comm: Communicator, x_knG: torch.Tensor, limit: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of k-points and bands that travel together: at most `limit` bytes, and several if there is traffic."""
    problems, count, waves = x_knG.shape
    row_bytes = waves * x_knG.element_size()
    if comm.size > 1:
        limit = min(limit, ceil(problems * count * row_bytes / TRANSFER_BLOCKS))
        limit = max(limit, comm.size * row_bytes)
    return orbital_blocks(problems, count, row_bytes, limit)


def grid_blocks(basis: PlaneWaveBasis, x_kbG: torch.Tensor, least: int = 1) -> Iterator[tuple[slice, slice]]:
    """Blocks of k-points and bands whose orbitals are on the FFT grid together; of real ones two share a grid.

    least: grids in a block, if there are so many orbitals, even where they do not fit the cache.
    """
    sharing = basis.form.orbitals_on_grid
    grid_bytes = basis.wave_map.points * x_kbG.dtype.to_complex().itemsize
    grids = ceil(x_kbG.shape[0] * x_kbG.shape[1] / sharing)
    # each thread gets a block
    fair_share = ceil(grids / threads_for(x_kbG.device)) * grid_bytes
    limit = max(min(basis.runtime.grid_bytes, fair_share), least * grid_bytes)
    if sharing > 1:  # whole grids only, so that no orbital of a full block is alone on its grid
        limit = max(limit // grid_bytes, 1) * grid_bytes
    return orbital_blocks(x_kbG.shape[0], x_kbG.shape[1], grid_bytes // sharing, limit)


def on_whole_spheres(
    comm: Communicator, x_knG: torch.Tensor, limit: int, act: Callable[[torch.Tensor, slice], tuple[torch.Tensor, ...]]
) -> tuple[torch.Tensor, ...]:
    """Apply `act` to orbitals in the layout of bands, block by block, and bring its one or more results back.

    act(x_kbW, k) -> (k, b, W) each, k the slice of the k-points the block belongs to.  The next block travels, and the
    last result, while one is worked on.
    """
    if comm.size == 1:
        return act(x_knG, slice(0, len(x_knG)))
    out: tuple[torch.Tensor, ...] = ()
    blocks = list(transfer_blocks(comm, x_knG, limit))
    # NCCL has a stream of its own, so packing stays on the current one
    arriving = pipeline(blocks, lambda block: ToBands(comm, x_knG[block]))
    acted = ((_together(act(here_kbW, k)), n.stop - n.start) for here_kbW, (k, n) in zip(arriving, blocks, strict=True))
    leaving = pipeline(acted, lambda pair: ToWaves(comm, *pair))
    for block, back_knG in zip(blocks, leaving, strict=True):
        images = back_knG.split(block[0].stop - block[0].start)
        out = out or tuple(torch.empty_like(x_knG) for _ in images)
        for out_knG, image_knG in zip(out, images, strict=True):
            out_knG[block] = image_knG
    return out


def _together(images: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """Results that travel together, one after the other along k."""
    return images[0] if len(images) == 1 else torch.cat(images)
