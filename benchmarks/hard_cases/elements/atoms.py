"""Every element as a free atom and as a crystal, with nothing set but what makes it small: does it converge, and where?

    python benchmarks/hard_cases/elements/atoms.py make INTO                 # folders with INCAR, POSCAR and KPOINTS
    python benchmarks/hard_cases/elements/atoms.py run FOLDERS [-j 16] [--limit 300] [--stop-after 500] [--json FILE]
    python benchmarks/hard_cases/elements/atoms.py table [--json FILE]       # atoms.md from atoms.json

Atoms stand alone in boxes of 6.5 to 8 Å (`atom`; `free`: the same with ISYM = 0) with ISPIN = 2, ISMEAR = 0 and SIGMA
= 0.05 at 0.6 times the default of ENCUT; crystals (`crystal`) have ISMEAR = 1, SIGMA = 0.2 and ISPIN = 2 for magnets
beside their POSCAR, all else is default. Runs are those of the command, one thread each; what is in the file already
is left out.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Lock
from typing import Any

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1]))
from many_runs import add_options, do_all  # noqa: E402

COMMAND = "from eigenwerk.cli.main import command; command()"
SMALL = 0.6
"""Of the default of ENCUT, for atoms."""

KINDS = ("atom", "free", "crystal")


def make(into: Path) -> None:
    """All folders.  Imports here: a machine that only runs them needs no ASE."""
    from ase.data import atomic_numbers, covalent_radii
    from ase.io import write
    from crystals import MOMENTS, crystal

    from eigenwerk.io.paw.paw_library import choose_dataset, list_datasets, recommended_cutoff
    from eigenwerk.io.paw.paw_xml import read_paw_header

    for symbol in sorted({entry.element for entry in list_datasets("PBE")}, key=atomic_numbers.__getitem__):
        advice = recommended_cutoff(read_paw_header(choose_dataset(symbol)))
        cutoff = round(SMALL * (400.0 if advice is None else advice.recommended_eV))
        box = 6.5 if covalent_radii[atomic_numbers[symbol]] < 1.3 else 8.0
        for kind in KINDS:
            folder = into / f"{symbol}_{kind}"
            folder.mkdir(parents=True, exist_ok=True)
            if kind == "crystal":
                write(folder / "POSCAR", crystal(symbol)[0], format="vasp", direct=True)
                magnet = "ISPIN = 2\n" if symbol in MOMENTS else ""
                (folder / "INCAR").write_text(f"ISMEAR = 1\nSIGMA = 0.2\n{magnet}")
                continue
            rows = "\n".join(" ".join(f"{box if c == d else 0:g}" for d in range(3)) for c in range(3))
            (folder / "POSCAR").write_text(f"{symbol}\n1\n{rows}\n{symbol}\n1\nDirect\n0 0 0\n")
            (folder / "KPOINTS").write_text("Gamma\n0\nGamma\n1 1 1\n")
            (folder / "INCAR").write_text(
                f"ENCUT = {cutoff}\nISPIN = 2\nISMEAR = 0\nSIGMA = 0.05\n{'ISYM = 0' if kind == 'free' else ''}\n"
            )


def one(folder: Path, seconds: float) -> dict[str, Any]:
    """What the command says of a folder."""
    environ = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    words = [sys.executable, "-c", COMMAND, "run", str(folder), "--output", f"{folder}.out", "--json", "--no-plot"]
    began = time.perf_counter()
    try:
        done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"status": f"not over after {seconds:.0f} s", "seconds": round(seconds)}
    if not done.stdout:
        return {"status": f"exit code {done.returncode}: {done.stderr[-300:]}"}
    found = json.loads(done.stdout)
    return {
        "status": found["status"], "converged": found["converged"], "energy_eV": found["energies_eV"]["free"],
        "steps": len(found["steps"]), "moment": found.get("moment"), "warnings": found["warnings"],
        "notes": found["notes"], "seconds": round(time.perf_counter() - began, 1),
    }  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """What is missing."""
    kept = json.loads(options.json.read_text()) if options.json.exists() else {}
    lock = Lock()

    def step(folder: Path, seconds: float, cut: bool) -> None:
        record = one(folder, seconds)
        if cut and "converged" not in record:
            return
        with lock:
            kept[folder.name] = record
            print(f"{folder.name}: {record['status']}, {record.get('seconds')} s", flush=True)
            options.json.write_text(json.dumps(dict(sorted(kept.items())), indent=0) + "\n")

    folders = sorted(path for path in options.folders.iterdir() if path.is_dir() and not path.name.endswith(".out"))
    do_all([(folder,) for folder in folders if folder.name not in kept or options.again], step, options)


def table(path: Path) -> None:
    """The page."""
    kept = json.loads(path.read_text())
    lines = ["# Every element as an atom and as a crystal", "", "Made by `atoms.py`, which says what was set.", ""]
    for kind in KINDS:
        some = {name: one for name, one in kept.items() if name.endswith(f"_{kind}")}
        lines.append(f"- {kind}: {sum(bool(one.get('converged')) for one in some.values())} of {len(some)} converged")
    lines += ["", "| | eV | steps | moment | told |", "|---|---|---|---|---|"]
    for name, one_run in kept.items():
        told = "; ".join(note for note in one_run.get("notes", ()) if "once more" in note)
        energy, moment = one_run.get("energy_eV"), one_run.get("moment")
        lines.append(
            f"| {name} | {'' if energy is None else f'{energy:.5f}'} | {one_run.get('steps', '')} | "
            f"{'' if moment is None else f'{moment:.2f}'} | "
            f"{'' if one_run.get('converged') else '**' + one_run['status'][:100] + '** '}{told} |"
        )
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("make", "run", "table"))
    parser.add_argument("folders", type=Path, nargs="?")
    add_options(parser, FOLDER / "atoms.json", 300.0)
    asked = parser.parse_args()
    {"make": lambda: make(asked.folders), "run": lambda: run(asked), "table": lambda: table(asked.json)}[asked.verb]()
