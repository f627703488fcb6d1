"""Batches of small Hermitian eigenproblems on a GPU: our kernel beside cuSOLVER's routines, milliseconds per batch.

    python benchmarks/small_eigh/compare.py [--json results.json]        # CuPy's columns appear where it is installed

ours: `linalg.small_eigh`; torch: `torch.linalg.eigh`, which takes matrices one after the other or by a batched
routine, as its version decides; XsyevBatched: cuSOLVER's batched routine of CUDA 12.6 and later, called directly;
cupy: `cupy.linalg.eigh`; SyevjBatched: cuSOLVER's Jacobi routine by `cupyx.cusolver.syevj`.  Medians of seven calls,
after two that warm up.  Every result is checked: |H v - e v| must stay below 1e-11 of |H|.
"""

import argparse
import ctypes
import json
import statistics
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch

from eigenwerk.linalg import small_eigh

try:
    import cupy
    import cupyx.cusolver
except ImportError:
    cupy = None

Solve = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]

DTYPES = (torch.float64, torch.complex128)
ROWS = (16, 32, 64, 96)
BATCHES = (16, 64, 256)

VECTORS, LOWER = 1, 0
"""CUSOLVER_EIG_MODE_VECTOR and CUBLAS_FILL_MODE_LOWER."""

KIND = {torch.float64: 1, torch.complex128: 5}
"""CUDA_R_64F and CUDA_C_64F."""


@cache
def cusolver() -> tuple[ctypes.CDLL, ctypes.c_void_p, ctypes.c_void_p]:
    """The library that PyTorch has loaded, a handle and parameters.  OSError, AttributeError without the routine."""
    torch.linalg.eigh(torch.eye(2, device="cuda", dtype=torch.float64))
    maps = Path("/proc/self/maps").read_text().split()
    library = ctypes.CDLL(next(word for word in maps if "/libcusolver.so" in word))
    handle, parameters = ctypes.c_void_p(), ctypes.c_void_p()
    _ = library.cusolverDnXsyevBatched
    _check(library.cusolverDnCreate(ctypes.byref(handle)))
    _check(library.cusolverDnCreateParams(ctypes.byref(parameters)))
    return library, handle, parameters


def xsyev_batched(h_kmm: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """cusolverDnXsyevBatched; rows of a Hermitian matrix are columns of its conjugate."""
    library, handle, parameters = cusolver()
    problems, size, _ = h_kmm.shape
    a_kmm = torch.empty_like(h_kmm).copy_(h_kmm.conj())
    eig_km = torch.empty(problems, size, dtype=torch.float64, device=h_kmm.device)
    info_k = torch.empty(problems, dtype=torch.int32, device=h_kmm.device)
    kinds = KIND[h_kmm.dtype], KIND[torch.float64]
    common = (
        handle, parameters, VECTORS, LOWER, ctypes.c_int64(size), kinds[0], ctypes.c_void_p(a_kmm.data_ptr()),
        ctypes.c_int64(size), kinds[1], ctypes.c_void_p(eig_km.data_ptr()), kinds[0],
    )  # fmt: skip
    on_device, on_host, count = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_int64(problems)
    sizes = ctypes.byref(on_device), ctypes.byref(on_host)
    _check(library.cusolverDnSetStream(handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)))
    _check(library.cusolverDnXsyevBatched_bufferSize(*common, *sizes, count))
    device = torch.empty(max(1, on_device.value), dtype=torch.uint8, device=h_kmm.device)
    host = ctypes.create_string_buffer(max(1, on_host.value))
    buffers = ctypes.c_void_p(device.data_ptr()), on_device, host, on_host
    _check(library.cusolverDnXsyevBatched(*common, *buffers, ctypes.c_void_p(info_k.data_ptr()), count))
    if bool(info_k.any()):
        raise RuntimeError("did not converge")
    return eig_km, a_kmm.mT


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"cuSOLVER returned {status}")


def by_cupy(solve: Callable) -> Solve:
    """A function of CuPy for tensors of PyTorch."""

    def solve_tensors(h_kmm: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            eig_km, vector_kmm = solve(cupy.from_dlpack(h_kmm))
            return torch.from_dlpack(eig_km), torch.from_dlpack(vector_kmm)

    return solve_tensors


def providers() -> dict[str, Solve]:
    """Who can do it here."""
    found: dict[str, Solve] = {"ours": small_eigh.solve, "torch": torch.linalg.eigh}
    try:
        cusolver()
        found["XsyevBatched"] = xsyev_batched
    except (OSError, AttributeError, StopIteration, RuntimeError) as error:
        print(f"no cusolverDnXsyevBatched: {error!r}")
    if cupy is not None:
        found["cupy"] = by_cupy(cupy.linalg.eigh)
        found["SyevjBatched"] = by_cupy(lambda h_kmm: cupyx.cusolver.syevj(h_kmm, "L", True))
    return found


def milliseconds(solve: Solve, h_kmm: torch.Tensor) -> float:
    """Median time of a call; AssertionError for a wrong result."""
    seconds = []
    for _ in range(9):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        eig_km, vector_kmm = solve(h_kmm)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    error = (h_kmm @ vector_kmm - vector_kmm * eig_km.unsqueeze(-2)).abs().max() / h_kmm.abs().max()
    assert error < 1e-11, f"error {float(error):.1e}"
    return 1e3 * statistics.median(seconds[2:])


def measured(solve: Solve, h_kmm: torch.Tensor) -> float | str:
    """Milliseconds, or why there are none."""
    try:
        return milliseconds(solve, h_kmm)
    except Exception as error:  # another column may still work
        return f"{type(error).__name__}: {error}".splitlines()[0][:40]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    solvers, found = providers(), []
    device, versions = torch.cuda.get_device_name(), f"PyTorch {torch.__version__}"
    versions += "" if cupy is None else f", CuPy {cupy.__version__}"
    print(f"{device}, {versions}; milliseconds per batch\n\n| matrices | rows | batch | {' | '.join(solvers)} |")
    print("|---" * (3 + len(solvers)) + "|")
    for dtype in DTYPES:
        for size in ROWS:
            for problems in BATCHES:
                a_kmm = torch.randn(problems, size, size, dtype=dtype, device="cuda")
                times = {name: measured(solve, a_kmm + a_kmm.mH) for name, solve in solvers.items()}
                kind = "complex" if dtype.is_complex else "real"
                found.append({"dtype": str(dtype), "problems": problems, "rows": size} | times)
                shown = (f"{value:.3f}" if isinstance(value, float) else value for value in times.values())
                print(f"| {kind} | {size} | {problems} | {' | '.join(shown)} |", flush=True)
    if options.json:
        report = {"device": device, "versions": versions, "results": found}
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
