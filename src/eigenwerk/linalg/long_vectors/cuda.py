"""The same as kernels of a GPU; the plain twin is `plain`.

Vectors are read where they lie, in loads of 16 bytes where their beginnings allow it, and each number is made a double
in a register.  Inner products are added up in a fixed order: equal arguments give equal bits.
"""

from pathlib import Path

import torch

from eigenwerk.parallel.kernels.cuda import C_REAL, Kernel, can_compile, integer, kernel, pointer

SOURCE = Path(__file__).with_name("projections.cu").read_text(encoding="ascii")

THREADS, WARPS, ROWS = 256, 8, 4
"""Threads and warps of a block; rows of the basis that a warp takes together, as in the source."""

SIZES = (8, 4, 2, 1)
"""Numbers of vectors w that kernels are made for."""

TILE, TILE_OF_BOTH = 4096, 256
"""Components of a tile for inner products with one vector, and where the basis is read again from the cache."""

BLOCKS = 4
"""Thread blocks of a multiprocessor for inner products."""

LEAST_ROWS = 16
"""A smaller basis is read twice: its tiles are too little work for a block."""

IN_CACHE = 0.6
"""Of the L2 cache tiles may fill so much."""


class CudaProjections:
    """The kernels for a GPU and real vectors of a type, whose components lie side by side.

    both_at_once: whether `take_out_and_overlap` may read the basis once; None where tiles fit into the cache.
    """

    def __init__(self, device: torch.device, dtype: torch.dtype, both_at_once: bool | None = None):
        self.device, self.dtype, self.both_at_once = device, dtype, both_at_once
        found = torch.cuda.get_device_properties(device)
        self.multiprocessors, self.cache_bytes = found.multi_processor_count, found.L2_cache_size

    def overlaps(self, basis_mx: torch.Tensor, w_nx: torch.Tensor) -> torch.Tensor:
        """As in the plain twin."""
        rows, size = basis_mx.shape
        if not rows or not size or not len(w_nx):
            return basis_mx.new_zeros((rows, len(w_nx)), dtype=torch.float64)
        return torch.cat([self._overlaps(basis_mx, part_nx) for part_nx in _parts(w_nx)], 1)

    def take_out(self, basis_mx: torch.Tensor, c_mn: torch.Tensor, w_nx: torch.Tensor) -> None:
        """As in the plain twin."""
        rows, size = basis_mx.shape
        if not rows or not size or not len(w_nx):
            return
        for part_nx, part_mn in zip(_parts(w_nx), _columns(c_mn), strict=True):
            vectors, pack = len(part_nx), _pack(basis_mx, part_nx)
            blocks = min(-(-size // (THREADS * pack)), 16 * self.multiprocessors)
            run = self._kernel("take_out", vectors, pack, TILE // vectors).with_shared(8 * rows * vectors)
            with torch.cuda.device(self.device):
                run(
                    (blocks, 1, 1), THREADS, pointer(basis_mx), integer(basis_mx.stride(0)), pointer(part_mn),
                    pointer(part_nx), integer(part_nx.stride(0)), integer(rows), integer(size),
                )  # fmt: skip

    def take_out_and_overlap(self, basis_mx: torch.Tensor, c_mn: torch.Tensor, w_nx: torch.Tensor) -> torch.Tensor:
        """As in the plain twin; in one reading of the basis from memory where its tiles fit into the cache."""
        blocks = self.blocks_in_cache(basis_mx)
        if not blocks or not len(w_nx):
            self.take_out(basis_mx, c_mn, w_nx)
            return self.overlaps(basis_mx, w_nx)
        parts = zip(_parts(w_nx), _columns(c_mn), strict=True)
        return torch.cat([self._both(basis_mx, part_mn, part_nx, blocks) for part_nx, part_mn in parts], 1)

    def blocks_in_cache(self, basis_mx: torch.Tensor) -> int:
        """Thread blocks of a multiprocessor for the kernel that does both; 0 where two kernels are better."""
        rows, size = basis_mx.shape
        if not rows or not size or self.both_at_once is False or (rows < LEAST_ROWS and not self.both_at_once):
            return 0
        tiles = TILE_OF_BOTH * rows * basis_mx.element_size() * self.multiprocessors
        fitting = int(IN_CACHE * self.cache_bytes / tiles)
        return max(min(fitting, BLOCKS), 2) if fitting >= 2 or self.both_at_once else 0

    def _overlaps(self, basis_mx: torch.Tensor, w_nx: torch.Tensor) -> torch.Tensor:
        """For as many vectors as one kernel takes."""
        (rows, size), vectors = basis_mx.shape, len(w_nx)
        tile, pack = TILE // vectors, _pack(basis_mx, w_nx)
        slices, blocks = _slices(rows, tile), min(-(-size // tile), BLOCKS * self.multiprocessors)
        part_pmn = torch.empty((blocks, rows, vectors), dtype=torch.float64, device=self.device)
        shared = 8 * (TILE + slices * rows * vectors)
        run = self._kernel("overlaps", vectors, pack, tile).with_shared(shared)
        with torch.cuda.device(self.device):
            run(
                (blocks, 1, 1), THREADS, pointer(basis_mx), integer(basis_mx.stride(0)), pointer(w_nx),
                integer(w_nx.stride(0)), integer(rows), integer(size), integer(slices), pointer(part_pmn),
            )  # fmt: skip
        return part_pmn.sum(0)

    def _both(self, basis_mx: torch.Tensor, c_mn: torch.Tensor, w_nx: torch.Tensor, most: int) -> torch.Tensor:
        """For as many vectors as one kernel takes, by `most` thread blocks on a multiprocessor."""
        (rows, size), vectors, pack = basis_mx.shape, len(w_nx), _pack(basis_mx, w_nx)
        slices, blocks = _slices(rows, TILE_OF_BOTH), min(-(-size // TILE_OF_BOTH), most * self.multiprocessors)
        part_pmn = torch.empty((blocks, rows, vectors), dtype=torch.float64, device=self.device)
        shared = 8 * vectors * (THREADS * pack + (slices + 1) * rows)
        run = self._kernel("take_out_and_overlap", vectors, pack, TILE_OF_BOTH).with_shared(shared)
        with torch.cuda.device(self.device):
            run(
                (blocks, 1, 1), THREADS, pointer(basis_mx), integer(basis_mx.stride(0)), pointer(c_mn), pointer(w_nx),
                integer(w_nx.stride(0)), integer(rows), integer(size), integer(slices), pointer(part_pmn),
            )  # fmt: skip
        return part_pmn.sum(0)

    def _kernel(self, name: str, vectors: int, pack: int, tile: int) -> Kernel:
        macros = f"REAL={C_REAL[self.dtype]}", f"NW={vectors}", f"PACK={pack}", f"THREADS={THREADS}", f"TILE={tile}"
        return kernel(SOURCE, name, self.device.index or 0, *macros)


def _parts(w_nx: torch.Tensor) -> list[torch.Tensor]:
    """The vectors in numbers that kernels are made for."""
    return list(w_nx.split(_split(len(w_nx))))


def _columns(c_mn: torch.Tensor) -> list[torch.Tensor]:
    """The coefficients of these vectors."""
    return [part_mn.contiguous() for part_mn in c_mn.split(_split(c_mn.shape[1]), 1)]


def _split(vectors: int) -> list[int]:
    """8 + 8 + 2 + 1 = 19."""
    found = []
    for size in SIZES:
        found += [size] * (vectors // size)
        vectors %= size
    return found


def _slices(rows: int, tile: int) -> int:
    """Into how many slices a tile is cut, so that every warp has something to do; a power of two."""
    wanted, slices = 4 * WARPS // -(-rows // ROWS), 1
    while slices < wanted and tile // (2 * slices) >= 128:
        slices *= 2
    return slices


def _pack(basis_mx: torch.Tensor, w_nx: torch.Tensor) -> int:
    """How many numbers may be loaded at once: 16 bytes where all rows begin at multiples of these, or one number."""
    pack = 16 // basis_mx.element_size()
    strides = [tensor.stride(0) for tensor in (basis_mx, w_nx) if len(tensor) > 1]
    whole = all(number % pack == 0 for number in (basis_mx.shape[1], *strides))
    return pack if whole and basis_mx.data_ptr() % 16 == 0 and w_nx.data_ptr() % 16 == 0 else 1


def projections(device: torch.device, dtype: torch.dtype) -> CudaProjections | None:
    """Those for vectors of this type; None where they cannot be compiled."""
    return CudaProjections(device, dtype) if can_compile() else None
