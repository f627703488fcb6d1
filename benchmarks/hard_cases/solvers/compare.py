"""Every solver on every case: python compare.py [--cases Si2 MgO8] [--algos Normal All] [--repeats 3].

Runs alternate between solvers, on one thread; times are processor seconds of this process's children, which other
work on the machine disturbs least.  results.json keeps all runs; the table of medians is printed, and stands in
results.md with what it says.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from datetime import date
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

from cases import Case, all_cases

HERE = Path(__file__).parent
ALGOS = ("Automatic", "Normal", "Fast", "VeryFast", "All")
LIMIT_EV = 1e-5
"""Energies of all solvers must agree so well."""


def run(case: Case, algo: str) -> dict[str, Any]:
    """One run in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        case.write(Path(folder), algo)
        command = [sys.executable, str(HERE / "one_run.py"), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"case": case.name, "algo": algo, "error": done.stderr.strip().splitlines()[-1]}
    return {"case": case.name, "algo": algo, **json.loads(done.stdout.splitlines()[-1])}


def table(runs: list[dict[str, Any]]) -> str:
    """Medians, one row for each case and solver; errors of energies are against Normal."""
    lines = [
        "| case | bands | k | ALGO | steps | H applied | bands, s | all, s | residual, eV | E error, eV | solvers |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(r["case"] for r in runs):
        of_case = [r for r in runs if r["case"] == name]
        reference = next((r["energy"] for r in of_case if r["algo"] == "Normal" and "energy" in r), None)
        for algo in dict.fromkeys(r["algo"] for r in of_case):
            lines.append(_row(name, algo, [r for r in of_case if r["algo"] == algo], reference))
    return "\n".join(lines)


def _row(name: str, algo: str, runs: list[dict[str, Any]], reference: float | None) -> str:
    one = runs[0]
    if "error" in one:
        return f"| {name} | | | {algo} | | | | | | | {one['error']} |"
    difference = "" if reference is None else f"{one['energy'] - reference:.0e}"
    bands, whole = (median(r[key] for r in runs) for key in ("bands_seconds", "seconds"))
    steps = f"{one['steps']}" if one["converged"] else f"{one['steps']}, not converged"
    return (
        f"| {name} | {one['bands']} | {one['kpoints']} | {algo} | {steps} | {one['applications']} | {bands:.1f} "
        f"| {whole:.1f} | {one['residual']:.0e} | {difference} | {_counted(one['solvers'])} |"
    )


def _counted(names: list[str]) -> str:
    """DAV DAV RMM -> 2 DAV, RMM."""
    runs = [(name, len(list(same))) for name, same in groupby(names)]
    return ", ".join(f"{count} {name}" if count > 1 else name for name, count in runs)


def failures(runs: list[dict[str, Any]]) -> list[str]:
    """Runs that did not converge or have another energy than the others of their case."""
    bad = [f"{r['case']} {r['algo']}: {r.get('error', 'not converged')}" for r in runs if not r.get("converged")]
    for name in dict.fromkeys(r["case"] for r in runs):
        energies = [r["energy"] for r in runs if r["case"] == name and "energy" in r]
        if energies and max(energies) - min(energies) > LIMIT_EV:
            bad.append(f"{name}: energies differ by {max(energies) - min(energies):.1e} eV")
    return bad


def main() -> int:
    """Command line; exit code 1 if a run fails or energies differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", help="names of cases")
    parser.add_argument("--algos", nargs="*", default=ALGOS)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="keep the runs of other cases and solvers in results.json")
    given = parser.parse_args()
    cases = [case for case in all_cases() if not given.cases or case.name in given.cases]
    runs = []
    for case in cases:
        for _ in range(given.repeats):
            for algo in given.algos:
                runs.append(run(case, algo))
                print(json.dumps(runs[-1]), flush=True)
    if given.keep:
        new = {(r["case"], r["algo"]) for r in runs}
        old = json.loads((HERE / "results.json").read_text())["runs"]
        order = [case.name for case in all_cases()]
        runs = [r for r in old if (r["case"], r["algo"]) not in new] + runs
        runs.sort(key=lambda r: order.index(r["case"]))
    about = {"date": date.today().isoformat(), "python": platform.python_version(), "machine": _processor()}
    (HERE / "results.json").write_text(json.dumps({"about": about, "runs": runs}, indent=1) + "\n")
    bad = failures(runs)
    print(table(runs), *bad, sep="\n")
    return 1 if bad else 0


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    sys.exit(main())
