"""How good are forces at the default EDIFF?  Twenty cells with displaced atoms, beside EDIFF = 1e-9 eV.

    OMP_NUM_THREADS=1 python compare.py run NAME [--source DIR] [--only CELL ...] [--kinds default plain tight]
    python compare.py table BEFORE AFTER

`run` computes the cells by the command of the tree --source (default: this one) and keeps steps, forces and their
estimated error under NAME: with the defaults, without the correction of forces (plain: LCORR = .FALSE.), and with
EDIFF = 1e-9 (tight).  `table` takes the tight forces of AFTER as the right ones and writes results.md.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[2]
sys.path.insert(0, str(FOLDER.parents[1]))
from entries import changing, load  # noqa: E402
from vasp_folders import BUILD  # noqa: E402

sys.path.insert(0, str(FOLDER))
from cells import CELLS, Cell  # noqa: E402

RESULTS, PAGE = FOLDER / "results.json", FOLDER / "results.md"
COMMAND = "from eigenwerk.cli.main import command; command()"
KINDS = {"default": {}, "plain": {"LCORR": ".FALSE."}, "tight": {"EDIFF": "1E-9", "NELM": "100"}}
HEAD = """# Forces at the default EDIFF

Twenty cells with displaced atoms ({shift} Å), ENCUT 240 to 400 eV, EDIFF and all mixing at their defaults. Error:
largest component, against EDIFF = 1e-9 eV of the same version, meV/Å. Made by `benchmarks/precision/forces/compare.py`.

| | | | before | | LCORR = .FALSE. | | now | | |
|---|---|---|---|---|---|---|---|---|---|
| cell | atoms | largest force | steps | error | steps | error | steps | error | estimate |
"""


def run(cell: Cell, kind: str, source: Path) -> dict[str, Any]:
    """What `eigenwerk run` of a source tree finds."""
    folder = cell.write(BUILD / "forces" / kind / cell.name, **KINDS[kind])
    environ = os.environ | {"PYTHONPATH": str(source / "src")}
    words = ["run", str(folder), "--json", "--no-plot"]
    done = subprocess.run([sys.executable, "-c", COMMAND, *words], env=environ, capture_output=True, text=True)
    if not done.stdout:
        sys.exit(f"{cell.name}: exit code {done.returncode}\n{done.stderr[-1000:]}")
    found = json.loads(done.stdout)
    return {
        "converged": found["converged"], "steps": len(found["steps"]), "forces": found["forces_eV_per_A"],
        "error": found.get("force_error_eV_per_A"), "energy": found["energies_eV"]["free"],
    }  # fmt: skip


def table(before: dict[str, Any], after: dict[str, Any]) -> str:
    """A row for each cell, and what they come to."""
    rows, errors, estimates, extra = [], [], [], []
    for name in (cell.name for cell in CELLS if cell.name in after):
        right_av = np.array(after[name]["tight"]["forces"])
        old, plain, new = before[name]["default"], after[name]["plain"], after[name]["default"]
        wrong = [1e3 * np.abs(np.array(found["forces"]) - right_av).max() for found in (old, plain, new)]
        errors.append(wrong[2])
        estimates.append(1e3 * new["error"])
        extra.append(new["steps"] - old["steps"])
        rows.append(
            f"| {name} | {len(right_av)} | {1e3 * np.abs(right_av).max():.0f} | {old['steps']} | {wrong[0]:.2f} | "
            f"{plain['steps']} | {wrong[1]:.2f} | {new['steps']} | {wrong[2]:.2f} | {estimates[-1]:.2f} |"
        )
    ratio = np.array(errors) / np.array(estimates)
    words = (
        f"\nLargest error {max(errors):.2f} meV/Å. Steps more than before: {sum(extra)} in {len(extra)} cells, at most "
        f"{max(extra)} in one. Error divided by estimate: {ratio.min():.2f} to {ratio.max():.2f}, "
        f"median {np.median(ratio):.2f}.\n"
    )
    return HEAD.format(shift=0.05) + "\n".join(rows) + "\n" + words


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("name")
    runs.add_argument("--source", type=Path, default=REPOSITORY)
    runs.add_argument("--only", nargs="+", default=[cell.name for cell in CELLS])
    runs.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    tables = commands.add_parser("table")
    tables.add_argument("before")
    tables.add_argument("after")
    given = parser.parse_args()
    if given.command == "table":
        entries = load(RESULTS)
        PAGE.write_text(table(entries[given.before], entries[given.after]))
        print(PAGE.read_text())
        return
    for cell in (cell for cell in CELLS if cell.name in given.only):
        for kind in given.kinds:
            found = run(cell, kind, given.source.resolve())
            with changing(RESULTS) as entries:
                entries.setdefault(given.name, {}).setdefault(cell.name, {})[kind] = found
            print(given.name, cell.name, kind, found["steps"], found["error"], flush=True)


if __name__ == "__main__":
    main()
