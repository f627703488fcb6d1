"""What do the schemes of nuclei on ranks cost: kernels, the four steps, what is hidden?

    python benchmarks/ncci/schemes.py 10B 6 --device cuda --ranks 2 --name 10B_6_2xH200
    python benchmarks/ncci/schemes.py 10B 8 --backend pairs --device cuda --ranks 1 2 --schemes nccl:1 nccl:2 nccl:4:8
    python benchmarks/ncci/schemes.py 6Li 4 --ranks 1 2 3 --products 20             # processors

H is built once for each number of ranks and each way of joining them; then every scheme makes `--products` Lanczos
steps from the same vector.  The first products of each are not counted.  Without `--schemes`: all that can be on the
device.  On one rank `auto` is the code without groups, to compare others with; calls then have one rank that sends to
nobody: what they cost is calls and synchronisation.  Ranks of MPI need mpirun, which is called here.

JISP16 at 20 MeV without Coulomb.  `--name` keeps tables in schemes.json and schemes.md, or beside the file after
--json.  `--folder` keeps the records of all runs, for `eigenwerk perf schemes`.
"""

import argparse
import gc
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from products import DTYPES, case_parser, device_name, space
from torch.distributed import FileStore, PrefixStore

from eigenwerk import __version__
from eigenwerk.errors import InputError
from eigenwerk.io.trace_file import TRACE_FILE, write_trace_file
from eigenwerk.linalg.lanczos import LanczosPlan, lanczos
from eigenwerk.linalg.operator import StandardOperator
from eigenwerk.ncci.basis.counting import nonzeros_countable
from eigenwerk.ncci.estimate import counts_of
from eigenwerk.ncci.ranks.four_steps import FourSteps, RowGroup
from eigenwerk.ncci.ranks.scheme import AUTO, scheme_named
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.ncci.solve.operators import NuclearHamiltonian, Sharing
from eigenwerk.ncci.solve.start_vectors import noise_vectors
from eigenwerk.ncci.stored.csb_on_ranks import csb_on_ranks
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.device_clock import record_device
from eigenwerk.parallel.process_grid import ProcessGrid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.threads import intraop_threads
from eigenwerk.parallel.trace_records import gather_trace_records
from eigenwerk.parallel.transports.mpi import mpi_world
from eigenwerk.parallel.transports.torch_distributed import gloo_world, nccl_world
from eigenwerk.perf.run_trace import load_run
from eigenwerk.perf.schemes.comparison import compared
from eigenwerk.perf.schemes.document import schemes_document
from eigenwerk.perf.schemes.products import product_use
from eigenwerk.record.trace import Trace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from entries import changing

RESULTS = Path(__file__).resolve().parent / "schemes.json"
BLOCKS = (2, 4, 8, 12, 16)
WARM_UP = 3


def schemes_for(device: str) -> list[str]:
    """All that can be on such devices."""
    found = ["gloo"] + (["plain", "mpi", "p2p"] if importlib.util.find_spec("mpi4py") else [])
    return found + ([f"nccl:{v}" for v in (1, 2, 3)] + [f"nccl:4:{count}" for count in BLOCKS]) * (device != "cpu")


# --- one rank --------------------------------------------------------------------------------------------------------


class Travelling(Segments):
    """Segments of one rank whose components are sent to itself all the same."""

    def whole(self, x_ns):
        """By an all-gather of one rank."""
        return self.comm.all_gather(x_ns, [len(x_ns)])

    def own_sum(self, y_nb):
        """By a reduce-scatter of one rank."""
        return self.comm.reduce_scatter(y_nb[None])


@dataclass
class Timed(StandardOperator):
    """The products of a Hamiltonian within the spans of a trace."""

    shared: object
    world: Communicator
    trace: Trace
    last: torch.Tensor | None = None

    def first(self, x_knb, k=None):
        """H x, (1, n, s)."""
        with self.trace.span("products"):
            self.last = self.shared.on_segments(x_knb[0]).unsqueeze(0)
        return self.last

    def sum(self, tensor):
        """Over all ranks."""
        return self.world.sum(tensor)


def work(options: argparse.Namespace) -> None:
    """All schemes of one way of joining ranks, on one rank."""
    gc.freeze()  # as the command does: a round over all that is imported takes 30 ms, on one rank after the other
    trace = Trace()
    device, world = joined(options, trace)
    runtime = Runtime(device=device, real=DTYPES[options.precision], grid=ProcessGrid(world), trace=trace)
    basis, pairs = space(options.nucleus, options.nmax)
    begin = time.perf_counter()
    sharing = Sharing(options.layout)
    if options.backend == "csb":
        whole = csb_on_ranks(basis, pairs, runtime, sharing.layout)
    else:
        whole = NuclearHamiltonian(basis, pairs, options.backend, runtime, sharing).shared
    wait(device)
    build, wanted = time.perf_counter() - begin, None
    for name in options.schemes:
        scheme, trace = scheme_named(name), Trace()
        runtime = replace(runtime, trace=trace)
        if world.size > 1:
            world.trace = trace
            shared = whole.by_scheme(runtime, scheme)
        else:
            shared = alone(whole, options, device, scheme, runtime)
        found = measured(options, shared, runtime, world)
        wanted = found if wanted is None else wanted
        difference = world.max((found - wanted).abs().max().cpu().reshape(1)) / world.max(
            wanted.abs().max().cpu().reshape(1)
        )
        write(options, name, runtime, whole, build, float(difference))
        if world.size == 1:
            for group in {shared.steps.home.comm, shared.steps.row.comm}:
                group.close()
    world.close()


def joined(options: argparse.Namespace, trace: Trace) -> tuple[torch.device, Communicator]:
    """The device of this rank and the communicator of all."""
    if options.join == "mpi":
        world = mpi_world(trace)
        return own_device(options, world.rank), world
    store, device = FileStore(options.store, options.processes), own_device(options, options.rank)
    if options.join == "nccl" and options.processes > 1:
        return device, nccl_world(options.rank, options.processes, store, device, trace, interface="lo")
    return device, gloo_world(options.rank, options.processes, store, trace, interface="lo")


def own_device(options: argparse.Namespace, rank: int) -> torch.device:
    """Ranks share GPUs where there are too few."""
    if options.device == "cpu":
        return torch.device("cpu")
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device


def alone(shared, options: argparse.Namespace, device: torch.device, scheme, runtime: Runtime):
    """One rank: by `auto` as it is, else with groups of one rank each, which call the transport all the same."""
    steps = replace(shared.steps, trace=runtime.trace, scheme=scheme)
    if scheme.name != AUTO.name:
        groups = []
        for name, links in (("column", scheme.column), ("row", scheme.row)):
            store = PrefixStore(f"{scheme.name}/{name}", FileStore(options.store, 1))
            if options.join == "nccl":
                group = nccl_world(
                    0, 1, store, device, runtime.trace, interface="lo", high_priority=links.high_priority,
                    thread_blocks=links.thread_blocks,
                )  # fmt: skip
            else:
                group = gloo_world(0, 1, store, runtime.trace, interface="lo")
            group.name = name
            runtime.trace.joined(name, [0])
            groups.append(group)
        count = steps.home.dimension
        row = RowGroup(groups[1], count, slice(0, count))
        # what it reduces is zero, so that nothing is added twice
        steps = FourSteps(Travelling(count, groups[0]), device, runtime.trace, row, scheme)
    return replace(shared, steps=steps)


def measured(options: argparse.Namespace, shared, runtime: Runtime, world: Communicator) -> torch.Tensor:
    """Lanczos steps; what the last product gave."""
    like = torch.zeros(1, dtype=runtime.real, device=runtime.device)
    start_ns = noise_vectors(shared.segments, 1, like)
    quiet = Timed(shared, world, Trace(enabled=False))
    for _ in range(WARM_UP):
        quiet.first(start_ns[None])
    wait(runtime.device)
    fresh = Trace()  # the warm-up is in the other one
    record_device(fresh, runtime.device)
    for one in {shared.steps.home.comm, shared.steps.row.comm, world}:
        one.trace = fresh
    for group, members in runtime.trace.as_dict()["groups"].items():
        fresh.joined(group, members)
    shared = replace(shared, steps=replace(shared.steps, trace=fresh))
    timed = Timed(shared, world, fresh)
    plan = LanczosPlan(1, 1e-6, options.products, True, options.products + 1, first_component=shared.segments.own.start)
    world.barrier()
    with fresh.span("states"), intraop_threads(None, runtime.device):
        lanczos(timed, start_ns[None], plan)
        wait(runtime.device)
    options.trace = fresh
    return timed.first(start_ns[None])


def write(options, name: str, runtime: Runtime, whole, build: float, difference: float) -> None:
    """The record of one scheme, with what it belongs to."""
    layout = getattr(whole, "about", {})
    case = {
        "title": f"{options.nucleus}, Nmax {options.nmax}", "states": whole.segments.dimension,
        "nonzeros": options.nonzeros, "backend": options.backend, "precision": options.precision, "block": 1,
        "products": options.products, "scheme": name, "layout": layout.get("layout"),
        "block_rows": layout.get("block_rows"),
        "nonzeros_max_over_mean": layout.get("nonzeros_max_over_mean"), "build_seconds": build,
        "difference": difference,
    }  # fmt: skip
    records = gather_trace_records(replace(runtime, trace=options.trace))
    if runtime.world.rank == 0:
        folder = Path(options.folder) / f"{name.replace(':', '_')}_{runtime.world.size}"
        folder.mkdir(parents=True, exist_ok=True)
        about = {"system": case["title"], "program_version": __version__, "transport": options.join, "cases": [case]}
        write_trace_file(folder / TRACE_FILE, records, about)


def wait(device: torch.device) -> None:
    """Until the device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


# --- all ranks -------------------------------------------------------------------------------------------------------


def main() -> None:
    """Starts ranks, reads what they recorded, prints and keeps the tables."""
    options = _options()
    if options.join:
        return work(options)
    wanted = options.schemes or schemes_for(options.device)
    options.nonzeros = nonzeros_of(options)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary)
        for ranks in options.ranks:
            for _ in start(options, ranks, wanted, folder):
                # what there is so far: a run may be stopped
                rows = compared([product_use(load_run(path.parent)) for path in sorted(folder.glob(f"*/{TRACE_FILE}"))])
                found = schemes_document(rows)["runs"]
                if options.name:
                    keep(options, found)
        print("\n".join(table(found)))
    return None


def nonzeros_of(options: argparse.Namespace) -> int:
    """Of half of H with its diagonal; 0 where they cannot be counted."""
    basis, _ = space(options.nucleus, options.nmax)
    return counts_of(basis.space, False)[1].nonzeros if nonzeros_countable(basis.space) else 0


def start(options: argparse.Namespace, ranks: int, wanted: list[str], folder: Path) -> Iterator[str]:
    """One set of processes for each way of joining that the schemes need; each is given back when it is done."""
    ways: dict[str, list[str]] = {}
    for name in wanted:
        scheme = scheme_named(name)
        if scheme.transport == "nccl" and options.device != "cpu" and ranks > torch.cuda.device_count():
            print(f"{name} on {ranks} ranks left out: NCCL wants a GPU for each", flush=True)
        elif ranks == 1 and scheme.transport == "mpi":
            print(f"{name} on one rank left out: nothing travels", flush=True)
        else:
            ways.setdefault(scheme.transport, []).append(name)
    if ranks == 1:
        for names in ways.values():
            names.insert(0, AUTO.name)
            break
    for way, names in ways.items():
        began = time.perf_counter()
        _run_ranks(options, way, ranks, names, folder)
        print(f"{ranks} ranks by {way} in {time.perf_counter() - began:.0f} s: {', '.join(names)}", flush=True)
        yield way


def _run_ranks(options: argparse.Namespace, way: str, ranks: int, names: list[str], folder: Path) -> None:
    words = [sys.executable, __file__, options.nucleus, str(options.nmax), "--backend", options.backend]
    words += ["--device", options.device, "--precision", options.precision, "--products", str(options.products)]
    words += ["--layout", options.layout, "--join", way, "--processes", str(ranks), "--folder", str(folder)]
    words += ["--nonzeros", str(options.nonzeros), "--schemes", *names]
    threads = str(max(1, len(os.sched_getaffinity(0)) // ranks))
    environ = {"OMP_NUM_THREADS": threads} | os.environ
    if way == "mpi":
        environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        own = Path(sys.executable).parent / "mpirun"
        starter = str(own) if own.exists() else shutil.which("mpirun") or "mpirun"
        command = [starter, "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *words]
        subprocess.run(command, env=environ, check=True)
        return
    with tempfile.TemporaryDirectory() as meeting:
        processes = [
            subprocess.Popen([*words, "--rank", str(rank), "--store", f"{meeting}/store"], env=environ)
            for rank in range(ranks)
        ]
        codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit(f"ranks ended with {codes}")


HEAD = (
    "| scheme | ranks | layout | product ms | solver s | local products ms | four steps | over plain | over mpi | "
    "slower than best blocks | efficiency | hidden: broadcast, reduce | difference |"
)


def table(found: list[dict]) -> list[str]:
    """As Markdown."""
    lines = [HEAD, "|" + "---|" * (HEAD.count("|") - 1)]
    for run in found:
        case = run["cases"][0]
        hidden = [step["hidden_share"] for step in run["steps"][1:3]]
        lines.append(
            f"| {run['scheme']} | {run['ranks']} | {case['layout'] or ''} | {1e3 * run['seconds_per_product']:.3f} | "
            f"{max(run['solver_seconds']):.3f} | {1e3 * max(run['local_product_seconds']) / run['products']:.3f} | "
            f"{100 * run['share_of_solver']:.1f} % | {_times(run['speed_up_over_plain'])} | "
            f"{_times(run['speed_up_over_mpi'])} | {_share(run['slower_than_best_thread_blocks'])} | "
            f"{_share(run['efficiency'])} | {', '.join(map(_share, hidden)).strip(', ')} | {case['difference']:.1e} |"
        )
    lines += ["", "| scheme | ranks | step | mean message | held up ms | on its way ms | moved GB/s of a rank |"]
    lines.append("|---|---|---|---|---|---|---|")
    for run in found:
        for step in run["steps"]:
            if sum(step["calls"]):
                lines.append(_step(run, step))
    return lines


def _step(run: dict, step: dict) -> str:
    calls, callers = sum(step["calls"]), sum(count > 0 for count in step["calls"])
    each = calls / callers
    way = [seconds for seconds in step["transfer_seconds"] if seconds]
    held = max(step["held_seconds"])
    moving = sum(way) / len(way) if way else held
    rate = step["moved_bytes"] / callers / moving / 1e9 if moving else 0.0
    shown = f"{1e3 * moving / each:.3f}" if way else ""
    return (
        f"| {run['scheme']} | {run['ranks']} | {step['step']} | {sum(step['bytes']) / calls / 1e6:.3f} MB | "
        f"{1e3 * held / each:.3f} | {shown} | {rate:.1f} |"
    )


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}x"


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def keep(options: argparse.Namespace, found: list[dict]) -> None:
    """Adds the entry to the file, and writes all its entries as tables beside it."""
    path = Path(options.json)
    about = {"machine": device_name(options.device), "cores": os.cpu_count(), "torch": torch.__version__}
    about |= {"python": platform.python_version(), "program": __version__, "date": time.strftime("%Y-%m-%d")}
    about |= {"note": options.note}
    with changing(path) as entries:
        entries[options.name] = about | {"runs": found}
        write_tables(entries, path.with_suffix(".md"))


def write_tables(entries: dict, path: Path) -> None:
    """All entries, for readers."""
    lines = ["# Schemes of nuclei on ranks", "", "Made by `schemes.py` (its head says what is measured).", ""]
    for name, entry in sorted(entries.items()):
        case = entry["runs"][0]["cases"][0]
        lines += [f"## {name}: {case['title']}, {case['backend']}, {case['precision']} precision", ""]
        lines += [f"{case['states']} states, {case['nonzeros']} nonzeros; {entry['machine']}, "
                  f"{entry['cores']} cores, PyTorch {entry['torch']}, eigenwerk {entry['program']}, "
                  f"{entry['date']}. {entry['note']}", ""]
        lines += [*table(entry["runs"]), ""]
    path.write_text("\n".join(lines))


def _options() -> argparse.Namespace:
    parser = case_parser(__doc__)
    parser.set_defaults(backend="csb")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2])
    parser.add_argument("--schemes", nargs="+", default=[])
    parser.add_argument("--layout", choices=("", "triangle", "dealt"), default="")
    parser.add_argument("--products", type=int, default=100)
    parser.add_argument("--name", default="", help="keeps the results under this name")
    parser.add_argument("--note", default="", help="a sentence that is kept with them")
    parser.add_argument("--json", default=str(RESULTS))
    parser.add_argument("--folder", default="", help="keeps the records of all runs")
    for name, kind in (("--join", str), ("--store", str), ("--rank", int), ("--processes", int), ("--nonzeros", int)):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        for name in options.schemes:
            scheme_named(name)
    except InputError as error:
        parser.error(str(error))
    return options


if __name__ == "__main__":
    main()
