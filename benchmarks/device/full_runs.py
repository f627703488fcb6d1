"""From a folder to a converged energy with forces on one GPU: cold, and warm in the same process.

    export PYTHONPATH=src:.device/site
    python3 benchmarks/device/full_runs.py benchmarks/jobs/gaasbi_64 [more folders] --json out.json

Cold counts from the start of the process: Python, PyTorch, the GPU's start, compiled libraries.  Warm is a second run
from the same folder in the same process, reading it again.  Files are written as `eigenwerk run` writes them.
"""

import argparse
import json
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from eigenwerk.dft.inputs import read_inputs
from eigenwerk.dft.run import run_inputs
from eigenwerk.parallel.device_clock import CudaClock
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.trace import Trace


def main() -> None:
    """Every folder cold, then warm; only the first one is cold from the start of the process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the measurements go")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = []
    for number, folder in enumerate(options.folders):
        for kind in ("cold", "warm"):
            began = process_start() if kind == "cold" and number == 0 else time.time()
            found.append(one(folder, kind if number == 0 else f"{kind}, libraries loaded", began, device))
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1))


def one(folder: Path, kind: str, began: float, device: torch.device) -> dict:
    """One run; prints and returns what it took."""
    trace = Trace(device_clock=CudaClock(device) if device.type == "cuda" else None)
    steps = []
    with TemporaryDirectory() as out:
        inputs = read_inputs(folder, out)
        result = run_inputs(inputs, out, steps.append, runtime=Runtime(device=device, trace=trace))
    if device.type == "cuda":
        torch.cuda.synchronize()
    seconds = time.time() - began
    phases = {phase["name"]: phase for phase in result.trace["phases"]}
    line = {
        "job": folder.name, "kind": kind, "seconds": seconds, "status": result.status, "steps": len(steps),
        "energy_eV": result.free_energy, "applications": sum(step.applications for step in steps),
        "seconds_of_steps": [step.seconds for step in steps], "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "peak_GB": torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else 0.0, "phases": phases,
    }  # fmt: skip
    print(f"{folder.name} {kind}: {seconds:.2f} s, {result.status}, F {result.free_energy:.6f} eV, steps "
          f"{' '.join(f'{step.seconds:.3f}' for step in steps)}", flush=True)  # fmt: skip
    show(result.trace["phases"], 0.02 * seconds)
    return line


def show(phases: list, least: float, indent: str = "    ") -> None:
    """The phases that matter."""
    for phase in phases:
        if phase["seconds"] > least:
            on_device = phase.get("device_seconds") or 0.0
            print(f"{indent}{phase['name']:<32} host {phase['seconds']:7.3f} device {on_device:7.3f} calls "
                  f"{phase['calls']}", flush=True)  # fmt: skip
            show(phase["children"], least, indent + "  ")


def process_start() -> float:
    """When this process was started, seconds since the epoch."""
    ticks = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
    lines = Path("/proc/stat").read_text().splitlines()
    boot = next(int(line.split()[1]) for line in lines if line.startswith("btime"))
    return boot + ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
