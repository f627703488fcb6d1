"""What the record that every run keeps of itself costs: per entry, and as a share of real runs.

    OMP_NUM_THREADS=1 python benchmarks/parts/trace_cost/measure.py RUN ...     # output folders of `eigenwerk run`

Times single entries in a loop, counts the entries of each rank of the runs, and writes results.json and results.md.
With a GPU the marks of the device's clock are timed too.
"""

import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from eigenwerk.parallel.device_clock import CudaClock
from eigenwerk.perf.run_trace import RankTrace, load_run
from eigenwerk.record.trace import COMMUNICATION, Trace

HERE = Path(__file__).resolve().parent
COUNT, REPEATS = 50_000, 7
MICROSECOND = 1e-6


def main(folders: list[str]) -> None:
    """Measure, and write both files."""
    clocks = {"host": lambda: None}
    if torch.cuda.is_available():
        clocks["host and device"] = lambda: CudaClock(torch.device("cuda", 0))
    entries = {name: costs(make) for name, make in clocks.items()}
    runs = [run_of(folder, entries) for folder in folders]
    results = {"processor": processor(), "entries_us": entries, "gathering": gathering(), "runs": runs}
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (HERE / "results.md").write_text(page(results))
    print(page(results))


def costs(clock: Callable[[], CudaClock | None]) -> dict[str, float]:
    """Microseconds of a span and of a call of a communicator, the best of several loops."""
    return {"span": best(spans, clock), "call": best(calls, clock)}


def best(loop: Callable[[Trace], None], clock: Callable[[], CudaClock | None]) -> float:
    """Microseconds per entry."""
    seconds = []
    for _ in range(REPEATS):
        trace = Trace(device_clock=clock())
        started = time.perf_counter()
        loop(trace)
        seconds.append(time.perf_counter() - started)
    return min(seconds) / COUNT / MICROSECOND


def spans(trace: Trace) -> None:
    """Spans with a name that exists."""
    for _ in range(COUNT):
        with trace.span("local"):
            pass


def calls(trace: Trace) -> None:
    """Calls as a communicator tells them."""
    for _ in range(COUNT):
        entered, began = time.perf_counter(), trace.mark()
        trace.traffic("all_to_all", "bands", "nccl", 1 << 20, 1e-3, entered, ((0, 1 << 19), (1, 1 << 19)), began)


def gathering() -> dict[str, float]:
    """Seconds and bytes of the record of a rank whose timeline and columns are full."""
    trace = Trace()
    spans(trace)
    calls(trace)
    started = time.perf_counter()
    text = json.dumps(trace.as_dict(events=True))
    return {"seconds": time.perf_counter() - started, "bytes": len(text)}


def run_of(folder: str, entries: dict[str, dict[str, float]]) -> dict[str, object]:
    """Entries of the rank with the largest share, and what they cost."""
    run = load_run(folder)
    shares = [(share_of(rank, entries), rank) for rank in run.ranks]
    share, rank = max(shares, key=lambda pair: pair[0])
    count_spans, count_calls = counts(rank)
    return {
        "system": str(run.about.get("system", "")), "ranks": len(run.ranks), "device": rank.device,
        "elapsed_s": rank.seconds, "spans": count_spans, "calls": count_calls, "share": share,
    }  # fmt: skip


def counts(rank: RankTrace) -> tuple[int, int]:
    """Spans and calls of a rank."""
    count_spans = sum(phase.calls for phase in rank.phases if phase.path[-1] != COMMUNICATION)
    return count_spans, sum(traffic.calls for traffic in rank.traffic.values())


def share_of(rank: RankTrace, entries: dict[str, dict[str, float]]) -> float:
    """What the entries of a rank cost, as a share of its time."""
    kind = "host" if rank.device_events is None else "host and device"
    if kind not in entries:
        raise SystemExit("this run had a device clock; measure on a machine with a GPU")
    count_spans, count_calls = counts(rank)
    cost = count_spans * entries[kind]["span"] + count_calls * entries[kind]["call"]
    return cost * MICROSECOND / rank.seconds


def processor() -> str:
    """The name of the processor, and of the GPU if there is one."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    gpu = f", {torch.cuda.get_device_name(0)}" if torch.cuda.is_available() else ""
    return (names[0] if names else platform.processor()) + gpu


def page(results: dict) -> str:
    """The results in words."""
    lines = ["# What the record of a run costs", "", f"{results['processor']}, Python {platform.python_version()}.", ""]
    lines += ["| clock | a span | a call of a communicator |", "|---|---|---|"]
    for name, cost in results["entries_us"].items():
        lines.append(f"| {name} | {cost['span']:.2f} µs | {cost['call']:.2f} µs |")
    gathered = results["gathering"]
    lines += ["", f"Writing a full record ({2 * COUNT} entries, {gathered['bytes'] / 1e6:.1f} MB) at the end of a run: "
              f"{gathered['seconds']:.2f} s of each rank.", ""]  # fmt: skip
    lines += ["| run | ranks | device | elapsed | spans | calls | share of the time |", "|---|---|---|---|---|---|---|"]
    for run in results["runs"]:
        lines.append(
            f"| {run['system']} | {run['ranks']} | {run['device']} | {run['elapsed_s']:.2f} s | {run['spans']} | "
            f"{run['calls']} | {100 * run['share']:.3f} % |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
