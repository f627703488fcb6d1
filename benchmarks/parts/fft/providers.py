"""Which library should do the FFTs of orbitals on processors: PyTorch's (MKL), FFTW or scipy's, one thread each.

    OMP_NUM_THREADS=1 python benchmarks/parts/fft/providers.py        # with eigenwerk[fftw]

Batches of complex 3-D transforms of about 2 MB, the best of five; GFLOP/s by 5 N log2 N.  The last column is what
eigenwerk does: passes by FFTW over the rows that a sphere through half of each axis fills, counted as whole transforms.
"""

import time
from collections.abc import Callable
from math import log2

import numpy as np
import pyfftw
import scipy.fft
import torch

from eigenwerk.dft.basis.orbital_fft import FilledGrid, _plan

SIZES = (16, 18, 20, 24, 28, 32, 36, 48, 54, 72)
BATCH_BYTES = 2**21


def best(work: Callable[[], object], repeats: int = 5) -> float:
    """The shortest of some runs, seconds."""
    times = []
    work()
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def rates(n: int) -> dict[str, float]:
    """GFLOP/s of all providers for grids of n³ points."""
    batch = max(1, BATCH_BYTES // (16 * n**3))
    flop = batch * 5 * n**3 * log2(n**3)
    field = np.random.default_rng(0).normal(size=(batch, n, n, n, 2)).view(np.complex128)[..., 0]
    tensor = torch.as_tensor(field)
    target = torch.empty_like(tensor)
    aligned, out = (pyfftw.empty_aligned(field.shape, dtype="complex128") for _ in range(2))
    plan = pyfftw.FFTW(aligned, out, axes=(1, 2, 3), flags=("FFTW_MEASURE",), threads=1)
    aligned[:] = field
    passes = _plan(FilledGrid((n,) * 3, (n // 4 + 1,) * 3, (n - n // 4,) * 3), "complex128", "FFTW_FORWARD")
    zeros = torch.zeros_like(tensor)  # transformed in place again and again
    works = {
        "PyTorch": lambda: torch.fft.fftn(tensor, dim=(1, 2, 3), out=target),
        "FFTW": plan.execute,
        "scipy": lambda: scipy.fft.fftn(field, axes=(1, 2, 3), workers=1),
        "filled rows": lambda: passes(zeros),
    }
    return {name: flop / best(work) / 1e9 for name, work in works.items()}


def main() -> None:
    """A table in Markdown."""
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}, pyFFTW {pyfftw.__version__}, scipy {scipy.__version__}; GFLOP/s\n")
    print("| points | PyTorch | FFTW | scipy | filled rows |\n|---|---|---|---|---|")
    for n in SIZES:
        print(f"| {n}³ | " + " | ".join(f"{rate:.1f}" for rate in rates(n).values()) + " |")


if __name__ == "__main__":
    main()
