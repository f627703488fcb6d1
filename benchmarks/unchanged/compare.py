"""Do two versions of the source compute the same numbers?  For changes that should change nothing.

    OMP_NUM_THREADS=1 python compare.py run NAME [--source DIR] [--only WORD ...]   # NAME: how the version is called
    python compare.py table BEFORE AFTER                                           # the differences

`run` computes the examples, the hard cases and small nuclei by the command of the tree --source (default: this one) and
keeps energies, forces, levels, steps and applications of H in build/unchanged/NAME.json; what is there already is kept.
Both versions have to run on one machine with one thread: sums in another order move the last digits, and a metal near
a crossing of levels moves more than those.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

FOLDER = Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
sys.path.insert(0, str(FOLDER.parent))
from vasp_folders import BUILD, folder_of  # noqa: E402

OUT = BUILD / "unchanged"
COMMAND = "from eigenwerk.cli.main import command; command()"
LONGEST = 3600
SAME = 1e-10
"""Largest difference of energies (eV, MeV) that counts as none."""

NUCLEUS = """nucleus = "{nucleus}"
interaction = "{interaction}"
Nmax = {nmax}
hw = 20.0
states = 3
"""
NUCLEI = {
    "ncci_4He_nmax4_jisp16": ("4He", "JISP16", 4), "ncci_6Li_nmax2_nnloopt": ("6Li", "NNLOopt", 2),
    "ncci_3H_nmax6_minnesota": ("3H", "Minnesota", 6), "ncci_6Li_nmax4_jisp16": ("6Li", "JISP16", 4),
}  # fmt: skip

Record = dict[str, Any]


def names() -> list[str]:
    """All cases."""
    script = FOLDER.parent / "hard_cases" / "make_cases.py"
    refused = subprocess.run([sys.executable, script, "--only", "?"], capture_output=True, text=True).stderr
    hard = re.findall(r"\w+", refused.rpartition("there are ")[2])
    examples = sorted(path.name for path in (REPOSITORY / "examples").iterdir() if (path / "INCAR").exists())
    nuclei = sorted(path.name for path in (REPOSITORY / "examples").iterdir() if (path / "case.toml").exists())
    return [*examples, *nuclei, *NUCLEI, *hard]


def run(words: list[str], source: Path) -> subprocess.CompletedProcess[str]:
    """A command of a source tree."""
    environ = os.environ | {"PYTHONPATH": str(source / "src")}
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *words], env=environ, capture_output=True, text=True, timeout=LONGEST
    )


def crystal(folder: Path, source: Path, target: Path) -> Record:
    """What `eigenwerk run` says."""
    done = run(["run", str(folder), "--output", str(target), "--json", "--no-plot"], source)
    if not done.stdout:
        return {"status": f"exit code {done.returncode}: {done.stderr[-300:]}"}
    found = json.loads(done.stdout)
    return {
        "status": found["status"], "energy": [found["energies_eV"]["free"]],
        "forces": np.ravel(found["forces_eV_per_A"] or []).tolist(),
        "steps": len(found["steps"]), "applications": sum(step["applications"] for step in found["steps"]),
    }  # fmt: skip


def nucleus(case: Path, source: Path, target: Path) -> Record:
    """What `eigenwerk ncci run` leaves in its files: energies, and every observable of the levels."""
    done = run(["ncci", "run", str(case), "-o", str(target)], source)
    record: Record = {"status": f"exit code {done.returncode}", "energy": [], "observables": []}
    for path in sorted(target.rglob("levels.h5")):
        with h5py.File(path) as file:
            record["energy"] += np.array(file["energy_n"]).tolist()
            for name in sorted(file["values"]):
                record["observables"] += np.ravel(file["values"][name]).tolist()
    return record


def compute(name: str, source: Path, target: Path) -> Record:
    """One case of one version."""
    example = REPOSITORY / "examples" / name
    if name in NUCLEI:
        target.mkdir(parents=True, exist_ok=True)
        case = target.parent / f"{name}.toml"
        case.write_text(NUCLEUS.format(**dict(zip(("nucleus", "interaction", "nmax"), NUCLEI[name], strict=True))))
        return nucleus(case, source, target)
    if (example / "case.toml").exists():
        return nucleus(example / "case.toml", source, target)
    return crystal(example if example.is_dir() else folder_of("hard_cases", name), source, target)


def collect(options: argparse.Namespace) -> None:
    """Run what is missing."""
    path = OUT / f"{options.name}.json"
    kept: dict[str, Record] = json.loads(path.read_text()) if path.exists() else {}
    for name in names():
        if name in kept or not (options.only is None or any(word in name for word in options.only)):
            continue
        began = time.perf_counter()
        kept[name] = compute(name, options.source.resolve(), OUT / options.name / name)
        kept[name]["seconds"] = round(time.perf_counter() - began, 2)
        print(f"{name}: {kept[name]['status']}, {kept[name]['seconds']} s", flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept, indent=1))


def difference(before: Record, after: Record, key: str) -> float | None:
    """The largest difference of a list of numbers; None where there is nothing to compare."""
    if len(before.get(key, ())) == 0 or len(before[key]) != len(after.get(key, ())):
        return None
    return float(np.nanmax(np.abs(np.subtract(before[key], after[key]))))


def markdown(before: str, after: str) -> str:
    """The table."""
    old, new = (json.loads((OUT / f"{name}.json").read_text()) for name in (before, after))
    lines = [
        f"{before} -> {after}: differences of energies (eV, of nuclei MeV), forces (eV/Å) or observables; steps.", "",
        "| case | energy | forces, observables | steps | applications |", "|---|---|---|---|---|",
    ]  # fmt: skip
    same = 0
    for name in (name for name in old if name in new):
        one, other = old[name], new[name]
        energy = difference(one, other, "energy")
        rest = difference(one, other, "observables" if "observables" in one else "forces")
        equal = energy is not None and energy <= SAME and one.get("steps") == other.get("steps")
        same += equal
        words = [name if equal else f"**{name}**", *("" if x is None else f"{x:.1e}" for x in (energy, rest))]
        for key in ("steps", "applications"):
            words.append(" -> ".join(map(str, dict.fromkeys((one.get(key, ""), other.get(key, ""))))))
        lines.append(f"| {' | '.join(words)} |")
    return "\n".join([*lines, "", f"{same} of {len(lines) - 4} cases are the same to {SAME:g} in the same steps."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    runs = verbs.add_parser("run")
    runs.add_argument("name")
    runs.add_argument("--source", type=Path, default=REPOSITORY)
    runs.add_argument("--only", nargs="*")
    table = verbs.add_parser("table")
    table.add_argument("before")
    table.add_argument("after")
    options = parser.parse_args()
    print(markdown(options.before, options.after)) if options.verb == "table" else collect(options)


if __name__ == "__main__":
    main()
