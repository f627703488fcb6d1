"""Eight cells beside GPAW, Quantum ESPRESSO and ABINIT: seconds for the same final error, on two cores.

    python compare.py calibrate            # the loosest tolerance of each code whose energy is right
    python compare.py confirm              # tightened where a run with it is not
    python compare.py run [--repeats 5]    # alternating runs, medians, results.json and results.md

All codes have the same cell, cutoff (so the same plane waves), k-points, occupied and empty bands and Fermi-Dirac
width, and compute energy and forces.  eigenwerk and GPAW read the same data sets; those of the others are named in
espresso.py and abinit.py.  Convergence tags mean different things, so they are matched by what comes out:
`calibrate` finds, from the steps of a tight run, the loosest tolerance whose free energy is right, by the code's own
tight result, to 1e-6 eV per atom (1e-5 eV at least), and so is that of every tighter one.  A run with that tolerance
may go another way (Quantum ESPRESSO solves orbitals less well then): `confirm` runs it, and tightens until it is right.

eigenwerk runs twice: as it is, and with PRECISION_START = Single ("single"), which has the tolerance of the other.
Rivals run as two processes of one thread, eigenwerk as one process with two threads.  Two times: of the whole command,
and without start-up: of eigenwerk and GPAW what follows the imports, of the others their own clock.  A rival that needs
more than SLOW times the fastest one's time in the first repeat is not run again.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))
import abinit  # noqa: E402
import espresso  # noqa: E402
import report  # noqa: E402
from cases import CELLS, Cell, named  # noqa: E402

TIGHT = {"eigenwerk": 1e-9, "gpaw": 1e-9, "espresso": 1e-11, "abinit": 1e-11}
"""Tolerances of the tight runs: EDIFF in eV, eV per electron, conv_thr in rydberg, toldfe in hartree."""

LADDER = tuple(10.0 ** (-n / 2) for n in range(2, 20))
"""Tolerances to choose from."""

IN_A_ROW = {"eigenwerk": 1, "gpaw": 1, "espresso": 1, "abinit": 2}
"""How many steps one after the other have to meet the tolerance."""

OURS = ("eigenwerk", "single")
SLOW = 2.0
CORES = 2
Record = dict[str, Any]
PROGRAMS: dict[str, tuple[ModuleType, str]] = {"espresso": (espresso, "pw.x"), "abinit": (abinit, "abinit")}
MPIRUN = ["mpirun", "-n", str(CORES)]


@dataclass(frozen=True)
class Runner:
    """Starts one code on one cell and reads what it wrote."""

    gpaw: Path
    data: Path
    folder: Path

    def __call__(self, code: str, cell: Cell, tolerance: float) -> Record:
        """One run; adds the wall time of the whole process."""
        folder = (self.folder / f"{code}_{cell.name}").resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("x.*"):
            old.unlink()
        command = self.command(code, cell, tolerance, folder)
        started, used = time.perf_counter(), _cpu_seconds()
        done = subprocess.run(command, cwd=folder, env=_environment(code), capture_output=True, text=True)
        wall, used = time.perf_counter() - started, _cpu_seconds() - used
        if done.returncode:
            raise SystemExit(f"{code} {cell.name} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        if code in PROGRAMS:
            record = PROGRAMS[code][0].read(folder, done.stdout)
        else:
            record = json.loads((folder / "x.json").read_text())
        return record | {
            "code": code, "cell": cell.name, "wall_seconds": wall, "cpu_seconds": used, "tolerance": tolerance,
        }

    def command(self, code: str, cell: Cell, tolerance: float, folder: Path) -> list[str]:
        """The command line; writes the input."""
        if code in PROGRAMS:
            module, program = PROGRAMS[code]
            return [*MPIRUN, program, *module.prepare(cell, tolerance, self.data, folder)]
        scripts, out = FOLDER.resolve(), str(folder / "x.json")
        if code == "gpaw":
            return [*MPIRUN, str(self.gpaw), str(scripts / "run_gpaw.py"), cell.name, repr(tolerance), out]
        script = str(scripts / "run_eigenwerk.py")
        return [sys.executable, script, cell.name, repr(tolerance), str(CORES), out, code]


def _cpu_seconds() -> float:
    """Processor time of all runs so far: where the machine is not idle, it says more than the clock."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _environment(code: str) -> dict[str, str]:
    environment = dict(os.environ)
    if code in OURS:
        return environment | {"OMP_NUM_THREADS": str(CORES)}
    environment.pop("PYTHONPATH", None)
    return environment | {
        "OMP_NUM_THREADS": "1", "GPAW_MPI_BACKEND": "cgpaw", "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    } | rival_blas()  # fmt: skip


@cache
def rival_blas() -> dict[str, str]:
    """The kernels that OpenBLAS is to use where it takes its oldest ones for a processor that is newer than it is."""
    verbose = dict(os.environ) | {"OPENBLAS_VERBOSE": "2"}
    with TemporaryDirectory() as folder:
        done = subprocess.run(["pw.x"], cwd=folder, env=verbose, input="", capture_output=True, text=True)
    has = set(Path("/proc/cpuinfo").read_text().split())
    if "Core: Prescott" not in done.stdout + done.stderr or "avx512f" not in has:
        return {}
    return {"OPENBLAS_CORETYPE": "COOPERLAKE" if "avx512_bf16" in has else "SKYLAKEX"}


def calibrate(runner: Runner, code: str, cell: Cell) -> Record:
    """The loosest tolerance of LADDER that is right, with the tight energy."""
    tight = runner(code, cell, TIGHT[code])
    exact = tight["energy_eV"]
    candidate: Record | None = None
    for tolerance in LADDER:
        steps = steps_needed(tight["criterion"], tolerance, IN_A_ROW[code])
        error = abs(tight["history_eV"][steps - 1] - tight["history_eV"][-1])
        print(f"{cell.name:<10}{code:<10}{tolerance:8.1e} {steps:>3} steps, error {error:.1e} eV", flush=True)
        if error > cell.error_eV:
            candidate = None
        elif candidate is not None:
            return candidate
        else:
            candidate = {"tolerance": tolerance, "steps": steps, "error_eV": error, "tight_energy_eV": exact}
    raise SystemExit(f"{cell.name} {code}: no tolerance of the ladder is good enough")


def confirm(runner: Runner, code: str, cell: Cell, found: Record) -> Record:
    """The same setting if a run with it is right, or the loosest tighter one of LADDER with which it is."""
    for tolerance in (value for value in LADDER if value <= 1.001 * found["tolerance"]):
        run = runner(code, cell, tolerance)
        error = abs(run["energy_eV"] - found["tight_energy_eV"])
        print(f"{cell.name:<10}{code:<10}{tolerance:8.1e} {run['steps']:>3} steps, error {error:.1e} eV", flush=True)
        if error <= cell.error_eV:
            return found | {"tolerance": tolerance, "steps": run["steps"], "error_eV": error}
    raise SystemExit(f"{cell.name} {code}: no tolerance of the ladder is good enough")


def steps_needed(criterion: list[float], tolerance: float, in_a_row: int) -> int:
    """After how many steps a run with this tolerance ends."""
    met = 0
    for n, value in enumerate(criterion, start=1):
        met = met + 1 if value < tolerance else 0
        if met == in_a_row:
            return n
    return len(criterion)


def timed(runner: Runner, settings: dict[str, dict[str, Record]], repeats: int, codes: list[str]) -> list[Record]:
    """All runs, the codes alternating in each repeat and the first one changing."""
    records: list[Record] = []
    for name, by_code in settings.items():
        by_code = {"single": by_code["eigenwerk"]} | by_code if "eigenwerk" in by_code else by_code
        taking = [code for code in codes if code in by_code]
        for repeat in range(repeats):
            for code in taking if repeat % 2 == 0 else taking[::-1]:
                record = runner(code, named(name), by_code[code]["tolerance"])
                error = abs(record["energy_eV"] - by_code[code]["tight_energy_eV"])
                records.append(record | {"repeat": repeat, "error_eV": error})
                print(f"{name:<10}{code:<10}{record['wall_seconds']:8.2f} s wall {record['seconds']:8.2f} s without "
                      f"start-up {record['steps']:>3} steps  error {error:.1e} eV", flush=True)  # fmt: skip
            if repeat == 0:
                taking = _worth_repeating([record for record in records if record["cell"] == name])
    return records


def _worth_repeating(records: list[Record]) -> list[str]:
    """eigenwerk and the rivals that are not far behind the fastest of them."""
    rivals = [record["seconds"] for record in records if record["code"] not in OURS]
    return [r["code"] for r in records if r["code"] in OURS or r["seconds"] <= SLOW * min(rivals)]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("calibrate", "confirm", "run"))
    parser.add_argument("--cells", nargs="*", default=[cell.name for cell in CELLS])
    parser.add_argument("--codes", nargs="*", default=[*TIGHT, "single"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--gpaw", type=Path, default=Path.home() / ".peers/gpaw/bin/python")
    parser.add_argument("--data", type=Path, default=FOLDER.resolve().parents[2] / "shared/reference/pseudo",
                        help="pseudopotentials and PAW sets of the other codes")  # fmt: skip
    parser.add_argument("--folder", type=Path, default=Path("build/peers"), help="for the runs' own output")
    parser.add_argument("--results", type=Path, default=FOLDER, help="where results.json and results.md go")
    given = parser.parse_args()
    runner, stored = Runner(given.gpaw, given.data, given.folder), given.results / "results.json"
    given.results.mkdir(parents=True, exist_ok=True)
    if given.what != "run":
        for cell in given.cells:
            for code in sorted(set(given.codes) - {"single"}):
                result = json.loads(stored.read_text()) if stored.exists() else {}
                of_cell = result.setdefault("settings", {}).setdefault(cell, {})
                if given.what == "calibrate":
                    of_cell[code] = calibrate(runner, code, named(cell))
                of_cell[code] = confirm(runner, code, named(cell), of_cell[code])
                stored.write_text(json.dumps(result) + "\n")
        return
    before = report.machine() | rival_blas()
    settings = json.loads(stored.read_text())["settings"]
    chosen = {cell: settings[cell] for cell in given.cells}
    runs = timed(runner, chosen, given.repeats, given.codes)
    floors = {cell: report.floor(_last(runs, cell), CORES) for cell in chosen if _last(runs, cell)}
    result = {"machine": before, "settings": settings, "floors": floors, "runs": runs}
    stored.write_text(json.dumps(result) + "\n")
    page = report.markdown(result | {"settings": chosen})
    (given.results / "results.md").write_text(page)
    print(page)


def _last(runs: list[Record], cell: str) -> Record:
    return next((r for r in runs[::-1] if r["cell"] == cell and r["code"] == "eigenwerk"), {})


if __name__ == "__main__":
    main()
