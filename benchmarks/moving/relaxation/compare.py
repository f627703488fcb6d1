"""How many force calls bring structures to rest, beside the optimisers of ASE, on surfaces that cost little.

`OMP_NUM_THREADS=1 python benchmarks/moving/relaxation/compare.py run ase` (ASE's optimisers; what is in
results.json is kept),
`run ours`, then `report` (results.md).  `--only WORD` takes the cases whose name or kind contains a word.  Needs
`tblite` and `chgnet` besides ASE.  At rest: every force below 10 meV/Å and, where the cell moves, every component of
the stress below 0.5 kbar; the same test for all, of every arrangement that they compute.
An optimiser that needs more than twice the calls of a better one of ASE, and 20, is stopped there.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[2] / "src"))
warnings.filterwarnings("ignore")

from cases import CASES  # noqa: E402
from counted import AtRest, Counted, TooLong  # noqa: E402

RESULTS = HERE / "results.json"
MOST = 500
ALWAYS = ("PreconLBFGS", "BFGSLineSearch", "BFGS")
"""Without these a case is not in the table."""
ASE = ("PreconLBFGS", "BFGSLineSearch", "LBFGS", "BFGS", "FIRE")


def prepared(case):
    atoms = case.atoms()
    if atoms.cell.rank < 3:
        atoms.center(vacuum=8.0)
        atoms.pbc = False
    free = np.ones((len(atoms), 3), bool)
    for constraint in atoms.constraints:
        free[constraint.index] = False
    return atoms, free


def with_ase(case, name, most):
    from ase import optimize
    from ase.filters import FrechetCellFilter
    from ase.optimize.precon import PreconLBFGS

    atoms, free = prepared(case)
    counted = Counted(case.surface(), case.cell, free, most=most)
    atoms.calc = counted
    try:
        if name == "PreconLBFGS":
            optimiser = PreconLBFGS(atoms, logfile=None, variable_cell=case.cell)
        else:
            what = FrechetCellFilter(atoms) if case.cell else atoms
            optimiser = getattr(optimize, name)(what, logfile=None)
        optimiser.run(fmax=1e-9, steps=10 * MOST)
        end = "stopped"
    except AtRest:
        end = "at rest"
    except TooLong:
        end = "too long"
    except Exception as error:  # of an optimiser: it has failed
        end = f"{type(error).__name__}: {error}"[:100]
    return outcome(counted, end)


def with_ours(case, **settings):
    from eigenwerk.motion.mover import drive
    from eigenwerk.motion.relaxation.relaxation import relaxation
    from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
    from eigenwerk.motion.surface import Arrangement, SurfacePoint

    atoms, free = prepared(case)
    counted = Counted(case.surface(), case.cell, free, most=MOST)
    moved = atoms.copy()
    moved.set_constraint()
    moved.calc = counted
    ended = ""

    def surface(arrangement):
        nonlocal ended
        moved.set_cell(arrangement.lattice_cv)
        moved.positions = arrangement.position_av
        try:
            counted.calculate(moved)
        except AtRest:
            ended = "at rest"
        except TooLong:
            ended = "too long"
        found = counted.results
        stress = None
        if case.cell:
            xx, yy, zz, yz, xz, xy = found["stress"]
            stress = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return SurfacePoint(arrangement, found["energy"], found["forces"], stress, 1e-4)

    start = Arrangement(atoms.cell[:], np.linalg.solve(atoms.cell[:].T, atoms.positions.T).T)
    asked = RelaxationSettings(isif=3 if case.cell else 2, most_points=MOST, **settings)
    mover = relaxation(asked, start, atoms.get_masses(), tuple(atoms.symbols), free)
    words = [word for _, report in drive(mover, surface) for word in report.words]
    entry = outcome(counted, ended or mover.status)
    return {**entry, "words": words[:20]} if words else entry


def outcome(counted, end):
    entry = {"calls": counted.calls, "end": end, "energy": counted.energies[-1], "force": counted.largest[-1]}
    if end != "at rest":
        entry |= {"calls": None, "gone": counted.calls}
    return entry


def run(optimisers, only, again):
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name, case in CASES.items():
        if only and not any(word in name or word in case.kind for word in only):
            continue
        for optimiser in optimisers:
            known = results.get(name, {})
            if optimiser in known and not again:
                continue
            begin = time.time()
            best = min((known[x]["calls"] or MOST for x in ASE if x in known), default=MOST)
            entry = with_ase(case, optimiser, min(MOST, 2 * best + 20)) if optimiser in ASE else with_ours(case)
            print(f"{name:32s} {optimiser:16s} {entry['calls']!s:>5s} {entry['energy']:.4f} {entry['force']:.4f} "
                  f"{entry['end']} {time.time() - begin:.0f} s", flush=True)  # fmt: skip
            results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            results.setdefault(name, {"kind": case.kind, "atoms": len(case.atoms())})[optimiser] = entry
            RESULTS.write_text(json.dumps(results, indent=1))


def report():
    """results.md: by kinds, and every case."""
    results = json.loads(RESULTS.read_text())
    rows, kinds = [], {}
    for name, case in CASES.items():
        found = results.get(name, {})
        ours, theirs = found.get("ours"), {who: found[who] for who in ASE if who in found}
        ended = {who: entry for who, entry in theirs.items() if entry["calls"]}
        if not ours or not ended or not set(ALWAYS) <= theirs.keys():
            continue
        best = min(entry["calls"] for entry in ended.values())
        energies = [entry["energy"] for entry in ended.values()]
        above = 1000 * (ours["energy"] - min(energies))
        nearest = 1000 * min((abs(ours["energy"] - energy), ours["energy"] - energy) for energy in energies)[1]
        ratio = ours["calls"] / best if ours["calls"] else np.inf
        kinds.setdefault(case.kind, []).append((ratio, above, nearest))
        cells = [_calls(theirs.get(who)) for who in ASE]
        rows.append(f"| {name} | {case.kind} | {found.get('atoms', len(case.atoms()))} | {_calls(ours)} | "
                    f"{' | '.join(cells)} | {ratio:.2f} | {above:+.2f} |")  # fmt: skip
    everything = [entry for entries in kinds.values() for entry in entries]
    lines = [
        "# Force calls of relaxations", "",
        "Written by `compare.py report`: arrangements that were computed up to the first at rest (10 meV/Å; cells: "
        "0.5 kbar too), by `IBRION = 2` and by ASE's optimisers with their defaults (cells: `FrechetCellFilter`, "
        "PreconLBFGS with its own). Surfaces: GFN2-xTB for molecules and clusters, GFN1-xTB, CHGNet in double "
        "precision, EMT and Lennard-Jones. Ratio: ours over the best of ASE's. > n: stopped there without being at "
        "rest; -: not run. Energy: ours above the lowest of ASE's, meV for the whole structure.", "",
        "| kind | cases | median ratio | worst | at most 0.7 | within 1 meV of one of ASE's, or below all |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for kind, entries in [*kinds.items(), ("**all**", everything)]:
        ratios = [entry[0] for entry in entries]
        good = sum(ratio <= 0.7 for ratio in ratios)
        same = sum(abs(entry[2]) < 1 or entry[1] < 0 for entry in entries)
        lines.append(f"| {kind} | {len(entries)} | {np.median(ratios):.2f} | {max(ratios):.2f} | {good} | {same} |")
    lines += ["", f"| case | kind | atoms | ours | {' | '.join(ASE)} | ratio | energy |", "|---" * (7 + len(ASE)) + "|"]
    (HERE / "results.md").write_text("\n".join([*lines, *rows]) + "\n")


def _calls(entry):
    if entry is None:
        return "-"
    return str(entry["calls"]) if entry["calls"] else f"> {entry.get('gone', MOST)}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("who", nargs="?", default="ours")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--optimisers", nargs="*", default=ASE)
    parser.add_argument("--again", action="store_true")
    words = parser.parse_args()
    if words.what == "report":
        report()
    else:
        run(words.optimisers if words.who == "ase" else (words.who,), words.only, words.again)
