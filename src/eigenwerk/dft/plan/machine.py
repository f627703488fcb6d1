"""What one device can do: the figures behind estimates of memory and time (no torch: `plan` must start fast)."""

import re
from dataclasses import dataclass, replace
from functools import cache
from importlib.machinery import PathFinder
from itertools import pairwise
from math import exp, log
from pathlib import Path

from eigenwerk.parallel.memory.block_sizes import (
    CACHE_BLOCK_BYTES,
    CACHE_GRID_BYTES,
    DEVICE_BLOCK_SHARE,
    DEVICE_EXCHANGE_ONCE_SHARE,
    DEVICE_GRID_BYTES,
    EXCHANGE_ONCE_BYTES,
    solved_together,
)

GIB = 2**30


@dataclass(frozen=True)
class Machine:
    """One device of a run, a GPU or some cores of a processor.

    memory: bytes; gemm: products of large matrices, FLOP/s, half_speed: vectors in a block at which they reach half of
    it; copy: bytes/s, read and written; fft: complex FFTs, FLOP/s by 5 N log2 N, or infinite where memory limits them
    to three passes; dense: (n, seconds) of one Hermitian eigenproblem with all vectors, together: of some of one size
    at once, however many they are; real_dense: time of a real one over that of a complex one; link: bytes/s of one
    rank in an all-to-all; one_centre: seconds for the one-centre terms of one atom; launch: seconds before a kernel
    runs, calls: kernels in a step, for each block of k-points, whose start nothing hides; programs: bytes of Python,
    libraries and device context, and talking: of what several ranks need to communicate; grid_bytes, block_bytes: as in
    `Runtime`; atoms_per_batch: as in terms/one_centre.py; spare: share of the memory that fragments of free memory
    take.
    """

    name: str
    memory: float
    gemm: float
    half_speed: float
    copy: float
    fft: float
    dense: tuple[tuple[int, float], ...]
    together: tuple[tuple[int, float], ...]
    real_dense: float
    link: float
    one_centre: float
    launch: float
    calls: int
    programs: float
    talking: float
    grid_bytes: float
    block_bytes: float
    atoms_per_batch: int
    spare: float

    @property
    def on_device(self) -> bool:
        """Whether it is a GPU."""
        return self.grid_bytes != CACHE_GRID_BYTES

    @property
    def once_bytes(self) -> float:
        """As in `Runtime`."""
        return self.memory * DEVICE_EXCHANGE_ONCE_SHARE if self.on_device else EXCHANGE_ONCE_BYTES

    def fft_seconds(self, points: int) -> float:
        """One complex FFT: its arithmetic while it stays in cache, else three passes through memory."""
        if self.fft == float("inf"):
            return 3 * 32 * points / self.copy
        return 5 * points * log(max(points, 2)) / log(2) / self.fft

    def matrix_speed(self, n: int) -> float:
        """FLOP/s of products with n rows or columns on the short side."""
        return self.gemm * n / (n + self.half_speed)

    def eigh_seconds(self, n: int, problems: int = 1) -> float:
        """Some complex Hermitian eigenproblems of one size, by interpolation of measured ones; as n³ beyond the
        largest."""
        if self.together and solved_together(problems, n):
            return _interpolated(self.together, n)
        return problems * _interpolated(self.dense, n)

    def with_memory(self, memory: float) -> "Machine":
        """The same device with another amount of memory, on which the size of blocks depends."""
        block = memory * DEVICE_BLOCK_SHARE if self.on_device else self.block_bytes
        return replace(self, memory=memory, block_bytes=block)


def _interpolated(table: tuple[tuple[int, float], ...], n: int) -> float:
    """Seconds of n rows between the (rows, seconds) of a table."""
    (low, first), *_, (high, last) = table
    if n <= low:
        return first * n / low
    if n >= high:
        return last * (n / high) ** 3
    for (a, s), (b, t) in pairwise(table):
        if n <= b:
            share = log(n / a) / log(b / a)
            return exp((1 - share) * log(s) + share * log(t))
    raise AssertionError("the table covers every n between its ends")


H200 = Machine(
    name="H200", memory=139.8 * GIB, gemm=0.8 * 56e12, half_speed=16, copy=4.28e12, fft=float("inf"),
    dense=((64, 8e-4), (192, 1.9e-3), (384, 4e-3), (768, 8.9e-3), (1024, 12e-3), (2048, 36e-3), (4096, 182e-3)),
    together=((64, 6e-4), (128, 1.8e-3), (192, 1.05e-2), (384, 2.2e-2), (768, 5.5e-2), (1536, 0.14)), real_dense=0.85,
    link=290e9, one_centre=3e-5, launch=6e-6, calls=5000, programs=1.2 * GIB, talking=0.5 * GIB,
    grid_bytes=DEVICE_GRID_BYTES, block_bytes=139.8 * GIB * DEVICE_BLOCK_SHARE, atoms_per_batch=64, spare=0.05,
)  # fmt: skip
"""Measured, one GPU with its neighbours over NVLink; calls: `benchmarks/device/results.md`, Predicted and measured."""

H100 = replace(H200, name="H100", copy=3.02e12).with_memory(79.2 * GIB)
"""The same processor with slower memory, and less of it."""


def gpu(memory: float | None = None) -> Machine:
    """The one of these two that has about so much memory (None: the larger one), with just as much."""
    kind = H200 if memory is None or memory > 100e9 else H100
    return kind if memory is None else kind.with_memory(memory)


PROGRAMS, PROGRAMS_WITH_CUDA = 350 * 2**20, 610 * 2**20
"""Bytes of Python and its libraries without a GPU, by the build of PyTorch (2.13.0+cpu; 2.11.0+cu130)."""


@cache
def has_cuda_build() -> bool:
    """Whether PyTorch is a build with CUDA, by its file version.py: importing it takes seconds."""
    found = PathFinder.find_spec("torch")
    file = Path(found.origin).with_name("version.py") if found and found.origin else None
    return file is not None and file.is_file() and names_cuda(file.read_text())


def names_cuda(text: str) -> bool:
    """Whether the text of torch/version.py has a version of CUDA."""
    return re.search(r"^cuda\b[^=\n]*= *['\"]", text, re.MULTILINE) is not None


def processor(memory: float, cores: int = 1) -> Machine:
    """Some cores of a processor with AVX-512: measured on one core with PyTorch and MKL, scaled with a loss."""
    speed = cores**0.9
    return Machine(
        name=f"processor, {cores} core{'s' if cores > 1 else ''}", memory=memory, gemm=94e9 * speed, half_speed=64,
        copy=22e9 * min(speed, 8.0), fft=24e9 * speed,
        dense=((32, 5e-5), (128, 1.5e-3), (256, 7.7e-3), (512, 50e-3), (1024, 0.38)), together=(),
        real_dense=0.4, link=5e9, one_centre=0.02 / speed, launch=5e-6, calls=400,
        programs=PROGRAMS_WITH_CUDA if has_cuda_build() else PROGRAMS, talking=60 * 2**20, grid_bytes=CACHE_GRID_BYTES,
        block_bytes=CACHE_BLOCK_BYTES, atoms_per_batch=8, spare=0.02,
    )  # fmt: skip
