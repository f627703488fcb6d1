"""What is lost, and what is gained in time, where the grid does not hold the whole density?

    python benchmarks/precision/density.py cases [--processes N] [--only TEXT] [--out FOLDER]
    python benchmarks/precision/density.py steps JOB ... [--device cuda] [--out FOLDER]
    python benchmarks/precision/density.py show

Ways: "accurate", the grid holds 2 G_cut; "grid r", it holds the sphere of r G_cut, and the density has all waves that
the grid tells apart, corners included (PREC = Normal is "grid 1.75"); "sphere r", the same grid, and the density has
the waves of the sphere alone (PREC = Normal was "sphere 1.5" once).

cases: crystals, molecules and atoms, forces, stress, and the same moved against the points of the grid; steps: seconds
per step of job folders.  Results: density.jsonl, density_steps.jsonl; show: density.md.
"""

import argparse
import dataclasses
import json
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ase import Atoms

from eigenwerk import dft
from eigenwerk.dft.basis import grids, plane_wave_basis
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.parallel.launch.choice import DeviceRequest
from eigenwerk.parallel.launch.environment import find_launch
from eigenwerk.parallel.launch.start import StartRequest, init_ranks
from eigenwerk.units import HARTREE_EV

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from vasp_folders import folder_or_job  # noqa: E402

WAYS = ("accurate", "grid 1.75", "sphere 1.75", "sphere 1.6", "sphere 1.5", "grid 1.6", "grid 1.5")
SHIFTS = (0.0, 0.15, 0.3, 0.5)
"""Of the distance of points of the wave grid, along three axes by 1, 0.7 and 0.4."""


def use(way: str) -> str:
    """Makes PREC = Normal mean a way; returns the PREC to ask for."""
    plane_wave_basis.told_apart = grids.told_apart
    if way == "accurate":
        return "Accurate"
    kind, radius = way.split()
    grids.PRECISION_FACTOR["Normal"] = float(radius)

    def chosen(structure: Any, index_gc: np.ndarray, size_c: tuple[int, int, int]) -> np.ndarray:
        apart_g = grids.told_apart(structure, index_gc, size_c)
        if kind == "sphere":  # what is listed is the sphere of 2 G_cut, whose last shell is all but full
            norm_g = np.linalg.norm(index_gc @ structure.reciprocal_cv, axis=1)
            apart_g &= norm_g <= float(radius) / grids.DENSITY_FACTOR * _reach(norm_g)
        return apart_g

    plane_wave_basis.told_apart = chosen
    return "Normal"


_cutoff_eV = 0.0


def _reach(norm_g: np.ndarray) -> float:
    """2 G_cut, bohr⁻¹."""
    return 2 * grids.sphere_radius(_cutoff_eV / HARTREE_EV) if _cutoff_eV else float(norm_g.max())


@dataclass(frozen=True)
class Case:
    """A structure with settings of `dft.run`; moved: against the grid, too."""

    name: str
    make: Callable[[], Atoms]
    settings: dict[str, Any] = field(default_factory=dict)
    moved: bool = False


FACES = [(0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0)]
MIDDLES = [(0.5, 0.5, 0.5), (0.5, 0, 0), (0, 0.5, 0), (0, 0, 0.5)]
QUARTERS = [(i, j, k) for i in (0.25, 0.75) for j in (0.25, 0.75) for k in (0.25, 0.75)]


def rattled(atoms: Atoms, most: float) -> Atoms:
    """Atoms moved by up to `most` Å along each axis."""
    atoms.positions += np.random.default_rng(0).uniform(-most, most, (len(atoms), 3))
    return atoms


def crystal(symbols: list[str], cell: Any, sites: list[Any], most: float = 0.0) -> Atoms:
    """Periodic, from fractional coordinates."""
    return rattled(Atoms(symbols, cell=cell, scaled_positions=sites, pbc=True), most)


def rocksalt(a: float, x: str, y: str, most: float = 0.05) -> Atoms:
    """The cubic cell."""
    return crystal([x] * 4 + [y] * 4, [a] * 3, FACES + MIDDLES, most)


def fluorite(a: float, x: str, y: str, most: float = 0.05) -> Atoms:
    """The cubic cell."""
    return crystal([x] * 4 + [y] * 8, [a] * 3, FACES + QUARTERS, most)


def rutile(a: float, c: float, u: float, x: str) -> Atoms:
    """The tetragonal cell of an oxide."""
    sites = [(0, 0, 0), (0.5, 0.5, 0.5), (u, u, 0), (-u, -u, 0), (0.5 + u, 0.5 - u, 0.5), (0.5 - u, 0.5 + u, 0.5)]
    return crystal([x] * 2 + ["O"] * 4, [a, a, c], sites, 0.05)


def molecule(symbols: Any, positions: list[Any], cell: Any = (6.0, 6.3, 7.0)) -> Atoms:
    """In a box."""
    return Atoms(symbols, cell=cell, positions=np.array(positions, dtype=float) + 0.11, pbc=True)


def chain(symbol: str, count: int, distance: float, cell: Any) -> Atoms:
    """Atoms along z."""
    return Atoms([symbol] * count, cell=cell, positions=[(0, 0, distance * n) for n in range(count)], pbc=True)


def primitive(x: str, y: str, a: float, there: float) -> Atoms:
    """Two atoms of a face-centred crystal."""
    return crystal([x, y], a / 2 * (np.ones((3, 3)) - np.eye(3)), [(0, 0, 0), (there, there, there)], 0.05)


def wurtzite() -> Atoms:
    """GaN."""
    sites = [(1 / 3, 2 / 3, 0), (2 / 3, 1 / 3, 0.5), (1 / 3, 2 / 3, 0.38), (2 / 3, 1 / 3, 0.87)]
    return crystal(["Ga", "Ga", "N", "N"], [[3.19, 0, 0], [-1.595, 2.7626, 0], [0, 0, 5.19]], sites, 0.05)


def layer() -> Atoms:
    """BN and 20 Å."""
    cell = [[2.51, 0, 0], [-1.255, 2.51 * 0.75**0.5, 0], [0, 0, 20]]
    return crystal(["B", "N"], cell, [(1 / 3, 2 / 3, 0.5), (2 / 3, 1 / 3, 0.5)])


def cases() -> Iterator[Case]:
    """All of them, those that take long first."""
    solid: dict[str, Any] = {"ismear": 0, "sigma": 0.05, "ediff": 1e-6}
    alone = solid | {"kpts": (1, 1, 1), "ispin": 2, "isif": 0}
    two, oxygen = {"kpts": (2, 2, 2), **solid}, {"encut": 400}
    yield Case("BN layer 800", layer, solid | {"encut": 800, "kpts": (4, 4, 1), "nbands": 14})
    yield Case("CaF2 12 400", lambda: fluorite(5.46, "Ca", "F"), two | oxygen)
    yield Case("CeO2 12 400", lambda: fluorite(5.41, "Ce", "O"), two | oxygen)
    yield Case("TiN 8 400", lambda: rocksalt(4.24, "Ti", "N"), two | oxygen | {"ismear": 1, "sigma": 0.2})
    yield Case("NiO antiferromagnetic 8 400", lambda: rocksalt(4.17, "Ni", "O", 0.0),
               two | oxygen | {"ispin": 2, "magmom": [2, 2, -2, -2, 0, 0, 0, 0]})  # fmt: skip
    for cutoff in (300, 400, 520):
        yield Case(f"MgO 8 {cutoff}", lambda: rocksalt(4.21, "Mg", "O", 0.08), two | {"encut": cutoff}, cutoff == 400)
    yield Case("TiO2 6 400", lambda: rutile(4.594, 2.958, 0.305, "Ti"), two | oxygen)
    yield Case("SiO2 stishovite 6 400", lambda: rutile(4.18, 2.67, 0.306, "Si"), two | oxygen)
    yield Case("LiF 8 400", lambda: rocksalt(4.03, "Li", "F"), two | oxygen, True)
    yield Case("GaN 4 400", wurtzite, two | oxygen)
    yield Case("MgO primitive 400", lambda: primitive("Mg", "O", 4.21, 0.5), two | oxygen, True)
    yield Case("C primitive 400", lambda: primitive("C", "C", 3.567, 0.25), two | oxygen)
    yield Case("Si primitive 250", lambda: primitive("Si", "Si", 5.43, 0.25), two | {"encut": 250})
    yield Case("Fe 400", lambda: crystal(["Fe"], 1.43 * (np.ones((3, 3)) - 2 * np.eye(3)), [(0, 0, 0)]),
               {"encut": 400, "kpts": (5, 5, 5), "ispin": 2, "magmom": [2.5], "ismear": 1, "sigma": 0.2})  # fmt: skip
    for cutoff in (400, 520):
        water = [(0, 0, 0), (0, 0.76, 0.59), (0, -0.76, 0.59)]
        yield Case(f"O {cutoff}", lambda: molecule("O", [(0, 0, 0)]), alone | {"encut": cutoff, "magmom": [2]})
        yield Case(f"HF {cutoff}", lambda: molecule("HF", [(0, 0, 0), (0, 0, 0.92)]), alone | {"encut": cutoff})
        yield Case(f"H2O {cutoff}", lambda at=water: molecule("OH2", at), alone | {"encut": cutoff}, cutoff == 400)
    pairs = (("Be", "F", 1.36, [1, 0]), ("Mg", "F", 1.75, [1, 0]), ("Ca", "F", 1.97, [1, 0]), ("B", "O", 1.2, [1, 0]),
             ("N", "O", 1.15, [1, 0]), ("O", "O", 1.22, [1, 1]), ("N", "N", 1.1, [0, 0]))  # fmt: skip
    for x, y, distance, magmom in pairs:
        yield Case(f"{x}{y} 400", lambda x=x, y=y, d=distance: molecule([x, y], [(0, 0, 0), (0, 0, d)]),
                   alone | oxygen | {"magmom": magmom, "isym": 0}, x == "Mg")  # fmt: skip
    for cutoff in (250, 300, 400):
        yield Case(f"H2 at 4 Å, antiferromagnetic {cutoff}", lambda: chain("H", 2, 4.0, [6, 6, 8]),
                   alone | {"encut": cutoff, "magmom": [1, -1]})  # fmt: skip
    yield Case("H2 at 4 Å, ferromagnetic 300", lambda: chain("H", 2, 4.0, [6, 6, 8]),
               alone | {"encut": 300, "magmom": [1, 1]})  # fmt: skip
    yield Case("Li2 at 6 Å, antiferromagnetic 300", lambda: chain("Li", 2, 6.0, [7, 7, 12]),
               alone | {"encut": 300, "magmom": [1, -1]})  # fmt: skip
    yield Case("H4 chain, antiferromagnetic 300", lambda: chain("H", 4, 2.5, [6, 6, 10]),
               alone | {"encut": 300, "magmom": [1, -1, 1, -1]})  # fmt: skip


def measure(work: tuple[str, str]) -> dict[str, Any]:
    """One case by one way."""
    global _cutoff_eV
    warnings.simplefilter("ignore")
    name, way = work
    case = next(one for one in cases() if one.name == name)
    settings, word = dict(case.settings), use(way.removesuffix(" 1200 eV"))
    if way.endswith("1200 eV"):
        settings["encut"] = 1200
    _cutoff_eV = settings["encut"]
    steps: list[Any] = []
    began, atoms = time.perf_counter(), case.make()
    run = dft.run(atoms, prec=word, device="cpu", threads=1, on_step=steps.append, **settings)
    found = {
        "case": name, "way": way, "atoms": len(atoms), "converged": run.converged, "steps": len(steps),
        "energy": run.free_energy_eV, "forces": rounded(run.forces_eV_per_A), "stress": rounded(run.stress_GPa),
        "levels": rounded(run.eigenvalues_eV[0, 0]), "seconds": round(time.perf_counter() - began, 2),
    }  # fmt: skip
    if case.moved and way.split()[0] in ("accurate", "grid", "sphere"):
        size = run.state.system.basis.grids.wave[0]
        found["moved"] = [[0.0, run.free_energy_eV, rounded(run.forces_eV_per_A.sum(0))]]
        for shift in SHIFTS[1:]:
            there = case.make()
            there.positions += shift * np.array([1, 0.7, 0.4]) * there.cell.lengths()[0] / size
            one = dft.run(there, prec=word, device="cpu", threads=1, **settings)
            found["moved"].append([shift, one.free_energy_eV, rounded(one.forces_eV_per_A.sum(0))])
    return found


def rounded(value: Any) -> Any:
    """For the file."""
    return None if value is None else np.round(np.asarray(value, dtype=float), 6).tolist()


def steps_of(folder: Path, way: str, runtime: Any, most: int = 25) -> dict[str, Any]:
    """A job folder by one way."""
    global _cutoff_eV
    word = use(way)
    inputs = read_inputs(folder, "/nowhere")
    inputs.raise_on_errors()
    _cutoff_eV = inputs.parameters.cutoff * HARTREE_EV
    datasets = {symbol: read_paw_xml(file) for symbol, file in inputs.datasets.items()}
    parameters = dataclasses.replace(inputs.parameters, max_steps=most, precision=word, wave_grid=None, fine_grid=None)
    calculation = Calculation(inputs.structure, inputs.kpoints, parameters, datasets, runtime)
    marks, energies = [], []

    def meter(step: Any, state: Any) -> None:
        if runtime.device.type == "cuda":
            torch.cuda.synchronize()
        marks.append(time.perf_counter())
        energies.append(step.energies.free * HARTREE_EV)

    calculation.run(meter)
    basis = calculation.atoms.basis
    return {
        "job": folder.name, "way": way, "atoms": len(inputs.structure.symbols), "grid": basis.grids.wave,
        "density_waves": basis.density_count, "steps": len(marks), "energy": energies[-1],
        "seconds_per_step": round(float(np.median(np.diff(marks)[1:])), 4),
        "device": torch.cuda.get_device_name() if runtime.device.type == "cuda" else platform.processor(),
    }  # fmt: skip


def show() -> None:
    """Tables of density.jsonl and density_steps.jsonl."""
    rows = [json.loads(line) for line in (HERE / "density.jsonl").read_text().splitlines()]
    whole = {row["case"]: row for row in rows if row["way"] == "accurate"}
    lines = [
        "# How much of the density a grid must hold\n", __doc__.split("Ways: ")[1].split("\n\ncases:")[0] + "\n",
        "## Energies, forces, stress\n",
        "Energy less that of `accurate`, meV per atom; largest difference of a force, meV/Å; of stress, GPa; steps.\n",
    ]  # fmt: skip
    ways = [way for way in WAYS if way != "accurate"]
    lines += ["| case | " + " | ".join(ways) + " | steps, accurate |", "|---" * (len(ways) + 2) + "|"]
    for name, ref in whole.items():
        cells = [_cell(ref, next((r for r in rows if (r["case"], r["way"]) == (name, way)), None)) for way in ways]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {ref['steps']} |")
    lines += ["\n## Moved against the grid\n", "Spread of the energy, meV per cell; largest net force, meV/Å.\n",
              "| case | " + " | ".join(WAYS) + " |", "|---" * (len(WAYS) + 1) + "|"]  # fmt: skip
    for name in whole:
        found = {row["way"]: row["moved"] for row in rows if row["case"] == name and "moved" in row}
        if found:
            cells = [_moved(found[way]) if way in found else "" for way in WAYS]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    layers = {row["way"]: np.array(row["levels"]) for row in rows if row["case"].startswith("BN")}
    ref = layers["accurate 1200 eV"]
    lines += ["\n## Nearly free states of a BN layer\n", "Levels 5 to 12 at Γ, 20 Å, ENCUT = 800 eV, less those of "
              "`accurate` at 1200 eV, meV.\n", "| way | " + " | ".join(map(str, range(5, 13))) + " |",
              "|---" * 9 + "|"]  # fmt: skip
    lines += [f"| {way} | " + " | ".join(f"{x:.0f}" for x in 1e3 * (layers[way] - ref)[4:12]) + " |"
              for way in WAYS if way in layers]  # fmt: skip
    steps = [json.loads(line) for line in (HERE / "density_steps.jsonl").read_text().splitlines()]
    zero = {row["job"]: row["energy"] for row in steps if row["way"] == "accurate"}
    lines += ["\n## Seconds per step\n", "| job | way | wave grid | waves of the density | s per step | meV per atom |",
              "|---|---|---|---|---|---|"]  # fmt: skip
    lines += [f"| {r['job']} | {r['way']} | {' '.join(map(str, r['grid']))} | {r['density_waves']} | "
              f"{r['seconds_per_step']:.3f} | {1e3 * (r['energy'] - zero[r['job']]) / r['atoms']:.2f} |"
              for r in steps]  # fmt: skip
    lines.append(f"\n{steps[0]['device']}; PyTorch {steps[0].get('torch', '')}; {rows[0].get('date', '')}.")
    (HERE / "density.md").write_text("\n".join(lines) + "\n")


def _cell(ref: dict[str, Any], row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    text = f"{1e3 * (row['energy'] - ref['energy']) / ref['atoms']:.2f}"
    if row["forces"] is not None:
        text += f", {1e3 * np.abs(np.array(row['forces']) - ref['forces']).max():.1f}"
    if row["stress"] is not None:
        text += f", {np.abs(np.array(row['stress']) - ref['stress']).max():.3f}"
    return text + (f", {row['steps']}" if row["converged"] else f", not in {row['steps']}")


def _moved(found: list[Any]) -> str:
    energies = [energy for _, energy, _ in found]
    net = max(np.linalg.norm(force) for _, _, force in found)
    return f"{1e3 * (max(energies) - min(energies)):.3f}, {1e3 * net:.1f}"


def main() -> None:
    """Measures or shows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("cases", "steps", "show"))
    parser.add_argument("folders", nargs="*", type=folder_or_job, metavar="FOLDER or JOB")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args()
    about = {"date": date.today().isoformat(), "torch": torch.__version__, "eigenwerk": dft.__name__.partition(".")[0]}
    if options.what == "show":
        show()
    elif options.what == "cases":
        work = [(case.name, way) for case in cases() if options.only in case.name for way in WAYS]
        work += [("BN layer 800", "accurate 1200 eV")] if options.only in "BN layer 800" else []
        with get_context("spawn").Pool(options.processes) as pool, (options.out / "density.jsonl").open("a") as file:
            for found in pool.imap_unordered(measure, work):
                print(json.dumps(found | about), file=file, flush=True)
    else:
        with init_ranks(find_launch(), lambda: StartRequest(DeviceRequest(options.device))) as team:
            for folder in options.folders:
                for way in (WAYS[1], WAYS[4], WAYS[0], WAYS[1]):
                    with (options.out / "density_steps.jsonl").open("a") as file:
                        found = steps_of(folder, way, team.runtime)
                        print(json.dumps(found | about), file=file, flush=True)
                        print(found, flush=True)


if __name__ == "__main__":
    main()
