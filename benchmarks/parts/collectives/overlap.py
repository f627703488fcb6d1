"""Measures how much of the transfers double buffering hides behind work: `pipeline` of all-to-alls beside products.

    python benchmarks/parts/collectives/overlap.py --device cuda --ranks 2

Per block: one all-to-all, then matrix products that take about as long.  Printed are seconds for all blocks: transfers
alone, products alone, one after the other, and with `pipeline`.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from collectives import RESULTS, changing, make_world, size_of

from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.pipeline import pipeline

BLOCKS = 12
EDGE = {"cuda": 4096, "cpu": 700}
"""Edge of the matrices of the products."""


def timed(comm: Communicator, device: torch.device, run) -> float:
    """Seconds of the slowest rank, the second time."""
    for _ in range(2):
        comm.barrier()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        started = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds = time.perf_counter() - started
    return float(comm.max(torch.tensor([seconds])).item())


def measure(comm: Communicator, device: torch.device, nbytes: int) -> dict:
    """The four times."""
    shape = (comm.size, nbytes // 8 // comm.size)
    blocks = [torch.ones(shape, dtype=torch.float64, device=device) for _ in range(BLOCKS)]
    matrix = torch.eye(EDGE[device.type], dtype=torch.float64, device=device)

    def work(times: int) -> None:
        for _ in range(times):
            matrix @ matrix

    def transfers() -> None:
        for block in blocks:
            comm.all_to_all(block)

    once = timed(comm, device, lambda: work(1))
    times = max(1, round(timed(comm, device, transfers) / BLOCKS / once))

    def one_after_the_other() -> None:
        for block in blocks:
            comm.all_to_all(block)
            work(times)

    def pipelined() -> None:
        for _ in pipeline(blocks, comm.start_all_to_all, device):
            work(times)

    return {
        "transfers": timed(comm, device, transfers),
        "products": timed(comm, device, lambda: work(times * BLOCKS)),
        "one after the other": timed(comm, device, one_after_the_other),
        "pipeline": timed(comm, device, pipelined),
    }


def be_a_rank(options: argparse.Namespace) -> None:
    """One process."""
    torch.set_num_threads(1)
    device = torch.device("cuda", options.rank) if options.device == "cuda" else torch.device("cpu")
    comm = make_world("nccl" if options.device == "cuda" else "gloo", options, device)
    found = measure(comm, device, size_of(options.size))
    if comm.rank == 0:
        print(f"{BLOCKS} blocks of {options.size}, {comm.size} ranks, {comm.path}")
        for name, seconds in found.items():
            print(f"  {name:<22}{seconds * 1e3:9.2f} ms")
        hidden = (found["one after the other"] - found["pipeline"]) / min(found["transfers"], found["products"])
        print(f"  hidden: {100 * hidden:.0f} % of the shorter of the two")
        if options.name:
            about = {"device": options.device, "ranks": comm.size, "blocks": BLOCKS, "size": options.size}
            with changing(options.json) as entries:
                entries[options.name] = {**about, "seconds": found, "hidden": hidden}
    comm.close()


def main() -> None:
    """Either all ranks, or one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--size", default="64MB", help="bytes of a block on a rank")
    parser.add_argument("--name", default="", help="keep the results under this name in the file after --json")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE")
    parser.add_argument("--thread-blocks", type=int, default=0, help="of NCCL; 0 leaves the choice to it")
    parser.add_argument("--rank", type=int, default=-1, help=argparse.SUPPRESS)
    parser.add_argument("--store", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank >= 0:
        be_a_rank(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, *sys.argv[1:], "--store", f"{folder}/store"]
        ranks = [subprocess.Popen([*command, "--rank", str(rank)]) for rank in range(options.ranks)]
        sys.exit(max([rank.wait() for rank in ranks]))


if __name__ == "__main__":
    main()
