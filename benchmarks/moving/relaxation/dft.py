"""Relaxations on this package's own density functionals: our optimiser and those of ASE, on the same surface.

    python benchmarks/moving/relaxation/dft.py run -j 15 --stop-after 560  # what is missing in dft.json, longest first
    python benchmarks/moving/relaxation/dft.py run --only H2O "Si 8" --again     # these, again
    python benchmarks/moving/relaxation/dft.py run --who ours                    # our optimiser alone
    python benchmarks/moving/relaxation/dft.py run --who "ours, EDIFF alone"     # other accuracies of self-consistency
    python benchmarks/moving/relaxation/dft.py table                             # dft.md
    python benchmarks/moving/relaxation/dft.py accuracy --json benchmarks/moving/relaxation/accuracy.json

At rest: every force below 10 meV/Å and, where the cell moves, every component of the stress below 0.5 kbar; the same
test for all, of every point that they compute.  Every point begins where those before predict it (as in `eigenwerk
run`).  Plane waves and grids stay those of the start.  Every run has one
thread and a process of its own; results are kept as soon as they are there.  An optimiser of ASE is stopped after more
than twice the points of the best one known by then, and 20.

On a machine without network: bash benchmarks/device/prepare.sh where there is one, then `PYTHONPATH=src:.device/site
python3 ...` there with `--json FILE`, and `python benchmarks/entries.py benchmarks/moving/relaxation/dft.json
FILE` here.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1]), str(HERE.parents[2] / "src")]
warnings.filterwarnings("ignore")

from dft_cases import DFT_CASES, DftCase  # noqa: E402
from entries import changing, load  # noqa: E402
from many_runs import add_options, do_all  # noqa: E402

RESULTS = HERE / "dft.json"
OURS = {"ours": "forces", "ours, EDIFF alone": "", "ours, EDIFF with forces": "energies"}
"""How self-consistency follows the accuracy that our optimiser asks for (`Surface`); the first is what INCAR gets."""

MAIN, FAR = "ours", "ours, EDIFF with forces"
ASE = ("BFGSLineSearch", "PreconLBFGS", "FIRE")
WHO = (MAIN, *ASE)
NEEDED = {MAIN, "BFGSLineSearch"}
"""Without these a case is not in the table."""
MOST = 120
SAME_MINIMUM = 1.0
"""meV per atom."""

MACHINE = (
    "16 cores of a lent x86-64 machine, a thread and process for each run, PyTorch 2.11, ASE 3.29.0, November 2026"
)
"""Of what dft.json holds."""

Entry = dict[str, Any]


def one(case: DftCase, who: str, most: int, seconds: float) -> Entry:
    """One relaxation, in this process."""
    from counted import Counted, TooLong
    from dft_surface import OnSurface, Surface

    began, processor = time.perf_counter(), time.process_time()
    surface = Surface(case, OURS.get(who, ""))
    free = np.ones((len(case.atoms()), 3), bool)
    for constraint in case.atoms().constraints:
        free[constraint.index] = False
    counted = Counted(OnSurface(surface), case.cell, free, most=most, seconds=seconds)
    try:
        end = (_ours if who in OURS else _ase)(case, who, counted, free)
    except TooLong as error:
        end = str(error)
    except Exception as error:  # of an optimiser: it has failed
        end = f"{type(error).__name__}: {error}"[:200]
    return {
        "end": end, "calls": counted.calls, **asdict(surface.spent), "energy": counted.energies[-1],
        "forces": [round(force, 4) for force in counted.largest],
        "energies": [round(energy, 6) for energy in counted.energies],
        "seconds": round(time.perf_counter() - began, 1), "cpu_seconds": round(time.process_time() - processor, 1),
    }  # fmt: skip


def _ase(case: DftCase, who: str, counted: Any, free: np.ndarray) -> str:
    from ase import optimize
    from ase.filters import FrechetCellFilter
    from ase.optimize.precon import PreconLBFGS
    from counted import AtRest

    atoms = case.atoms()
    atoms.calc = counted
    try:
        if who == "PreconLBFGS":
            optimiser = PreconLBFGS(atoms, logfile=None, variable_cell=case.cell)
        else:
            optimiser = getattr(optimize, who)(FrechetCellFilter(atoms) if case.cell else atoms, logfile=None)
        optimiser.run(fmax=1e-9, steps=10 * MOST)
    except AtRest:
        return "at rest"
    return "stopped by itself"


def _ours(case: DftCase, who: str, counted: Any, free: np.ndarray) -> str:
    from counted import AtRest

    from eigenwerk.motion.mover import drive
    from eigenwerk.motion.relaxation.relaxation import relaxation
    from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
    from eigenwerk.motion.surface import Arrangement, SurfacePoint

    atoms = case.atoms()
    moved = atoms.copy()
    moved.set_constraint()

    def at(arrangement: Arrangement) -> SurfacePoint:
        moved.set_cell(arrangement.lattice_cv)
        moved.positions = arrangement.position_av
        counted.inner.force_error = arrangement.force_error
        counted.calculate(moved)
        return counted.inner.last

    start = Arrangement(np.array(atoms.cell), np.linalg.solve(np.array(atoms.cell).T, atoms.positions.T).T)
    settings = RelaxationSettings(isif=3 if case.cell else 2, most_points=MOST)
    mover = relaxation(settings, start, atoms.get_masses(), tuple(atoms.symbols), free)
    try:
        drive(mover, at)
    except AtRest:
        return "at rest"
    return mover.status


def weight(case: DftCase, known: Mapping[str, Any]) -> float:
    """What a run takes, as another one of the case took, or by plane waves, bands and k-points; longest runs first."""
    entry = known.get(case.name, {})
    took = [entry[name]["cpu_seconds"] for name in WHO if "cpu_seconds" in entry.get(name, {})]
    if took:
        return max(took)
    atoms = case.atoms()
    waves = atoms.get_volume() * case.tags["encut"] ** 1.5
    points = max(1.0, np.prod(case.mesh) / 2)
    return 1e-7 * waves * len(atoms) ** 1.5 * points * case.tags.get("ispin", 1) * (2 if case.cell else 1)


def run(options: argparse.Namespace, cases: list[DftCase]) -> None:
    """Do what is missing, many at a time, and keep each result as soon as it is there."""
    known = load(options.json)
    wanted = [
        (case, who)
        for batch in (
            (MAIN, "BFGSLineSearch"),
            ("PreconLBFGS",),
            tuple(OURS)[1:],
            ("FIRE",),
        )  # the others know how long is too long
        for case in sorted(cases, key=lambda case: weight(case, known), reverse=True)
        for who in batch
        if who in options.who and (options.again or who not in known.get(case.name, {}))
    ]

    def step(case: DftCase, who: str, seconds: float, cut: bool) -> None:
        before = load(options.json).get(case.name, {})
        best = min((before[name]["calls"] for name in ASE if _rests(before.get(name))), default=MOST)
        most = MOST if who in OURS else min(MOST, 2 * best + 20)
        entry = _child(case, who, most, seconds)
        if "seconds are over" in entry["end"] and cut:
            return  # not the run's fault: the next call does it
        with changing(options.json) as entries:
            place = entries.setdefault(case.name, {})
            place |= {"kind": case.kind, "atoms": len(case.atoms()), "cell": case.cell}
            place[who] = entry | {"source": options.source}
        print(f"{case.name:<20} {who:<16} {entry.get('calls', 0):>4} points {entry.get('scf_steps', 0):>5} steps "
              f"{entry.get('applications', 0):>8} H {entry.get('energy', np.nan):14.5f} eV "
              f"{entry.get('seconds', 0.0):6.1f} s  {entry['end']}", flush=True)  # fmt: skip

    do_all(wanted, step, options, reserve=15.0)


def _child(case: DftCase, who: str, most: int, seconds: float) -> Entry:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "one", "--only", case.name, "--who", who, "--most", str(most),
               "--limit", str(seconds)]  # fmt: skip
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=seconds + 60, check=False
        )
    except subprocess.TimeoutExpired:
        return {"end": f"the {seconds:.0f} seconds are over, within one point"}
    if done.returncode:
        return {"end": f"failed: {(done.stderr.strip().splitlines() or ['no words'])[-1]}"[:300]}
    entry: Entry = json.loads(done.stdout.strip().splitlines()[-1])
    return entry


def _rests(entry: Mapping[str, Any] | None) -> bool:
    return entry is not None and entry["end"] == "at rest"


def _rows(results: Mapping[str, Any]) -> Iterator[tuple[str, Any, float, float]]:
    """Name, entry, ratio of the points to the best of ASE's, energy above it (meV per atom); of complete cases."""
    for name in DFT_CASES:
        entry = results.get(name, {})
        theirs = [entry[who] for who in ASE if _rests(entry.get(who))]
        if not theirs or not entry.keys() >= NEEDED:
            continue
        if "calls" not in entry[MAIN]:
            continue
        best = min(one["calls"] for one in theirs)
        ratio = entry[MAIN]["calls"] / best if _rests(entry[MAIN]) else np.inf
        lowest = min(one["energy"] for one in theirs)
        yield name, entry, ratio, 1e3 * (entry[MAIN].get("energy", np.nan) - lowest) / entry["atoms"]


def table(results: Mapping[str, Any]) -> str:
    """The page."""
    rows = list(_rows(results))
    kinds: dict[str, list[tuple[float, float, float]]] = {}
    lines, told = [], []
    for name, entry, ratio, above in rows:
        ours = entry[MAIN]
        best = min((entry[who] for who in ASE if _rests(entry.get(who))), key=lambda one: one["calls"])
        work = ours["applications"] / min(entry[who]["applications"] for who in ASE if _rests(entry.get(who)))
        kinds.setdefault(entry["kind"], []).append((ratio, work, above))
        cells = [_points(entry.get(who, {})) for who in WHO]
        lines.append(
            f"| {name} | {entry['kind']} | {entry['atoms']} | {' | '.join(cells)} | {ratio:.2f} | "
            f"{ours['applications']} / {best['applications']} | {work:.2f} | {above:+.2f} |"
        )
        told += [f"- {name}, {who}: {entry[who]['end']}" for who in WHO if who in entry and not _rests(entry[who])]
        if abs(above) > SAME_MINIMUM:
            ends = ", ".join(f"{who} {entry[who]['energy']:.4f}" for who in WHO if _rests(entry.get(who)))
            told.append(f"- {name}: the minima differ (eV): {ends}")
    head = [
        "# Relaxations on density functionals", "",
        "Written by `dft.py table`. Points until the first at rest (10 meV/Å; cells: 0.5 kbar too), steps of "
        "self-consistency in brackets; > n: stopped there without being at rest. Ratio: our points over those of the "
        "best of ASE's. H: applications of the Hamiltonian to an orbital, ours / of ASE's with the fewest points; next "
        "to it ours over the fewest of ASE's. Energy: ours above the lowest of ASE's, meV per atom. "
        "Meshes of k-points are coarse, so that some cells shear to states that no finer mesh has, one optimiser "
        "sooner than another (Si 2 compressed, GaAs 2, Al 4), and molecules turn on the grid, which NH3, SO2 and CH3Cl "
        "spend more points on than BFGSLineSearch, to lower energies.", "",
        "| kind | cases | ours at rest | median ratio | worst | at most 0.7 | median ratio of H | "
        f"within {SAME_MINIMUM:g} meV per atom, or below |", "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for kind, found in [*kinds.items(), ("**all**", [one for some in kinds.values() for one in some])] if kinds else []:
        ratios = [one[0] for one in found]
        head.append(
            f"| {kind} | {len(found)} | {sum(np.isfinite(ratios))} | {median(ratios):.2f} | {max(ratios):.2f} | "
            f"{sum(ratio <= 0.7 for ratio in ratios)} | {median(one[1] for one in found):.2f} | "
            f"{sum(one[2] <= SAME_MINIMUM for one in found)} |"
        )
    run = {who: sum("calls" in entry.get(who, {}) for _, entry, _, _ in rows) for who in ASE}
    sources = sorted({entry[who]["source"] for _, entry, _, _ in rows for who in WHO if who in entry})
    words = ", ".join(f"{who} {count}" for who, count in run.items())
    head += ["", f"ASE's that were run: {words}. Machine: {MACHINE}. Source: {', '.join(sources)}."]
    columns = ["case", "kind", "atoms", *WHO, "ratio", "H", "ratio of H", "energy"]
    head += ["", "| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    return "\n".join([*head, *lines, "", "## What was not at rest, and other minima", "", *told, ""])


def accuracy(results: Mapping[str, Any]) -> str:
    """The page on how self-consistency follows what our optimiser asks for."""
    alone = "ours, EDIFF alone"
    lines = [
        "# How well the points of a relaxation have to converge", "",
        "Written by `dft.py accuracy`. Our optimiser with EDIFF = 1E-5 and EDIFFG = -0.01. Points, and applications of "
        "H: EDIFF alone (one more step where forces are uncertain by 1.5 meV/Å); until forces are known as well as the "
        "optimiser asks; and EDIFF between 1E-5 and 1E-3, 0.02 Å times the error that forces may have. Ratio: over "
        "EDIFF alone. Energy: change of the end, meV. Two shared cores, November 2026.", "",
        f"| case | {' | '.join(f'{who}: points | H' for who in (alone, MAIN, FAR))} | ratio | ratio | energy |",
        "|---" * 10 + "|",
    ]  # fmt: skip
    ratios = []
    for name, entry in results.items():
        if not all("calls" in entry.get(who, {}) for who in OURS):
            continue
        base = entry[alone]
        pair = [entry[who]["applications"] / base["applications"] for who in (MAIN, FAR)]
        ratios.append(pair)
        cells = [f"{entry[who]['calls']} | {entry[who]['applications']}" for who in (alone, MAIN, FAR)]
        change = 1e3 * (entry[FAR]["energy"] - base["energy"])
        lines.append(f"| {name} | {' | '.join(cells)} | {pair[0]:.2f} | {pair[1]:.2f} | {change:+.3f} |")
    middle = [median(one[i] for one in ratios) for i in (0, 1)]
    return "\n".join([*lines, "", f"In the middle of {len(ratios)}: {middle[0]:.2f} and {middle[1]:.2f}.", ""])


def _points(entry: Mapping[str, Any]) -> str:
    if "calls" not in entry:
        return "-"
    return f"{'' if _rests(entry) else '> '}{entry['calls']} ({entry['scf_steps']})"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "one", "table", "accuracy"))
    parser.add_argument("--only", nargs="*", metavar="NAME", help="these cases")
    parser.add_argument("--who", nargs="*", default=WHO, choices=(*OURS, *ASE), help="these optimisers")
    add_options(parser, RESULTS, limit=400.0)
    parser.add_argument("--most", type=int, default=MOST, help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.only or ()) - DFT_CASES.keys()
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(DFT_CASES)}")
    cases = [case for name, case in DFT_CASES.items() if not options.only or name in options.only]
    if options.what == "one":
        print(json.dumps(one(cases[0], options.who[0], options.most, options.limit)))
        return
    if options.what == "accuracy":
        options.json.with_suffix(".md").write_text(accuracy(load(options.json)))
        return
    if options.what == "run":
        run(options, cases)
    options.json.with_suffix(".md").write_text(table(load(options.json)))


if __name__ == "__main__":
    main()
