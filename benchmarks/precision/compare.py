"""First steps in single precision against all steps in double: python compare.py [--cases Si2 ceo2] [--repeats 2].

Both kinds run in turn in one process, on one thread; seconds are processor time of self-consistency and forces, the
least of the repeats.  results.json keeps all runs; the table goes to results.md.
"""

import argparse
import json
import platform
import sys
import time
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "peers"), str(HERE.parent)]
from cases import named  # noqa: E402
from run_eigenwerk import build  # noqa: E402
from vasp_folders import folder_of  # noqa: E402

from eigenwerk.dft.calculation import Calculation  # noqa: E402
from eigenwerk.dft.inputs.inputs import read_inputs  # noqa: E402
from eigenwerk.io.paw.paw_xml import read_paw_xml  # noqa: E402
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV  # noqa: E402

SMALL = ("Si2", "Al4", "MgO8", "Fe2", "HfO2-12")
"""Cells of benchmarks/peers, EDIFF = 1e-6 eV."""

HARD = ("ceo2", "mgo_vacancy_plus", "nio_afm", "al_slab", "euo")
"""Cases of benchmarks/hard_cases."""

EDIFF = 1e-6


def calculation(name: str) -> Calculation:
    """A case by name."""
    if name in SMALL:
        return build(named(name), EDIFF)
    inputs = read_inputs(folder_of("hard_cases", name))
    inputs.raise_on_errors()
    datasets = {symbol: read_paw_xml(path) for symbol, path in inputs.datasets.items()}
    return Calculation(inputs.structure, inputs.kpoints, inputs.parameters, datasets)


def run(name: str, single: bool) -> dict[str, Any]:
    """One run; forces are kept for the comparison."""
    made = calculation(name)
    made.parameters = replace(made.parameters, start_single=single)
    started = time.process_time()
    ground = made.run()
    seconds = time.process_time() - started
    history = ground.state.history
    count = {kind: sum(r.applications for r in history if r.precision == kind) for kind in ("single", "double")}
    return {
        "case": name, "single": single, "converged": ground.state.converged, "steps": len(history),
        "steps_single": sum(r.precision == "single" for r in history), "applications": count, "seconds": seconds,
        "energy": ground.state.energies.free * HARTREE_EV, "ediff": made.parameters.energy_tolerance * HARTREE_EV,
        "forces": (ground.forces_av * HARTREE_EV / BOHR_ANGSTROM).tolist(), "moment": history[-1].moment,
        "events": [event for event in ground.state.events if "precision" in event],
    }  # fmt: skip


def table(runs: list[dict[str, Any]]) -> str:
    """One row for each case."""
    lines = [
        "| case | steps | with Single (in single) | applications | with Single: single + double | s | with Single, s "
        "| ratio | difference of F, eV | of forces, eV/Å | EDIFF, eV |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(r["case"] for r in runs):
        double, single = ([r for r in runs if r["case"] == name and r["single"] is wish] for wish in (False, True))
        lines.append(_row(name, double, single))
    return "\n".join(lines)


def _row(name: str, double: list[dict[str, Any]], single: list[dict[str, Any]]) -> str:
    usual, mixed = double[0], single[0]
    before, after = (min(r["seconds"] for r in runs) for runs in (double, single))
    force = float(abs(np.array(usual["forces"]) - np.array(mixed["forces"])).max())
    count = mixed["applications"]
    return (
        f"| {name} | {usual['steps']} | {mixed['steps']} ({mixed['steps_single']}) | {usual['applications']['double']} "
        f"| {count['single']} + {count['double']} | {before:.2f} | {after:.2f} | {after / before:.2f} "
        f"| {abs(usual['energy'] - mixed['energy']):.0e} | {force:.0e} | {usual['ediff']:.0e} |"
    )


def main() -> int:
    """Command line; exit code 1 if a run does not converge, or energies differ by more than a tenth of EDIFF."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", default=[*SMALL, *HARD])
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(1)
    runs = []
    for name in given.cases:
        for repeat in range(given.repeats):
            for single in (False, True) if repeat % 2 == 0 else (True, False):
                runs.append(run(name, single))
                print(json.dumps({key: value for key, value in runs[-1].items() if key != "forces"}), flush=True)
    about = {"date": date.today().isoformat(), "python": platform.python_version(), "torch": torch.__version__}
    (HERE / "results.json").write_text(json.dumps({"about": about, "runs": runs}, indent=1) + "\n")
    text = table(runs)
    (HERE / "results.md").write_text(f"# First steps in single precision\n\n{text}\n")
    print(text)
    return 0 if all(fine(runs, name) for name in given.cases) else 1


def fine(runs: list[dict[str, Any]], name: str) -> bool:
    """Whether all runs of a case converged to the same energy."""
    of_case = [r for r in runs if r["case"] == name]
    energies = [r["energy"] for r in of_case]
    return all(r["converged"] for r in of_case) and max(energies) - min(energies) < 0.1 * of_case[0]["ediff"]


if __name__ == "__main__":
    sys.exit(main())
