"""Seconds per step of Born-Oppenheimer dynamics beside GPAW with ASE and Quantum ESPRESSO's own dynamics.

    python benchmarks/moving/peers.py --gpaw PYTHON [--cores 2] [--steps 12] [--only si8 ...] [--rounds 1]

The same atoms start at rest from displaced places, the same cutoff, k-points, bands, time step; energies converged to
1e-5 eV in each code's own way, its defaults for all that concerns the way from step to step.  Time: from the third
point to the last, over the steps between them, so that start-up and the first points are left out.  Quantum ESPRESSO
has other data sets (SSSP) and a density cutoff of four times the cutoff.  Run it where nothing else runs.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk, molecule

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from entries import changing, load  # noqa: E402

RESULTS, PAGE = HERE / "peers.json", HERE / "peers.md"
DATA = {"Si": "sssp_pbe_precision_1.3.0_upf/Si.upf", "O": "sssp_pbe_precision_1.3.0_upf/O.upf",
        "H": "jth_paw_sr_pbe_1.1_upf/H_std.upf"}  # fmt: skip
RYDBERG_EV, RYDBERG_TIME_FS, BUILD = 13.605693122994, 4.8377687e-2, Path("build/moving_peers")
TOLERANCE, FIRST = 1e-5, 2


def waters() -> Atoms:
    """Eight molecules on a lattice, turned at random, at the density of water."""
    rng, edge = np.random.default_rng(3), 6.21
    atoms = Atoms(cell=[edge] * 3, pbc=True)
    for corner in np.ndindex(2, 2, 2):
        one = molecule("H2O")
        one.rotate(360 * rng.random(), "z")
        one.rotate(180 * rng.random(), "x")
        one.translate((np.array(corner) + 0.25) * edge / 2 - one.get_center_of_mass())
        atoms += one
    return atoms[np.argsort(atoms.numbers, kind="stable")]


def cases() -> dict[str, tuple[Atoms, float, tuple[int, int, int], float, int]]:
    """Atoms, cutoff (eV), mesh, time step (fs), bands."""
    silicon = bulk("Si", cubic=True)
    silicon.rattle(0.1, seed=1)
    return {"si8": (silicon, 250.0, (2, 2, 2), 1.0, 20), "water8": (waters(), 400.0, (1, 1, 1), 0.5, 36)}


def own(name: str, steps: int, cores: int) -> dict[str, Any]:
    """By the command."""
    atoms, cutoff, mesh, step, bands = cases()[name]
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    atoms.write(folder / "POSCAR", format="vasp", direct=True)
    (folder / "KPOINTS").write_text("mesh\n0\nGamma\n" + " ".join(map(str, mesh)) + "\n")
    tags = {"ENCUT": cutoff, "NBANDS": bands, "ISMEAR": -1, "SIGMA": 0.05, "EDIFF": TOLERANCE, "NSW": steps,
            "IBRION": 0, "POTIM": step, "TEBEG": 0, "LWAVE": "F", "LCHARG": "F"}  # fmt: skip
    (folder / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in tags.items()))
    command = [sys.executable, "-m", "eigenwerk.cli.main", "run", str(folder), "--json", "--no-plot"]
    done = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": str(cores)}, capture_output=True, text=True)
    found = json.loads(done.stdout)["motion"]["steps"]
    moments = np.cumsum([one["seconds"] for one in found])
    return {"per_step": _per_step(moments.tolist()), "scf_steps": [one["scf_steps"] for one in found],
            "whole": float(moments[-1])}  # fmt: skip


GPAW_SCRIPT = """
import json, sys, time
from ase.io import read
from ase.md.verlet import VelocityVerlet
from ase.units import fs
from gpaw import GPAW, PW, FermiDirac
folder, cutoff, mesh, step, bands, steps, tolerance = json.loads(sys.argv[1])
atoms = read(folder + "/POSCAR")
electrons = sum({"Si": 4, "O": 6, "H": 1}[s] for s in atoms.get_chemical_symbols())
atoms.calc = GPAW(mode=PW(cutoff), xc="PBE", kpts={"size": mesh, "gamma": True}, nbands=bands,
                  occupations=FermiDirac(0.05), txt=folder + "/gpaw.txt", symmetry={"point_group": False},
                  convergence={"energy": tolerance / electrons, "density": 1.0, "eigenstates": 1e6})
moments = []
atoms.get_forces()
moments.append(time.perf_counter())
dynamics = VelocityVerlet(atoms, timestep=step * fs)
dynamics.attach(lambda: moments.append(time.perf_counter()))
dynamics.run(steps - 1)
from gpaw.mpi import world
if world.rank == 0:
    print("MOMENTS", json.dumps([m - moments[0] for m in moments]))
"""


def gpaw(name: str, steps: int, cores: int, python: str) -> dict[str, Any]:
    """GPAW with ASE's velocity Verlet, on MPI ranks where it has MPI."""
    _, cutoff, mesh, step, bands = cases()[name]
    words = [str(BUILD / name), cutoff, mesh, step, bands, steps, TOLERANCE]
    script = BUILD / "md_gpaw.py"
    script.write_text(GPAW_SCRIPT)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    command = [python, str(script), json.dumps(words)]
    probe = subprocess.run([python, "-c", "import _gpaw; print(hasattr(_gpaw, 'Communicator'))"],
                           capture_output=True, text=True, env=environment)  # fmt: skip
    parallel = "True" in probe.stdout
    if parallel:
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(cores), *command]
    else:
        environment["OMP_NUM_THREADS"] = str(cores)
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    found = re.search(r"MOMENTS (.*)", done.stdout)
    if found is None:
        return {"failed": done.stderr[-500:]}
    return {"per_step": _per_step(json.loads(found[1])), "ranks": cores if parallel else 1}


def espresso(name: str, steps: int, cores: int, data: Path) -> dict[str, Any]:
    """pw.x with calculation = 'md'."""
    atoms, cutoff, mesh, step, bands = cases()[name]
    folder = BUILD / f"{name}_qe"
    folder.mkdir(parents=True, exist_ok=True)
    species = list(dict.fromkeys(atoms.get_chemical_symbols()))
    for symbol in species:
        (folder / f"{symbol}.upf").write_bytes(gzip.decompress((data / f"{DATA[symbol]}.gz").read_bytes()))
    rydberg = cutoff / RYDBERG_EV
    points = "gamma" if mesh == (1, 1, 1) else "automatic\n" + " ".join(map(str, mesh)) + " 0 0 0"
    masses = dict(zip(atoms.get_chemical_symbols(), atoms.get_masses(), strict=True))
    lines = ["&control", " calculation='md', prefix='x', outdir='.', pseudo_dir='.', disk_io='none',",
             f" nstep={steps}, dt={step / RYDBERG_TIME_FS:.6f}", "/", "&system",
             f" ibrav=0, nat={len(atoms)}, ntyp={len(species)}, nbnd={bands}, ecutwfc={rydberg!r},",
             f" ecutrho={4 * rydberg!r}, occupations='smearing', smearing='fd', degauss={0.05 / RYDBERG_EV!r},",
             " nosym=.true.", "/", "&electrons", f" conv_thr={TOLERANCE / RYDBERG_EV!r}", "/", "&ions",
             " ion_dynamics='verlet', pot_extrapolation='second_order', wfc_extrapolation='second_order'", "/",
             "ATOMIC_SPECIES", *(f"{s} {masses[s]} {s}.upf" for s in species), "CELL_PARAMETERS angstrom",
             *(" ".join(map(repr, map(float, row))) for row in atoms.cell), "ATOMIC_POSITIONS angstrom",
             *(" ".join([s, *map(repr, map(float, x))]) for s, x in
               zip(atoms.get_chemical_symbols(), atoms.positions, strict=True)), f"K_POINTS {points}", ""]  # fmt: skip
    (folder / "x.in").write_text("\n".join(lines))
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(cores), "pw.x", "-in", "x.in"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    times = [float(x) for x in re.findall(r"total cpu time spent up to now is\s+(\S+) secs", done.stdout)]
    ends = [m.start() for m in re.finditer(r"Forces acting on atoms", done.stdout)]
    spent = [(m.start(), float(m[1])) for m in re.finditer(r"spent up to now is\s+(\S+) secs", done.stdout)]
    moments = [max(t for place, t in spent if place < end) for end in ends if any(place < end for place, _ in spent)]
    if len(moments) <= FIRST + 1:
        return {"failed": done.stdout[-500:] + done.stderr[-300:], "times": times[-3:]}
    return {"per_step": _per_step(moments), "clock": "processor time of one rank at the last step of each point"}


def _per_step(moments: list[float]) -> float:
    """From the third point to the last."""
    return (moments[-1] - moments[FIRST]) / (len(moments) - 1 - FIRST)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpaw", required=True)
    parser.add_argument("--data", type=Path, default=HERE.parents[2] / "shared/reference/pseudo")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(cases()))
    given = parser.parse_args()
    for number in range(given.rounds):
        for name in given.only:
            found = {
                "eigenwerk": own(name, given.steps, given.cores),
                "gpaw": gpaw(name, given.steps, given.cores, given.gpaw),
                "espresso": espresso(name, given.steps, given.cores, given.data),
                "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d"), "cores": given.cores,
            }  # fmt: skip
            with changing(RESULTS) as entries:
                entries.setdefault(name, []).append(found)
            shown = {k: v.get("per_step", v) for k, v in found.items() if isinstance(v, dict)}
            print(f"round {number + 1} {name}: {shown}", flush=True)
    PAGE.write_text(table(load(RESULTS)), encoding="utf-8")


def table(results: dict[str, Any]) -> str:
    """The page: medians."""
    lines = ["# Seconds per step of dynamics", "", "Medians of the rounds; energies converged to 1e-5 eV.", "",
             "| system | eigenwerk | GPAW + ASE | Quantum ESPRESSO | rounds, cores, date |", "|---|---|---|---|---|"]
    for name, rounds in results.items():
        cells = []
        for code in ("eigenwerk", "gpaw", "espresso"):
            values = [one[code]["per_step"] for one in rounds if "per_step" in one[code]]
            cells.append(f"{np.median(values):.3f}" if values else "failed")
        about = f"{len(rounds)}, {rounds[-1]['cores']}, {rounds[-1]['date']}"
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {about} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
