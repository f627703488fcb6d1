"""FFTs of orbitals, and on processors those of the rows alone that hold waves.

The waves of a sphere fill two slabs of each axis of the grid, rows 0 to `low` and `high` to N (negative indices).  From
waves to points the transforms along the third axis are needed where the first two indices lie in slabs, those along the
second where the first one does, those along the first everywhere: of the sphere that fills half of each axis 7/12 of
the work.  From points to waves the same backwards; what stands outside of the slabs then is meaningless.

A thread that has grids of its own does these passes by FFTW where that is faster (`fftw`); FFTs that several threads
share, and those of GPUs, are PyTorch's, of the whole grid.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod

import numpy as np
import torch

from eigenwerk.dft.basis import fftw

GROUP_BYTES = 2**19
"""Small grids go through a pass together: fewer calls, and all still in a core's cache."""

GRID_AXES = (-3, -2, -1)


@dataclass(frozen=True)
class FilledGrid:
    """An FFT grid and the rows 0..low-1 and high..N-1 of each axis that waves fill; all rows by default."""

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

    def slabs(self, axis: int) -> tuple[slice, ...]:
        """The filled rows of an axis, one or two ranges."""
        if not self.low_c or self.low_c[axis] >= self.high_c[axis]:
            return (slice(0, self.size_c[axis]),)
        low, high = slice(0, self.low_c[axis]), slice(self.high_c[axis], self.size_c[axis])
        return (low, high) if high.start < high.stop else (low,)


def to_points(grid_knR: torch.Tensor, grid: FilledGrid, single: bool = False) -> torch.Tensor:
    """Σ_g f(g) exp(i g·R) of coefficients at their places, zero elsewhere; the argument's memory is used up.

    single: FFTW may serve numbers in single precision, too.
    """
    passes = _passes_for(grid_knR, grid, "FFTW_BACKWARD", single)
    return passes(grid_knR) if passes else torch.fft.ifftn(grid_knR, dim=GRID_AXES, norm="forward")


def to_waves(field_knR: torch.Tensor, grid: FilledGrid, single: bool = False) -> torch.Tensor:
    """Σ_R f(R) exp(-i g·R), right in the filled rows alone; the argument's memory is used up.  single: as in
    `to_points`."""
    passes = _passes_for(field_knR, grid, "FFTW_FORWARD", single)
    return passes(field_knR) if passes else torch.fft.fftn(field_knR, dim=GRID_AXES, norm="backward")


@dataclass(frozen=True)
class _Passes:
    """The passes of a direction, for `group` grids together and for a single one; of one thread."""

    group: int
    many: list[fftw.Pass]
    one: list[fftw.Pass]

    def __call__(self, grid_knR: torch.Tensor) -> torch.Tensor:
        """Transforms in place."""
        grids = grid_knR.numpy().reshape(-1, *grid_knR.shape[-3:])
        whole = len(grids) // self.group * self.group
        for start in range(0, whole, self.group):
            _run(self.many, grids[start : start + self.group])
        for start in range(whole, len(grids)):
            _run(self.one, grids[start : start + 1])
        for one in (*self.many, *self.one):
            one.let_go()
        return grid_knR


def _run(passes: list[fftw.Pass], grids: np.ndarray) -> None:
    for one in passes:
        one(grids, grids)


def _passes_for(grid_knR: torch.Tensor, grid: FilledGrid, direction: str, single: bool) -> _Passes | None:
    if not (fftw.fits(grid_knR) and torch.get_num_threads() == 1):
        return None
    dtype = str(grid_knR.dtype).removeprefix("torch.")
    make, kind = partial(_plan, grid, dtype), ("orbitals", grid, dtype, GROUP_BYTES)
    return fftw.for_thread(kind, direction, grid_knR, make, lambda: _times(grid, dtype), single)


def _plan(grid: FilledGrid, dtype: str, direction: str) -> _Passes:
    group = max(1, GROUP_BYTES // (np.dtype(dtype).itemsize * prod(grid.size_c)))
    one = _plan_passes(grid, dtype, direction, 1)
    return _Passes(group, one if group == 1 else _plan_passes(grid, dtype, direction, group), one)


def _plan_passes(grid: FilledGrid, dtype: str, direction: str, count: int) -> list[fftw.Pass]:
    """Passes for `count` grids."""
    scratch = fftw.scratch((count, *grid.size_c), dtype)
    everything, first, second = (slice(None),), grid.slabs(0), grid.slabs(1)
    parts: list[tuple[tuple[slice, ...], int]] = [
        *(((*everything, x, y), 3) for x, y in product(first, second)),
        *(((*everything, x), 2) for x in first), (everything, 1),
    ]  # fmt: skip
    if direction == "FFTW_FORWARD":
        parts.reverse()
    odd = prod(grid.size_c) % 2 == 1  # then single grids of a batch are not aligned
    return [fftw.Pass(part, scratch, scratch, axis, direction, aligned=not odd) for part, axis in parts]


def _times(grid: FilledGrid, dtype: str) -> tuple[float, float]:
    """Seconds there and back of one group of grids by FFTW and by PyTorch, with one thread."""
    there, back = _plan(grid, dtype, "FFTW_BACKWARD"), _plan(grid, dtype, "FFTW_FORWARD")
    field = torch.zeros((there.group, *grid.size_c), dtype=getattr(torch, dtype))
    by_fftw = fftw.seconds(lambda: back(there(field)))
    return by_fftw, fftw.seconds(lambda: torch.fft.fftn(torch.fft.ifftn(field, dim=GRID_AXES), dim=GRID_AXES))
