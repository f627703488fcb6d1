"""Statistics of every ensemble of molecular dynamics, beside laws that are known exactly.

    OMP_NUM_THREADS=1 python benchmarks/moving/dynamics/ensembles.py [TABLE ...] [--steps 20000]

Three crystals: of springs, in a cell with elastic constants, and of Lennard-Jones atoms; they and the statistics stand
beside the tests of the package.  To results.json and results.md.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1]), str(HERE.parents[2] / "tests")]
from entries import changing, load  # noqa: E402

from eigenwerk.motion.dynamics.build import dynamics  # noqa: E402
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings  # noqa: E402
from eigenwerk.motion.mover import drive  # noqa: E402
from eigenwerk.units import BOLTZMANN_EV_KELVIN  # noqa: E402
from ensemble_statistics import drift, isobaric, kinetic, modes, positions, pressures  # noqa: E402
from moving_crystals import ElasticCrystal, HarmonicCrystal, LennardJones  # noqa: E402

RESULTS = HERE / "results.json"
PRESSURE = 0.001  # eV/Å³


def baths(time):
    """With a time that is short beside it, fs."""
    chain = {"thermostat": "nose-hoover", "thermostat_time": time, "chain_length": 4}
    return {
        "Andersen": {"thermostat": "andersen", "collision_chance": 0.04},
        "Langevin": {"thermostat": "langevin", "friction": (1 / time,)},
        "Nosé-Hoover": {"thermostat": "nose-hoover", "thermostat_time": time},
        "chain of 4": chain,
        "chain, NHC_NS = 3": {**chain, "chain_yoshida": 3},
        "CSVR": {"thermostat": "csvr", "thermostat_time": time},
    }


def cells(time, cell_time, compressibility, mass):
    """The same of a cell that moves."""
    langevin, csvr = (baths(time)[name] for name in ("Langevin", "CSVR"))
    rescaling = {"compressibility": compressibility, "cell_time": cell_time, "pressure": PRESSURE}
    heavy = {"barostat": "parrinello-rahman", "cell_mass": mass, "cell_friction": 1 / time, "pressure": PRESSURE}
    return {
        "Parrinello-Rahman, Langevin": langevin | heavy,
        "rescaling, Langevin": langevin | rescaling | {"barostat": "cell rescaling"},
        "rescaling, CSVR": csvr | rescaling | {"barostat": "cell rescaling"},
        "isotropic rescaling, CSVR": csvr | rescaling | {"barostat": "isotropic cell rescaling"},
    }


class Table(NamedTuple):
    """What is examined together: a crystal, temperature (K), step (fs) and ensembles."""

    words: str
    crystal: Callable
    kelvin: float
    step: float
    ensembles: dict


NVE = {"NVE": {}}
TABLES = {
    "harmonic": Table("Eight atoms on springs, 600 K, 1 fs", HarmonicCrystal, 600.0, 1.0, NVE | baths(20.0)),
    "elastic": Table(
        "The same in a cell with elastic constants, 1.6 kbar", partial(ElasticCrystal, bulk=0.02, shear=0.02),
        600.0, 1.0, cells(20.0, 50.0, 50.0, 30.0),
    ),
    "argon": Table("Thirty-two Lennard-Jones atoms, 90 K, 8 fs", LennardJones, 90.0, 8.0, NVE | baths(200.0)),
    "argon in a moving cell": Table(
        "The same at 40 K and 1.6 kbar", LennardJones, 40.0, 8.0, cells(200.0, 1000.0, 60.0, 100.0)
    ),
}  # fmt: skip


def examine(name, changes, steps):
    """Drift and probabilities of one ensemble."""
    table = TABLES[name]
    crystal, kt = table.crystal(), table.kelvin * BOLTZMANN_EV_KELVIN
    atoms = len(crystal.masses_a)
    settings = DynamicsSettings(steps=steps, time_step=table.step, temperature=table.kelvin, **changes)
    mover = dynamics(settings, crystal.start, crystal.masses_a)
    found = drive(mover, crystal, most=steps)
    assert mover.finished, mover.status
    slope, spread = drift([report.conserved for _, report in found], atoms, table.step)
    answer = {"points": steps, "drift": float(slope), "spread": float(spread)}
    answer["kelvin"] = float(np.mean([report.temperature for _, report in found]))
    settled = found[steps // 20 :]
    probabilities = {}
    if changes:
        probabilities = kinetic(crystal, settled, kt, mover.freedom.count)
        if "barostat" in changes:
            probabilities |= pressures(settled, kt, PRESSURE, atoms - mover.freedom.count / 3)
        elif name == "harmonic":
            probabilities |= modes(crystal, settled, kt, table.step)
        else:
            probabilities |= positions(crystal, settled, kt)
        if name == "elastic":
            free_shape = "isotropic" not in changes["barostat"]
            probabilities |= isobaric(crystal, settled, kt, PRESSURE, free_shape, "cell_mass" in changes)
    return {**answer, "probabilities": probabilities}


HEAD = """# Ensembles of molecular dynamics

Atoms of different masses; made by `ensembles.py`. Conserved: slope of the conserved quantity in meV per atom and ps,
and its spread about that line in meV per atom. The other rows are probabilities of a trajectory at least so far from
the exact law: among so many some of a few per cent are to be expected, one below 0.001 is not.

Baths of all atoms together cannot move energy between the modes of springs: there the rows by atom and by
mode are expected to fail for them, and for one Nosé-Hoover thermostat all may. The Lennard-Jones crystal shows them
where modes do exchange energy.
"""


def page(results):
    """Markdown."""
    lines = [HEAD]
    for table, (words, *_, ensembles) in TABLES.items():
        cases = {name: results[f"{table}: {name}"] for name in ensembles if f"{table}: {name}" in results}
        if not cases:
            continue
        lines += [f"## {words}", "", "| | " + " | ".join(cases) + " |", "|---" * (len(cases) + 1) + "|"]
        rows = {"points": "d", "kelvin": ".1f", "drift": ".1e", "spread": ".1e"}
        heads = {"kelvin": "mean temperature, K", "drift": "conserved: slope", "spread": "conserved: spread"}
        for key, form in rows.items():
            lines.append(f"| {heads.get(key, key)} | " + " | ".join(f"{c[key]:{form}}" for c in cases.values()) + " |")
        for key in dict.fromkeys(key for case in cases.values() for key in case["probabilities"]):
            values = [case["probabilities"].get(key) for case in cases.values()]
            lines.append(f"| {key} | " + " | ".join("" if v is None else f"{v:.2g}" for v in values) + " |")
        lines.append("")
    return "\n".join(lines)


def main():
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(TABLES)}; all if none is given")
    parser.add_argument("--steps", type=int, default=20_000)
    arguments = parser.parse_args()
    for table in arguments.tables or TABLES:
        for name, changes in TABLES[table].ensembles.items():
            answer = examine(table, changes, arguments.steps)
            print(table, name, answer, flush=True)
            with changing(RESULTS) as results:
                results[f"{table}: {name}"] = answer
    (HERE / "results.md").write_text(page(load(RESULTS)))


if __name__ == "__main__":
    main()
