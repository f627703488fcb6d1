"""Whether dynamics at constant energy keeps its energy, and comes back where its velocities are turned round.

    OMP_NUM_THREADS=1 python benchmarks/moving/dynamics/drift.py run [--only si2 ...] [--ediff default 1e-5]
        [--picoseconds 1]
    OMP_NUM_THREADS=1 python benchmarks/moving/dynamics/drift.py back [--only si2 ...] [--ediff default 1e-6]
        [--points 50]
    python benchmarks/moving/dynamics/drift.py table           # drift.md from drift.json

The surface and the prediction of `eigenwerk run`, in memory.  Drift: slope of the conserved quantity by least squares,
meV per atom and ps, with a standard error that counts as many points as one as the residuals are correlated over.
Back: so many points there and, with all velocities negated and nothing remembered, back again; the largest distance of
an atom from where it began.  "default": no EDIFF in INCAR.
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

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.runs.api.incar import inputs_of
from eigenwerk.dft.runs.api.structures import structure_given
from eigenwerk.dft.runs.motion.movers import make_mover
from eigenwerk.dft.runs.motion.surface import DensityFunctionalSurface
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.motion.dynamics.build import dynamics
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.motion.mover import Mover, Report
from eigenwerk.motion.surface import SurfacePoint

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1]), str(HERE.parents[2] / "tests")]
from entries import changing, load  # noqa: E402
from moved_atoms import rattled, water_dimer  # noqa: E402

from ensemble_statistics import correlation_time  # noqa: E402

RESULTS, PAGE = HERE / "drift.json", HERE / "drift.md"
EVERY = 50
"""Points after which results are written."""

MICRO = 1e6


def systems() -> dict[str, tuple[Atoms, dict[str, Any], tuple[int, int, int], float, float]]:
    """Atoms, settings, mesh, time step in fs, temperature of the start in K."""
    semi = {"ismear": 0, "sigma": 0.1}
    return {
        "si2": (rattled(bulk("Si")), {"encut": 200, **semi}, (2, 2, 2), 1.0, 600),
        "nacl8": (rattled(bulk("NaCl", "rocksalt", a=5.69, cubic=True)), {"encut": 250, **semi}, (1, 1, 1), 1.0, 500),
        "al4": (rattled(bulk("Al", cubic=True)), {"encut": 240, "ismear": 1, "sigma": 0.2}, (2, 2, 2), 1.0, 600),
        "si8": (rattled(bulk("Si", cubic=True)), {"encut": 200, **semi}, (1, 1, 1), 1.0, 600),
        "water2": (water_dimer(2.5), {"encut": 350, **semi}, (1, 1, 1), 0.5, 350),
    }


class Course:
    """One trajectory on its way."""

    def __init__(self, name: str, ediff: str, points: int):
        self.atoms, settings, mesh, self.step, temperature = systems()[name]
        tags = {"nsw": points, "ibrion": 0, "potim": self.step, "tebeg": temperature, **settings}
        tags |= {} if ediff == "default" else {"ediff": float(ediff)}
        self.inputs: Inputs = inputs_of(structure_given(self.atoms), tags, mesh)
        self.inputs.raise_on_errors()
        self.datasets = {symbol: read_paw_xml(data.path) for symbol, data in self.inputs.data.items()}
        assert self.inputs.motion is not None
        self.motion = self.inputs.motion
        self.tolerance = self.inputs.incar.get("EDIFF")
        self.counts: list[int] = []
        self.conserved: list[float] = []
        self.unconverged = 0

    def follow(self, mover: Mover, on_point: Any = None) -> tuple[SurfacePoint, Report]:
        """From a start to the end; the last point."""
        inputs = self.inputs
        first = Calculation(inputs.structure, inputs.kpoints, inputs.parameters, self.datasets)
        surface = DensityFunctionalSurface(first, self.motion.prediction)
        last = None
        while (asked := mover.ask()) is not None:
            calculation = surface.calculation_at(asked)
            ground = calculation.run(None, surface.start(asked, calculation))
            point = surface.add(asked, calculation, ground)
            report = mover.tell(point)
            last = point, report
            self.counts.append(len(ground.state.history))
            self.conserved.append(report.conserved)
            self.unconverged += not ground.state.converged
            if on_point is not None:
                on_point()
        assert last is not None
        return last

    def mover(self) -> Mover:
        """At the start."""
        return make_mover(self.inputs, self.motion)

    def back_from(self, point: SurfacePoint, report: Report) -> Mover:
        """The same dynamics with all velocities negated."""
        settings, motion = self.motion.settings, self.motion
        assert isinstance(settings, DynamicsSettings) and report.velocities_av is not None
        return dynamics(settings, point.arrangement, motion.masses_a, -report.velocities_av, None, motion.species_a)


def slope(conserved: list[float], atoms: int, step: float) -> tuple[float, float, float]:
    """Drift and its standard error, meV per atom and ps; root mean square about the line, meV per atom."""
    time_n, value_n = np.arange(len(conserved)) * step / 1000, 1000 * np.array(conserved) / atoms
    line = np.polyfit(time_n, value_n, 1)
    rest_n = value_n - np.polyval(line, time_n)
    error = np.sqrt((rest_n**2).mean() * correlation_time(rest_n) / ((time_n - time_n.mean()) ** 2).sum())
    return float(line[0]), float(error), float(rest_n.std())


def about(course: Course, began: float) -> dict[str, Any]:
    """What a result needs besides."""
    return {
        "EDIFF": course.tolerance, "atoms": len(course.atoms), "time_step_fs": course.step,
        "encut": course.inputs.incar.get("ENCUT"), "steps": float(np.mean(course.counts[5:])),
        "unconverged": course.unconverged,
        "seconds": round(time.perf_counter() - began, 1), "load": os.getloadavg()[0], "cores": os.cpu_count(),
        "torch": torch.__version__, "python": python_version(), "date": time.strftime("%Y-%m-%d"),
    }  # fmt: skip


def run(name: str, ediff: str, picoseconds: float) -> None:
    """One trajectory; results on the way."""
    course = Course(name, ediff, 1 + round(1000 * picoseconds / systems()[name][3]))
    began, points = time.perf_counter(), course.motion.steps

    def keep() -> None:
        count = len(course.conserved)
        if count % EVERY and count != points:
            return
        found = slope(course.conserved, len(course.atoms), course.step)
        change = [round(MICRO * (value - course.conserved[0])) for value in course.conserved]
        with changing(RESULTS) as entries:
            entries[f"run {name} {ediff}"] = about(course, began) | {
                "points": count, "drift": found[0], "error": found[1], "spread": found[2], "conserved_ueV": change,
            }  # fmt: skip
        print(f"{name} {ediff} {count} points, {time.perf_counter() - began:.0f} s: "
              f"{found[0]:+.3f} ± {found[1]:.3f} meV per atom and ps", flush=True)  # fmt: skip

    course.follow(course.mover(), keep)


def back(name: str, ediff: str, points: int) -> None:
    """There and back."""
    began, course = time.perf_counter(), Course(name, ediff, points)
    start = course.mover().ask()
    assert start is not None
    there, report = course.follow(course.mover())
    returned, _ = course.follow(course.back_from(there, report))
    away = np.linalg.norm(there.arrangement.position_av - start.position_av, axis=1).max()
    apart = np.linalg.norm(returned.arrangement.position_av - start.position_av, axis=1).max()
    with changing(RESULTS) as entries:
        entries[f"back {name} {ediff}"] = about(course, began) | {
            "points": points, "away": float(away), "apart": float(apart),
        }  # fmt: skip
    print(f"{name} {ediff} there and back: {away:.3f} Å, {apart:.1e} Å", flush=True)


def table(results: dict[str, Any]) -> str:
    """The page."""
    some = next(iter(results.values()))
    lines = [
        "# Energy that is conserved, and the way back", "",
        f"Made by `drift.py`: dynamics at constant energy, prediction as by default. torch {some['torch']}, "
        f"{some['cores']} cores, {some['date']}. EDIFF 1e-04 is the default. Drift: slope of the conserved quantity "
        "and its standard error; spread: root mean square about that line.", "",
        "| system | atoms | ENCUT, eV | POTIM, fs | EDIFF, eV | points | SCF steps | drift, meV per atom and ps | "
        "spread, meV per atom |", "|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name in systems():
        found = [one for key, one in results.items() if key.startswith(f"run {name} ")]
        lines += [
            f"| {name} | {one['atoms']} | {one['encut']:g} | {one['time_step_fs']:g} | {one['EDIFF']:.0e} | "
            f"{one['points']} | {one['steps']:.1f} | {one['drift']:+.2f} ± {one['error']:.2f} | {one['spread']:.3f} |"
            for one in sorted(found, key=lambda one: -one["EDIFF"])
        ]  # fmt: skip
    lines += ["", "There, velocities negated, and back: how far an atom came, and how far from its start it ended.", "",
              "| system | EDIFF, eV | points each way | SCF steps | there, Å | back, Å |",
              "|---|---|---|---|---|---|"]  # fmt: skip
    for name in systems():
        found = [one for key, one in results.items() if key.startswith(f"back {name} ")]
        lines += [
            f"| {name} | {one['EDIFF']:.0e} | {one['points']} | {one['steps']:.1f} | {one['away']:.3f} | "
            f"{one['apart']:.1e} |" for one in sorted(found, key=lambda one: -one["EDIFF"])
        ]  # fmt: skip
    return "\n".join([*lines, ""])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "back", "table"))
    parser.add_argument("--only", nargs="*", default=list(systems()))
    parser.add_argument("--ediff", nargs="*", default=["default", "1e-5", "1e-6"])
    parser.add_argument("--picoseconds", type=float, default=1.0)
    parser.add_argument("--points", type=int, default=50)
    given = parser.parse_args()
    for ediff in given.ediff if given.what != "table" else ():
        for name in given.only:
            if given.what == "run":
                run(name, ediff, given.picoseconds)
            else:
                back(name, ediff, given.points)
    PAGE.write_text(table(load(RESULTS)), encoding="utf-8")


if __name__ == "__main__":
    main()
