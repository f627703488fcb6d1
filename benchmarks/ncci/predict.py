"""What should products on ranks take, before anyone measures: every scheme on 2, 4 and 8 H200, and published machines.

    python benchmarks/ncci/predict.py            # writes predicted.md

Collectives: latency and bandwidth fitted to benchmarks/parts/collectives/results.json.  Kernels: rates of
gpu_results.md.
Cases, sizes and published values: dimensions and nonzeros counted exactly, times and speed-ups as published (Alperen et
al., "Optimizing Nuclear Configuration Interaction Calculations on GPUs", A100 of 80 GB, four in a machine).
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eigenwerk import __version__
from eigenwerk.perf.schemes.model import (
    VERBS,
    Link,
    Sample,
    dealt_shape,
    fitted,
    product_seconds,
    triangle_shape,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from entries import load

HERE = Path(__file__).resolve().parent
MEASURED = HERE.parent / "parts" / "collectives" / "results.json"
SMALLEST = 1 << 20
"""Bytes from which measured calls count: vectors are larger."""

MEETING = 1.5e-4
"""Seconds for ranks to meet by the host and for an idle GPU to be waited for: an estimate."""

SIMPLE = 5e10
"""Nonzeros of half of H per second by plain operations on an H200: an estimate, 80 bytes of traffic for each."""

PER_BLOCK = 83.3e9 / 4
"""Bytes per second of a thread block of NCCL: a sum of 1 GB between two H200 by at most 4 of them, measured."""

HBM = 3.5e12
"""Bytes per second at which an H200 reads vectors; three readings of the basis for a full reorthogonalisation."""


@dataclass(frozen=True)
class Case:
    """states, nonzeros (half of H with its diagonal), and seconds of a product on one H200, fp32."""

    name: str
    states: int
    nonzeros: int
    one: float
    stored: bool = True


OURS = (
    Case("10B Nmax 6, csb", 12_060_706, 5_477_207_789, 22.9e-3),
    Case("6Li Nmax 10, csb", 9_692_634, 8_863_000_000, 8.863e9 / 2.35e11),
    Case("10B Nmax 8, pairs", 165_613_656, 129_111_712_236, 157e-3, stored=False),
)

PUBLISHED = (
    Case("Small: 10B Nmax 8", 165_613_656, 129_111_712_236, 0.0),
    Case("Medium: 12C Nmax 8", 575_495_478, 475_833_289_228, 0.0),
    Case("Large: 9Li Nmax 11", 978_035_410, 1_305_909_537_108, 0.0),
    Case("XLarge: 12B Nmax 9", 1_786_587_488, 1_813_845_219_766, 0.0),
)

BASELINE = {("Small", 45): 26.1, ("Small", 91): 15.5, ("Small", 190): 11.8, ("Medium", 91): 44.6, ("Medium", 190): 30.4,
            ("Medium", 378): 21.5}  # fmt: skip
"""Published seconds of 100 iterations by the scheme `plain` (MPI, OpenACC)."""

SPEED_UP = {("Medium", 91): 3.04}
"""Published, NCCL over the baseline; about 5 at best for Small, on a number of GPUs that is not known here."""

BLOCK_ROWS = {28: 7, 45: 9, 91: 13, 190: 19, 276: 23, 378: 27, 496: 31, 1540: 55}
A100_KERNEL = 2.35e11 * 2.0 / 4.28
"""Nonzeros per second of the tuned kernel on an A100: ours on an H200, by the memory bandwidth."""

NETWORK, LATENCY = 25e9 * 0.8, 10e-6
"""Bytes per second and seconds of a stage for a GPU with a network card of its own of 200 Gbit/s: assumed."""

NVLINK = 230e9
"""Bytes per second of a ring of four A100 in one machine: assumed."""

CARD = 80e9
"""Bytes of an A100."""


def links(transport: str, device_ranks: tuple[int, ...] = (2, 4)) -> dict[str, Link]:
    """Of every verb by a transport, fitted to all numbers of ranks that were measured."""
    entries, found = load(MEASURED), {}
    for verb in VERBS:
        name = "swap" if transport == "p2p" and verb in ("reduce", "reduce_scatter") else verb
        wanted = "mpi" if transport == "p2p" else transport
        samples = []
        for ranks in device_ranks:
            for row in entries[f"{wanted}_cuda_{ranks}"]["results"]:
                if (row["transport"], row["verb"]) == (wanted, name) and row["bytes"] >= SMALLEST:
                    # a message between two ranks stands for the whole array
                    as_verb, size = ("reduce", 2) if name == "swap" else (verb, ranks)
                    samples.append(Sample(as_verb, size, row["bytes"], row["seconds"]))
        found[verb] = fitted(samples)
    return found


def seconds_on(case: Case, ranks: int, scheme: str, known: dict[str, dict[str, Link]]) -> dict[str, float]:
    """A product on so many H200 of one machine, and 100 iterations: blocks, or tiles, dealt out."""
    name, *numbers = scheme.split(":")
    transport = "mpi" if name == "plain" else name
    by = known[transport]
    if len(numbers) > 1:
        most = PER_BLOCK * int(numbers[1])
        by = {verb: replace(link, bandwidth=min(link.bandwidth, most)) for verb, link in by.items()}
    kernel = (case.nonzeros / SIMPLE if name == "plain" else case.one) / ranks
    shape = dealt_shape(4.0 * case.states, ranks, kernel)
    meeting = MEETING if numbers and numbers[0] != "1" else 0.0
    found = product_seconds(shape, by, meeting=meeting)
    if name == "p2p":  # one of p rounds of messages after the other, with 1/p of the array
        by_messages = by["reduce_scatter"].latency * (ranks - 1) + crossing_time(4.0 * case.states, ranks, by)
        found["product"] += by_messages - found["reduce_scatter"]
        found["held"] += by_messages - found["reduce_scatter"]
        found["reduce_scatter"] = by_messages
    orthogonal = 3 * 50 * 4.0 * case.states / ranks / HBM
    return found | {"hundred": 100 * (found["product"] + orthogonal)}


def crossing_time(bytes: float, ranks: int, by: dict[str, Link]) -> float:
    """Messages of reduce-scatter."""
    return bytes * (ranks - 1) / ranks / by["reduce_scatter"].bandwidth


def h200_lines() -> list[str]:
    """Fits, and every scheme on 4 and 8 GPUs."""
    known = {transport: links(transport) for transport in ("nccl", "mpi", "p2p", "gloo")}
    lines = ["## Fitted to measured collectives (2 and 4 H200, arrays from 1 MB on)", ""]
    lines += ["| by | verb | latency of a stage, µs | GB/s | rms of the relative error |", "|---|---|---|---|---|"]
    for transport, by in known.items():
        for verb, link in by.items():
            rate, error = f"{link.bandwidth / 1e9:.1f}", f"{100 * link.error:.0f} %"
            lines.append(f"| {transport} | {verb} | {1e6 * link.latency:.0f} | {rate} | {error} |")
    lines += ["", "## Predicted: 2, 4 and 8 H200 of one machine, rows dealt out", ""]
    lines += ["| case | GPUs | scheme | all-gather ms | kernels ms | reduce-scatter ms | product ms | 100 steps s | "
              "over plain | over mpi | efficiency of a product |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    names = ["plain", "mpi", "p2p", "gloo", "nccl:1", "nccl:2", "nccl:3", *(f"nccl:4:{t}" for t in (2, 4, 8, 12, 16))]
    for case in OURS:
        for ranks in (2, 4, 8):
            schemes = names if case.stored else [name for name in names if name != "plain"]
            found = {name: seconds_on(case, ranks, name, known) for name in schemes}
            for name, row in found.items():
                slower = [found.get(other, {}).get("product") for other in ("plain", "mpi")]
                over = ["" if seconds is None else f"{seconds / row['product']:.1f}" for seconds in slower]
                lines.append(
                    f"| {case.name} | {ranks} | {name} | {1e3 * row['all_gather']:.2f} | {1e3 * row['kernels']:.2f} | "
                    f"{1e3 * row['reduce_scatter']:.2f} | {1e3 * row['product']:.2f} | {row['hundred']:.2f} | "
                    f"{over[0]} | {over[1]} | {100 * case.one / ranks / row['product']:.0f} % |"
                )
    return lines


def baseline_fit() -> tuple[float, float, float]:
    """Nonzeros per second of a rank and bytes per second that explain the published baseline, and the rms of the
    relative error: seconds = 100 (2 kernels + 4 collectives), nothing hidden."""
    rows, times = [], []
    for (name, gpus), seconds in BASELINE.items():
        case = next(case for case in PUBLISHED if case.name.startswith(name))
        own, sent = per_rank(case, gpus)
        rows.append((100 * own / seconds, 100 * sent / seconds))
        times.append(1.0)
    found = np.linalg.lstsq(np.array(rows), np.array(times), rcond=None)[0]
    error = float(np.sqrt(np.mean((np.array(rows) @ found - 1) ** 2)))
    return 1 / float(found[0]), 1 / float(found[1]), error


def per_rank(case: Case, gpus: int) -> tuple[float, float]:
    """Nonzeros of a full block, and bytes that reach a rank in a product."""
    n_d = BLOCK_ROWS[gpus]
    group, part = (n_d + 1) / 2, 4.0 * case.states / n_d
    return 2 * case.nonzeros / n_d**2, part * (2 * (group - 1) / group + 2)


def project(case: Case, gpus: int) -> dict[str, float]:
    """100 iterations by `nccl:3` on A100, products alone."""
    n_d = BLOCK_ROWS[gpus]
    group = (n_d + 1) // 2
    column = Link(LATENCY, NVLINK if group <= 4 else NETWORK)
    row = Link(LATENCY, NETWORK)
    by = {"all_gather": column, "reduce_scatter": column, "broadcast": row, "reduce": row}
    own, _ = per_rank(case, gpus)
    # one reading of a block for each pass: the kernel for both at once is bound by its sums, not by memory
    found = product_seconds(triangle_shape(4.0 * case.states, n_d, own / A100_KERNEL / 1.3), by, meeting=MEETING)
    return {name: 100 * value for name, value in found.items()}


def published_lines() -> list[str]:
    """Projections beside what was published."""
    rate, width, error = baseline_fit()
    lines = ["", "## Published machines (A100), 100 products", ""]
    lines.append(
        f"The six published times by `plain` are explained by {rate:.2g} nonzeros per second and GPU and "
        f"{width / 1e9:.2f} GB/s for each rank, nothing hidden, to {100 * error:.0f} % (rms): the column `plain` is "
        f"that fit. `nccl:3` is predicted without any published time: {A100_KERNEL:.2g} nonzeros per second, "
        f"{NETWORK / 1e9:.0f} GB/s and {1e6 * LATENCY:.0f} µs by the network, {NVLINK / 1e9:.0f} GB/s where a column "
        "is one machine (28 GPUs), nothing but products. Where it can be compared, 12C on 91 GPUs (44.6 s / 3.04 = "
        "14.7 s published), 9.5 s are predicted: orthogonalisation is not in it, nor that kernels and transfers slow "
        "each other down, and the kernel published may be slower than ours scaled by bandwidth. So the column of "
        "speed-ups is an upper bound; published is a factor of up to 4.9."
    )
    head = "plain: fit s | published s | nccl:3: kernels s | held up s | in all s | over plain | published"
    lines += ["", f"| case | GPUs | {head} |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for case in PUBLISHED:
        for gpus in BLOCK_ROWS:
            own, sent = per_rank(case, gpus)
            name = case.name.split(":")[0]
            if 8 * own > CARD or 8 * own < 0.02 * CARD:
                continue
            plain, nccl = 100 * (own / rate + sent / width), project(case, gpus)
            told = BASELINE.get((name, gpus))
            speed = SPEED_UP.get((name, gpus))
            lines.append(
                f"| {case.name} | {gpus} | {plain:.1f} | {'' if told is None else told} | {nccl['kernels']:.1f} | "
                f"{nccl['held']:.1f} | {nccl['product']:.1f} | {plain / nccl['product']:.1f} | {speed or ''} |"
            )
    return lines


ABOUT = f"""# Predicted times of products on ranks

Written down before anything was measured on 4 or 8 GPUs, by `python benchmarks/ncci/predict.py` (eigenwerk
{__version__}). The model is that of `eigenwerk.perf.schemes.model`: latency and bandwidth for each collective, rates
for kernels, kernels beside broadcast and reduce.

What it does not know: how evenly blocks come out (taken as even: at most 1 % was counted), other users of links and
host memory, kernels that run slower beside transfers, sizes beyond 1 GB by Gloo and MPI (whose error below is large,
because they slow down there). Estimates, not measured: {MEETING * 1e3:.2f} ms for each meeting of `nccl:2` to
`nccl:4`, {SIMPLE:.0e} nonzeros per second by plain operations, {PER_BLOCK / 1e9:.0f} GB/s for each thread block of
NCCL (from one measurement with four), {HBM / 1e12:.1f} TB/s for three readings of the basis by reorthogonalisation.
Two, four and eight ranks are no triangle, so nothing is broadcast or reduced there: the variants of NCCL differ by
meetings and thread blocks only. The machines are those of `benchmarks/README.md`, *Collectives*: Open MPI without
CUDA, so MPI, `p2p` and Gloo go through host memory.
"""


def main() -> None:
    """Writes the tables."""
    text = "\n".join([ABOUT, *h200_lines(), *published_lines()]) + "\n"
    (HERE / "predicted.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
