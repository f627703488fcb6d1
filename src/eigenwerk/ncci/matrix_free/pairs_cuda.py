"""The product of the back end `pairs` on a GPU: gather, dense product and scatter of a tile in one thread block.

Gathered elements and their places stay in shared memory, so memory sees the vectors and small tables only.  The plain
twin is `PairsHamiltonian.apply` on a CPU.  Sums of many threads make the last digits differ from call to call.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from eigenwerk.ncci.device_arrays import by_blocks, tensor
from eigenwerk.ncci.matrix_free.pair_tasks import KindProducts
from eigenwerk.ncci.matrix_free.pair_tiles import MOST_BYTES, own_tiles, task_tables, tiles
from eigenwerk.parallel.kernels.cuda import C_REAL, Kernel, integer, kernel, pointer

FEW, MANY = 256, 512
"""Threads of a block; many where it has so much shared memory that a multiprocessor holds no second one."""

SOURCE = Path(__file__).with_name("pairs_product.cu").read_text(encoding="ascii")


@dataclass(frozen=True, eq=False)
class KernelLaunch:
    """Tiles of one launch on the GPU."""

    log_columns: int
    shared_bytes: int
    threads: int
    task_i: torch.Tensor
    first_i: torch.Tensor


@dataclass(frozen=True, eq=False)
class PairsOnGpu:
    """H on a many-body basis on one GPU, nothing of it stored; of several ranks the share `rank`, cut at tiles.

    task_tf: the tasks (`TaskTables.task_tf`); tables: left and right entries, left and right labels; matrices: all of
    them, in the number type of the vectors.  launches: for each number of interleaved vectors, made when it is needed.
    """

    dimension: int
    dtype: torch.dtype
    device: torch.device
    task_tf: np.ndarray
    tasks: torch.Tensor
    tables: tuple[torch.Tensor, ...]
    matrices: torch.Tensor
    ranks: int = 1
    rank: int = 0
    launches: dict[int, list[KernelLaunch]] = field(default_factory=dict, repr=False)

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x for every row, (n, b)."""
        return by_blocks(x_nb, self._product)

    def _product(self, x_bn: torch.Tensor) -> torch.Tensor:
        vectors = x_bn.shape[1]
        y_bn = torch.zeros_like(x_bn)
        if vectors not in self.launches:
            self.launches[vectors] = self._plan(vectors)
        with torch.cuda.device(self.device):
            for launch in self.launches[vectors]:
                tensors = (x_bn, y_bn, self.tasks, launch.task_i, launch.first_i, *self.tables, self.matrices)
                arguments = *(pointer(tensor) for tensor in tensors), integer(launch.log_columns)
                run = self._compiled(vectors, launch.threads).with_shared(launch.shared_bytes)
                run((len(launch.task_i), 1, 1), launch.threads, *arguments)
        return y_bn

    @property
    def _place_type(self) -> tuple[str, int]:
        """The number type of places, twice the number of a state and a sign, and its bytes."""
        return ("unsigned", 4) if self.dimension < (1 << 31) - 1 else ("unsigned long long", 8)

    def _plan(self, vectors: int) -> list[KernelLaunch]:
        every = tiles(self.task_tf, vectors, self.matrices.element_size(), self._place_type[1])
        found = [own_tiles(part, self.task_tf, self.ranks, self.rank) for part in every]
        return [
            KernelLaunch(
                part.log_columns,
                part.shared_bytes,
                MANY if 2 * part.shared_bytes > MOST_BYTES else FEW,
                tensor(part.task_i, self.device),
                tensor(part.first_i, self.device),
            )
            for part in found if len(part.task_i)
        ]

    def _compiled(self, vectors: int, threads: int) -> Kernel:
        together = min(vectors, 4) if self.dtype == torch.float32 else 1
        blocks = 1 if threads > FEW else 3 if self.dtype == torch.float32 else 2
        types = f"REAL={C_REAL[self.dtype]}", f"PLACE={self._place_type[0]}"
        macros = *types, f"NV={vectors}", f"VW={together}", f"THREADS={threads}", f"BLOCKS={blocks}"
        return kernel(SOURCE, "product", self.device.index or 0, *macros)


def pairs_on_gpu(
    dimension: int, kinds: list[KindProducts], dtype: torch.dtype, device: torch.device, ranks: int = 1, rank: int = 0
) -> PairsOnGpu:
    """Moves matrices and packed tables to a GPU."""
    found = task_tables(kinds)
    tables = tuple(tensor(a, device) for a in (found.left_z, found.right_z, found.left_label_z, found.right_label_z))
    matrices = tensor(found.matrix_z, device).to(dtype)
    tasks = tensor(found.task_tf, device)
    return PairsOnGpu(dimension, dtype, device, found.task_tf, tasks, tables, matrices, ranks, rank)
