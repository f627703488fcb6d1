"""Small cells beside GPAW: wall times for the same final error of the energy, on two cores.

    python compare.py calibrate            # the loosest tolerance of each code whose energy is right to ERROR_EV
    python compare.py run [--repeats 5]    # alternating runs, medians, results.json and results.md

Both codes have the same cells, data sets, plane waves, orbital grids, k-points, bands and Fermi-Dirac width, and
both compute energy and forces.  Their convergence tags mean different things, so these are matched by what comes
out: `calibrate` runs each code tightly, then from loose to tight until the free energy of this and of the next
tighter tolerance is within ERROR_EV of its own tight result.  GPAW runs as two ranks of one thread, eigenwerk as one
process with two threads.  GPAW's Python: --gpaw.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from math import log2
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))
from cases import CELLS  # noqa: E402

ERROR_EV = 1e-5
"""Largest error of the free energy of a cell that counts as converged."""

LADDER = tuple(10.0**-n for n in range(2, 9))
"""Tolerances to try: eV for eigenwerk (EDIFF), eV per electron for GPAW."""

TIGHT = {"eigenwerk": 1e-9, "gpaw": 1e-10}
CORES = 2
Record = dict[str, Any]


class Runner:
    """Starts one code on one cell and reads what it wrote."""

    def __init__(self, gpaw: Path, folder: Path):
        self.gpaw, self.folder = gpaw, folder
        folder.mkdir(parents=True, exist_ok=True)

    def command(self, code: str, cell: str, tolerance: float, out: Path) -> list[str]:
        """The command line."""
        if code == "eigenwerk":
            return [sys.executable, str(FOLDER / "run_eigenwerk.py"), cell, repr(tolerance), str(CORES), str(out)]
        program = [str(self.gpaw), str(FOLDER / "run_gpaw.py")]
        return ["mpirun", "-n", str(CORES), *program, cell, repr(tolerance), str(out)]

    def __call__(self, code: str, cell: str, tolerance: float) -> Record:
        """One run; adds the wall time of the whole process."""
        out = self.folder / f"{code}_{cell}.json"
        out.unlink(missing_ok=True)
        environment = dict(os.environ)
        if code == "gpaw":
            environment |= {
                "OMP_NUM_THREADS": "1", "GPAW_MPI_BACKEND": "cgpaw", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            }  # fmt: skip
            environment.pop("PYTHONPATH", None)
        else:
            environment |= {"OMP_NUM_THREADS": str(CORES)}
        started = time.perf_counter()
        done = subprocess.run(self.command(code, cell, tolerance, out), env=environment, capture_output=True, text=True)
        wall = time.perf_counter() - started
        if done.returncode or not out.exists():
            raise SystemExit(f"{code} {cell} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        return json.loads(out.read_text()) | {"wall_seconds": wall, "tolerance": tolerance}


def calibrate(runner: Runner, cells: list[str]) -> dict[str, Record]:
    """Loosest tolerance by cell and code, with the tight energy."""
    return {
        cell: {code: _loosest(partial(runner, code, cell), TIGHT[code], f"{cell} {code}") for code in TIGHT}
        for cell in cells
    }


def _loosest(run: Callable[[float], Record], tight: float, label: str) -> Record:
    exact = run(tight)["energy_eV"]
    candidate: Record | None = None
    for tolerance in LADDER:
        record = run(tolerance)
        error = abs(record["energy_eV"] - exact)
        print(f"{label:<16} {tolerance:8.1e}  {record['steps']:>3} steps  error {error:.1e} eV", flush=True)
        if error > ERROR_EV:
            candidate = None
        elif candidate is not None:
            return candidate
        else:
            candidate = {"tolerance": tolerance, "steps": record["steps"], "error_eV": error, "tight_energy_eV": exact}
    raise SystemExit(f"{label}: no tolerance of the ladder is good enough")


def timed(runner: Runner, settings: dict[str, Record], repeats: int) -> list[Record]:
    """All runs, the codes alternating in each repeat and the first one changing."""
    records = []
    for cell, by_code in settings.items():
        for repeat in range(repeats):
            codes = list(by_code) if repeat % 2 == 0 else list(by_code)[::-1]
            for code in codes:
                record = runner(code, cell, by_code[code]["tolerance"])
                error = abs(record["energy_eV"] - by_code[code]["tight_energy_eV"])
                records.append(record | {"repeat": repeat, "error_eV": error})
                print(f"{cell:<6} {code:<10} {record['wall_seconds']:8.2f} s wall {record['seconds']:8.2f} s solve "
                      f"{record['steps']:>3} steps  error {error:.1e} eV", flush=True)  # fmt: skip
    return records


def floor(record: Record) -> Record:
    """Seconds that FFTs, matrix products and exchange-correlation of an eigenwerk run need at this machine's speed.

    Counted: two FFTs for each H psi and one for each orbital and density; per H psi 3 projector products and
    64 n N_G flops of subspace work (two expansions: 24 n^2 products per 3 n applications); exchange-correlation at the
    points of the fine grid, at the measured time per point.  Perfect scaling over the cores.
    """
    import torch

    from eigenwerk.dft.xc.functional import make_functional

    torch.set_num_threads(1)
    n_c = record["wave_grid"]
    batch = max(1, 2**22 // (16 * n_c[0] * n_c[1] * n_c[2]))
    grid = torch.randn(batch, *n_c, dtype=torch.complex128)
    fft = _best(lambda: torch.fft.fftn(grid, dim=(-3, -2, -1))) / batch
    a, b = torch.randn(64, 1024, dtype=torch.complex128), torch.randn(1024, 64, dtype=torch.complex128)
    flop_seconds = _best(lambda: a @ b) / (8 * 64 * 64 * 1024)
    points = record["fine_grid"][0] * record["fine_grid"][1] * record["fine_grid"][2]
    density = torch.rand(record["spins"], 2**15, dtype=torch.float64) + 0.1
    sigma = torch.rand(2 * record["spins"] - 1, 2**15, dtype=torch.float64) * 0.1
    functional = make_functional("PE")
    xc = _best(lambda: functional.energy_and_derivatives(density, sigma)) / 2**15
    applied, orbitals = record["applications"], record["steps"] * record["kpoints"] * record["bands"] * record["spins"]
    flops = applied * record["plane_waves"] * (3 * 8 * record["projectors"] + 64 * record["bands"])
    parts = {
        "fft": (2 * applied + orbitals) * fft / CORES, "products": flops * flop_seconds / CORES,
        "xc": record["steps"] * points * xc / CORES,
    }  # fmt: skip
    rate = 5 * points / 8 * log2(points / 8) / fft / 1e9
    speeds = {"fft_us": fft * 1e6, "fft_gflops": rate, "zgemm_gflops": 1e-9 / flop_seconds}
    return parts | {"sum": sum(parts.values())} | speeds


def _best(work: Callable[[], object], repeats: int = 20) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def median(records: list[Record], code: str, cell: str, key: str) -> float:
    """Median over the repeats."""
    return statistics.median(r[key] for r in records if r["code"] == code and r["cell"] == cell)


def machine() -> Record:
    """What the numbers were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    family = [line.split(":")[1].strip() for line in lines if line.startswith(("cpu family", "model\t"))][:2]
    return {
        "date": date.today().isoformat(), "processor": model, "family_model": family, "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0], "python": platform.python_version(), "system": platform.platform(),
    }  # fmt: skip


def markdown(result: Record) -> str:
    """The result as a page."""
    records, settings = result["runs"], result["settings"]
    newest = {r["code"]: r["version"] for r in records}
    head = (
        "| cell | k | error, eV (ours / GPAW) | steps | wall, s | | ratio | no start-up, s | | ratio | floor, s |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|"
    )
    rows = []
    for cell in settings:
        ours, theirs = (next(r for r in records[::-1] if r["cell"] == cell and r["code"] == c) for c in TIGHT)
        wall = [median(records, code, cell, "wall_seconds") for code in TIGHT]
        solve = [median(records, code, cell, "seconds") for code in TIGHT]
        rows.append(
            f"| {cell} | {ours['kpoints']} | {ours['error_eV']:.0e} / {theirs['error_eV']:.0e} | "
            f"{ours['steps']} / {theirs['steps']} | {wall[0]:.2f} | {wall[1]:.2f} | {wall[1] / wall[0]:.2f} | "
            f"{solve[0]:.2f} | {solve[1]:.2f} | {solve[1] / solve[0]:.2f} | {result['floors'][cell]['sum']:.2f} |"
        )
    about = ", ".join(f"{key} {value}" for key, value in result["machine"].items())
    repeats = 1 + max(r["repeat"] for r in records)
    lines = [
        "# Small cells beside GPAW", "", f"eigenwerk {newest['eigenwerk']}, GPAW {newest['gpaw']}; {about}.",
        f"Medians of {repeats}, alternating; of two columns the first is eigenwerk, the second GPAW;",
        "a ratio above 1 means that eigenwerk is faster. The tolerances stand in settings.json (`calibrate` finds the",
        f"loosest that are right to {ERROR_EV:g} eV); the error column is against each code's own tight result.",
        "", head, *rows, "",
    ]  # fmt: skip
    for cell in settings:
        ours = next(r for r in records[::-1] if r["cell"] == cell and r["code"] == "eigenwerk")
        parts = ", ".join(f"{key} {value:.3g}" for key, value in result["floors"][cell].items())
        lines += [f"## {cell}: where the time goes", "", f"Floor: {parts}.", "", "```", ours["trace_table"], "```", ""]
    return "\n".join(lines)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("calibrate", "run"))
    parser.add_argument("--cells", nargs="*", default=[cell.name for cell in CELLS])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--gpaw", type=Path, default=Path.home() / ".peers/gpaw/bin/python")
    parser.add_argument("--folder", type=Path, default=Path("build/small_cells"), help="for the runs' own output")
    parser.add_argument("--results", type=Path, default=FOLDER, help="where settings.json and results.* go")
    given = parser.parse_args()
    runner, stored = Runner(given.gpaw, given.folder), given.results / "settings.json"
    settings = json.loads(stored.read_text()) if stored.exists() else {}
    given.results.mkdir(parents=True, exist_ok=True)
    if given.what == "calibrate":
        stored.write_text(json.dumps(settings | calibrate(runner, given.cells), indent=1) + "\n")
        return
    before = machine()
    chosen = {cell: settings[cell] for cell in given.cells}
    runs = timed(runner, chosen, given.repeats)
    floors = {c: floor(next(r for r in runs if r["cell"] == c and r["code"] == "eigenwerk")) for c in chosen}
    result = {"machine": before, "settings": chosen, "floors": floors, "runs": runs}
    (given.results / "results.json").write_text(json.dumps(result) + "\n")
    (given.results / "results.md").write_text(markdown(result))
    print(markdown(result))


if __name__ == "__main__":
    main()
