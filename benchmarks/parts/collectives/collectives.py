"""Measures every verb of every transport: seconds, bus bandwidth, and its share of what NVLink gives.

    python benchmarks/parts/collectives/collectives.py --device cuda --ranks 2
    python benchmarks/parts/collectives/collectives.py --device cpu --ranks 4 --transports "gloo,gloo x4" --verbs sum

    python benchmarks/parts/collectives/collectives.py --show nccl_cuda_2 mpi_cuda_2 gloo_cuda_2

starts one process per rank by itself.  A transport is "nccl", "gloo" or "mpi", alone, as "pairwise gloo" (sums by
messages between pairs), or as "gloo x4" (sums over four endpoints).  `--name NAME` keeps the results under that name in
results.json, or in the file after --json; `--show NAME ...` prints those that are there.

Bus bandwidth is what a link must carry at least, so that it does not depend on the number of ranks p: bytes per second
times 2 (p-1)/p for sum and max, (p-1)/p for reduce_scatter, all_gather, gather, all_to_all and exchange, 1 for the
rest; bytes are those of the longest array of the verb.  Times are means over repeated calls, of the slowest rank.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import torch
from torch.distributed import FileStore

from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.transports.endpoints import EndpointCommunicator
from eigenwerk.parallel.transports.mpi import mpi_world
from eigenwerk.parallel.transports.pairwise import PairwiseCommunicator
from eigenwerk.parallel.transports.torch_distributed import gloo_world, nccl_world
from eigenwerk.parallel.transports.transport import TransportCommunicator

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from entries import changing, load

RESULTS = Path(__file__).resolve().parent / "results.json"

NVLINK = 370.0
"""GB/s of bus bandwidth that NVLink of an H200 gives without multicast."""

SECONDS = 0.2
"""Time for the repetitions of one measurement, about."""

DEFAULT_TRANSPORTS = {
    "cuda": "nccl,pairwise nccl,mpi,pairwise mpi,gloo,pairwise gloo",
    "cpu": "gloo,pairwise gloo,gloo x2,gloo x4,mpi,pairwise mpi,mpi x2,mpi x4",
}

# --- the verbs -------------------------------------------------------------------------------------------------------

Run = Callable[[Communicator, torch.Tensor], object]


def swap(comm: Communicator, array_x: torch.Tensor) -> object:
    """Around a ring."""
    spare = torch.empty_like(array_x)
    return comm.swap(array_x, (comm.rank + 1) % comm.size, spare, (comm.rank - 1) % comm.size)


def rows(comm: Communicator, array_x: torch.Tensor) -> torch.Tensor:
    """An entry for each rank."""
    return array_x.view(comm.size, -1)


def part(comm: Communicator, array_x: torch.Tensor) -> torch.Tensor:
    """What one rank has of an array that will be joined."""
    return rows(comm, array_x)[comm.rank]


VERBS: dict[str, tuple[Run, str]] = {
    "sum": (lambda comm, array_x: comm.sum(array_x), "twice"),
    "max": (lambda comm, array_x: comm.max(array_x), "twice"),
    "reduce": (lambda comm, array_x: comm.reduce(array_x, 0), "one"),
    "reduce_scatter": (lambda comm, array_x: comm.reduce_scatter(rows(comm, array_x)), "once"),
    "broadcast": (lambda comm, array_x: comm.broadcast(array_x, 0), "one"),
    "all_gather": (lambda comm, array_x: comm.all_gather(part(comm, array_x), _lengths(comm, array_x)), "once"),
    "gather": (lambda comm, array_x: comm.gather(part(comm, array_x), 0, _lengths(comm, array_x)), "once"),
    "all_to_all": (lambda comm, array_x: comm.all_to_all(rows(comm, array_x)), "once"),
    "exchange": (lambda comm, array_x: comm.exchange(list(rows(comm, array_x)), _shapes(comm, array_x)), "once"),
    "swap": (swap, "one"),
}
"""How each verb is called with an array, and which share of it crosses a link."""


def _lengths(comm: Communicator, array_x: torch.Tensor) -> list[int]:
    return [array_x.numel() // comm.size] * comm.size


def _shapes(comm: Communicator, array_x: torch.Tensor) -> list[list[int]]:
    return [[array_x.numel() // comm.size]] * comm.size


def crossings(kind: str, size: int) -> float:
    """Bytes over a link per byte of the array."""
    return {"twice": 2 * (size - 1) / size, "once": (size - 1) / size, "one": 1.0}[kind]


# --- one rank --------------------------------------------------------------------------------------------------------


def layered(world: TransportCommunicator, transport: str) -> TransportCommunicator:
    """The world as "pairwise gloo", "gloo x4", or itself."""
    if transport.startswith("pairwise"):
        return PairwiseCommunicator(world)
    if " x" in transport:
        return EndpointCommunicator(world, count=int(transport.split(" x")[1]), threshold_bytes=0)
    return world


def base_of(transport: str) -> str:
    """ "gloo" of "gloo x4" and of "pairwise gloo"."""
    return next(base for base in ("nccl", "gloo", "mpi") if base in transport.split())


def make_world(base: str, options: argparse.Namespace, device: torch.device) -> TransportCommunicator:
    """The communicator of all ranks."""
    if base == "mpi":
        return mpi_world()
    store = FileStore(options.store, options.ranks)
    if base == "nccl":
        blocks = options.thread_blocks or None
        return nccl_world(options.rank, options.ranks, store, device, interface="lo", thread_blocks=blocks)
    return gloo_world(options.rank, options.ranks, store, interface="lo")


def seconds_per_call(comm: Communicator, run: Run, array_x: torch.Tensor) -> float:
    """Mean over calls one after the other, of the slowest rank; the calls before that warm up and find the number."""

    def repeat(count: int) -> float:
        comm.barrier()
        _synchronize(array_x.device)
        started = time.perf_counter()
        for _ in range(count):
            run(comm, array_x)
        _synchronize(array_x.device)
        mine = torch.tensor([(time.perf_counter() - started) / count])
        return float(comm.max(mine).item())

    repeat(1)
    once = repeat(1)
    count = min(200, int(SECONDS / once))
    return repeat(count) if count > 1 else once


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(comm: Communicator, transport: str, options: argparse.Namespace, device: torch.device) -> list[dict]:
    """All verbs at all sizes."""
    found = []
    for verb, nbytes in [(verb, nbytes) for verb in options.verbs for nbytes in options.sizes]:
        run, kind = VERBS[verb]
        array_x = torch.zeros(nbytes // 8, dtype=torch.float64, device=device)
        seconds = seconds_per_call(comm, run, array_x)
        rate = nbytes / seconds / 1e9 * crossings(kind, comm.size)
        found.append({"transport": transport, "verb": verb, "bytes": nbytes, "seconds": seconds, "bus_GBps": rate})
    return found


def be_a_rank(options: argparse.Namespace) -> None:
    """One process of a measurement; rank 0 writes what was found."""
    torch.set_num_threads(options.threads)
    world, found = None, []
    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", options.rank))
    device = torch.device("cuda", rank) if options.device == "cuda" else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    for transport in options.transports:
        world = world or make_world(base_of(transport), options, device)
        comm = layered(world, transport)
        found += measure(comm, transport, options, device)
        if world.rank == 0:
            print(f"{transport}: {comm.path}", file=sys.stderr)
    if world is not None and world.rank == 0:
        Path(options.result).write_text(json.dumps(found))
    if world is not None:
        world.close()


# --- all ranks -------------------------------------------------------------------------------------------------------


def start(base: str, transports: list[str], options: argparse.Namespace) -> list[dict]:
    """Processes for the transports on one base; what they found."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--device", options.device, "--ranks", str(options.ranks)]
        command += ["--transports", ",".join(transports), "--verbs", ",".join(options.verbs)]
        command += ["--bytes", ",".join(map(str, options.sizes)), "--threads", str(options.threads)]
        command += ["--thread-blocks", str(options.thread_blocks)]
        command += ["--store", f"{folder}/store", "--result", f"{folder}/result"]
        if base == "mpi":
            mpirun = Path(sys.executable).parent / "mpirun"
            launcher = [str(mpirun) if mpirun.exists() else "mpirun", "--oversubscribe", "--bind-to", "none"]
            commands = [[*launcher, "-n", str(options.ranks), *command, "--rank", "0"]]
        else:
            commands = [[*command, "--rank", str(rank)] for rank in range(options.ranks)]
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        processes = [subprocess.Popen(command, env=environment) for command in commands]
        codes = [process.wait() for process in processes]
        if any(codes):
            print(f"{base}: a rank failed; its lines are above", file=sys.stderr)
            return []
        return json.loads(Path(f"{folder}/result").read_text())


def table(found: list[dict], device: str) -> str:
    """One block per verb: sizes down, transports across, GB/s of bus bandwidth and percent of NVLink."""
    transports = list(dict.fromkeys(row["transport"] for row in found))
    lines = []
    for verb, group in groupby(sorted(found, key=lambda row: list(VERBS).index(row["verb"])), lambda row: row["verb"]):
        cells = {(row["bytes"], row["transport"]): row for row in group}
        share = f" (percent of {NVLINK:.0f})" if device == "cuda" else ""
        lines += ["", f"{verb}: GB/s of bus bandwidth{share} and microseconds"]
        lines.append(f"{'bytes':>12}" + "".join(f"{transport:>24}" for transport in transports))
        for nbytes in sorted({size for size, _ in cells}):
            lines.append(f"{nbytes:>12}" + "".join(_cell(cells.get((nbytes, name)), device) for name in transports))
    return "\n".join(lines)


def _cell(row: dict | None, device: str) -> str:
    if row is None:
        return f"{'-':>24}"
    share = f" ({100 * row['bus_GBps'] / NVLINK:.0f}%)" if device == "cuda" else ""
    return f"{row['bus_GBps']:>10.2f}{share}{row['seconds'] * 1e6:>9.0f} us".rjust(24)


def size_of(text: str) -> int:
    """Bytes of "64KB", "1GB" or "4096"; K, M and G are powers of 1024."""
    units = {"KB": 2**10, "MB": 2**20, "GB": 2**30}
    return int(text[:-2]) * units[text[-2:]] if text[-2:] in units else int(text)


def about(options: argparse.Namespace) -> dict:
    """The machine and the settings."""
    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if options.device == "cuda" else []
    return {
        "device": options.device,
        "ranks": options.ranks,
        "threads": options.threads,
        "thread_blocks": options.thread_blocks,
        "torch": torch.__version__,
        "gpus": gpus,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }


def main() -> None:
    """Either all ranks, or one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--transports", default="", help="names with commas between them; default: all for the device")
    parser.add_argument("--verbs", default=",".join(VERBS))
    parser.add_argument("--smallest", default="64KB")
    parser.add_argument("--largest", default="1GB")
    parser.add_argument("--threads", type=int, default=1, help="of a rank")
    parser.add_argument("--thread-blocks", type=int, default=0, help="of NCCL; 0 leaves the choice to it")
    parser.add_argument("--name", default="", help="keep the results under this name")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE", help="file of the results")
    for hidden in ("--rank", "--store", "--result", "--bytes"):
        parser.add_argument(hidden, default="", help=argparse.SUPPRESS)
    parser.add_argument("--show", nargs="+", default=[], help="measure nothing; print the results of these names")
    options = parser.parse_args()
    if options.show:
        entries = load(options.json)
        chosen = [entries[name] for name in options.show]
        print(table([row for entry in chosen for row in entry["results"]], chosen[0]["device"]))
        return
    options.transports = (options.transports or DEFAULT_TRANSPORTS[options.device]).split(",")
    options.verbs = options.verbs.split(",")
    if options.bytes:
        options.sizes, options.rank = [int(size) for size in options.bytes.split(",")], int(options.rank)
        be_a_rank(options)
        return
    options.sizes = [size_of(options.smallest)]
    while options.sizes[-1] * 4 <= size_of(options.largest):
        options.sizes.append(options.sizes[-1] * 4)
    found = []
    for base, names in groupby(sorted(options.transports, key=base_of), base_of):
        found += start(base, list(names), options)
    print(table(found, options.device))
    if options.name:
        with changing(options.json) as entries:
            entries[options.name] = {**about(options), "results": found}


if __name__ == "__main__":
    main()
