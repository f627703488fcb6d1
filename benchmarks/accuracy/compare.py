"""eigenwerk against another PAW program on the same data sets: runs the cases, writes results.json and results.md.

    python benchmarks/accuracy/compare.py                      every case
    python benchmarks/accuracy/compare.py --cases mgo fe_bcc   those whose names contain one of the words
    python benchmarks/accuracy/compare.py --reuse              only what has no stored result yet, then the table
"""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

import our_run
from differences import LIMITS, Differences, differences
from reference_runs import FOLDER, ReferenceRun, all_runs

sys.path.insert(0, str(FOLDER.parent))
from entries import changing, load

RESULTS = FOLDER / "results.json"
TABLE = FOLDER / "results.md"

Results = Mapping[str, dict[str, Any]]
"""Ours by name of the case, each with its differences from the reference."""


def main() -> None:
    """Run, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", default=[], help="words that occur in the names of the wanted cases")
    parser.add_argument("--reuse", action="store_true", help="keep results that are stored already")
    given = parser.parse_args()
    results, runs = load(RESULTS), all_runs()
    for run in runs:
        if not run.skip and (not given.cases or any(word in run.name for word in given.cases)):
            if not (given.reuse and run.name in results):
                results[run.name] = solved(run)
                with changing(RESULTS) as stored:
                    stored[run.name] = results[run.name]
            print(line(run, results[run.name]), flush=True)
    found = {run.name: compared(run, runs, results) for run in runs if not run.skip and run.name in results}
    with changing(RESULTS) as stored:
        for name, d in found.items():
            stored[name]["differences"] = d.as_dict()
    TABLE.write_text(table(runs, found, results))
    print(summary(found))


def solved(run: ReferenceRun) -> dict[str, Any]:
    """What eigenwerk finds."""
    ours = our_run.run(run.structure, run.settings)
    for symbol, setup in run.results["setups"].items():
        if setup["md5"] != ours["md5"][symbol]:
            raise SystemExit(f"{run.name}: the data set of {symbol} differs from the reference's {setup}")
    return ours


def alone(run: ReferenceRun, ours: dict[str, Any]) -> Differences:
    """Differences of one run, without series."""
    return differences(ours, run.results, len(run.structure["symbols"]))


def compared(run: ReferenceRun, runs: list[ReferenceRun], results: Results) -> Differences:
    """Differences of one run with the series column."""
    found = alone(run, results[run.name])
    base = next((other for other in runs if other.name == run.base), None)
    if base is None or base.name not in results:
        return found
    return Differences(**{**found.as_dict(), "series": found.energy - alone(base, results[base.name]).energy})


def line(run: ReferenceRun, ours: dict[str, Any]) -> str:
    """One run on the terminal."""
    d = alone(run, ours)
    text = (
        f"{run.name:42s} {run.results['free_energy_eV']:14.6f} eV  dE {d.energy:9.4f} meV/atom  bands {d.bands:8.3f} "
        f"(occupied {d.occupied:7.3f}) meV  forces {d.forces:7.3f} meV/A"
    )
    moment = "" if d.moment is None else f"  moment {ours['moment_muB']:.4f} ({d.moment:+.4f})"
    ending = "" if ours["converged"] else "  NOT CONVERGED"
    return f"{text}{moment}  {ours['steps']} steps {ours['wall_s']:.1f} s{ending}"


DIGITS = {"moment": 4, "energy": 3, "series": 3, "entropy": 4}

COLUMNS = ("energy", "series", "bands", "high", "occupied", "forces", "entropy", "fermi", "moment")

HEAD = (
    "case", "from", "energy (meV/atom)", "series (meV/atom)", "bands (meV)", "all bands (meV)", "occupied (meV)",
    "forces (meV/Å)", "entropy (meV/atom)", "Fermi level (meV)", "moment (μB)", "steps", "note",
)  # fmt: skip


def table(runs: list[ReferenceRun], found: dict[str, Differences], results: Results) -> str:
    """The table as markdown."""
    limits = ["**limit**", ""] + [f"{LIMITS[n]:g}" if n in LIMITS else "" for n in COLUMNS] + ["", ""]  # fmt: skip
    rows = [[*HEAD], ["---"] * len(HEAD), limits]
    rows += [row(run, found[run.name], results[run.name]) for run in runs if run.name in found]
    left_out = [f"- `{run.name}` left out: {run.skip}." for run in runs if run.skip]
    body = "\n".join("| " + " | ".join(cells) + " |" for cells in rows)
    return f"# eigenwerk minus reference\n\n{body}\n\n{summary(found)}\n\n" + "\n".join(left_out) + "\n"


def row(run: ReferenceRun, d: Differences, ours: dict[str, Any]) -> list[str]:
    """Cells of one run; a value beyond its limit is bold."""
    failed = d.failed()
    cells = [f"`{run.name}`", run.source]
    for name in COLUMNS:
        value = getattr(d, name)
        text = "" if value is None else f"{value:.{DIGITS.get(name, 2)}f}"
        cells.append(f"**{text}**" if name in failed else text)
    steps = str(ours["steps"]) if ours["converged"] else f"{ours['steps']}, not converged"
    return [*cells, steps, run.note]


def summary(found: dict[str, Differences]) -> str:
    """How many runs meet every requirement."""
    failed = {name: d.failed() for name, d in found.items() if d.failed()}
    text = f"{len(found) - len(failed)} of {len(found)} runs meet every requirement."
    return text + "".join(f"\n- beyond a limit: `{name}` ({', '.join(what)})" for name, what in failed.items())


if __name__ == "__main__":
    main()
