"""What `steps.py` says of its measurements, on the terminal and as JSON."""

import argparse
import json
import resource
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import torch

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.scf.state import ScfStep
from eigenwerk.units import HARTREE_EV

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from entries import changing  # noqa: E402

RESULTS = HERE / "results.json"


class Mark(NamedTuple):
    """A moment, seconds of a clock, and the trace as it stood then."""

    time: float
    trace: dict[str, Any]


def measured(
    options: argparse.Namespace, calculation: Calculation, steps: list[ScfStep], marks: list[Mark], began: float
) -> dict[str, Any]:
    """One row of the JSON file; its names stay, since rows are compared over time.

    marks: before the first step and after each.  began: when the process began to work.
    """
    runtime, basis, parameters = calculation.runtime, calculation.basis, calculation.parameters
    on_gpu = runtime.device.type == "cuda"
    first = min(options.skip, len(steps) - 1)
    count, start, end = len(steps) - first, marks[first], marks[-1]
    return {
        "job": options.folder.name, "date": date.today().isoformat(), "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if on_gpu else "cpu", "ranks": runtime.world.size,
        "groups": runtime.grid.groups, "band_ranks": runtime.grid.band_ranks, "transport": runtime.world.transport,
        "seconds_per_step": (end.time - start.time) / count, "steps_counted": count,
        "until_first_step": marks[1].time - began,
        "applications_per_step": sum(step.applications for step in steps[first:]) / count,
        "peak_gigabytes": torch.cuda.max_memory_allocated() / 1e9 if on_gpu else 0.0,
        "reserved_gigabytes": torch.cuda.max_memory_reserved() / 1e9 if on_gpu else 0.0,
        "energies_eV": [step.energies.free * HARTREE_EV for step in steps],
        "phases_per_step": _difference(start.trace["phases"], end.trace["phases"], count),
        "plane_waves": max(basis.count_k), "grid": basis.grids.wave,
        "projectors": calculation.atoms.layout.projector_count, "bands": parameters.bands,
        "kpoints": len(calculation.kpoints.point_kc),
        "peak_host_gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "orbital_bytes": 16 * parameters.spins * parameters.bands * sum(basis.count_k),
    }  # fmt: skip


def profiled(profiler: torch.profiler.profile) -> dict[str, Any]:
    """What the profiler adds to a row."""
    return {"copies_in_one_step": copies(profiler), "kernels_in_one_step": kernels(profiler)}


def append(path: Path, name: str, result: dict[str, Any]) -> None:
    """Add a row to a list in a JSON file."""
    with changing(path) as entries:
        entries.setdefault(name, []).append(result)


def show(result: dict[str, Any]) -> None:
    """The row on the terminal: phases that matter, and the longest kernels where they were profiled."""
    seconds = result["seconds_per_step"]
    print(f"{result['job']}: {result['ranks']} ranks in {result['groups']} k-groups, {result['transport']}: "
          f"{seconds:.3f} s per step, first step after {result['until_first_step']:.1f} s, "
          f"{result['peak_gigabytes']:.1f} GB ({result['reserved_gigabytes']:.1f} reserved)", flush=True)  # fmt: skip
    for name, value in result["phases_per_step"].items():
        if value["device"] > 0.004 * seconds or value["host"] > 0.02 * seconds:
            print(f"    {name:<48} host {value['host']:8.4f}  device {value['device']:8.4f} s  "
                  f"calls {value['calls']:.0f}")  # fmt: skip
    if "kernels_in_one_step" in result:
        for name, (calls, milliseconds) in list(result["kernels_in_one_step"].items())[:30]:
            print(f"    {milliseconds:9.2f} ms {calls:6} calls  {name[:110]}")
        print(f"    copies in one step: {result['copies_in_one_step']}; one set of orbitals has "
              f"{result['orbital_bytes'] / 1e9:.2f} GB", flush=True)  # fmt: skip


def kernels(profiler: torch.profiler.profile) -> dict[str, tuple[int, float]]:
    """Calls and milliseconds of every kernel of a step, the longest first, and of all together."""
    found = {event.key: (event.count, event.device_time_total / 1e3) for event in profiler.key_averages()}
    total = sum(calls for calls, _ in found.values()), sum(time for _, time in found.values())
    ordered = sorted(found.items(), key=lambda item: -item[1][1])
    return {"all": total, **dict(ordered)}


def copies(profiler: torch.profiler.profile) -> dict[str, dict[str, float]]:
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


def _difference(before: list, after: list, count: int, path: str = "") -> dict[str, dict[str, float]]:
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
