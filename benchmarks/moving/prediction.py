"""How many steps self-consistency takes when atoms move, by the way in which earlier states predict the next one.

    OMP_NUM_THREADS=1 python benchmarks/moving/prediction.py run [--only si8 ...] [--methods aspc ...] [--steps 20]
    PYTHONPATH=src:.device/site python3 benchmarks/moving/prediction.py run --device cuda --only water64 si64_melt
    python benchmarks/moving/prediction.py table           # prediction.md from prediction.json

NVE dynamics by `eigenwerk.motion.dynamics` on the surface that `eigenwerk run` uses, in memory.  Counted from the sixth
point on: steps of self-consistency and applications of the Hamiltonian per point.  Drift: slope of the conserved
quantity by least squares, meV per atom and ps.  Counts do not depend on the load of a machine, times do; they are
written down with it.  "fresh": each point from superposed atoms.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from platform import python_version
from typing import Any

import numpy as np
import torch
from ase import Atoms
from ase.build import bulk
from ase.io import read

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.runs.api.incar import inputs_of
from eigenwerk.dft.runs.api.structures import structure_given
from eigenwerk.dft.runs.motion.movers import make_mover
from eigenwerk.dft.runs.motion.surface import DensityFunctionalSurface
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.motion.prediction import METHODS
from eigenwerk.parallel.runtime import Runtime

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from entries import changing, load  # noqa: E402
from moved_atoms import rattled, water_dimer  # noqa: E402

RESULTS = HERE / "prediction.json"
FRESH, SETTLED = "fresh", 5
LARGE = ("water64", "si64_melt")
"""For a GPU; left out where none are named."""


def systems() -> dict[str, tuple[Atoms, dict[str, Any], tuple[int, int, int], float, float]]:
    """Atoms, settings, mesh, time step in fs, temperature in K."""
    iron = rattled(bulk("Fe", cubic=True))
    iron.set_initial_magnetic_moments([2.5, 2.5])
    semi = {"ismear": 0, "sigma": 0.1}
    melt = rattled(bulk("Si", cubic=True, a=5.30) * (2, 2, 2), 0.2)  # liquid silicon is denser than the crystal
    water = read(HERE / "structures" / "water_64.vasp")
    return {
        "water2": (water_dimer(3.0), {"encut": 400, **semi}, (1, 1, 1), 0.5, 350),
        "si8": (rattled(bulk("Si", cubic=True)), {"encut": 250, **semi}, (1, 1, 1), 1.0, 600),
        "si8_k": (rattled(bulk("Si", cubic=True)), {"encut": 250, **semi}, (2, 2, 2), 1.0, 600),
        "al4": (rattled(bulk("Al", cubic=True)), {"encut": 240, "ismear": 1, "sigma": 0.2}, (3, 3, 3), 2.0, 600),
        "fe2": (iron, {"encut": 300, "ismear": 1, "sigma": 0.2}, (2, 2, 2), 2.0, 600),
        "nacl8": (rattled(bulk("NaCl", "rocksalt", a=5.69, cubic=True)), {"encut": 300, **semi}, (1, 1, 1), 2.0, 500),
        "water64": (water, {"encut": 400, **semi}, (1, 1, 1), 0.5, 330),
        "si64_melt": (melt, {"encut": 250, "ismear": -1, "sigma": 0.2}, (1, 1, 1), 1.0, 2000),
    }


def one(name: str, method: str, steps: int, device: torch.device) -> dict[str, Any]:
    """One trajectory."""
    atoms, settings, mesh, step, temperature = systems()[name]
    tags = {"nsw": steps, "ibrion": 0, "potim": step, "tebeg": temperature, "ediff": 1e-5, **settings}
    inputs = inputs_of(structure_given(atoms), tags, mesh)
    inputs.raise_on_errors()
    assert inputs.motion is not None
    datasets = {symbol: read_paw_xml(data.path) for symbol, data in inputs.data.items()}
    first = Calculation(inputs.structure, inputs.kpoints, inputs.parameters, datasets, Runtime(device=device))
    mover = make_mover(inputs, inputs.motion)
    surface = DensityFunctionalSurface(first, method if method != FRESH else "none")
    begun, counts, applied, conserved, worst = time.perf_counter(), [], [], [], 0.0
    while (asked := mover.ask()) is not None:
        calculation = surface.calculation_at(asked)
        begin = None if method == FRESH else surface.start(asked, calculation)
        ground = calculation.run(None, begin)
        report = mover.tell(surface.add(asked, calculation, ground))
        history = ground.state.history
        counts.append(len(history))
        applied.append(sum(one.applications for one in history))
        conserved.append(report.conserved)
        worst = max(worst, ground.force_error)
        assert ground.state.converged
    slope = np.polyfit(np.arange(len(conserved)) * step * 1e-3, np.array(conserved) / len(atoms) * 1e3, 1)[0]
    return {
        "steps": counts, "applications": applied, "conserved_eV": conserved, "drift": float(slope),
        "spread": float(np.ptp(conserved) / len(atoms) * 1e3), "atoms": len(atoms), "time_step_fs": step,
        "seconds": time.perf_counter() - begun, "load": os.getloadavg()[0], "cores": os.cpu_count(),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "torch": torch.__version__, "python": python_version(), "date": time.strftime("%Y-%m-%d"),
    }  # fmt: skip


def table(results: dict[str, Any]) -> str:
    """The page."""
    methods = (FRESH, *METHODS)
    any_run = next(iter(next(iter(results.values())).values()))
    lines = [
        "# States that follow the atoms", "",
        f"NVE dynamics, EDIFF = 1E-5; steps of self-consistency / applications of H per point, means from point "
        f"{SETTLED + 1} on. torch {any_run['torch']}, {any_run['cores']} cores, {any_run['date']}.", "",
        "| system | atoms | fs | " + " | ".join(methods) + " |", "|---" * (3 + len(methods)) + "|",
    ]  # fmt: skip
    for name, ways in results.items():
        cells = []
        for method in methods:
            found = ways.get(method)
            cells.append(
                "" if found is None
                else f"{np.mean(found['steps'][SETTLED:]):.1f} / {np.mean(found['applications'][SETTLED:]):.0f}"
            )  # fmt: skip
        some = next(iter(ways.values()))
        lines.append(f"| {name} | {some['atoms']} | {some['time_step_fs']:g} | " + " | ".join(cells) + " |")
    lines += ["", "Conserved quantity: spread over the run, meV per atom (slope, meV per atom and ps)", "",
              "| system | points | " + " | ".join(methods) + " |", "|---" * (2 + len(methods)) + "|"]  # fmt: skip
    for name, ways in results.items():
        cells = [
            f"{ways[m]['spread']:.3f} ({ways[m]['drift']:+.1f})" if m in ways else "" for m in methods
        ]  # fmt: skip
        lines.append(f"| {name} | {len(next(iter(ways.values()))['steps'])} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--only", nargs="*", default=[name for name in systems() if name not in LARGE])
    parser.add_argument("--methods", nargs="*", default=[FRESH, *METHODS])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--device", type=torch.device, default=torch.device("cpu"))
    parser.add_argument("--json", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.what == "run":
        for name in given.only:
            for method in given.methods:
                found = one(name, method, given.steps, given.device)
                with changing(given.json) as entries:
                    entries.setdefault(name, {})[method] = found
                print(f"{name:8} {method:7} {np.mean(found['steps'][SETTLED:]):6.2f} steps "
                      f"{np.mean(found['applications'][SETTLED:]):8.0f} H {found['seconds']:8.1f} s "
                      f"spread {found['spread']:.3f} meV", flush=True)  # fmt: skip
    given.json.with_suffix(".md").write_text(table(load(given.json)), encoding="utf-8")


if __name__ == "__main__":
    main()
