"""Seconds per self-consistency step of a job folder on some GPUs, by phase, with memory.

    export PYTHONPATH=src:.device/site
    python3 benchmarks/device/steps.py hfo2_96 --ranks 2 --steps 4 --name steps
    mpirun -n 2 python3 benchmarks/device/steps.py hfo2_96 --transport mpi --steps 4

A folder, or the name of one of benchmarks/jobs, which is made.  --name adds a record to the list of that name in
results.json, or in the file after --json.
Every rank is a process with a GPU of its own, joined by NCCL (or Gloo, MPI, or on processors by --device cpu), as those
of `eigenwerk run`.  The first steps are left out of the mean: they make plans, fill caches and start from atoms.
"""

import argparse
import contextlib
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
from steps_report import RESULTS, Mark, append, measured, profiled, show

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.inputs.inputs import Inputs, read_inputs
from eigenwerk.dft.scf.state import ScfStep, State
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.parallel.device_clock import record_device
from eigenwerk.parallel.launch.choice import DeviceRequest
from eigenwerk.parallel.launch.environment import Launch, find_launch
from eigenwerk.parallel.launch.launch import die_with_parent, run_ranks
from eigenwerk.parallel.launch.start import StartRequest, init_ranks
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.threads import intraop_threads
from eigenwerk.parallel.transports.table import TRANSPORT_NAMES
from eigenwerk.record.trace import Trace
from eigenwerk.units import HARTREE_EV

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from vasp_folders import folder_or_job


class Enough(Exception):
    """The wanted number of steps has been done."""


def main() -> None:
    """Starts the ranks, or is one of them."""
    options = _options()
    launch = find_launch()
    if options.ranks > 1 and not launch.starter:
        threads = max(1, (os.cpu_count() or 1) // options.ranks)
        sys.exit(run_ranks([sys.executable, __file__, *sys.argv[1:]], options.ranks, threads, print))
    if launch.several:
        die_with_parent()
    work(launch, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=folder_or_job, metavar="FOLDER or JOB")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--groups", type=int, default=0, help="k-groups; 0: as many as ranks and k-points allow")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--skip", type=int, default=2, help="steps left out of the mean")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--transport", default="nccl", choices=TRANSPORT_NAMES)
    parser.add_argument("--name", help="keep the record in the list of this name")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE", help="file of the records")
    parser.add_argument("--profile", action="store_true", help="one more step: bytes between host and device in it")
    return parser.parse_args()


def work(launch: Launch, options: argparse.Namespace) -> None:
    """One rank: solves for so many steps; rank 0 reports."""
    began, trace = time.perf_counter(), Trace()
    inputs = read_inputs(options.folder, "/nowhere")
    inputs.raise_on_errors()
    points = len(inputs.kpoints.point_kc)
    task = StartRequest(
        DeviceRequest(options.device, options.transport),
        lambda ranks, *_: options.groups or most_groups(ranks, points),
    )
    with init_ranks(launch, lambda: task, trace=trace) as team:
        runtime = team.runtime
        record_device(trace, runtime.device)
        if runtime.device.type == "cpu":
            torch.set_num_threads(team.placement.threads)
        meter = Meter(runtime, options)
        calculation = _calculation(inputs, options.steps + options.profile, runtime)
        with intraop_threads(None, runtime.device), contextlib.suppress(Enough):
            calculation.run(meter)
        wait(runtime.device)
        if runtime.writes:
            result = measured(options, calculation, meter.steps, meter.marks, began)
            result |= profiled(meter.profiler) if meter.profiler is not None else {}
            show(result)
            if options.name:
                append(options.json, options.name, result)
        runtime.world.barrier()


def most_groups(ranks: int, points: int) -> int:
    """The largest number of k-groups that divides the ranks and leaves no group without a k-point."""
    return max(groups for groups in range(1, ranks + 1) if ranks % groups == 0 and groups <= points)


def _calculation(inputs: Inputs, max_steps: int, runtime: Runtime) -> Calculation:
    datasets = {symbol: read_paw_xml(file) for symbol, file in inputs.datasets.items()}
    parameters = replace(inputs.parameters, max_steps=max_steps)
    return Calculation(inputs.structure, inputs.kpoints, parameters, datasets, runtime)


class Meter:
    """Called after every step: marks the time and the trace, and raises Enough after the last.

    marks: before the first step and after each.  profiler: None unless --profile asks for one more step; that step is
    profiled and not counted.
    """

    def __init__(self, runtime: Runtime, options: argparse.Namespace) -> None:
        self.runtime, self.last, self.wanted = runtime, options.steps, options.profile
        self.steps: list[ScfStep] = []
        self.marks: list[Mark] = [self._mark()]
        self.profiler: torch.profiler.profile | None = None

    def __call__(self, step: ScfStep, state: State) -> None:
        wait(self.runtime.device)
        if self.profiler is not None:
            self.profiler.stop()
            raise Enough
        self.steps.append(step)
        self.marks.append(self._mark())
        if self.runtime.writes:
            print(f"  step {step.step} F {step.energies.free * HARTREE_EV:.8f} eV change "
                  f"{step.change * HARTREE_EV:.1e} residual {step.residual:.1e} {step.seconds:.2f} s, "
                  f"{step.applications} H", flush=True)  # fmt: skip
        if state.converged or (step.step >= self.last and not self.wanted):
            raise Enough
        if step.step == self.last:
            self.profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
            self.profiler.start()

    def _mark(self) -> Mark:
        return Mark(time.perf_counter(), self.runtime.trace.as_dict())


def wait(device: torch.device) -> None:
    """Until a GPU has done all it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    main()
