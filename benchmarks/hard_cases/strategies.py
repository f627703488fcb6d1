"""Ten ways to self-consistency for each hard case: do defaults find the lowest state, and in how many steps?

    python benchmarks/hard_cases/strategies.py run -j 16                       # all ten, of the second set
    python benchmarks/hard_cases/strategies.py run --ways default -j 16 --stop-after 450
    python benchmarks/hard_cases/strategies.py run --magnets -j 16 --stop-after 450
    python benchmarks/hard_cases/strategies.py run --only mno_fm vs2 --again
    python benchmarks/hard_cases/strategies.py table                           # strategies.md

Runs that are in the file already are left out, so that a call goes on where the last one stopped; --again does them
anew.  Every run has one thread and a process of its own.  On a machine without network: bash
benchmarks/device/prepare.sh where there is one, then `PYTHONPATH=src:.device/site python3 ...` there, and
`python benchmarks/entries.py benchmarks/hard_cases/strategies.json FILE` to take over what --json FILE holds.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from cases import Case
from make_cases import CASES, INPUTS, write_case
from more_cases import MORE_CASES
from table import settled
from ways import DEFAULT, OTHER_ORDER, Way, ways

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from entries import changing, load  # noqa: E402
from many_runs import add_options, do_all  # noqa: E402

RESULTS = HERE / "strategies.json"
KEPT = ("converged", "status", "energy", "kpoints", "moment", "moments_of_atoms", "steps", "cpu_seconds")
SAME_STATE, FAR_ABOVE = 1.0, 5.0
"""meV per atom: a run that ends this much above the best has missed the lowest state; has missed it by far."""

MOST_STEPS, MIDDLE_STEPS = 30, 12
"""What defaults may take at most, and in the middle."""

Record = dict[str, Any]


def one(case: Case, way: Way, limit: float) -> Record:
    """One run; what is kept of it."""
    title = f"{case.name}.{way.name}"
    folder = write_case(replace(case, name=title, tags={**case.tags, **way.tags}), INPUTS)
    out = INPUTS / f"{title}.json"
    out.unlink(missing_ok=True)
    command = [sys.executable, str(HERE / "run_eigenwerk.py"), str(folder), str(out)]
    if way.first is not None:
        command.append(str(write_case(replace(case, name=f"{title}.first", tags={**case.tags, **way.first}), INPUTS)))
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"converged": False, "status": f"given up after {limit:.0f} s"}
    if done.returncode or not out.exists():
        words = (done.stderr or done.stdout).strip().splitlines()
        return {"converged": False, "status": f"failed: {words[-1] if words else done.returncode}"}
    return kept(json.loads(out.read_text()), way.name)


def kept(found: Record, way: str) -> Record:
    """Of a run's record what the table needs; of defaults the whole way."""
    record = {name: found[name] for name in KEPT}
    record["applications"] = found["applications"][-1] if found["applications"] else 0
    step = settled(found)
    record["settled"] = None if step is None else [step, found["applications"][step - 1]]
    if way == DEFAULT:
        record |= {name: found[name] for name in ("events", "warnings")}
        record["energies"] = [round(energy, 6) for energy in found["energies"]]
        record["residuals"] = [None if value is None else float(f"{value:.3g}") for value in found["residuals"]]
    return record


def seconds(case: Case, known: Mapping[str, Any]) -> float:
    """What a run takes, as defaults took, or roughly by plane waves, atoms and k-points; long runs are begun first."""
    took = known.get(case.name, {}).get("ways", {}).get(DEFAULT, {}).get("cpu_seconds")
    if took is not None:
        return float(took)
    poscar = case.structure()
    waves = abs(np.linalg.det(poscar.lattice_cv)) * float(case.tags.get("ENCUT", "400")) ** 1.5
    spins = float(case.tags.get("ISPIN", "1"))
    return 2.0 + 2e-8 * float(waves * len(poscar.symbols) ** 2 * np.prod(case.mesh) ** 0.7 * spins)


def run(options: argparse.Namespace, chosen: list[Case]) -> None:
    """Do what is missing, many at a time, and keep each result as soon as it is there."""
    known = load(options.json)
    wanted = [
        (case, way)
        for case in sorted(chosen, key=lambda case: seconds(case, known), reverse=True)
        for way in ways(case)
        if (not options.ways or way.name in options.ways)
        and (options.again or way.name not in known.get(case.name, {}).get("ways", {}))
    ]

    def step(case: Case, way: Way, limit: float, cut: bool) -> None:
        record = one(case, way, limit)
        if "given up" in record["status"] and cut:
            return  # not the run's fault: the next call does it
        with changing(options.json) as entries:
            entry = entries.setdefault(case.name, {"atoms": len(case.structure().symbols), "ways": {}})
            entry["ways"][way.name] = record | {"source": options.source}
        print(_line(case.name, way.name, record), flush=True)

    do_all(wanted, step, options)


def _line(case: str, way: str, record: Record) -> str:
    if "energy" not in record:
        return f"{case:<20} {way:<14} {record['status']}"
    moment = "" if record["moment"] is None else f"{record['moment']:8.3f}"
    return (
        f"{case:<20} {way:<14} {record['steps']:>4} steps {record['applications']:>8} H {record['cpu_seconds']:6.1f} s "
        f"{record['energy']:15.5f} eV {moment} {'' if record['converged'] else record['status']}"
    )


def lowest(entry: Mapping[str, Any], other_order: bool = False) -> float | None:
    """Free energy (eV) of the best converged way, with or without those that start from another order."""
    energies = [
        record["energy"]
        for name, record in entry["ways"].items()
        if record["converged"] and (other_order or name != OTHER_ORDER)
    ]
    return min(energies, default=None)


def above(entry: Mapping[str, Any], name: str, other_order: bool = False) -> float | None:
    """meV per atom by which a way ends above the best; None if it did not converge."""
    record, best = entry["ways"].get(name, {}), lowest(entry, other_order)
    if best is None or not record.get("converged"):
        return None
    return 1e3 * (record["energy"] - best) / entry["atoms"]


def markdown(results: Mapping[str, Any], gpaw: Mapping[str, Any]) -> str:
    """The page; gpaw: results.json of compare.py."""
    tried = {name: entry for name, entry in sorted(results.items()) if DEFAULT in entry["ways"]}
    steps = [entry["ways"][DEFAULT]["steps"] for entry in tried.values() if entry["ways"][DEFAULT]["converged"]]
    lost = [name for name, entry in tried.items() if not entry["ways"][DEFAULT]["converged"]]
    off = {name: above(entry, DEFAULT) for name, entry in tried.items() if len(entry["ways"]) > 1}
    missed = [name for name, value in off.items() if value is None or value > SAME_STATE]
    far = [name for name, value in off.items() if value is None or value > FAR_ABOVE]
    late = [name for name, entry in tried.items() if entry["ways"][DEFAULT].get("steps", 0) > MOST_STEPS]
    lines = [
        "# Ten ways to self-consistency", "",
        f"Defaults: {len(tried) - len(lost)} of {len(tried)} converge, in {median(steps) if steps else 0:g} steps in "
        f"the middle (wanted: {MIDDLE_STEPS}), {max(steps, default=0)} at most.", "",
        f"- not converged: {_names(lost)}", f"- more than {MOST_STEPS} steps: {_names(late)}",
        f"- of {len(off)} with other ways tried, {len(missed)} end more than {SAME_STATE:g} meV per atom above the "
        f"best: {_names(missed)}", f"- more than {FAR_ABOVE:g} meV per atom above it: {_names(far)}", "",
        "Above the best: free energy of the defaults' end, meV per atom, above the lowest of all ways from the same",
        "magnetic order (in brackets: of those that start from another order, too, where that is lower). Applications",
        "of H: until the free energy stays within 0.1 meV per cell of the final one, beside GPAW's where it was run.",
        f"Other ends: ways that fail, or end more than {SAME_STATE:g} meV per atom above the best, and how much.", "",
        "| case | atoms | steps | applications | GPAW's | moment | above the best | best by | other ends |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_row(name, entry, gpaw.get(name, {}).get("gpaw", {})) for name, entry in tried.items()), "",
        "## What was said on the way", "",
        *(f"- `{name}`: {words}" for name, entry in tried.items() for words in _told(entry["ways"][DEFAULT])), "",
    ]  # fmt: skip
    return "\n".join(lines)


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _row(name: str, entry: Mapping[str, Any], gpaw: Mapping[str, Any]) -> str:
    record, off, turned = entry["ways"][DEFAULT], above(entry, DEFAULT), above(entry, DEFAULT, other_order=True)
    if not record["converged"]:
        off_words = record["status"]
    elif len(entry["ways"]) == 1 or off is None or turned is None:
        off_words = ""
    else:
        off_words = f"{off:.2f}" + (f" ({turned:.2f})" if turned > off + 0.005 else "")
    ends = {way: above(entry, way) for way in entry["ways"] if way not in (DEFAULT, OTHER_ORDER)}
    best = min((way for way, value in ends.items() if value is not None), key=lambda way: ends[way], default="")
    others = [f"{way} " + ("fails" if value is None else f"+{value:.1f}") for way, value in ends.items()
              if value is None or value > SAME_STATE]  # fmt: skip
    settled_at, step = record.get("settled"), gpaw and settled(gpaw)
    cells = [
        name, entry["atoms"], record.get("steps", ""), settled_at[1] if settled_at else "",
        gpaw["applications"][step - 1] if step else ("fails" if gpaw else ""),
        "" if record.get("moment") is None else f"{record['moment']:.2f}", off_words,
        f"{best}, {entry['ways'][best]['steps']} steps" if best and off is not None and off > SAME_STATE else "",
        ", ".join(others),
    ]  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def _told(record: Record) -> list[str]:
    """One line for each kind of event (told by its first words): the first of them, and how many there were."""
    kinds: dict[str, list[str]] = {}
    for event in record.get("events", []):
        kinds.setdefault(event.partition(": ")[2][:20], []).append(event)
    return [words[0] + (f" ({len(words)} times)" if len(words) > 1 else "") for words in kinds.values()]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--only", nargs="*", metavar="NAME", help="these cases, of both sets")
    parser.add_argument("--magnets", action="store_true", help="cases with spin alone")
    parser.add_argument("--ways", nargs="*", metavar="WAY", help="these ways alone")
    add_options(parser, RESULTS, limit=900.0)
    options = parser.parse_args()
    chosen = [case for case in (CASES if options.only else MORE_CASES) if not options.only or case.name in options.only]
    unknown = set(options.only or ()) - {case.name for case in chosen}
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(case.name for case in CASES)}")
    if options.magnets:
        chosen = [case for case in chosen if case.tags.get("ISPIN") == "2"]
    if options.what == "run":
        run(options, chosen)
    page = markdown(load(options.json), load(HERE / "results.json"))
    options.json.with_suffix(".md").write_text(page)


if __name__ == "__main__":
    main()
