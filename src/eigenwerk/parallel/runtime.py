"""Where a calculation runs: device, number types and communicators, made once and carried by the basis."""

from dataclasses import dataclass, field

import numpy as np
import torch

from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.memory.block_sizes import (
    CACHE_BLOCK_BYTES,
    CACHE_GRID_BYTES,
    DEVICE_BLOCK_SHARE,
    DEVICE_EXCHANGE_ONCE_SHARE,
    DEVICE_GRID_BYTES,
    EXCHANGE_ONCE_BYTES,
)
from eigenwerk.parallel.process_grid import ProcessGrid
from eigenwerk.parallel.threads import threads_for
from eigenwerk.record.trace import Trace


@dataclass(frozen=True)
class Runtime:
    """Device, dtypes, process grid and trace of one calculation.

    spare: the same ranks with other communicators, for host memory, that work while those of `grid` are stuck.
    block_limit: bytes of a block of k-points where memory is short.
    """

    device: torch.device = torch.device("cpu")
    real: torch.dtype = torch.float64
    complex: torch.dtype = torch.complex128
    grid: ProcessGrid = field(default_factory=ProcessGrid)
    trace: Trace = field(default_factory=Trace)
    spare: ProcessGrid = field(default_factory=ProcessGrid)
    block_limit: int | None = None

    @property
    def world(self) -> Communicator:
        """All ranks."""
        return self.grid.world

    @property
    def bands(self) -> Communicator:
        """The ranks that share bands and plane waves of the same k-points."""
        return self.grid.bands

    @property
    def writes(self) -> bool:
        """Whether this rank writes files and talks to people."""
        return self.world.rank == 0

    @property
    def grid_bytes(self) -> int:
        """Bytes of the orbitals that are on the FFT grid at the same time."""
        return CACHE_GRID_BYTES if self.device.type == "cpu" else DEVICE_GRID_BYTES

    @property
    def block_bytes(self) -> int:
        """Bytes of the coefficients of a block of k-points that is solved together."""
        usual = CACHE_BLOCK_BYTES if self.device.type == "cpu" else int(self._device_memory * DEVICE_BLOCK_SHARE)
        return usual if self.block_limit is None else min(usual, self.block_limit)

    @property
    def once_bytes(self) -> int:
        """Bytes of a rank's orbitals on the grid, all at a time, in exact exchange with each pair done once."""
        on_device = self.device.type != "cpu"
        return int(self._device_memory * DEVICE_EXCHANGE_ONCE_SHARE) if on_device else EXCHANGE_ONCE_BYTES

    @property
    def _device_memory(self) -> int:
        return int(torch.cuda.get_device_properties(self.device).total_memory)

    @property
    def threads(self) -> int:
        """How many blocks of k-points may be solved side by side: one where ranks share them, and would communicate."""
        return threads_for(self.device) if self.bands.size == 1 else 1

    def tensor(self, values: object, dtype: torch.dtype | None = None) -> torch.Tensor:
        """A copy of `values` on the device; real dtype unless another is given."""
        return torch.tensor(np.asarray(values), dtype=dtype or self.real, device=self.device)

    def index(self, values: object) -> torch.Tensor:
        """An integer tensor on the device."""
        return torch.tensor(np.asarray(values), dtype=torch.int64, device=self.device)
