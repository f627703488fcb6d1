"""Joules and the largest use of memory of a GPU while something runs, by NVML (nvidia-ml-py)."""

import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Use:
    """What one GPU used between two moments."""

    joules: float
    """The difference of the board's energy counter: all of it, with what it takes at rest."""
    watts_at_rest: float
    """Power before the start."""
    memory_GB: float
    """Largest memory of the board in use less that before the start, seen every 50 ms: with the driver's own."""


class GpuMeter(AbstractContextManager["GpuMeter"]):
    """Measures GPU `index` from entry to exit; `use` then is what was used."""

    use: Use

    def __init__(self, index: int = 0) -> None:
        self.index = index
        self._done = threading.Event()
        self._most = 0

    def __enter__(self) -> "GpuMeter":
        import pynvml

        pynvml.nvmlInit()
        self._nvml: Any = pynvml
        self._board = pynvml.nvmlDeviceGetHandleByIndex(self.index)
        self._watts_at_rest = 1e-3 * pynvml.nvmlDeviceGetPowerUsage(self._board)
        self._bytes_before = pynvml.nvmlDeviceGetMemoryInfo(self._board).used
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()
        self._millijoules = pynvml.nvmlDeviceGetTotalEnergyConsumption(self._board)
        return self

    def _watch(self) -> None:
        while not self._done.is_set():
            self._most = max(self._most, self._nvml.nvmlDeviceGetMemoryInfo(self._board).used)
            time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        millijoules = self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._board) - self._millijoules
        self._done.set()
        self._watching.join()
        memory = 1e-9 * max(self._most - self._bytes_before, 0)
        self.use = Use(1e-3 * millijoules, self._watts_at_rest, memory)
