"""Kills runs whose atoms move at random moments, goes on by --restart on other numbers of ranks, and compares the ends.

    OMP_NUM_THREADS=1 python benchmarks/robustness/moving_kills.py --count 100 --ranks 1 2

A chain of runs of one kind (relaxation of ions, of the cell, dynamics with Langevin's bath, vibrations) in one folder
is killed by SIGKILL, SIGTERM or SIGINT at some moment of its time, again and again, each run going on from what is
there, until one ends by itself.  After each kill the files must be whole.  The end is compared with that of a run that
nobody disturbed: places in all ionic steps (Å), and the last free energy.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.hdf5_state import read_state

POSCAR = "silicon\n{a}\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n{last}\n"
COMMON = {"ENCUT": 150, "EDIFF": "1E-7", "ISMEAR": 0, "SIGMA": 0.05, "NBANDS": 6, "LCHARG": "F"}
KINDS: dict[str, dict[str, Any]] = {
    "ions": {"NSW": 20, "IBRION": 2, "EDIFFG": -0.003, "ISYM": 0},
    "cell": {"NSW": 20, "IBRION": 2, "EDIFFG": -0.005, "ISIF": 3, "ENCUT": 180},
    "dynamics": {"NSW": 8, "IBRION": 0, "POTIM": 2.0, "TEBEG": 300, "MDALGO": 3, "LANGEVIN_GAMMA": 10},
    "vibrations": {"NSW": 1, "IBRION": 6, "ISYM": 2},
}
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
LIMIT = 600
SAME_PLACE, SAME_ENERGY = 1e-6, 1e-6
"""Å and eV: of all ionic steps, and of the last one."""


def prepare(folder: Path, kind: str) -> None:
    """The input."""
    folder.mkdir()
    a, last = 5.35 if kind == "cell" else 5.43, ".25 .25 .25" if kind in ("cell", "vibrations") else ".26 .24 .255"
    (folder / "POSCAR").write_text(POSCAR.format(a=a, last=last))
    (folder / "KPOINTS").write_text("mesh\n0\nGamma\n2 2 2\n")
    (folder / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in (COMMON | KINDS[kind]).items()))


def start(folder: Path, ranks: int) -> subprocess.Popen[str]:
    """A run that goes on with what is there."""
    command = [sys.executable, "-c", "from eigenwerk.cli.entry import command; command()", "run", str(folder)]
    command += ["--no-plot", "--quiet", "--restart", "--save-every", "0", "--device", "cpu", "--ranks", str(ranks)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def end_of(folder: Path) -> tuple[np.ndarray, np.ndarray, float]:
    """Lattices and Cartesian places of all ionic steps (Å), and the last free energy (eV)."""
    steps = read_state(folder / "eigenwerk.h5", only=["motion"])["motion"]["steps"]
    return steps["lattice_cv"], steps["scaled_ac"] @ steps["lattice_cv"], float(steps["free_energy"][-1])


def main() -> None:
    """Kill, and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    options = parser.parse_args()
    draw, kills, chains, faults = random.Random(options.seed), Counter[str](), Counter[str](), list[str]()
    worst: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="kills") as place:
        whole: dict[str, tuple[Any, float]] = {}
        for kind in options.kinds:
            prepare(Path(place) / kind, kind)
            began = time.monotonic()
            process = start(Path(place) / kind, 1)
            words, _ = process.communicate(timeout=LIMIT)
            if process.returncode:
                sys.exit(f"{kind}: {process.returncode} {words}")
            whole[kind] = end_of(Path(place) / kind), time.monotonic() - began
            print(f"{kind}: {len(whole[kind][0][1])} ionic steps in {whole[kind][1]:.0f} s", flush=True)
        while sum(kills.values()) < options.count:
            kind = options.kinds[sum(chains.values()) % len(options.kinds)]
            folder = Path(place) / f"chain{sum(chains.values())}"
            prepare(folder, kind)
            while True:
                over = sum(kills.values()) >= options.count
                process = start(folder, draw.choice(options.ranks))
                if not over:
                    time.sleep(draw.random() * 0.8 * whole[kind][1])
                    number = draw.choice(SIGNALS)
                    ended = process.poll() is not None
                    if not ended:
                        process.send_signal(number)
                words, _ = process.communicate(timeout=LIMIT)
                if process.returncode == 0:
                    break
                if over or ended:
                    faults.append(f"{kind}: exit code {process.returncode}: {words}")
                    break
                kills[f"{kind}, {number.name}"] += 1
                faults += [f"{kind}, {number.name}: {fault}" for fault in looked_at(folder, words)]
            chains[kind] += 1
            if process.returncode == 0:
                faults += compared(kind, end_of(folder), whole[kind][0], worst)
            print(f"{sum(kills.values())} kills, {kind}: {len(faults)} faults {faults[-1:]}", flush=True)
    print(f"{sum(kills.values())} kills in {sum(chains.values())} chains: {dict(kills)}")
    shown = {kind: [f"{value:.1e}" for value in values] for kind, values in worst.items()}
    print("largest differences of places (Å) and energies (eV):", shown)
    print(f"faults: {len(faults)}")
    print("\n".join(faults))
    sys.exit(bool(faults))


def looked_at(folder: Path, words: str) -> list[str]:
    """What is wrong with the files after a kill."""
    found = ["a traceback: " + words] if "Traceback" in words else []
    try:
        if (folder / "eigenwerk.h5").exists():
            read_state(folder / "eigenwerk.h5", only=["motion", "status"])
        if (folder / "vasprun.xml").exists():
            ElementTree.parse(folder / "vasprun.xml")
    except (InputError, ElementTree.ParseError) as error:
        found.append(repr(error))
    return found


def compared(kind: str, end: tuple[Any, ...], whole: tuple[Any, ...], worst: dict[str, list[float]]) -> list[str]:
    """What differs from the run that nobody disturbed."""
    if end[1].shape != whole[1].shape:
        return [f"{kind}: {len(end[1])} ionic steps in place of {len(whole[1])}"]
    apart, energy = float(np.abs(end[1] - whole[1]).max()), abs(end[2] - whole[2])
    before = worst.get(kind, [0.0, 0.0])
    worst[kind] = [max(before[0], apart), max(before[1], energy)]
    if apart > SAME_PLACE or energy > SAME_ENERGY:
        return [f"{kind}: places differ by {apart:.1e} Å, free energy by {energy:.1e} eV"]
    return []


if __name__ == "__main__":
    main()
