"""Real-to-complex FFTs of single fields by FFTW, of the rows alone that hold waves; on processors.

The half grid has the third axis cut to N_3 // 2 + 1.  From waves to points: along the first axis where the second and
third index are those of waves, along the second where the third one is, along the third everywhere, to real numbers.
From points to waves the same backwards.  `FilledGrid` tells the rows: low_c[2] planes of g_3 are filled.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np
import torch

from eigenwerk.dft.basis import fftw
from eigenwerk.dft.basis.orbital_fft import FilledGrid


@dataclass(frozen=True)
class FieldFft:
    """The passes of a direction over the half grid, and the one between it and points."""

    grid: FilledGrid
    half: list[fftw.Pass]
    last: fftw.Pass

    def to_points(self, half_R: torch.Tensor, field_R: torch.Tensor) -> None:
        """field = Σ_g f(g) exp(i g·R) from coefficients on the half grid, which is used up where it is filled."""
        self._along_half(half_R.numpy())
        self.last(half_R.numpy(), field_R.numpy())
        self.last.let_go()

    def to_waves(self, field_R: torch.Tensor, half_R: torch.Tensor) -> None:
        """Σ_R f(R) exp(-i g·R) on the half grid, right where it is filled."""
        self.last(field_R.numpy(), half_R.numpy())
        self.last.let_go()
        self._along_half(half_R.numpy())

    def _along_half(self, half_R: np.ndarray) -> None:
        for one in self.half:
            one(half_R, half_R)
            one.let_go()


def field_fft(
    grid: FilledGrid, direction: str, array: torch.Tensor, by_torch: Callable[[], object],
    by_fftw: Callable[[FieldFft, FieldFft], object],
) -> FieldFft | None:  # fmt: skip
    """The FFT of a direction for this thread and its number of PyTorch's threads, or None: PyTorch does it.

    array: what is to be transformed.  by_torch: there and back by PyTorch; by_fftw: the same with the FFTs of both
    directions.
    """
    threads = torch.get_num_threads()
    make = partial(_plan, grid, threads)

    def times() -> tuple[float, float]:
        there, back = make("FFTW_BACKWARD"), make("FFTW_FORWARD")
        return fftw.seconds(lambda: by_fftw(there, back)), fftw.seconds(by_torch)

    return fftw.for_thread(("field", grid, threads), direction, array, make, times)


def _plan(grid: FilledGrid, threads: int, direction: str) -> FieldFft:
    first, second, third = grid.size_c
    half, field = fftw.scratch((first, second, third // 2 + 1), "complex128"), fftw.scratch(grid.size_c, "float64")
    everything, planes = slice(None), slice(0, grid.low_c[2])
    parts: list[tuple[tuple[slice, ...], int]] = [((everything, y, planes), 0) for y in grid.slabs(1)]
    parts.append(((everything, everything, planes), 1))
    if direction == "FFTW_FORWARD":
        parts.reverse()
    even = prod(grid.size_c) % 2 == 0  # if not, fields of a batch are not aligned
    make = partial(fftw.Pass, direction=direction, threads=threads, aligned=even)
    ends = (field, half) if direction == "FFTW_FORWARD" else (half, field)
    return FieldFft(grid, [make(part, half, half, axis) for part, axis in parts], make((everything,), *ends, 2))
