"""A long trajectory in a hundred short jobs: the same as in one?

    OMP_NUM_THREADS=1 python benchmarks/robustness/restarts.py run --restarts 100 --seconds 8
    python benchmarks/robustness/restarts.py table             # restarts.md

Jobs of `eigenwerk run --restart --max-time SECONDS`, one after the other, as a queue with short limits has them: each
ends by itself with exit code 3 and its last step saved.  Then the same number of points in one run.  Jobs are forks
of a process that has loaded PyTorch (`warm_start`), so that seconds are those of the work.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from platform import python_version
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent), str(HERE.parents[1] / "tests")]
from entries import changing, load  # noqa: E402
from tiny_runs import KINDS, prepare  # noqa: E402

from eigenwerk.io.hdf5.hdf5_state import read_state  # noqa: E402
from warm_start import PIPE, STDOUT, WarmProcess  # noqa: E402

RESULTS, PAGE = HERE / "restarts.json", HERE / "restarts.md"
COMMAND = ["-c", "from eigenwerk.cli.entry import command; command()", "run"]
NOT_OVER = 3
MANY = 100_000
LIMIT = 3600


def job(folder: Path, *more: str) -> tuple[int, str]:
    """A run to its end: exit code and words."""
    words = [*COMMAND, str(folder), "--no-plot", "--quiet", "--device", "cpu", *more]
    process = WarmProcess(words, stdout=PIPE, stderr=STDOUT)
    out, _ = process.communicate(timeout=LIMIT)
    return process.returncode, out


def trajectory(folder: Path) -> dict[str, np.ndarray]:
    """Places (Å) and conserved quantity (eV) of all points that are over; steps of self-consistency of each."""
    steps = read_state(folder / "eigenwerk.h5", only=["motion"])["motion"]["steps"]
    places = steps["scaled_ac"] @ steps["lattice_cv"]
    return {"places": places, "conserved": steps["conserved"], "count": steps["count"]}


def points_of(folder: Path, points: int) -> None:
    """Have the run end after so many points."""
    path = folder / "INCAR"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("NSW")]
    path.write_text("\n".join([*lines, f"NSW = {points}", ""]))


def run(kind: str, restarts: int, seconds: float, place: Path) -> dict[str, Any]:
    """The jobs, and the run without a stop."""
    pieces, whole = place / f"{kind}-pieces", place / f"{kind}-whole"
    for folder in (pieces, whole):
        shutil.rmtree(folder, ignore_errors=True)
        prepare(folder, kind)
    points_of(pieces, MANY)
    began, within, before = time.monotonic(), 0, 0
    for number in range(restarts + 1):
        code, words = job(pieces, "--restart", "--max-time", f"{seconds:g}")
        motion = read_state(pieces / "eigenwerk.h5", only=["motion"])["motion"]
        done = 0 if motion is None else len(motion["steps"]["converged"])
        within += motion is None or bool(motion["begun"])
        if code != NOT_OVER or done < before:
            sys.exit(f"job {number}: exit code {code}, {done} points after {before}: {words}")
        before = done
        print(f"job {number}: {done} points, {time.monotonic() - began:.0f} s", flush=True)
    spent = time.monotonic() - began
    points_of(whole, before)
    code, words = job(whole)
    if code:
        sys.exit(f"one run: exit code {code}: {words}")
    one, many = trajectory(whole), trajectory(pieces)
    return {
        "kind": kind, "restarts": restarts, "max_time_s": seconds, "points": before, "within a point": within,
        "places": float(np.abs(one["places"] - many["places"]).max()),
        "conserved": float(np.abs(one["conserved"] - many["conserved"]).max()),
        "other counts": int((one["count"] != many["count"]).sum()), "seconds": round(spent),
        "load": os.getloadavg()[0], "cores": os.cpu_count(), "python": python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }  # fmt: skip


def table(results: dict[str, Any]) -> str:
    """The page."""
    some = next(iter(results.values()))
    lines = [
        "# A long trajectory in a hundred short jobs", "",
        f"Made by `restarts.py`, {some['date']}, {some['cores']} cores with other programs on them, Python "
        f"{some['python']}. Largest differences from one run without a stop.", "",
        "| system | restarts | --max-time, s | points | stopped within a point | places, Å | conserved quantity, eV | "
        "points with other numbers of SCF steps |", "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for kind, one in results.items():
        lines.append(
            f"| {KINDS[kind][0]} | {one['restarts']} | {one['max_time_s']:g} | {one['points']} | "
            f"{one['within a point']} | {one['places']:.0e} | {one['conserved']:.0e} | {one['other counts']} |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--kinds", nargs="*", default=["npt", "langevin"])
    parser.add_argument("--restarts", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=8.0)
    options = parser.parse_args()
    for kind in options.kinds if options.what == "run" else ():
        with tempfile.TemporaryDirectory(prefix="restarts") as place:
            found = run(kind, options.restarts, options.seconds, Path(place))
        with changing(RESULTS) as entries:
            entries[kind] = found
        print(found, flush=True)
    PAGE.write_text(table(load(RESULTS)), encoding="utf-8")


if __name__ == "__main__":
    main()
