"""Batches of small Hermitian eigenproblems on a GPU: our kernel beside cuSOLVER, milliseconds per batch.

    python benchmarks/small_eigh/compare.py [--json results.json]

The library is `torch.linalg.eigh`; up to 32 rows it solves a batch together, larger matrices one after the other.
Medians of seven calls, after two that warm up.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import torch

from eigenwerk.linalg import small_eigh


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    for dtype in (torch.complex128, torch.float64):
        for problems in (1, 8, 64, 256):
            for size in (16, 32, 48, 64, 96):
                a_kmm = torch.randn(problems, size, size, dtype=dtype, device="cuda")
                h_kmm = a_kmm + a_kmm.mH
                ours = milliseconds(small_eigh.solve, h_kmm)
                library = milliseconds(torch.linalg.eigh, h_kmm)
                case = {"dtype": str(dtype), "problems": problems, "rows": size}
                found.append(case | {"ours": ours, "library": library})
                print(f"{dtype!s:<17} {problems:>4} x {size:>3} rows  ours {ours:8.3f} ms  library {library:8.3f} ms  "
                      f"ratio {library / ours:6.1f}", flush=True)  # fmt: skip
    if options.json:
        report = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "results": found}
        options.json.write_text(json.dumps(report, indent=1))


def milliseconds(solve, h_kmm: torch.Tensor) -> float:
    """Median time of a call."""
    seconds = []
    for _ in range(9):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        solve(h_kmm)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(seconds[2:])


if __name__ == "__main__":
    main()
