"""Seconds per self-consistency step of a job folder on some GPUs, by phase, with memory.

    export PYTHONPATH=src:.device/site
    python3 benchmarks/device/steps.py benchmarks/jobs/hfo2_96 --ranks 2 --steps 4 --json out.json
    mpirun -n 2 python3 benchmarks/device/steps.py benchmarks/jobs/hfo2_96 --transport mpi --steps 4

Every rank is a process with a GPU of its own, joined by NCCL (or Gloo, MPI, or on processors by --device cpu).
The first steps are left out of the mean: they make plans, fill caches and start from atoms.
"""

import argparse
import contextlib
import json
import os
import resource
import socket
import sys
import tempfile
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import torch
import torch.distributed as dist

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.inputs import read_inputs
from eigenwerk.io.paw_xml import read_paw_xml
from eigenwerk.parallel.device_clock import CudaClock
from eigenwerk.parallel.mpi import mpi_world
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.serial import SerialCommunicator
from eigenwerk.parallel.torch_distributed import gloo_world, nccl_world
from eigenwerk.trace import Trace
from eigenwerk.units import HARTREE_EV


class Enough(Exception):
    """The wanted number of steps has been done."""


def main() -> None:
    options = _options()
    if options.transport == "mpi":  # started by mpirun
        work(0, 0, options)
        return
    port = _free_port()
    context = torch.multiprocessing.get_context("spawn")
    ranks = [context.Process(target=work, args=(rank, port, options)) for rank in range(options.ranks)]
    for process in ranks:
        process.start()
    while any(process.is_alive() for process in ranks):
        time.sleep(0.2)
        if any(process.exitcode not in (None, 0) for process in ranks):
            for process in ranks:
                process.kill()
    sys.exit(max(abs(process.exitcode or 0) for process in ranks))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--groups", type=int, default=0, help="k-groups; 0: as many as ranks and k-points allow")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--skip", type=int, default=2, help="steps left out of the mean")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--transport", default="nccl", choices=("nccl", "gloo", "mpi"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--profile", action="store_true", help="one more step: bytes between host and device in it")
    return parser.parse_args()


def work(rank: int, port: int, options: argparse.Namespace) -> None:
    """One rank."""
    began = time.perf_counter()
    mpi = mpi_world() if options.transport == "mpi" else None
    if mpi is not None:
        rank, options.ranks = mpi.rank, mpi.size
    device = torch.device("cpu") if options.device == "cpu" else torch.device("cuda", rank % torch.cuda.device_count())
    if device.type == "cuda":
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // options.ranks))
    clock = CudaClock(device) if device.type == "cuda" else None
    trace = Trace(device_clock=clock)
    inputs = read_inputs(options.folder, "/nowhere")
    inputs.raise_on_errors()
    points = len(inputs.kpoints.point_kc)
    world = SerialCommunicator()
    if mpi is not None:
        world = mpi
        world.trace = trace
    elif options.ranks > 1:
        store = dist.TCPStore("127.0.0.1", port, options.ranks, rank == 0)
        make = nccl_world if options.transport == "nccl" else gloo_world
        more = (device,) if options.transport == "nccl" else ()
        world = make(rank, options.ranks, store, *more, trace)
    groups = options.groups or max(g for g in range(1, options.ranks + 1) if options.ranks % g == 0 and g <= points)
    runtime = Runtime(device=device, grid=make_process_grid(world, groups), trace=trace)
    datasets = {symbol: read_paw_xml(file) for symbol, file in inputs.datasets.items()}
    parameters = replace(inputs.parameters, max_steps=options.steps + options.profile)
    calculation = Calculation(inputs.structure, inputs.kpoints, parameters, datasets, runtime)
    steps, marks = [], []
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) if options.profile else None

    def on_step(step, state) -> None:
        _wait(device)
        steps.append(step)
        marks.append((time.perf_counter(), trace.as_dict()))
        if rank == 0:
            print(f"  step {step.step} F {step.energies.free * HARTREE_EV:.8f} eV change "
                  f"{step.change * HARTREE_EV:.1e} residual {step.residual:.1e} {step.seconds:.2f} s, "
                  f"{step.applications} H", flush=True)  # fmt: skip
        if step.step == options.steps and profiler is not None:
            profiler.start()
        elif step.step >= options.steps or state.converged:
            if profiler is not None and step.step > options.steps:
                profiler.stop()
                steps.pop(), marks.pop()
            raise Enough

    with contextlib.suppress(Enough):
        calculation.run(on_step)
    _wait(device)
    if rank == 0:
        report(options, runtime, calculation, steps, marks, began, profiler)
    world.barrier()
    world.close()


def report(options, runtime, calculation, steps, marks, began, profiler) -> None:
    """Print and store what was measured."""
    first = min(options.skip, len(marks) - 1)
    count = len(marks) - first
    start = marks[first - 1]
    seconds = (marks[-1][0] - start[0]) / count
    phases = _difference(start[1]["phases"], marks[-1][1]["phases"], count)
    gigabytes = torch.cuda.max_memory_allocated() / 1e9 if runtime.device.type == "cuda" else 0.0
    reserved = torch.cuda.max_memory_reserved() / 1e9 if runtime.device.type == "cuda" else 0.0
    result = {
        "job": options.folder.name, "date": date.today().isoformat(), "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if runtime.device.type == "cuda" else "cpu", "ranks": options.ranks,
        "groups": runtime.grid.groups, "band_ranks": runtime.grid.band_ranks, "transport": runtime.world.transport,
        "seconds_per_step": seconds, "steps_counted": count, "until_first_step": marks[0][0] - began,
        "applications_per_step": sum(step.applications for step in steps[first:]) / count,
        "peak_gigabytes": gigabytes, "reserved_gigabytes": reserved,
        "energies_eV": [step.energies.free * HARTREE_EV for step in steps], "phases_per_step": phases,
        "plane_waves": max(calculation.basis.count_k), "grid": calculation.basis.grids.wave,
        "projectors": calculation.atoms.layout.projector_count, "bands": calculation.parameters.bands,
        "kpoints": len(calculation.kpoints.point_kc),
        "peak_host_gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "orbital_bytes": 16 * calculation.parameters.spins * calculation.parameters.bands
        * sum(calculation.basis.count_k),
    }  # fmt: skip
    print(f"{options.folder.name}: {options.ranks} ranks in {runtime.grid.groups} k-groups, {runtime.world.transport}: "
          f"{seconds:.3f} s per step, first step after {result['until_first_step']:.1f} s, {gigabytes:.1f} GB "
          f"({reserved:.1f} reserved)", flush=True)  # fmt: skip
    for name, value in phases.items():
        if value["device"] > 0.004 * seconds or value["host"] > 0.02 * seconds:
            print(f"    {name:<48} host {value['host']:8.4f}  device {value['device']:8.4f} s  "
                  f"calls {value['calls']:.0f}")  # fmt: skip
    if profiler is not None:
        result["copies_in_one_step"] = copies(profiler)
        result["kernels_in_one_step"] = kernels(profiler)
        for name, (calls, milliseconds) in list(result["kernels_in_one_step"].items())[:30]:
            print(f"    {milliseconds:9.2f} ms {calls:6} calls  {name[:110]}")
        print(f"    copies in one step: {result['copies_in_one_step']}; one set of orbitals has "
              f"{result['orbital_bytes'] / 1e9:.2f} GB", flush=True)  # fmt: skip
    if options.json:
        known = json.loads(options.json.read_text()) if options.json.exists() else []
        options.json.write_text(json.dumps([*known, result], indent=1))


def kernels(profiler) -> dict:
    """Calls and milliseconds of every kernel of a step, the longest first, and of all together."""
    found = {event.key: (event.count, event.device_time_total / 1e3) for event in profiler.key_averages()}
    total = sum(calls for calls, _ in found.values()), sum(time for _, time in found.values())
    ordered = sorted(found.items(), key=lambda item: -item[1][1])
    return {"all": total, **dict(ordered)}


def copies(profiler) -> dict:
    """Number and bytes of copies between host and device, by kind."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profiler.export_chrome_trace(file.name)
        events = json.loads(Path(file.name).read_text())["traceEvents"]
    found: dict[str, list[float]] = {}
    for event in events:
        name = event.get("name", "")
        if name.startswith("Memcpy") and ("HtoD" in name or "DtoH" in name):
            count = found.setdefault("host to device" if "HtoD" in name else "device to host", [0, 0, 0])
            size = event.get("args", {}).get("bytes", 0)
            count[0], count[1], count[2] = count[0] + 1, count[1] + size, max(count[2], size)
    return {kind: {"calls": c[0], "bytes": c[1], "largest": c[2]} for kind, c in found.items()}


def _difference(before: list, after: list, count: int, path: str = "") -> dict:
    """Seconds per step of every phase."""
    found = {}
    old = {phase["name"]: phase for phase in before}
    for phase in after:
        earlier = old.get(phase["name"], {"seconds": 0.0, "device_seconds": 0.0, "calls": 0, "children": []})
        name = path + phase["name"]
        found[name] = {
            "host": (phase["seconds"] - earlier["seconds"]) / count,
            "device": ((phase.get("device_seconds") or 0.0) - (earlier.get("device_seconds") or 0.0)) / count,
            "calls": (phase["calls"] - earlier["calls"]) / count,
        }
        found |= _difference(earlier["children"], phase["children"], count, name + " / ")
    return found


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    main()
