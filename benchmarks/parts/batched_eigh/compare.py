"""Batches of Hermitian eigenproblems on a GPU by several routines of cuSOLVER, milliseconds per batch.

    python benchmarks/parts/batched_eigh/compare.py [--json results.json]  # CuPy's columns appear where it is installed

batched: `linalg.batched_eigh`, cusolverDnXsyevBatched; torch: `torch.linalg.eigh`, which takes matrices one after the
other or by a batched routine, as its version decides; cupy: `cupy.linalg.eigh`; SyevjBatched: cuSOLVER's Jacobi routine
by `cupyx.cusolver.syevj`.  Medians of seven calls (three where one takes over 0.3 s), after two that warm up.  Every
result is checked: |H v - e v| must stay below 1e-11 of |H|.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from eigenwerk.linalg import batched_eigh

try:
    import cupy
    import cupyx.cusolver
except ImportError:
    cupy = None

Solve = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]

DTYPES = (torch.float64, torch.complex128)
ROWS = {
    24: (16, 64, 256),
    64: (2, 16, 64, 256),
    96: (2, 16, 256),
    192: (2, 8, 36),
    384: (2, 8, 36),
    768: (2, 8),
    1536: (2, 8),
}
"""Sizes, and how many matrices of each."""


def by_cupy(solve: Callable) -> Solve:
    """A function of CuPy for tensors of PyTorch."""

    def solve_tensors(h_kmm: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            eig_km, vector_kmm = solve(cupy.from_dlpack(h_kmm))
            return torch.from_dlpack(eig_km), torch.from_dlpack(vector_kmm)

    return solve_tensors


def providers() -> dict[str, Solve]:
    """Who can do it here."""
    found: dict[str, Solve] = {"batched": batched_eigh.solve, "torch": torch.linalg.eigh}
    if cupy is not None:
        found["cupy"] = by_cupy(cupy.linalg.eigh)
        found["SyevjBatched"] = by_cupy(lambda h_kmm: cupyx.cusolver.syevj(h_kmm, "L", True))
    return found


def milliseconds(solve: Solve, h_kmm: torch.Tensor) -> float:
    """Median time of a call; AssertionError for a wrong result."""
    seconds = []
    for turn in range(9):
        if turn > 4 and seconds[-1] > 0.3:
            break
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
        for size, batches in ROWS.items():
            for problems in batches:
                a_kmm = torch.randn(problems, size, size, dtype=dtype, device="cuda")
                wanted = [name for name in solvers if size < 200 or name in ("batched", "torch")]
                times = {name: measured(solvers[name], a_kmm + a_kmm.mH) for name in wanted}
                kind = "complex" if dtype.is_complex else "real"
                found.append({"dtype": str(dtype), "problems": problems, "rows": size} | times)
                shown = (f"{value:.3f}" if isinstance(value, float) else value for value in times.values())
                print(f"| {kind} | {size} | {problems} | {' | '.join(shown)} |", flush=True)
    if options.json:
        report = {"device": device, "versions": versions, "results": found}
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
