"""From a folder to a converged energy with forces on one GPU: as a command, and again in one process.

    export PYTHONPATH=src:.device/site
    python3 benchmarks/device/full_runs.py gaasbi_64 [more folders or jobs of benchmarks/jobs] --name full_runs

The command is what users wait for: `eigenwerk run` from its start to its end, with Python, PyTorch, the GPU's start,
compiled libraries and the picture.  It comes twice, first without kernels kept on the disk.  Warm is a second run from
the same folder in one process, reading it again.  --name keeps the list of measurements under that name in
results.json, or in the file after --json.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.run import run_inputs
from eigenwerk.parallel.device_clock import CudaClock
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.record.trace import Trace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from entries import changing
from vasp_folders import folder_or_job

RESULTS = Path(__file__).resolve().parent / "results.json"


def main() -> None:
    """Every folder as a command, without and with kernels on the disk, and warm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=folder_or_job, nargs="+", metavar="FOLDER or JOB")
    parser.add_argument("--name", help="keep the measurements under this name")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE", help="file of the measurements")
    parser.add_argument("--no-warm", dest="warm", action="store_false", help="commands only")
    parser.add_argument("--no-commands", dest="commands", action="store_false", help="warm only")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = []
    for folder in options.folders:
        with TemporaryDirectory() as caches:
            kinds = ("command, nothing kept", "command") if options.commands else ()
            found += [command(folder, kind, Path(caches)) for kind in kinds]
        if options.warm:
            one(folder, "loads libraries", device)
            found.append(one(folder, "warm", device))
    if options.name:
        with changing(options.json) as entries:
            entries[options.name] = found


def command(folder: Path, kind: str, caches: Path) -> dict:
    """`eigenwerk run` in a process of its own, which keeps compiled kernels in a folder."""
    names = {"XDG_CACHE_HOME": "ours", "CUDA_CACHE_PATH": "driver", "PYTORCH_KERNEL_CACHE_PATH": "torch"}
    places = {name: caches / folder for name, folder in names.items()}
    for place in places.values():
        place.mkdir(exist_ok=True)
    with TemporaryDirectory() as out:
        words = [sys.executable, "-m", "eigenwerk.cli.main", "run", str(folder), "--output", out, "--json"]
        began = time.time()
        done = subprocess.run(words, env=os.environ | {name: str(path) for name, path in places.items()},
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)  # fmt: skip
        seconds = time.time() - began
    result = json.loads(done.stdout)
    print(f"{folder.name} {kind}: {seconds:.2f} s, F {result['energies_eV']['free']:.9f} eV", flush=True)
    return {
        "job": folder.name, "kind": kind, "seconds": seconds, "energy_eV": result["energies_eV"]["free"],
        "steps": len(result["steps"]), "seconds_of_steps": [step["seconds"] for step in result["steps"]],
    }  # fmt: skip


def one(folder: Path, kind: str, device: torch.device) -> dict:
    """One run in this process; prints and returns what it took."""
    began = time.time()
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


if __name__ == "__main__":
    main()
