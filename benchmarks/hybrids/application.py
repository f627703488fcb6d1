"""The first application of exact exchange of a job too long to end, on some GPUs: a run of HSE06 up to there.

    export PYTHONPATH=src:.device/site
    python3 benchmarks/hybrids/application.py hfo2_216 [--ranks 4] [--steps 2]     job of benchmarks/jobs, or a folder

Seconds to set up, of each step, and of the step that ends with the application (the application is that less the step
before it); what was hidden of the orbitals' travel.  --ranks: one process for each GPU, joined by NCCL
(--transport for others), as in `eigenwerk run`; joules and memory of all boards by NVML.  --passes: also the pass over
all pairs that forces and stress need.  Records go to on_device.json, or to the file after --json.
"""

import argparse
import contextlib
import os
import shutil
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "device")]
from gpu_meter import GpuMeter  # noqa: E402
from steps import Enough, most_groups, wait  # noqa: E402
from steps_report import append  # noqa: E402
from vasp_folders import folder_or_job  # noqa: E402

from eigenwerk.dft.calculation import Calculation  # noqa: E402
from eigenwerk.dft.inputs.inputs import read_inputs  # noqa: E402
from eigenwerk.dft.scf.state import ScfStep, State  # noqa: E402
from eigenwerk.io.paw.paw_xml import read_paw_xml  # noqa: E402
from eigenwerk.parallel.device_clock import record_device  # noqa: E402
from eigenwerk.parallel.launch.choice import DeviceRequest  # noqa: E402
from eigenwerk.parallel.launch.environment import Launch, find_launch  # noqa: E402
from eigenwerk.parallel.launch.launch import die_with_parent, run_ranks  # noqa: E402
from eigenwerk.parallel.launch.start import StartRequest, init_ranks  # noqa: E402
from eigenwerk.parallel.runtime import Runtime  # noqa: E402
from eigenwerk.parallel.threads import intraop_threads  # noqa: E402
from eigenwerk.record.trace import Trace  # noqa: E402
from eigenwerk.record.traffic import hidden_travel  # noqa: E402
from eigenwerk.units import HARTREE_EV  # noqa: E402

HYBRID = "LHFCALC = .TRUE.\nHFSCREEN = 0.2\n"


def main() -> None:
    """Starts the ranks, or is one of them."""
    options = _options()
    launch = find_launch()
    folder = Path("/tmp") / f"application_{options.job.name}"
    if launch.rank == 0 and not folder.exists():
        shutil.copytree(options.job, folder)
        with (folder / "INCAR").open("a") as incar:
            incar.write("\n" + HYBRID)
    if options.ranks > 1 and not launch.starter:
        threads = max(1, (os.cpu_count() or 1) // options.ranks)
        sys.exit(run_ranks([sys.executable, __file__, *sys.argv[1:]], options.ranks, threads, print))
    if launch.several:
        die_with_parent()
    work(launch, options, folder)


def work(launch: Launch, options: argparse.Namespace, folder: Path) -> None:
    """One rank."""
    began, trace = time.perf_counter(), Trace()
    inputs = read_inputs(folder, "/nowhere")
    inputs.raise_on_errors()
    points = len(inputs.kpoints.point_kc)
    request = StartRequest(DeviceRequest(options.device, options.transport), lambda n, *_: most_groups(n, points))
    with init_ranks(launch, lambda: request, trace=trace) as team, ExitStack() as stack:
        runtime = team.runtime
        record_device(trace, runtime.device)
        meters = []
        if runtime.device.type == "cuda" and runtime.writes:
            meters = [stack.enter_context(GpuMeter(gpu)) for gpu in range(runtime.world.size)]
        datasets = {symbol: read_paw_xml(file) for symbol, file in inputs.datasets.items()}
        calc = Calculation(inputs.structure, inputs.kpoints, inputs.parameters, datasets, runtime)
        meter = Meter(runtime, options.steps, began)
        with intraop_threads(None, runtime.device), contextlib.suppress(Enough):
            calc.run(meter)
        passes = forces_seconds(calc, meter.state) if options.passes and meter.state is not None else None
        stack.close()
        travel, share = hidden_travel(trace.as_dict()) or (0.0, 1.0)
        way_1x = runtime.tensor([[travel, (1 - share) * travel]])
        travel_p = runtime.world.all_gather(way_1x, [1] * runtime.world.size).cpu()
        memory = torch.cuda.max_memory_reserved() / 1e9 if runtime.device.type == "cuda" else 0.0
        most = float(runtime.world.max(runtime.tensor(memory)))
        if runtime.writes:
            record = _record(options, runtime, meter, began)
            way, waited = travel_p.sum(0).tolist()
            record |= {"passes_of_forces_seconds": passes, "reserved_GB": most}
            record |= {"travel_seconds": way / len(travel_p), "hidden": 1 - waited / way if way else None}
            record |= {"gpu": [asdict(one.use) for one in meters]}
            told = ("device", "ranks", "application_seconds", "step_seconds", "hidden", "travel_seconds",
                    "passes_of_forces_seconds", "reserved_GB")  # fmt: skip
            print({key: record[key] for key in told}, flush=True)
            append(options.json, "applications", record)
        runtime.world.barrier()


class Meter:
    """Called after every step; raises Enough some steps after the first one with exact exchange."""

    def __init__(self, runtime: Runtime, more: int, began: float) -> None:
        self.runtime, self.more, self.state = runtime, more, None
        self.steps: list[dict[str, Any]] = []
        self.last, self.state = began, None

    def __call__(self, step: ScfStep, state: State) -> None:
        wait(self.runtime.device)
        now = time.perf_counter()
        told = [words for words in step.events if words.startswith("exact exchange")]
        self.steps.append({"seconds": now - self.last, "energy_eV": step.energies.free * HARTREE_EV, "told": told})
        if self.runtime.writes:
            print(f"{len(self.steps):4} {now - self.last:9.2f} s {step.energies.free * HARTREE_EV:18.6f} eV "
                  f"{' '.join(told)}", flush=True)  # fmt: skip
        self.last, self.state = now, state
        first = next((x for x, one in enumerate(self.steps) if one["told"]), None)
        if first is not None and len(self.steps) > first + self.more:
            raise Enough


def forces_seconds(calc: Calculation, state: State) -> float:
    """Of the pass over all pairs of occupied orbitals that forces and stress need."""
    assert calc.exchange is not None
    wait(calc.runtime.device)
    began = time.perf_counter()
    calc.exchange.orbital_derivatives(state.coeff_sknG, state.filling_skn)
    wait(calc.runtime.device)
    return time.perf_counter() - began


def _record(options: argparse.Namespace, runtime: Runtime, meter: Meter, began: float) -> dict[str, Any]:
    on_gpu, seconds = runtime.device.type == "cuda", [one["seconds"] for one in meter.steps]
    renewing = next(x for x, one in enumerate(meter.steps) if one["told"])
    after = seconds[renewing + 1 :]
    return {
        "job": options.job.name, "kind": "first application", "date": time.strftime("%Y-%m-%d"),
        "torch": torch.__version__, "device": torch.cuda.get_device_name(0) if on_gpu else "cpu",
        "ranks": runtime.world.size, "groups": runtime.grid.groups, "transport": runtime.world.transport,
        "seconds_of_all": time.perf_counter() - began, "steps": meter.steps,
        "step_seconds": sum(after) / len(after), "application_seconds": seconds[renewing] - seconds[renewing - 1],
    }  # fmt: skip


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", type=folder_or_job, metavar="FOLDER or JOB")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--steps", type=int, default=2, help="after that with the application")
    parser.add_argument("--passes", action="store_true", help="also the pass of forces and stress")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--transport", default="auto")
    parser.add_argument("--json", type=Path, default=HERE / "on_device.json")
    return parser.parse_args()


if __name__ == "__main__":
    main()
