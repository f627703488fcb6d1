"""Disturbs small runs at random moments, goes on by --restart, and compares the ends with runs that nobody disturbed.

    OMP_NUM_THREADS=1 python benchmarks/robustness/moving_kills.py run --count 500      # goes on where it was stopped
    python benchmarks/robustness/moving_kills.py table                                  # moving_kills.md

A chain of runs of one kind (self-consistency with forces, relaxation, dynamics, finite displacements) in one folder is
disturbed again and again, each run going on from what is there, until one ends by itself.  A blow is a signal to the
run, SIGKILL to one of its ranks, a disk that is full for a while (a tmpfs of a few megabytes: the script has to be
root for it), or a folder that vanishes.  Chains keep their number of ranks, or change it from run to run.

While runs are at work and after each blow all files must be readable, no ionic step may be missing that was printed,
and of self-consistency at most one step lost.  Processes are forks of one that has loaded PyTorch (`warm_start`), now
and then fresh ones.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from platform import python_version
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path += [str(HERE), str(HERE.parent), str(REPOSITORY / "tests")]
from entries import changing, load  # noqa: E402
from kill_checks import Position, looked_at, position, unfit  # noqa: E402
from tiny_runs import KINDS, prepare  # noqa: E402

from warm_start import PIPE, STDOUT, WarmProcess  # noqa: E402

RESULTS, PAGE = HERE / "moving_kills.json", HERE / "moving_kills.md"
COMMAND = ["-u", "-c", "from eigenwerk.cli.entry import command; command()", "run"]
LIMIT = 300
"""Seconds for a run to end, on a busy machine."""

LAYOUTS = {(1,): 8, (2,): 3, (4,): 1, (1, 2): 3, (1, 2, 4): 1}
"""Numbers of ranks that the runs of one chain have, and how often."""

LONG = 0.25
"""How often those kinds come that need many steps, beside the others."""

SIGNALS = ("SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
FULL, GONE, ONE_RANK = "full disk", "folder gone", "SIGKILL to one rank"
FRESH_SHARE = 0.04
DISK_MEGABYTES = 12


@dataclass
class Chain:
    """Runs in one folder.  ranks: how many each run has; blows: what has been done to them, and when."""

    kind: str
    layout: tuple[int, ...]
    folder: Path
    inputs: Path
    disk: Path | None
    blows: Counter[str] = field(default_factory=Counter)
    ranks: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    at: Position = field(default_factory=Position)

    def fault(self, *words: str) -> None:
        """Remember what is wrong, with the last words of the run."""
        where = f"{self.kind}, run {len(self.ranks)} on {self.ranks[-1]} ranks"
        self.faults += [f"{where}: {one[:200]} {one[200:][-1800:]}" for one in words]


def start(inputs: Path, folder: Path, ranks: int, fresh: bool = False) -> Any:
    """A run that goes on with what is there."""
    words = [*COMMAND, str(inputs), "--output", str(folder), "--no-plot", "--restart", "--save-every", "0"]
    words += ["--device", "cpu", "--ranks", str(ranks)]
    if fresh:
        return subprocess.Popen([sys.executable, *words], stdout=PIPE, stderr=STDOUT, text=True, errors="replace")
    return WarmProcess(words, stdout=PIPE, stderr=STDOUT)


def children_of(pid: int) -> list[int]:
    """Processes that a process has started, ranks among them."""
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def wait_for_end(pids: list[int], limit: float = 60) -> list[int]:
    """Those of them that are still there after so many seconds."""
    until = time.monotonic() + limit
    while (left := [pid for pid in pids if _alive(pid)]) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_moment(chain: Chain, process: Any, seconds: float, draw: random.Random) -> None:
    """Until the time has come; files are looked at once on the way, and in one of three cases a file is waited for."""
    look = draw.random() * seconds
    time.sleep(look)
    if process.poll() is None:
        chain.fault(*(f"while at work: {one}" for one in looked_at(chain.folder)))
    time.sleep(seconds - look)
    if draw.random() < 1 / 3:
        until = time.monotonic() + 2
        while process.poll() is None and time.monotonic() < until:
            try:
                if any(name.endswith(".part") for name in os.listdir(chain.folder)):
                    break
            except FileNotFoundError:
                pass
        time.sleep(draw.random() * 0.02)


def fill(disk: Path, draw: random.Random) -> Path:
    """A file that leaves at most 300 kB."""
    filler = disk / "filler"
    spare = draw.randrange(300_000)
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(65536))
        except OSError:
            file.truncate(max(file.tell() - spare, 0))
    return filler


def strike(chain: Chain, process: Any, blow: str, draw: random.Random, typical: float) -> None:
    """One blow, at once; of a disk that is full or a folder that is gone the run feels something for a while."""
    ranks = children_of(process.pid) if chain.ranks[-1] > 1 else []
    if blow == ONE_RANK:
        os.kill(draw.choice(ranks), signal.SIGKILL)
        return
    if blow == FULL:
        assert chain.disk is not None
        filler = fill(chain.disk, draw)
        time.sleep(draw.random() * typical)
        process.send_signal(draw.choice([signal.SIGKILL, signal.SIGTERM, 0, 0]))  # 0: goes on with the disk
        if draw.random() < 0.5 or process.poll() is not None:
            filler.unlink()
            return
        # it may end with the full disk, too
        wait_for_end([process.pid, *ranks], LIMIT)
        filler.unlink()
        return
    if blow == GONE:
        if draw.random() < 0.5:
            shutil.rmtree(chain.folder, ignore_errors=True)
        else:
            with suppress(FileNotFoundError):  # not yet made
                chain.folder.rename(chain.folder.with_name(f"{chain.folder.name}-away{len(chain.ranks)}"))
        chain.at = Position()
        time.sleep(draw.random() * typical)
        process.send_signal(draw.choice([signal.SIGKILL, 0]))
        return
    process.send_signal(getattr(signal, blow))


def disturbed(chain: Chain, typical: float, draw: random.Random) -> bool:
    """One run with one blow; True if it came to its end."""
    chain.ranks.append(draw.choice(chain.layout))
    choices = [*SIGNALS, *([ONE_RANK] * 3 if chain.ranks[-1] > 1 else []), GONE] if chain.disk is None else [FULL]
    blow = draw.choice(choices)
    process = start(chain.inputs, chain.folder, chain.ranks[-1], draw.random() < FRESH_SHARE)
    wait_for_moment(chain, process, draw.random() * 0.5 * typical, draw)
    at_work = process.poll() is None
    ranks = children_of(process.pid) if at_work else []
    if at_work and (blow != ONE_RANK or ranks):
        chain.blows[blow] += 1
        strike(chain, process, blow, draw, 0.3 * typical)
    words, _ = process.communicate(timeout=LIMIT)
    if left := wait_for_end(ranks):
        chain.fault(f"{blow}: {len(left)} ranks are still there")
    judge(chain, blow if at_work else "nothing", process.returncode, words)
    return process.returncode == 0


def judge(chain: Chain, blow: str, code: int, words: str) -> None:
    """What was printed, and the files."""
    if "Traceback" in words or "please report" in words or (chain.folder / "eigenwerk-crash.txt").exists():
        chain.fault(f"{blow}: {words}")
    if blow == "nothing" and code:
        chain.fault(f"exit code {code}: {words}")
    if not chain.folder.is_dir():
        return  # it was taken away, or not yet made
    chain.fault(*(f"{blow}: {one}" for one in looked_at(chain.folder)))
    before, chain.at = chain.at, position(chain.folder)
    if blow != GONE and blow != FULL:
        chain.fault(*(f"{blow}: {one}" for one in chain.at.lost(before, words)))


def undisturbed(kind: str, ranks: int, place: Path) -> tuple[Path, float]:
    """The folder of a run that nobody disturbs, made once; seconds that it took."""
    folder = place / f"whole-{kind}-{ranks}"
    if not folder.exists():
        prepare(folder, kind)
        began = time.monotonic()
        process = start(folder, folder, ranks)
        words, _ = process.communicate(timeout=LIMIT)
        if process.returncode:
            sys.exit(f"{kind}: {process.returncode} {words}")
        (folder / "seconds").write_text(f"{time.monotonic() - began}")
    return folder, float((folder / "seconds").read_text())


def one_chain(number: int, seed: int, place: Path, disk: Path | None, most: int) -> dict[str, Any]:
    """A chain from its first run to its end: what was done, and what was found."""
    draw = random.Random(f"{seed} {number}")
    weights = [LONG if tags.get("IBRION") == 0 else 1.0 for _, (_, tags) in KINDS.values()]
    kind, layout = draw.choices(list(KINDS), weights)[0], draw.choices(list(LAYOUTS), list(LAYOUTS.values()))[0]
    disk = disk if draw.random() < 0.15 else None
    whole, typical = undisturbed(kind, layout[0], place)
    inputs = place / f"inputs{number}"
    shutil.rmtree(inputs, ignore_errors=True)
    prepare(inputs, kind)
    chain = Chain(kind, layout, (disk or place) / f"chain{number}", inputs, disk)
    shutil.rmtree(chain.folder, ignore_errors=True)
    began = time.monotonic()
    while sum(chain.blows.values()) < most and not disturbed(chain, typical, draw):
        pass
    if sum(chain.blows.values()) >= most or chain.faults:
        chain.ranks.append(draw.choice(layout))
        process = start(inputs, chain.folder, chain.ranks[-1])
        words, _ = process.communicate(timeout=LIMIT)
        judge(chain, "nothing", process.returncode, words)
    same = len(set(chain.ranks)) == 1 and chain.ranks[0] == layout[0]
    differences = {}
    if chain.folder.is_dir() and (chain.folder / "eigenwerk.h5").is_file():
        differences, faults = unfit(chain.folder, whole, kind, same)
        chain.fault(*faults)
        chain.fault(*(f"{name} was left" for name in os.listdir(chain.folder) if name.endswith(".part")))
    else:
        chain.fault("there is no end")
    if not chain.faults:
        for folder in (inputs, *chain.folder.parent.glob(f"{chain.folder.name}*")):
            shutil.rmtree(folder, ignore_errors=True)
    return {
        "kind": kind, "ranks": chain.ranks, "same layout": same, "disk": disk is not None, "blows": dict(chain.blows),
        "differences": differences, "faults": chain.faults, "seconds": round(time.monotonic() - began, 1),
        "load": os.getloadavg()[0], "cores": os.cpu_count(), "python": python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }  # fmt: skip


def mounted(folder: Path) -> Path | None:
    """A small file system of its own; None where that is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.path.ismount(folder):
        return folder
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(words, capture_output=True).returncode:
        print("no file system can be mounted here: full disks are left out", flush=True)
        return None
    return folder


def campaign(options: argparse.Namespace) -> None:
    """Chains until there are as many blows as wanted, those of earlier calls among them."""
    place = Path(options.place or Path(tempfile.gettempdir()) / "moving-kills")
    place.mkdir(parents=True, exist_ok=True)
    disk = mounted(place / "disk")
    try:
        while True:
            known = load(RESULTS)
            count = sum(sum(chain["blows"].values()) for chain in known.values())
            if count >= options.count:
                break
            number = 1 + sum(name.startswith(f"{options.seed}/") for name in known)
            found = one_chain(number, options.seed, place, disk, options.most)
            with changing(RESULTS) as entries:
                entries[f"{options.seed}/{number}"] = found
            print(f"{count + sum(found['blows'].values())} blows, {found}", flush=True)
    finally:
        if disk is not None:
            subprocess.run(["umount", str(disk)], check=False)


def table(results: dict[str, Any]) -> str:
    """The page."""
    chains = list(results.values())
    blows = sum((Counter(chain["blows"]) for chain in chains), Counter[str]())
    by_ranks = Counter(ranks for chain in chains for ranks in chain["ranks"])
    lines = [
        "# Runs that are disturbed", "",
        f"Made by `moving_kills.py`. {sum(blows.values())} blows in {len(chains)} chains of runs, "
        f"{chains[-1]['date']}, {chains[-1]['cores']} cores with other programs on them, "
        f"Python {chains[-1]['python']}. "
        f"Runs by ranks (Gloo): {', '.join(f'{by_ranks[n]} on {n}' for n in sorted(by_ranks))}. "
        f"Full disks: a tmpfs of {DISK_MEGABYTES} MB.", "",
        "| blow | times |", "|---|---|", *(f"| {name} | {times} |" for name, times in sorted(blows.items())), "",
        "Largest differences of the ends from those of runs that nobody disturbed: of places in all ionic steps (Å), "
        "of the last free energy (eV).", "",
        "| kind | chains | blows | places, same ranks throughout | energy | places, ranks changing | energy | faults |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for kind, (words, _) in KINDS.items():
        own = [chain for chain in chains if chain["kind"] == kind]
        cells = []
        for same in (True, False):
            found = [chain["differences"] for chain in own if chain["same layout"] is same and chain["differences"]]
            cells += [f"{max(one[name] for one in found):.0e}" if found else "" for name in ("places", "energy")]
        faults = sum(bool(chain["faults"]) for chain in own)
        total = sum(sum(chain["blows"].values()) for chain in own)
        lines.append(f"| {words} | {len(own)} | {total} | " + " | ".join(cells) + f" | {faults} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=25, help="blows for one chain")
    parser.add_argument("--place", help="where runs are made; default: in the folder for temporary files")
    options = parser.parse_args()
    if options.what == "run":
        campaign(options)
    PAGE.write_text(table(load(RESULTS)), encoding="utf-8")


if __name__ == "__main__":
    main()
