"""Kills small runs at random moments and goes on from what they left: how many steps are lost, and do the files agree?

    OMP_NUM_THREADS=1 python benchmarks/robustness/kills.py                      # 200 kills
    python benchmarks/robustness/kills.py --count 20 --ranks 2 --seed 5

A chain of runs in one folder is killed by SIGKILL, SIGTERM or SIGINT again and again, each run going on from the last
one, until one of them converges; then a new chain begins.  After each kill the files must be whole, of one save (or of
two that follow each other, if SIGKILL came between), and hold all steps that were printed but one.  The energy at the
end must be that of a run that nobody disturbed.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from eigenwerk.io.hdf5.hdf5_state import read_state
from eigenwerk.io.run_stamp import stamp_of

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests"))
from warm_start import PIPE, WarmProcess  # noqa: E402

POSCAR = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .26\n"
INCAR = {"ENCUT": 150, "EDIFF": "1E-8", "ISMEAR": 0, "SIGMA": 0.05, "NBANDS": 6}
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
FILES = ("eigenwerk.h5", "vasprun.xml", "OSZICAR", "CONTCAR")
SAME_ENERGY = 2e-7
"""Hartree; EDIFF is 1e-8 eV."""

LIMIT = 120
"""Seconds for a run to end after a signal, on a busy machine."""


@dataclass
class Tally:
    """What was found."""

    kills: Counter[str] = field(default_factory=Counter)
    lost: Counter[int] = field(default_factory=Counter)
    between: int = 0
    chains: int = 0
    faults: list[str] = field(default_factory=list)


def steps_of(line: str) -> int | None:
    """The number of a row of the table."""
    return int(line[:5]) if line[:5].strip().isdigit() and line[5:25].strip() else None


def start(folder: Path, ranks: int, **tags: object) -> WarmProcess:
    """A run in a folder."""
    (folder / "POSCAR").write_text(POSCAR)
    (folder / "KPOINTS").write_text("mesh\n0\nGamma\n2 2 1\n")
    (folder / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in (INCAR | tags).items()))
    words = ["-u", "-c", "from eigenwerk.cli.entry import command; command()", "run", str(folder), "--no-plot"]
    words += ["--save-every", "0", "--device", "cpu"]
    return WarmProcess([*words, "--ranks", str(ranks)], stdout=PIPE, stderr=PIPE)


def done_so_far(folder: Path) -> int:
    """Steps in the saved state, of all runs of the chain."""
    if not (folder / "eigenwerk.h5").exists():
        return 0
    return int(read_state(folder / "eigenwerk.h5", only=["progress"])["progress"]["steps"])


def disturb(folder: Path, ranks: int, draw: random.Random, tally: Tally) -> bool:
    """Start a run, kill it at some moment, look at what it left; True if it converged before."""
    before = done_so_far(folder)
    process = start(folder, ranks, ISTART=int(before > 0))
    row, printed, out = draw.choice([0, 0, 1, 1, 2, 2, 3, 4, 5, 7]), 0, ""
    for line in process.stdout if row else ():
        out += line
        printed = steps_of(line) or printed
        if printed == row:
            break
    time.sleep(draw.random() * (0.2 if row else 2.0))
    number = draw.choice(SIGNALS)
    ended = process.poll() is not None
    process.send_signal(number)
    rest, err = process.communicate(timeout=LIMIT)
    out += rest
    rows = [step for line in out.splitlines() if (step := steps_of(line))]
    if ended or "Converged in" in out:
        return True
    tally.kills[number.name] += 1
    judge(folder, number, (before, max(rows, default=0)), tally, out + err)
    return False


def judge(folder: Path, number: signal.Signals, steps: tuple[int, int], tally: Tally, words: str) -> None:
    """Files after a kill.  steps: saved before this run; printed by it."""
    before, printed = steps
    where = f"{sum(tally.kills.values())} ({number.name}, {before} + {printed} steps)"
    found = {name: stamp_of(folder / name) for name in FILES}
    if not any(found.values()):
        tally.lost[printed] += 1
        if printed or "Traceback" in words:
            tally.faults.append(f"{where}: nothing saved, {words}")
        return
    try:
        saved = done_so_far(folder)
        ElementTree.parse(folder / "vasprun.xml")
    except Exception as error:
        tally.faults.append(f"{where}: {error!r}")
        return
    tally.lost[max(before + printed - saved, 0)] += 1
    saves = {stamp.save for stamp in found.values() if stamp}
    if len(set(found.values())) > 1:
        tally.between += 1
        neighbours = len({stamp.run for stamp in found.values() if stamp}) > 1 or max(saves) - min(saves) == 1
        if number != signal.SIGKILL or not neighbours:
            tally.faults.append(f"{where}: {found}")
    if before + printed - saved > 1 or "Traceback" in words or ("nothing has been written" in words and saved > before):
        tally.faults.append(f"{where}: {saved} steps are saved; {words}")


def main() -> None:
    """Kill, and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, tally, began = random.Random(options.seed), Tally(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kills") as place:
        whole = Path(place) / "whole"
        whole.mkdir()
        start(whole, options.ranks).communicate(timeout=LIMIT)
        energy = energy_of(whole)
        while sum(tally.kills.values()) < options.count:
            folder = Path(place) / str(tally.chains)
            folder.mkdir()
            while not disturb(folder, options.ranks, draw, tally):
                if sum(tally.kills.values()) >= options.count:
                    start(folder, options.ranks, ISTART=1).communicate(timeout=LIMIT)
                    break
            tally.chains += 1
            if abs(energy_of(folder) - energy) > SAME_ENERGY:
                tally.faults.append(f"chain {tally.chains}: {energy_of(folder)} hartree, undisturbed {energy}")
    seconds, kills = time.monotonic() - began, sum(tally.kills.values())
    print(f"{kills} kills in {tally.chains} chains, {seconds:.0f} s: {dict(tally.kills)}")
    print(f"steps lost: {dict(sorted(tally.lost.items()))}; files of two saves: {tally.between} times")
    print(f"faults: {len(tally.faults)}")
    print("\n".join(tally.faults))
    sys.exit(bool(tally.faults))


def energy_of(folder: Path) -> float:
    """The free energy in the saved state, hartree."""
    return float(read_state(folder / "eigenwerk.h5", only=["progress"])["progress"]["free"])


if __name__ == "__main__":
    main()
