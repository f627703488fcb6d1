"""HSE06 of cubic silicon and MgO beside GPAW and Quantum ESPRESSO: whole commands on two cores.

    python benchmarks/hybrids/rivals.py accuracy --gpaw PYTHON       what the cutoffs are worth
    python benchmarks/hybrids/rivals.py run --gpaw PYTHON [--rounds 3] [--only si8] [--codes eigenwerk espresso]
    python benchmarks/hybrids/rivals.py table                        rivals.md

PYTHON: of GPAW with MPI.  All converge the energy to 1e-5 eV, each by its own criterion, from its own start; ours and
Quantum ESPRESSO make forces too, GPAW energies and levels alone.
eigenwerk: two threads.  GPAW: the same data sets and cutoff, two ranks.  Quantum ESPRESSO: norm-conserving data
(PseudoDojo), ACE, two pools, with exchange on its default grid (ecutfock = 4 ecutwfc) and on the smallest, espresso_1
(ecutfock = ecutwfc), which changes 2 % of the edge of silicon by 1e-4 meV per atom and gaps by less than 0.1 meV.

Equal accuracy: each at a cutoff at which E(a + 2 %) - E(a) is right to about 1 meV per atom and the gap to 10 meV, by
PBE at a much higher one (`accuracy`).  Rounds alternate the codes; load is the machine's before each run.
"""

import argparse
import gzip
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "peers"), str(HERE.parent)]
from compare import rival_blas  # noqa: E402
from entries import changing, load  # noqa: E402

RESULTS, BUILD = HERE / "rivals.json", HERE.parents[1] / "build" / "rivals"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
RYDBERG_EV, HARTREE_EV, TOLERANCE = 13.605693122994, 27.211386245988, 1e-5
DATA = "dojo_nc_sr_pbe_0.4.1_standard_upf"

FCC = [(0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0)]
CELLS = {
    # symbols of the two sublattices, shift of the second, edge (Å), electrons of our data and of Quantum ESPRESSO's,
    # cutoffs (eV): ours and GPAW's, Quantum ESPRESSO's (PseudoDojo, normal); empty bands
    "si8": (("Si", "Si"), (0.25, 0.25, 0.25), 5.43, (32, 32), (220, 340), 4),
    "mgo8": (("Mg", "O"), (0.5, 0.5, 0.5), 4.21, (64, 64), (600, 42 * HARTREE_EV), 8),
}
MESH, REFERENCE = 2, 1.6
"""Gamma-centred, along each axis; factor of the cutoff that counts as converged."""


def atoms_of(name: str) -> tuple[list[str], list[tuple[float, ...]]]:
    """Symbols and fractional places, elements together."""
    (first, second), shift, *_ = CELLS[name]
    moved = [tuple((x + d) % 1 for x, d in zip(site, shift, strict=True)) for site in FCC]
    return [first] * 4 + [second] * 4, [*FCC, *moved]


def eigenwerk(name: str, functional: str, cutoff: float, stretch: float, given: argparse.Namespace) -> dict[str, Any]:
    """The command, as users start it."""
    symbols, sites = atoms_of(name)
    edge, (electrons, _), empty = CELLS[name][2] * (1 + stretch), CELLS[name][3], CELLS[name][5]
    folder = BUILD / name / "eigenwerk"
    folder.mkdir(parents=True, exist_ok=True)
    kinds = list(dict.fromkeys(symbols))
    cell = [f"{edge} 0 0", f"0 {edge} 0", f"0 0 {edge}"]
    places = [" ".join(map(str, site)) for site in sites]
    counts = " ".join(str(symbols.count(kind)) for kind in kinds)
    (folder / "POSCAR").write_text("\n".join([name, "1.0", *cell, " ".join(kinds), counts, "Direct", *places, ""]))
    (folder / "KPOINTS").write_text(f"mesh\n0\nGamma\n{MESH} {MESH} {MESH}\n")
    tags = {"ENCUT": cutoff, "NBANDS": electrons // 2 + empty, "ISMEAR": 0, "SIGMA": 0.05, "EDIFF": TOLERANCE,
            "LWAVE": "F", "LCHARG": "F", "ISIF": 0}  # fmt: skip
    tags |= {"LHFCALC": "T", "HFSCREEN": 0.11 / 0.529177210903} if functional == "HSE06" else {}
    (folder / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in tags.items()))
    for old in folder.glob("eigenwerk.h5"):
        old.unlink()
    command = [sys.executable, "-m", "eigenwerk.cli.main", "run", str(folder), "--json", "--no-plot"]
    done, used = timed(command, os.environ | {"OMP_NUM_THREADS": "2"}, folder)
    found = json.loads(done)
    return used | {"energy_eV": found["energies_eV"]["free"], "gap_eV": found["gap_eV"]["gap"],
                   "steps": len(found["steps"]), "inside": found["seconds"]}  # fmt: skip


GPAW_SCRIPT = """
import json, sys
from ase import Atoms
from gpaw.new.ase_interface import GPAW
from gpaw.mpi import world
symbols, sites, edge, functional, cutoff, mesh, bands, electrons, tolerance = json.loads(sys.argv[1])
atoms = Atoms(symbols, cell=[edge] * 3, scaled_positions=sites, pbc=True)
atoms.calc = GPAW(mode={"name": "pw", "ecut": cutoff}, xc=functional, kpts={"size": [mesh] * 3, "gamma": True},
                  nbands=bands, occupations={"name": "fermi-dirac", "width": 0.05}, txt="gpaw.txt",
                  convergence={"energy": tolerance / electrons, "density": 1.0, "eigenstates": 1e6})
atoms.get_potential_energy()
energy, filled, calc = atoms.get_potential_energy(force_consistent=True), electrons // 2, atoms.calc
levels = [calc.get_eigenvalues(k) for k in range(len(calc.get_ibz_k_points()))]
if world.rank == 0:
    gap = min(x[filled] for x in levels) - max(x[filled - 1] for x in levels)
    print("FOUND", json.dumps({"energy_eV": energy, "gap_eV": gap}))
"""


def gpaw(name: str, functional: str, cutoff: float, stretch: float, given: argparse.Namespace) -> dict[str, Any]:
    """Plane waves; the energy criterion alone."""
    symbols, sites = atoms_of(name)
    electrons = CELLS[name][3][0]
    folder = BUILD / name / "gpaw"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.py").write_text(GPAW_SCRIPT)
    words = [symbols, sites, CELLS[name][2] * (1 + stretch), functional, cutoff, MESH, electrons // 2 + CELLS[name][5],
             electrons, TOLERANCE]  # fmt: skip
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GPAW_MPI_BACKEND": "cgpaw"} | rival_blas()
    environment.pop("PYTHONPATH", None)
    done, used = timed([*MPIRUN, given.gpaw, "run.py", json.dumps(words)], environment, folder)
    text = (folder / "gpaw.txt").read_text()
    found = re.search(r"FOUND (.*)", done)
    assert found is not None, done[-2000:]
    return used | json.loads(found[1]) | {"steps": len(re.findall(r"^\|?iter:", text, re.M))}


def espresso(
    name: str, functional: str, cutoff: float, stretch: float, given: argparse.Namespace, fock: float = 4.0
) -> dict[str, Any]:
    """pw.x with ACE (its default)."""
    symbols, sites = atoms_of(name)
    edge, rydberg = CELLS[name][2] * (1 + stretch), cutoff / RYDBERG_EV
    folder = BUILD / name / "espresso"
    folder.mkdir(parents=True, exist_ok=True)
    kinds = list(dict.fromkeys(symbols))
    for kind in kinds:
        (folder / f"{kind}.upf").write_bytes(gzip.decompress((given.data / DATA / f"{kind}.upf.gz").read_bytes()))
    exchange = [f" input_dft='hse', screening_parameter=0.11, ecutfock={fock * rydberg!r},",
                f" nqx1={MESH}, nqx2={MESH}, nqx3={MESH}, exxdiv_treatment='none', x_gamma_extrapolation=.false.,"]
    lines = [
        "&control", " calculation='scf', prefix='x', outdir='.', pseudo_dir='.', disk_io='low', tprnfor=.true.", "/",
        "&system", f" ibrav=0, nat=8, ntyp={len(kinds)}, ecutwfc={rydberg!r}, occupations='fixed',",
        f" nbnd={_bands_of(name, 1)},", *(exchange if functional == "HSE06" else []), "/",
        "&electrons", f" conv_thr={TOLERANCE / RYDBERG_EV!r}, electron_maxstep=100", "/",
        "ATOMIC_SPECIES", *(f"{kind} 1.0 {kind}.upf" for kind in kinds), "CELL_PARAMETERS angstrom",
        f"{edge} 0 0", f"0 {edge} 0", f"0 0 {edge}", "ATOMIC_POSITIONS crystal",
        *(" ".join([symbol, *map(repr, site)]) for symbol, site in zip(symbols, sites, strict=True)),
        f"K_POINTS automatic\n{MESH} {MESH} {MESH} 0 0 0", "",
    ]  # fmt: skip
    (folder / "x.in").write_text("\n".join(lines))
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | rival_blas()
    done, used = timed([*MPIRUN, "pw.x", "-nk", "2", "-in", "x.in"], environment, folder)
    energy = re.findall(r"^!+\s+total energy\s+=\s+(\S+) Ry", done, re.M)[-1]
    top, bottom = re.findall(r"highest occupied, lowest unoccupied level \(ev\):\s+(\S+)\s+(\S+)", done)[-1]
    return used | {"energy_eV": float(energy) * RYDBERG_EV, "gap_eV": float(bottom) - float(top),
                   "steps": len(re.findall(r"^!?\s+total energy\s+=", done, re.M)),
                   "outer_steps": len(re.findall(r"est. exchange err", done))}  # fmt: skip


CODES: dict[str, tuple[Callable[..., dict[str, Any]], int]] = {
    "eigenwerk": (eigenwerk, 0), "gpaw": (gpaw, 0), "espresso_1": (partial(espresso, fock=1.0), 1),
    "espresso": (espresso, 1),
}  # fmt: skip
"""How each runs, and which of the cutoffs is its own."""


def _bands_of(name: str, which: int) -> int:
    return CELLS[name][3][which] // 2 + CELLS[name][5]


def timed(command: list[str], environment: dict[str, str], folder: Path) -> tuple[str, dict[str, float]]:
    """What it prints; seconds by the clock and of processors, and the load before."""
    before, used = os.getloadavg()[0], _cpu_seconds()
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    wall = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout, {"wall": wall, "cpu": _cpu_seconds() - used, "load": before}


def _cpu_seconds() -> float:
    """Processor time of all runs so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def accuracy(given: argparse.Namespace) -> None:
    """By PBE: energy of 2 % of the edge, and gap, at the cutoff and at a high one."""
    for name in given.only:
        for code in given.codes:
            if code == "espresso_1":  # PBE knows no exchange grid
                continue
            solve, which = CODES[code]
            found = {}
            for label, factor in (("own", 1.0), ("high", REFERENCE)):
                cutoff = CELLS[name][4][which] * factor
                plain, long = (solve(name, "PBE", cutoff, stretch, given) for stretch in (0.0, 0.02))
                found[label] = {"cutoff_eV": cutoff, "gap_eV": plain["gap_eV"],
                                "stretch_meV": 1e3 * (long["energy_eV"] - plain["energy_eV"]) / 8}  # fmt: skip
            found["error"] = {key: found["own"][key] - found["high"][key] for key in ("stretch_meV", "gap_eV")}
            with changing(RESULTS) as entries:
                entries.setdefault(name, {}).setdefault("accuracy", {})[code] = found
            print(name, code, found["error"], flush=True)


def run(given: argparse.Namespace) -> None:
    """Rounds, the codes in turn."""
    for number in range(given.rounds):
        for name in given.only:
            for code in given.codes:
                solve, which = CODES[code]
                found = solve(name, "HSE06", CELLS[name][4][which], 0.0, given)
                found |= {"round": given.first + number, "date": time.strftime("%Y-%m-%d"), "machine": _machine()}
                with changing(RESULTS) as entries:
                    entries.setdefault(name, {}).setdefault("runs", {}).setdefault(code, []).append(found)
                print(number, name, code, {key: found[key] for key in ("wall", "cpu", "load", "gap_eV")}, flush=True)


def _machine() -> str:
    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores"


def page(results: dict[str, Any]) -> str:
    """The table, medians."""
    lines = [
        "# HSE06 beside GPAW and Quantum ESPRESSO on two cores", "",
        "Whole commands, medians: seconds by the clock and of processors (user and system), both also in units of "
        "ours; load of the machine before the run.  Errors: of the cutoff, by PBE (rivals.py).", "",
        "| cell | code | cutoff eV | clock s | processor s | times ours (clock, processor) | load | steps | gap eV | "
        "error, 2 % of edge, meV/atom | error, gap, meV | runs | machine, date |", "|---" * 13 + "|",
    ]  # fmt: skip
    for name, entry in results.items():
        runs = entry.get("runs", {})
        if "eigenwerk" not in runs:
            continue
        own = {key: median(one[key] for one in runs["eigenwerk"]) for key in ("wall", "cpu")}
        for code, done in runs.items():
            middle = {key: median(one[key] for one in done) for key in ("wall", "cpu", "load", "steps", "gap_eV")}
            known = entry.get("accuracy", {}).get(code.removesuffix("_1"), {})
            error = known.get("error", {"stretch_meV": float("nan"), "gap_eV": float("nan")})
            cutoff = CELLS[name][4][CODES[code][1]]
            lines.append(
                f"| {name} | {code} | {cutoff:.0f} | {middle['wall']:.1f} | {middle['cpu']:.1f} | "
                f"{middle['wall'] / own['wall']:.2f}, {middle['cpu'] / own['cpu']:.2f} | {middle['load']:.1f} | "
                f"{middle['steps']:.0f} | {middle['gap_eV']:.3f} | {error['stretch_meV']:.2f} | "
                f"{1e3 * error['gap_eV']:.1f} | {len(done)} | {done[-1]['machine']}, {done[-1]['date']} |"
            )
    return "\n".join([*lines, ""])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("accuracy", "run", "table"))
    parser.add_argument("--gpaw", default="gpaw-python")
    parser.add_argument("--data", type=Path, default=HERE.parents[2] / "shared/reference/pseudo")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    parser.add_argument("--only", nargs="*", default=list(CELLS))
    parser.add_argument("--codes", nargs="*", default=list(CODES))
    given = parser.parse_args()
    {"accuracy": accuracy, "run": run, "table": lambda _: None}[given.what](given)
    RESULTS.with_suffix(".md").write_text(page(load(RESULTS)), encoding="utf-8")


if __name__ == "__main__":
    main()
