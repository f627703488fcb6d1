"""Exact exchange on a GPU: pairs of orbitals by kernels and grids, and whole runs of HSE06.

    export PYTHONPATH=src:.device/site
    python3 benchmarks/hybrids/on_device.py kernels [--grids 48 64 80 96]
    python3 benchmarks/hybrids/on_device.py run hfo2_96 [--tags "NELM = 40"] [--minutes 5]     job of benchmarks/jobs
    python3 benchmarks/hybrids/on_device.py run build/on_device/si --twice                     a folder
    python3 benchmarks/hybrids/on_device.py --gpus 0 1 run hfo2_96 [--transport gloo]      a rank on each GPU

`kernels`: microseconds of a pair density, its potential and what that makes of an orbital, by way of working (bytes at
the least: 32 per point in single precision, 64 in double; real orbitals share a grid in pairs).  `run`: the command as
users start it, in a process of its own, with LHFCALC = .TRUE. and HFSCREEN = 0.2; seconds, applications, energy, gap,
joules and memory by NVML (all that the boards take while the command runs; memory of the one that takes most), and on
several ranks the share of communication and how much of the orbitals' travel was hidden.
Records go to on_device.json, or to the file after --json.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "device")]
from gpu_meter import GpuMeter  # noqa: E402
from steps_report import append  # noqa: E402
from vasp_folders import folder_or_job  # noqa: E402

from eigenwerk.dft.exchange.kernels import pair_loops_cuda  # noqa: E402
from eigenwerk.dft.exchange.kernels.pair_loops import PairLoops, PairTable  # noqa: E402
from eigenwerk.dft.exchange.kernels.pair_passes_cuda import PairPasses, passes  # noqa: E402
from eigenwerk.dft.exchange.pairs.pair_charges import ChargePart, PairCharges  # noqa: E402
from eigenwerk.dft.exchange.pairs.pair_shape import PairShape  # noqa: E402
from eigenwerk.perf.communication import communication, travelled  # noqa: E402
from eigenwerk.perf.run_trace import load_run  # noqa: E402

SOURCES, TARGETS = 8, 64
COPY = 4.28e12
"""Bytes per second of a copy on an H200."""

HYBRID = "LHFCALC = .TRUE.\nHFSCREEN = 0.2\n"


def no_charges(device: torch.device, real: torch.dtype) -> PairCharges:
    """One charge that is zero."""
    zero = torch.zeros((1, 9, 1), device=device, dtype=real)
    place, index = torch.zeros((1, 3), device=device), torch.zeros(1, dtype=torch.int64, device=device)
    factor = torch.ones((1, 9), device=device)
    part = ChargePart(0, index, zero, zero.movedim(1, 2)[..., :3], PairShape(1.0, 8.0), factor, factor)
    return PairCharges(index, place, (part,), 1)


def sphere(size_c: tuple[int, int, int], device: torch.device) -> torch.Tensor:
    """1 inside of the largest sphere of waves of a cubic cell, 0 outside; (R,)."""
    wave_c = [2 * torch.fft.fftfreq(size, device=device) for size in size_c]
    square_R = sum(one**2 for one in torch.meshgrid(*wave_c, indexing="ij"))
    return (square_R <= 1).flatten()


def pair_seconds(loops: PairLoops | PairPasses, size_c: tuple[int, int, int], dtype: torch.dtype, real: bool) -> float:
    """Seconds for one field of a pair; median of seven."""
    device, points = torch.device("cuda", 0), int(np.prod(size_c))
    draw = torch.Generator(device).manual_seed(1)
    kind = torch.empty(0, dtype=dtype).real.dtype
    u_nR = torch.randn((SOURCES, points), generator=draw, device=device, dtype=kind if real else dtype)
    u_tR = torch.randn((TARGETS, points), generator=draw, device=device, dtype=dtype)
    out_tR = torch.zeros((TARGETS, points), device=device, dtype=torch.complex128)
    kernel_R, weight_n = torch.rand(points, device=device, dtype=kind), torch.ones(SOURCES, device=device)
    charges, charge_xA = no_charges(device, kind), torch.zeros((SOURCES * TARGETS, 9), device=device, dtype=dtype)

    q_n = torch.zeros(SOURCES, dtype=torch.int64, device=device)
    table = PairTable((kernel_R * sphere(size_c, device))[None], None)

    def once() -> None:
        if isinstance(loops, PairPasses):
            loops(u_nR, u_tR, charge_xA, charges, table, q_n, weight_n, out_tR, 1.0)
            return
        grid_xR = loops.form(u_nR, u_tR, charge_xA, charges, None, q_n).view(-1, *size_c)
        grid_xR = torch.fft.fftn(grid_xR, dim=(1, 2, 3)).flatten(1)
        loops.multiply(grid_xR, table.kernel_qR, q_n)
        field_xR = torch.fft.ifftn(grid_xR.view(-1, *size_c), dim=(1, 2, 3), norm="forward").flatten(1)
        loops.accumulate(field_xR, u_nR, weight_n, out_tR)

    times = []
    for _ in range(9):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        once()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e-3)
    return float(np.median(times[2:])) / (SOURCES * TARGETS)


def three_passes(size_c: tuple[int, int, int], device: torch.device, dtype: torch.dtype) -> PairPasses | None:
    """If they cover the grid."""
    return passes(size_c, device, dtype, 9)


def kernels(grids: list[int], json_file: Path) -> None:
    """The ladder."""
    device = torch.device("cuda", 0)
    name = torch.cuda.get_device_name(0)
    for number in grids:
        size_c = (number,) * 3 if number != 70 else (70, 70, 72)
        points, rows = int(np.prod(size_c)), {}
        single, double = torch.complex64, torch.complex128
        ways = {
            "PyTorch, double": (PairLoops(), double, False), "PyTorch, single": (PairLoops(), single, False),
            "kernels, double": (pair_loops_cuda.CudaLoops(device, double, 9), double, False),
            "kernels, single": (pair_loops_cuda.CudaLoops(device, single, 9), single, False),
            "kernels, single, two real pairs in a grid": (pair_loops_cuda.CudaLoops(device, single, 9), single, True),
            **{f"three passes, {word}": (three_passes(size_c, device, dtype), dtype, real)
               for word, dtype, real in (("double", double, False), ("single", single, False),
                                         ("single, two real pairs in a grid", single, True))},
        }  # fmt: skip
        for way, (loops, dtype, real) in ways.items():
            if loops is None:
                continue
            seconds = pair_seconds(loops, size_c, dtype, real) / (2 if real else 1)
            least = points * (64 if dtype == double else 32) / (2 if real else 1)
            rows[way] = {"microseconds": 1e6 * seconds, "of_copy": least / seconds / COPY}
            print(f"{size_c}  {way:45} {1e6 * seconds:8.2f} us  {100 * least / seconds / COPY:5.1f} %", flush=True)
            torch.cuda.empty_cache()
        record = {"device": name, "torch": torch.__version__, "date": time.strftime("%Y-%m-%d"), "grid": size_c}
        append(json_file, "kernels", {**record, "ways": rows})


def run(name: str, more: str, options: argparse.Namespace) -> None:
    """One folder, whole; more: tags."""
    source = Path(name) if Path(name).is_dir() else Path(folder_or_job(name))
    ranks, on_gpu = max(1, len(options.gpus)), options.device == "cuda"
    words = "_".join([source.name, *map(str, options.gpus), options.transport])
    for turn in range(2 if options.twice else 1):
        folder = Path("/tmp") / f"hybrid_{words}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        with_tags(folder / "INCAR", HYBRID + more.replace(";", "\n") + "\n")
        environ = os.environ | ({"CUDA_VISIBLE_DEVICES": ",".join(map(str, options.gpus))} if options.gpus else {})
        command = [sys.executable, "-m", "eigenwerk.cli.entry", "run", str(folder), "--device", options.device]
        command += ["--max-time", options.max_time] if options.max_time else []
        if options.transport == "mpi":
            environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            command = ["mpirun", "--bind-to", "none", "-n", str(ranks), *command, "--transport", "mpi"]
        elif ranks > 1:
            command += ["--ranks", str(ranks), *(["--transport", options.transport] if options.transport else [])]
        started = time.perf_counter()
        with ExitStack() as stack:
            meters = [stack.enter_context(GpuMeter(gpu)) for gpu in options.gpus or [0]] if on_gpu else []
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=60 * options.minutes, check=False, env=environ
            )
        seconds, uses = time.perf_counter() - started, [meter.use for meter in meters]
        print(done.stdout[-3500:], done.stderr[-1500:], flush=True)
        record = {
            "job": source.name, "turn": turn, "tags": more, "ranks": ranks, "transport": options.transport,
            "device": torch.cuda.get_device_name(0) if on_gpu else options.device, "torch": torch.__version__,
            "date": time.strftime("%Y-%m-%d"), "seconds": seconds, "exit": done.returncode,
            "applications": len(re.findall(r"exact exchange \d+:", done.stdout)), **_outcome(folder),
            "gpu": {
                "joules": sum(use.joules for use in uses), "watts_at_rest": sum(use.watts_at_rest for use in uses),
                "memory_GB": max(use.memory_GB for use in uses),
            } if uses else None,
        }  # fmt: skip
        print(json.dumps({key: value for key, value in record.items() if key != "phases"}), flush=True)
        append(options.json, "runs", record)


def with_tags(incar: Path, more: str) -> None:
    """Lines of tags in place of those that say the same."""
    given = {line.partition("=")[0].strip() for line in more.splitlines()}
    old = incar.read_text().splitlines()
    incar.write_text("\n".join([*(one for one in old if one.partition("=")[0].strip() not in given), more]))


def _outcome(folder: Path) -> dict[str, object]:
    """Energy, gap and seconds by phase of what was written."""
    found: dict[str, object] = {}
    text = (folder / "OUTCAR").read_text() if (folder / "OUTCAR").exists() else ""
    energies = re.findall(r"free\s+energy\s+TOTEN\s+=\s+(\S+)", text)
    found["energy_eV"] = float(energies[-1]) if energies else None
    record = folder / "eigenwerk.json"
    if record.exists():
        found["record"] = {key: json.loads(record.read_text()).get(key) for key in ("gap", "status")}
    trace = folder / "eigenwerk-trace.json"
    if trace.exists():
        spans: dict[str, float] = {}
        events = json.loads(trace.read_text())
        for event in events.get("traceEvents", events) if isinstance(events, dict) else events:
            if isinstance(event, dict) and "dur" in event:
                spans[event["name"]] = spans.get(event["name"], 0.0) + event["dur"] * 1e-6
        found["phases"] = dict(sorted(spans.items(), key=lambda item: -item[1])[:12])
        own = load_run(folder)
        if len(own.ranks) > 1:
            way = travelled(own)
            found["communication"] = {
                "share": communication(own).share, "seconds_of_travel": way and way[0], "hidden": way and way[1],
            }  # fmt: skip
    return found


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=HERE / "on_device.json")
    parser.add_argument("--gpus", type=int, nargs="+", default=[], help="one rank on each")
    actions = parser.add_subparsers(dest="action", required=True)
    first = actions.add_parser("kernels")
    first.add_argument("--grids", type=int, nargs="+", default=[48, 54, 64, 70, 80, 96])
    second = actions.add_parser("run")
    second.add_argument("names", nargs="+")
    second.add_argument("--tags", default="")
    second.add_argument("--minutes", type=float, default=8.0)
    second.add_argument("--twice", action="store_true")
    second.add_argument("--device", default="cuda")
    second.add_argument("--max-time", default="")
    second.add_argument("--transport", default="", choices=["", "nccl", "mpi", "gloo"])
    given = parser.parse_args()
    if given.action == "kernels":
        kernels(given.grids, given.json)
        return
    os.environ.setdefault("PYTHONPATH", "src:.device/site")
    for name in given.names:
        run(name, given.tags, given)


if __name__ == "__main__":
    main()
