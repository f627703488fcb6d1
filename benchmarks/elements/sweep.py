"""Every element once: does a first calculation, as a user would set it up, converge?

    OMP_NUM_THREADS=1 python benchmarks/elements/sweep.py [--elements Li C Na] [--again] [--steps 60]

Writes results.json after each element and results.md; elements that are there already are left out unless
--again is given.  `sets` loads all PBE data sets and makes their tables instead.
"""

import argparse
import json
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ase.data import atomic_numbers

sys.path.insert(0, str(Path(__file__).parent))
from crystals import element_case

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.paw.setup import make_setup
from eigenwerk.dft.scf.state import ScfStep
from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.paw_library import choose_dataset, list_datasets
from eigenwerk.io.paw_xml import read_paw_xml
from eigenwerk.units import HARTREE_EV

FOLDER = Path(__file__).parent


def elements() -> list[str]:
    """All elements with a PBE set, by atomic number."""
    return sorted({entry.element for entry in list_datasets("PBE")}, key=atomic_numbers.__getitem__)


def run(symbol: str, max_steps: int) -> dict[str, Any]:
    """One element's record; an error of any kind is part of it."""
    started = time.perf_counter()
    record: dict[str, Any] = {"element": symbol}
    try:
        record |= solve(symbol, max_steps)
    except Exception as error:
        record |= {"converged": False, "error": f"{type(error).__name__}: {error}", "where": traceback.format_exc()}
    return record | {"seconds": round(time.perf_counter() - started, 2)}


def solve(symbol: str, max_steps: int) -> dict[str, Any]:
    """Run the case of an element to self-consistency."""
    data = read_paw_xml(choose_dataset(symbol))
    case = element_case(symbol, data)
    calculation = Calculation(
        case.structure, case.kpoints, replace(case.parameters, max_steps=max_steps), {symbol: data}
    )
    ground = calculation.run()
    state, atoms = ground.state, len(case.structure.symbols)
    last = state.history[-1]
    return {
        "structure": case.kind, "atoms": atoms, "electrons": case.parameters.electrons, "bands": case.parameters.bands,
        "cutoff_eV": round(case.parameters.cutoff * HARTREE_EV), "spins": case.parameters.spins,
        "mesh": list(case.kpoints.mesh or ()), "kpoints": len(case.kpoints.weight_k),
        "plane_waves": max(calculation.basis.count_k), "wave_grid": list(calculation.basis.grids.wave),
        "converged": state.converged, "status": state.status, "steps": len(state.history),
        "energy_eV": state.energies.free * HARTREE_EV / atoms, "moment": last.moment,
        "moment_in_spheres": [round(float(m), 3) for m in ground.moment_a] if case.parameters.spins == 2 else None,
        "force_eV_bohr": float(np.abs(ground.forces_av).max()) * HARTREE_EV,
        "applications": sum(step.applications for step in state.history),
        "events": [*state.events, *(f"step {s.step}: {event}" for s in state.history for event in s.events)],
        "history": [history_row(step) for step in state.history],
    }  # fmt: skip


def history_row(step: ScfStep) -> list[float | None]:
    """Free energy, its change, band change (eV), density residual (electrons), orbital residual, moment, work."""
    return [
        step.energies.free * HARTREE_EV, step.change * HARTREE_EV, step.band_change * HARTREE_EV, step.residual,
        step.orbital_residual, step.moment, step.applications,
    ]  # fmt: skip


def line(record: dict[str, Any]) -> str:
    """One row of the table."""
    if "error" in record:
        return f"{record['element']:<3} {'ERROR':<10} {record['seconds']:>7.1f} s  {record['error'][:120]}"
    moment = "" if record["moment"] is None else f"{record['moment']:8.3f}"
    word = "yes" if record["converged"] else "NO"
    return (
        f"{record['element']:<3} {record['structure'][:12]:<12} {record['cutoff_eV']:>4} eV {record['kpoints']:>3} k "
        f"{record['bands']:>3} b  {word:<3} {record['steps']:>3} steps {record['energy_eV']:>14.5f} eV/atom "
        f"{moment:>8} {record['applications']:>7} H {record['seconds']:>6.1f} s  {len(record['events'])} events"
    )


def markdown(records: list[dict[str, Any]]) -> str:
    """The table as a page."""
    head = "| element | structure | eV | k | bands | converged | steps | eV/atom | moment | H applications | s |"
    rows = [head, "|" + "---|" * 11]
    for r in records:
        if "error" in r:
            rows.append(f"| {r['element']} | error: {r['error'][:100]} | | | | no | | | | | {r['seconds']} |")
            continue
        moment = "" if r["moment"] is None else f"{r['moment']:.3f}"
        word = "yes" if r["converged"] else "**no**"
        rows.append(
            f"| {r['element']} | {r['structure']} | {r['cutoff_eV']} | {r['kpoints']} | {r['bands']} | {word} | "
            f"{r['steps']} | {r['energy_eV']:.5f} | {moment} | {r['applications']} | {r['seconds']} |"
        )
    bad = [f"- {r['element']}: {reason(r)}" for r in records if not r["converged"]]
    summary = f"{sum(r['converged'] for r in records)} of {len(records)} elements converged."
    return "\n".join(["# All elements once", "", __doc__.split("\n")[0], "", summary, "", *rows, "", *bad, ""])


def reason(record: dict[str, Any]) -> str:
    """Why a run is not converged, in short."""
    if "error" in record:
        return str(record["error"])
    tail = ", ".join(f"{row[1]:.1e}/{row[3]:.1e}" for row in record["history"][-5:])
    return f"{record['status']}; last energy changes (eV) / residuals (electrons): {tail}"


def write(path: Path, text: str) -> None:
    """Replace a file in one move."""
    with replacing(path) as temporary:
        temporary.write_text(text)


def store(records: list[dict[str, Any]], path: Path) -> None:
    """The records and the page made of them."""
    write(path, json.dumps(records).replace("}, {", "},\n{") + "\n")
    write(path.with_suffix(".md"), markdown(records))


def load_all_sets() -> int:
    """Read every PBE set and make its tables; the number of failures."""
    failures = 0
    for entry in list_datasets("PBE"):
        started = time.perf_counter()
        try:
            setup = make_setup(read_paw_xml(entry.file))
            finite = all(np.isfinite(a).all() for a in (setup.coulomb_xx, setup.kinetic_ij, setup.multipole_Lij))
            word = "ok" if finite else "NOT FINITE"
        except Exception as error:
            word = f"{type(error).__name__}: {error}"
        failures += word != "ok"
        print(f"{entry.file.name:<20} {time.perf_counter() - started:6.2f} s  {word}", flush=True)
    return failures


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="run", choices=("run", "sets"))
    parser.add_argument("--elements", nargs="*")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--results", type=Path, default=FOLDER / "results.json")
    given = parser.parse_args()
    if given.what == "sets":
        return load_all_sets()
    torch.set_num_threads(1)
    known = {r["element"]: r for r in json.loads(given.results.read_text())} if given.results.exists() else {}
    for symbol in given.elements or elements():
        if symbol not in known or given.again:
            known[symbol] = run(symbol, given.steps)
            print(line(known[symbol]), flush=True)
            store([known[s] for s in elements() if s in known], given.results)
    store([known[s] for s in elements() if s in known], given.results)
    bad = [r for r in known.values() if not r["converged"]]
    print(f"{len(known) - len(bad)} of {len(known)} converged")
    for record in bad:
        print(f"  {record['element']}: {reason(record)}")
    return len(bad)


if __name__ == "__main__":
    sys.exit(main())
