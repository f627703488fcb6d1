"""Is a version of the source as fast as another one on a GPU?  Whole runs of folders, old and new in turn, one machine.

    python gpu_speed.py OLD NEW FOLDER [FOLDER ...] [--processes 2] [--runs 4] [--json FILE]

OLD and NEW are checkouts.  A process of each version runs the folder `runs` times (the first one loads libraries and
is not counted) by that version's own `benchmarks/device/full_runs.py`; versions take turns.  Prints medians of the
warm seconds, of seconds per step after the third, of phases on the device, and the peak of PyTorch's memory.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ONE = """
import contextlib, io, json, sys
from pathlib import Path
import torch
import full_runs
lines = []
with contextlib.redirect_stdout(io.StringIO()):
    for _ in range(int(sys.argv[2])):
        torch.cuda.reset_peak_memory_stats()
        lines.append(full_runs.one(Path(sys.argv[1]), "warm", torch.device("cuda")))
print(json.dumps(lines[1:]))
"""


def several(source: Path, folder: Path, runs: int) -> list[dict[str, Any]]:
    """Warm runs of one process with the version in `source`."""
    paths = [source / "src", source / "benchmarks" / "device", source / "benchmarks", os.environ.get("PYTHONPATH", "")]
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    words = [sys.executable, "-c", ONE, str(folder), str(runs)]
    done = subprocess.run(words, env=environ, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{folder.name} with {source} failed")
    return json.loads(done.stdout.splitlines()[-1])


def per_step(run: dict[str, Any]) -> float:
    """The median step after the third."""
    return statistics.median(run["seconds_of_steps"][3:])


def on_device(run: dict[str, Any]) -> dict[str, float]:
    """Seconds on the device of the outermost phases and of those below them."""
    phases = list(run["phases"].values())
    phases += [child for phase in phases for child in phase["children"]]
    return {phase["name"]: phase.get("device_seconds") or 0.0 for phase in phases}


def main() -> None:
    """Runs in turn; a table last."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", type=Path, nargs=2, metavar="CHECKOUT")
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    versions, lines, kept = [path.resolve() for path in options.versions], [], {}
    for folder in options.folders:
        found: list[list[dict[str, Any]]] = [[], []]
        for _ in range(options.processes):
            for place, source in zip(found, versions, strict=True):
                place += several(source, folder.resolve(), options.runs)
        words = [folder.name]
        for key in (lambda run: run["seconds"], per_step):
            old, new = (statistics.median(map(key, some)) for some in found)
            words += [f"{old:.4f}", f"{new:.4f}", f"{new / old:.3f}"]
        words += [f"{max(run['peak_GB'] for run in some):.3f}" for some in found]
        words += [f"{found[0][0]['steps']}, {found[1][0]['steps']}"]
        words += [f"{found[1][0]['energy_eV'] - found[0][0]['energy_eV']:.0e}"]
        lines.append(f"| {' | '.join(words)} |")
        for name in on_device(found[1][0]):
            old, new = ([on_device(run).get(name, 0.0) for run in some] for some in found)
            if max(new) > 0.02 * found[1][0]["seconds"]:
                print(f"    {name:<32} {statistics.median(old):.4f} {statistics.median(new):.4f}")
        print(lines[-1], flush=True)
        kept[folder.name] = found
        if options.json:
            options.json.write_text(json.dumps(kept, indent=1))
    print("| job | s old | new | new/old | s per step old | new | new/old | GB old | new | steps | energy, eV |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
