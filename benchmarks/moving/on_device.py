"""Atoms that move on one GPU: seconds of whole commands and per step, steps of self-consistency, phases.

    export PYTHONPATH=src:.device/site
    python3 benchmarks/moving/on_device.py make              # build/on_device, where ASE is
    python3 benchmarks/moving/on_device.py run [--only water_64 ...] [--json FILE] [--options --ranks 2]
    python3 benchmarks/moving/on_device.py table              # on_device.md

Every case is `eigenwerk run` as users start it, twice: the first loads libraries and compiles kernels, the second finds
them.  The waters were brought to 330 K with rigid TIP3P molecules (ASE); files in structures/.  Step: mean from the
third point on.  Options after --options go to the command (ranks, transport, device).
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from entries import changing, load  # noqa: E402
from vasp_folders import BUILD, folder_of  # noqa: E402

RESULTS, PAGE, STRUCTURES, SETTLED = HERE / "on_device.json", HERE / "on_device.md", HERE / "structures", 2

WATER = {
    "ENCUT": 400,
    "PREC": "Normal",
    "ISMEAR": 0,
    "SIGMA": 0.05,
    "EDIFF": "1E-5",
    "IBRION": 0,
    "POTIM": 0.5,
    "TEBEG": 330,
}
SILICON = {"ENCUT": 250, "ISMEAR": 0, "SIGMA": 0.1, "EDIFF": "1E-5", "IBRION": 0, "POTIM": 1.0, "TEBEG": 600}
ALUMINIUM = {"ENCUT": 240, "ISMEAR": 1, "SIGMA": 0.2, "EDIFF": "1E-5", "IBRION": 0, "POTIM": 2.0, "TEBEG": 600}
HYDROGEN = {"IBRION": 0, "POTIM": 0.5, "TEBEG": 100}

ASKED = {
    "water_64": "10 steps below 8 s (published: 13.3 s on 640 cores, Gaussian code)",
    "water_128": "10 steps below 20 s (published: 38 s on four GH200)",
    "water_256": "SCF and forces below 15 s (published: 30 s on one H100)",
    "h256_md": "seconds per LOOP and LOOP+",
}


def _rattled(atoms: Any) -> Any:
    atoms.rattle(0.05, seed=1)
    return atoms


def _silicon(n: int) -> tuple[Any, dict[str, Any]]:
    from ase.build import bulk

    return _rattled(bulk("Si", cubic=True) * (n, n, n)), SILICON | {"NSW": 10}


def _water(n: int, points: int) -> tuple[Any, dict[str, Any]]:
    from ase.io import read

    return read(STRUCTURES / f"water_{n}.vasp"), WATER | {"NSW": points}


def _water_at_rest(n: int) -> tuple[Any, dict[str, Any]]:
    return _water(n, 0)[0], WATER | {"IBRION": -1, "NSW": 0}


def _aluminium(n: int) -> tuple[Any, dict[str, Any]]:
    from ase.build import bulk

    return _rattled(bulk("Al", cubic=True) * (n, n, n)), ALUMINIUM | {"NSW": 10}


def cases() -> dict[str, Any]:
    """Atoms and tags, made when they are wanted."""
    return {
        "water_64": lambda: _water(64, 10), "water_128": lambda: _water(128, 10),
        "water_256": lambda: _water_at_rest(256),
        "water_256_md": lambda: _water(256, 6),
        "h256_md": None, "si64": lambda: _silicon(2), "si216": lambda: _silicon(3), "si512": lambda: _silicon(4),
        "al108": lambda: _aluminium(3),
    }  # fmt: skip


def folder_for(name: str) -> Path:
    """INCAR, POSCAR and KPOINTS; made if they are not there."""
    folder = BUILD / "on_device" / name
    if (folder / "INCAR").exists():
        return folder
    if name == "h256_md":
        made = folder_of("jobs", name)
        lines = [line for line in (made / "INCAR").read_text().splitlines() if not line.startswith("#")]
        more = [f"{tag} = {value}" for tag, value in {**HYDROGEN, "NSW": 10}.items()]
        folder.mkdir(parents=True, exist_ok=True)
        for file in ("POSCAR", "KPOINTS"):
            (folder / file).write_text((made / file).read_text())
        (folder / "INCAR").write_text("\n".join([*lines, *more, ""]))
        return folder
    atoms, tags = cases()[name]()
    folder.mkdir(parents=True, exist_ok=True)
    atoms.write(folder / "POSCAR", format="vasp", direct=True)
    (folder / "KPOINTS").write_text("Gamma\n0\nGamma\n1 1 1\n")
    tags = {"RANDOM_SEED": "1 0 0", "LWAVE": "F", "LCHARG": "F", **tags}
    (folder / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in tags.items()))
    return folder


def one(name: str, options: list[str]) -> dict[str, Any]:
    """The command, once."""
    with TemporaryDirectory() as out:
        words = [sys.executable, "-m", "eigenwerk.cli.main", "run", str(folder_for(name)), "--output", out, "--json"]
        began = time.perf_counter()
        done = subprocess.run([*words, "--no-plot", *options], capture_output=True, text=True)
        whole = time.perf_counter() - began
    if done.returncode:
        return {"failed": done.stderr[-1500:], "rc": done.returncode}
    found = json.loads(done.stdout)
    moved = found["motion"]["steps"] if found["motion"] else []
    started = found["trace"]["started"] - began  # both by the clock of the machine
    return {
        "before": started, "after": whole - started - found["trace"]["seconds"],
        "whole": whole, "inside": found["seconds"], "seconds": [step["seconds"] for step in moved],
        "scf_steps": [step["scf_steps"] for step in moved] or [len(found["steps"])],
        "scf_seconds": [step["seconds"] for step in found["steps"]],
        "applications": found["hamiltonian_applications"], "force_error": found["force_error_eV_per_A"],
        "conserved_eV": [step["conserved_eV"] for step in moved], "free_eV": found["energies_eV"]["free"],
        "phases": {phase["name"]: [phase["seconds"], phase.get("device_seconds"), phase["calls"], {
            part["name"]: [part["seconds"], part.get("device_seconds"), part["calls"]] for part in phase["children"]}]
            for phase in found["trace"]["phases"]},
        "warnings": found["warnings"], "atoms": len(found["symbols"]), "options": options,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu", "cores": os.cpu_count(),
        "torch": torch.__version__, "date": time.strftime("%Y-%m-%d"),
    }  # fmt: skip


def table(results: dict[str, Any]) -> str:
    """The page."""
    lines = [
        "# Atoms that move on one GPU", "",
        "`eigenwerk run`, whole commands in seconds (first: kernels not yet on the disk; again: the next run), points, "
        "steps of self-consistency per point, seconds per point (mean from the third on) and of all points together; "
        "what is left is Python, PyTorch, CUDA and files.  al108, si64 to si512 and water_256_md were run while 14 "
        "processes were at work on the 16 cores.", "",
        "| case | atoms | asked | first | again | points | SCF steps | per point | "
        "all points | device, date |", "|---" * 10 + "|",
    ]  # fmt: skip
    for name, runs in results.items():
        good = [run for run in runs if "failed" not in run]
        if not good:
            lines.append(f"| {name} | | {ASKED.get(name, '')} | failed | | | | | |")
            continue
        first, last = good[0], good[-1]
        later = last["seconds"][SETTLED:]
        steps = np.mean(last["scf_steps"][SETTLED:] or last["scf_steps"])
        lines.append(
            f"| {name} | {last['atoms']} | {ASKED.get(name, '')} | {first['whole']:.1f} | {last['whole']:.1f} | "
            f"{len(last['seconds']) or 1} | {steps:.1f} | {f'{np.mean(later):.3f}' if later else ''} | "
            f"{sum(last['seconds'] or last['scf_seconds']):.1f} | "
            f"{last['device']}, torch {last['torch']}, {last['date']} |"
        )
    for name, runs in results.items():
        last = runs[-1]
        if "failed" in last:
            continue
        lines += [
            "",
            f"## {name}: where the time goes",
            "",
            "| phase | host s | device s | calls |",
            "|---|---|---|---|",
        ]
        for phase, (host, device, calls, parts) in last["phases"].items():
            rows = [(phase, host, device, calls), *((f"- {part}", *values) for part, values in parts.items())]
            lines += [f"| {label} | {h:.2f} | {'' if d is None else f'{d:.2f}'} | {c} |" for label, h, d, c in rows
                      if h > 0.02 * last["inside"]]  # fmt: skip
    return "\n".join([*lines, ""])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "run", "table"))
    parser.add_argument("--only", nargs="*", default=list(cases()))
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--name", default="", help="added to the name of the case")
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[])
    given = parser.parse_args()
    if given.what == "make":
        print(*(folder_for(name) for name in given.only), sep="\n")
        return
    if given.what == "run":
        for name in given.only:
            runs = [one(name, given.options) for _ in range(given.times)]
            with changing(given.json) as entries:
                entries[name + given.name] = runs
            for run in runs:
                if "failed" in run:
                    print(f"{name}: exit {run['rc']}: {run['failed'][-600:]}", flush=True)
                else:
                    points = " ".join(f"{value:.2f}" for value in run["seconds"] or run["scf_seconds"])
                    lags = f"before {run['before']:.1f}, inside {run['inside']:.1f}, after {run['after']:.1f}"
                    print(f"{name}: {run['whole']:.1f} s, {lags}; {points}; SCF {run['scf_steps']}", flush=True)
    given.json.with_suffix(".md").write_text(table(load(given.json)), encoding="utf-8")


if __name__ == "__main__":
    main()
