"""Is a version of the source as fast as another one?  The eight cells of `peers`, old and new in turn on one machine.

    python speed.py OLD NEW [--repeats 5] [--cells Si2 MgO8] [--json FILE]

OLD and NEW are checkouts; each cell runs in a process of its own with two threads, EDIFF 1e-4 eV.  Prints medians of
seconds without start-up and of CPU time of the process, new over old, and peaks of memory.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CELLS = ("Si2", "H2O", "MgO8", "Si64", "Al4", "HfO2-12", "Fe2", "Al40-slab")
TOLERANCE = "1e-4"


def once(source: Path, cell: str) -> dict[str, Any]:
    """One run; seconds, CPU seconds and the largest memory of its process in bytes."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        script = source / "benchmarks" / "peers" / "run_eigenwerk.py"
        paths = [str(source / "src"), os.environ.get("PYTHONPATH", "")]
        environ = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        process = subprocess.Popen([sys.executable, script, cell, TOLERANCE, "2", out.name], env=environ)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{cell} with {source} failed")
        found = json.loads(Path(out.name).read_text())
    return {
        "seconds": found["seconds"], "cpu": usage.ru_utime + usage.ru_stime, "bytes": 1024 * usage.ru_maxrss,
        "steps": found["steps"], "energy_eV": found["energy_eV"], "imports": found["import_seconds"],
        "phases": {phase["name"]: phase["seconds"] for phase in found["trace"]["phases"]},
    }  # fmt: skip


def main() -> None:
    """Runs in turn; a table last."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", type=Path, nargs=2, metavar="CHECKOUT")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cells", nargs="*", default=CELLS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    versions, lines, kept = [path.resolve() for path in options.versions], [], {}
    for cell in options.cells:
        for source in versions:  # plans and kernels are made once
            once(source, cell)
        runs = [[once(source, cell) for source in versions] for _ in range(options.repeats)]
        kept[cell] = runs
        old, new = zip(*runs, strict=True)
        words = [cell]
        for key in ("seconds", "cpu"):
            a, b = (statistics.median(run[key] for run in some) for some in (old, new))
            words += [f"{a:.3f}", f"{b:.3f}", f"{statistics.median(y[key] / x[key] for x, y in runs):.3f}"]
        words += [f"{max(run['bytes'] for run in some) / 1e6:.0f}" for some in (old, new)]
        words += [f"{old[0]['steps']}, {new[0]['steps']}", f"{new[0]['energy_eV'] - old[0]['energy_eV']:.0e}"]
        lines.append(f"| {' | '.join(words)} |")
        print(lines[-1], flush=True)
        for name in new[0]["phases"]:
            medians = (statistics.median(run["phases"][name] for run in some) for some in (old, new))
            print(f"    {name:<12}", *(f"{median:.3f}" for median in medians))
        if options.json:
            options.json.write_text(json.dumps(kept, indent=1))
    print("| cell | s old | new | new/old | CPU s old | new | new/old | MB old | new | steps | energy, eV |")


if __name__ == "__main__":
    main()
