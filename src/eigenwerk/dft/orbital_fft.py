"""FFTs of orbitals on processors by FFTW, leaving out the rows that hold no wave.

The waves of a sphere fill two slabs of each axis of the grid, rows 0 to `low` and `high` to N (negative indices).  From
waves to points the transforms along the third axis are needed where the first two indices lie in slabs, those along the
second where the first one does, those along the first everywhere: of the sphere that fills half of each axis 7/12 of
the work.  From points to waves the same backwards; what stands outside of the slabs then is meaningless.

FFTW comes with pyFFTW (`pip install 'eigenwerk[fftw]'`).  For each size both it and PyTorch's FFT are timed once, the
faster one is used, and the answer stays on the disk with FFTW's plans.  FFTs that several threads share, and those of
GPUs, are PyTorch's.
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eigenwerk.parallel.kernel_cache import cached

Slabs = tuple[slice, ...]

GROUP_BYTES = 2**19
"""Small grids go through a pass together: fewer calls, and all still in a core's cache."""

PLANNING_SECONDS = 1.0
"""At most for each pass of a size that is met for the first time."""

TIMED_RUNS = 5

GRID_AXES = (-3, -2, -1)


@dataclass(frozen=True)
class FilledGrid:
    """An FFT grid and the rows 0..low-1 and high..N-1 of each axis that plane waves fill; all rows by default."""

    size_c: tuple[int, int, int]
    low_c: tuple[int, ...] = ()
    high_c: tuple[int, ...] = ()

    @staticmethod
    def by(index_x: np.ndarray, size_c: tuple[int, int, int]) -> "FilledGrid":
        """The grid whose points with these flat indices are filled."""
        filled_R = np.zeros(size_c, dtype=bool)
        filled_R.reshape(-1)[index_x] = True
        low_c, high_c = [], []
        for axis, size in enumerate(size_c):
            row_x = np.flatnonzero(filled_R.any(axis=tuple({0, 1, 2} - {axis})))
            low_c.append(1 + int(row_x[row_x <= size // 2].max(initial=0)))
            high_c.append(int(row_x[row_x > size // 2].min(initial=size)))
        return FilledGrid(size_c, tuple(low_c), tuple(high_c))

    def slabs(self, axis: int) -> Slabs:
        """The filled rows of an axis, one or two ranges."""
        if not self.low_c or self.low_c[axis] >= self.high_c[axis]:
            return (slice(0, self.size_c[axis]),)
        low, high = slice(0, self.low_c[axis]), slice(self.high_c[axis], self.size_c[axis])
        return (low, high) if high.start < high.stop else (low,)


def to_points(grid_knR: torch.Tensor, grid: FilledGrid) -> torch.Tensor:
    """Σ_g f(g) exp(i g·R) of coefficients at their places, zero elsewhere; the argument's memory is used up."""
    passes = _passes_for(grid_knR, grid, "FFTW_BACKWARD")
    return passes(grid_knR) if passes else torch.fft.ifftn(grid_knR, dim=GRID_AXES, norm="forward")


def to_waves(field_knR: torch.Tensor, grid: FilledGrid) -> torch.Tensor:
    """Σ_R f(R) exp(-i g·R), right in the filled rows alone; the argument's memory is used up."""
    passes = _passes_for(field_knR, grid, "FFTW_FORWARD")
    return passes(field_knR) if passes else torch.fft.fftn(field_knR, dim=GRID_AXES, norm="backward")


def library() -> str:
    """Whose FFTs this process has used for orbitals."""
    return "FFTW" if any(_CHOSEN.values()) else "PyTorch"


@dataclass(frozen=True)
class _Passes:
    """The passes of a direction, for `group` grids together and for a single one; of one thread."""

    group: int
    many: "list[_Pass]"
    one: "list[_Pass]"

    def __call__(self, grid_knR: torch.Tensor) -> torch.Tensor:
        """Transforms in place."""
        grids = grid_knR.numpy().reshape(-1, *grid_knR.shape[-3:])
        whole = len(grids) // self.group * self.group
        for start in range(0, whole, self.group):
            _run(self.many, grids[start : start + self.group])
        for start in range(whole, len(grids)):
            _run(self.one, grids[start : start + 1])
        return grid_knR


_Pass = tuple[tuple[slice, ...], Any]
"""A part of the grids, and FFTW's plan for one axis of it."""


def _run(passes: list[_Pass], grids: np.ndarray) -> None:
    for part, plan in passes:
        rows = grids[part]
        plan.update_arrays(rows, rows)
        plan.execute()


def _passes_for(grid_knR: torch.Tensor, grid: FilledGrid, direction: str) -> _Passes | None:
    """FFTW's passes, made once for each thread since plans carry the arrays they work on; None: PyTorch is to do it."""
    if not (grid_knR.is_cpu and grid_knR.is_contiguous() and torch.get_num_threads() == 1 and _available()):
        return None
    kept = _OF_THREAD.__dict__.setdefault("passes", {})
    key = grid, grid_knR.dtype, direction
    if key not in kept:
        name = _name(grid_knR.dtype)
        with _PLANNING:
            kept[key] = _plan(grid, name, direction) if _faster(grid, name) else None
    return kept[key]


_OF_THREAD = threading.local()
_PLANNING = threading.RLock()
"""FFTW makes one plan at a time."""


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


@cache
def _available() -> bool:
    return find_spec("pyfftw") is not None


def _plan(grid: FilledGrid, dtype: str, direction: str) -> _Passes:
    group = max(1, GROUP_BYTES // (np.dtype(dtype).itemsize * int(np.prod(grid.size_c))))
    one = _plan_passes(grid, dtype, direction, 1)
    return _Passes(group, one if group == 1 else _plan_passes(grid, dtype, direction, group), one)


def _plan_passes(grid: FilledGrid, dtype: str, direction: str, count: int) -> list[_Pass]:
    """Passes for `count` grids."""
    import pyfftw

    # torch aligns arrays to 64 bytes too; single grids of odd sizes lie anywhere
    scratch = pyfftw.zeros_aligned((count, *grid.size_c), dtype=dtype, n=64)
    odd = np.prod(grid.size_c) % 2 == 1
    flags = ("FFTW_MEASURE", "FFTW_UNALIGNED") if odd else ("FFTW_MEASURE",)
    everything, first, second = (slice(None),), grid.slabs(0), grid.slabs(1)
    parts: list[tuple[tuple[slice, ...], int]] = [
        *(((*everything, x, y), 3) for x, y in product(first, second)),
        *(((*everything, x), 2) for x in first), (everything, 1),
    ]  # fmt: skip
    if direction == "FFTW_FORWARD":
        parts.reverse()
    return [
        (part, pyfftw.FFTW(
            scratch[part], scratch[part], axes=(axis,), direction=direction, flags=flags, threads=1,
            planning_timelimit=PLANNING_SECONDS,
        )) for part, axis in parts
    ]  # fmt: skip


_CHOSEN: dict[tuple[FilledGrid, str], bool] = {}
"""Whether FFTW does the FFTs of a size."""


def _faster(grid: FilledGrid, dtype: str) -> bool:
    """Whether FFTW is the faster one."""
    if (grid, dtype) not in _CHOSEN:
        _CHOSEN[grid, dtype] = _measured(grid, dtype)
    return _CHOSEN[grid, dtype]


def _measured(grid: FilledGrid, dtype: str) -> bool:
    """Timed once on each kind of processor; FFTW gets the plans that were made then."""
    import pyfftw

    what = "FFTs of orbitals", repr(grid), dtype, str(GROUP_BYTES), pyfftw.fftw_version, torch.__version__, _processor()
    answer = json.loads(cached(what, lambda: json.dumps(_measure(grid, dtype)).encode()))
    pyfftw.import_wisdom(tuple(part.encode() for part in answer["plans"]))
    return bool(answer["FFTW_seconds"] < answer["PyTorch_seconds"])


def _measure(grid: FilledGrid, dtype: str) -> dict[str, object]:
    """Seconds there and back of one group of grids by both, with one thread, and FFTW's plans."""
    import pyfftw

    there, back = (_plan(grid, dtype, direction) for direction in ("FFTW_BACKWARD", "FFTW_FORWARD"))
    field = torch.zeros((there.group, *grid.size_c), dtype=getattr(torch, dtype))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        by_torch = _seconds(lambda: torch.fft.fftn(torch.fft.ifftn(field, dim=GRID_AXES), dim=GRID_AXES))
        by_fftw = _seconds(lambda: back(there(field)))
    finally:
        torch.set_num_threads(threads)
    plans = [part.decode() for part in pyfftw.export_wisdom()]
    return {"FFTW_seconds": by_fftw, "PyTorch_seconds": by_torch, "plans": plans}


def _seconds(work: Callable[[], object]) -> float:
    """The shortest of some runs: what the work takes where nothing disturbs it."""
    times = []
    for _ in range(TIMED_RUNS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


@cache
def _processor() -> str:
    """What distinguishes kinds of processors, as Linux tells it; elsewhere all count as one."""
    kind = ("vendor_id", "cpu family", "model", "cache size", "flags")
    told_by_linux = Path("/proc/cpuinfo")
    lines = told_by_linux.read_text().split("\n\n")[0].splitlines() if told_by_linux.exists() else []
    return "\n".join(line for line in lines if line.startswith(kind))
