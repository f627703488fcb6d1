"""The hard cases with eigenwerk and with GPAW: steps, applications of H, time, energy, and what had to be done.

    OMP_NUM_THREADS=1 python compare.py run [--only NAME ...] [--codes eigenwerk gpaw] [--again] [--results DIR]
    python compare.py table [--results DIR]          # results.md from results.json

Both codes have the same cutoff, mesh, bands, smearing, charge, starting moments and PAW data, and their own defaults
for all that concerns the way to self-consistency.  Their criteria to stop mean different things, so the count that is
compared is the number of applications after which the free energy stays within SAME_ERROR of the code's own final one.
Neither count holds the making of the first orbitals: eigenwerk's Rayleigh-Ritz step in atomic orbitals (one application
to each of them, and to a few random ones), GPAW's matrix elements in its atomic basis.
The folders are made by make_cases.py.  Runs that are in results.json are left out unless --again is given.  GPAW's
Python: --gpaw.
"""

import argparse
import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from platform import processor, python_version
from typing import Any

from make_cases import CASES, INPUTS, write_case
from table import markdown

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.io.atomic_write import replacing
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

FOLDER = Path(__file__).resolve().parent
CODES = ("eigenwerk", "gpaw")
LONGEST = 1800
"""Seconds after which a run is given up."""

Record = dict[str, Any]


def description(folder: Path) -> Record:
    """A folder as plain numbers for the other code; Å and eV."""
    inputs = read_inputs(folder)
    given, poscar = inputs.parameters, inputs.poscar
    assert inputs.kpoints_file is not None
    moment_a = inputs.structure.magmom_a
    neutral = sum(inputs.data[symbol].header.valence for symbol in poscar.symbols)
    return {
        "symbols": list(poscar.symbols), "cell": (inputs.structure.lattice_cv * BOHR_ANGSTROM).tolist(),
        "scaled": inputs.structure.scaled_ac.tolist(), "mesh": _mesh(folder), "cutoff": given.cutoff * HARTREE_EV,
        "bands": given.bands, "spins": given.spins, "ismear": given.ismear, "width": given.width * HARTREE_EV,
        "charge": neutral - given.electrons, "electrons": given.electrons,
        "moments": None if given.spins == 1 or moment_a is None else moment_a.tolist(),
        "tolerance": given.energy_tolerance * HARTREE_EV,
    }  # fmt: skip


def _mesh(folder: Path) -> list[int]:
    return [int(word) for word in (folder / "KPOINTS").read_text().splitlines()[3].split()]


def run(code: str, folder: Path, scratch: Path, gpaw: Path) -> Record:
    """One run in its own process, on one thread."""
    out = scratch / f"{code}_{folder.name}.json"
    out.unlink(missing_ok=True)
    if code == "gpaw":
        case = scratch / f"{folder.name}_case.json"
        case.write_text(json.dumps(description(folder)))
        command = [str(gpaw), str(FOLDER / "run_gpaw.py"), str(case), str(out)]
    else:
        command = [sys.executable, str(FOLDER / "run_eigenwerk.py"), str(folder), str(out)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    if code == "gpaw":
        environment.pop("PYTHONPATH", None)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return {"code": code, "converged": False, "status": f"given up after {LONGEST} s"}
    if done.returncode or not out.exists():
        words = (done.stderr or done.stdout).strip().splitlines()
        return {"code": code, "converged": False, "status": f"failed: {words[-1] if words else done.returncode}"}
    return json.loads(out.read_text())


def machine() -> Record:
    """What the numbers were measured on."""
    return {
        "date": date.today().isoformat(), "processor": processor(), "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0], "python": python_version(),
    }  # fmt: skip


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--only", nargs="*", metavar="NAME")
    parser.add_argument("--codes", nargs="*", default=CODES, choices=CODES)
    parser.add_argument("--again", action="store_true", help="also what is in results.json")
    parser.add_argument("--results", type=Path, default=FOLDER, help="where results.json and results.md go")
    parser.add_argument("--scratch", type=Path, default=Path("build/hard_cases"), help="for the runs' own output")
    parser.add_argument("--gpaw", type=Path, default=Path.home() / ".peers/gpaw/bin/python")
    given = parser.parse_args()
    stored = given.results / "results.json"
    results: Record = json.loads(stored.read_text()) if stored.exists() else {}
    if given.what == "run":
        given.scratch.mkdir(parents=True, exist_ok=True)
        given.results.mkdir(parents=True, exist_ok=True)
        for case in sorted(CASES, key=lambda case: case.name):
            if given.only is not None and case.name not in given.only:
                continue
            folder = write_case(case, INPUTS)
            for code in given.codes:
                entry = results.setdefault(folder.name, {})
                if code in entry and not given.again:
                    continue
                before = machine()
                entry[code] = run(code, folder, given.scratch, given.gpaw) | {"machine": before}
                with replacing(stored) as file:
                    file.write_text(json.dumps(results) + "\n")
                print(_line(folder.name, entry[code]), flush=True)
    (given.results / "results.md").write_text(markdown(results))


def _line(name: str, record: Record) -> str:
    if "energies" not in record:
        return f"{name:<22} {record['code']:<10} {record['status']}"
    return (
        f"{name:<22} {record['code']:<10} {record['steps']:>3} steps {record['applications'][-1]:>8} H "
        f"{record['cpu_seconds']:7.1f} s cpu  {record['energy']:14.5f} eV  {record['moment']}  {record['status']}"
    )


if __name__ == "__main__":
    main()
