"""What one device can do: the figures behind estimates of memory and time (no torch: `plan` must start fast)."""

from dataclasses import dataclass, replace
from math import exp, log

from eigenwerk.parallel.block_sizes import (
    CACHE_BLOCK_BYTES,
    CACHE_GRID_BYTES,
    DEVICE_BLOCK_SHARE,
    DEVICE_EXCHANGE_ONCE_SHARE,
    DEVICE_GRID_BYTES,
    EXCHANGE_ONCE_BYTES,
)

GIB = 2**30

HALF_SPEED = 64
"""Vectors in a block at which matrix products reach half of their speed."""


@dataclass(frozen=True)
class Machine:
    """One device of a run, a GPU or some cores of a processor.

    memory: bytes; gemm: products of large complex matrices, FLOP/s (`matrix_speed`: of smaller ones); copy: bytes/s,
    read and written; fft: complex FFTs, FLOP/s by 5 N log2 N, or infinite where memory limits them to three passes;
    dense: (n, seconds) of one Hermitian eigenproblem with all vectors; link: bytes/s of one rank in an all-to-all;
    one_centre: seconds for the one-centre terms of one atom; launch: seconds before a kernel runs; programs: bytes of
    Python, libraries and device context, and talking: of what several ranks need to communicate; grid_bytes,
    block_bytes: as in `Runtime`; atoms_per_batch: as in terms/one_centre.py; spare: share of the memory that fragments
    of free memory take.
    """

    name: str
    memory: float
    gemm: float
    copy: float
    fft: float
    dense: tuple[tuple[int, float], ...]
    link: float
    one_centre: float
    launch: float
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
        """FLOP/s of products with n rows or columns on the short side; half of the full speed at `HALF_SPEED`."""
        return self.gemm * n / (n + HALF_SPEED)

    def eigh_seconds(self, n: int) -> float:
        """One Hermitian eigenproblem, by interpolation of the measured ones; as n³ beyond the largest."""
        (low, first), *_, (high, last) = self.dense
        if n <= low:
            return first * n / low
        if n >= high:
            return last * (n / high) ** 3
        for (a, s), (b, t) in zip(self.dense, self.dense[1:], strict=False):
            if n <= b:
                share = log(n / a) / log(b / a)
                return exp((1 - share) * log(s) + share * log(t))
        raise AssertionError("the table covers every n between its ends")

    def with_memory(self, memory: float) -> "Machine":
        """The same device with another amount of memory, on which the size of blocks depends."""
        block = memory * DEVICE_BLOCK_SHARE if self.on_device else self.block_bytes
        return replace(self, memory=memory, block_bytes=block)


H200 = Machine(
    name="H200", memory=139.8 * GIB, gemm=0.8 * 56e12, copy=4.28e12, fft=float("inf"),
    dense=((32, 5e-3), (64, 5e-3), (1024, 12e-3), (2048, 36e-3), (4096, 182e-3)), link=290e9, one_centre=4e-4,
    launch=6e-6, programs=1.2 * GIB, talking=0.5 * GIB, grid_bytes=DEVICE_GRID_BYTES,
    block_bytes=139.8 * GIB * DEVICE_BLOCK_SHARE, atoms_per_batch=64, spare=0.05,
)  # fmt: skip
"""Measured, one GPU with its neighbours over NVLink."""


def processor(memory: float, cores: int = 1) -> Machine:
    """Some cores of a processor with AVX-512: measured on one core with PyTorch and MKL, scaled with a loss."""
    speed = cores**0.9
    return Machine(
        name=f"processor, {cores} core{'s' if cores > 1 else ''}", memory=memory, gemm=94e9 * speed,
        copy=22e9 * min(speed, 8.0), fft=24e9 * speed,
        dense=((32, 5e-5), (128, 1.5e-3), (256, 7.7e-3), (512, 50e-3), (1024, 0.38)), link=5e9,
        one_centre=0.02 / speed, launch=5e-6, programs=350 * 2**20, talking=60 * 2**20,
        grid_bytes=CACHE_GRID_BYTES, block_bytes=CACHE_BLOCK_BYTES, atoms_per_batch=8, spare=0.02,
    )  # fmt: skip
