"""The cost model of products on ranks, fitted once more to what H100 took, and what it says of 64 to 2048 GPUs.

    python benchmarks/ncci/project.py            # writes projected.md

Kernels and collectives by NCCL come from the runs of schemes.json on two to four H100 (dealt layout, `nccl:1`); the
shapes from `eigenwerk.perf.schemes.model`.  predicted.md stays as it was written down before anything was measured.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from predict import CARD, LATENCY, PUBLISHED, Case

from eigenwerk.perf.schemes.model import Link, Sample, dealt_shape, fitted, product_seconds, triangle_shape

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from entries import load

HERE = Path(__file__).resolve().parent
ENTRIES = (
    "10B_6_2xH100", "10B_6_on_four_H100", "12C_6_on_four_H100", "6Li_10_2xH100", "10B_8_2xH100", "10B_8_on_four_H100",
)  # fmt: skip
"""Of healthy machines."""

STEPS = {"all-gather": "all_gather", "reduce-scatter": "reduce_scatter"}

NETWORKS = {"one card of 200 Gbit/s for each GPU": 20e9, "one of 400 Gbit/s": 40e9}
"""Bytes per second of a GPU between machines, 80 % of the cards: assumed, nothing was measured there."""

MACHINE = 8
"""GPUs of one machine."""

BLOCK_ROWS = {66: 11, 496: 31, 2016: 63}
"""Triangles next to 64, 512 and 2048 GPUs."""

NONZERO = 8.0
"""Bytes."""


@dataclass(frozen=True)
class Row:
    """A measured product: ranks, back end, states, nonzeros of half of H, seconds of the product and of the local one,
    of waiting for one another, and samples of its collectives."""

    title: str
    ranks: int
    backend: str
    states: int
    nonzeros: float
    product: float
    local: float
    samples: tuple[Sample, ...]

    @property
    def rate(self) -> float:
        """Nonzeros per second and GPU."""
        return self.nonzeros / self.ranks / self.local


def rows() -> list[Row]:
    """Runs by `nccl:1` whose blocks are dealt out."""
    entries, found = load(HERE / "schemes.json"), []
    for name in ENTRIES:
        for run in entries[name]["runs"]:
            case = run["cases"][0]
            if run["scheme"] != "nccl:1" or run["ranks"] < 2 or case.get("layout") == "triangle":
                continue
            samples = []
            for step in run["steps"]:
                if step["step"] in STEPS and (calls := sum(n > 0 for n in step["calls"])):
                    seconds = float(np.mean([s / run["products"] for s in step["transfer_seconds"] if s]))
                    samples.append(Sample(STEPS[step["step"]], run["ranks"], 4.0 * case["states"], seconds))
                    assert calls == run["ranks"]
            found.append(
                Row(case["title"], run["ranks"], case["backend"], case["states"], case["nonzeros"],
                    run["seconds_per_product"], float(np.max(run["local_product_seconds"])) / run["products"],
                    tuple(samples))
            )  # fmt: skip
    return found


@dataclass(frozen=True)
class Fit:
    """Links of both collectives, nonzeros per second by back end, seconds of a product beside those, relative error."""

    links: dict[str, Link]
    rate: dict[str, float]
    beside: float
    error: float

    def product(self, row: Row) -> float:
        """Seconds of a product with dealt blocks."""
        shape = dealt_shape(4.0 * row.states, row.ranks, row.nonzeros / row.ranks / self.rate[row.backend])
        return product_seconds(shape, self.links)["product"] + self.beside


def fit(measured: list[Row]) -> Fit:
    """To all rows: geometric means of rates, least relative error for links, the mean of what is left."""
    links = {}
    for verb in STEPS.values():
        links[verb] = fitted([one for row in measured for one in row.samples if one.verb == verb])
    links |= dict.fromkeys(("broadcast", "reduce"), links["reduce_scatter"])
    logs: dict[str, list[float]] = {}
    for row in measured:
        logs.setdefault(row.backend, []).append(np.log(row.rate))
    rate = {kind: float(np.exp(np.mean(values))) for kind, values in logs.items()}
    bare = Fit(links, rate, 0.0, 0.0)
    beside = max(float(np.mean([row.product - bare.product(row) for row in measured])), 0.0)
    whole = Fit(links, rate, beside, 0.0)
    error = float(np.sqrt(np.mean([(whole.product(row) / row.product - 1) ** 2 for row in measured])))
    return Fit(links, rate, beside, error)


def project(case: Case, gpus: int, found: Fit, network: float) -> dict[str, float]:
    """A product by a triangle over machines: columns, whose ranks are neighbours, inside one if they fit."""
    n_d = BLOCK_ROWS[gpus]
    group = (n_d + 1) // 2
    row = Link(LATENCY, network)
    column = found.links["all_gather"] if group <= MACHINE else row
    by = {"all_gather": column, "reduce_scatter": column, "broadcast": row, "reduce": row}
    own = 2 * case.nonzeros / n_d**2
    # both products of a block in one reading, as on two to four GPUs
    shape = triangle_shape(4.0 * case.states, n_d, own / found.rate["csb"] / 2)
    seconds = product_seconds(shape, by, meeting=0.0)
    return {name: value + found.beside * (name == "product") for name, value in seconds.items()}


def lines(measured: list[Row], found: Fit) -> list[str]:
    """Tables for readers."""
    about = str(__doc__).split("\n\n")[2].strip().replace("\n", " ")
    text = ["# The cost model fitted to H100, and 64 to 2048 of them", "", f"`project.py`. {about}", ""]
    text += ["| collective | latency of a stage, µs | GB/s of a rank | rms of the error |", "|---|---|---|---|"]
    for verb in STEPS.values():
        link = found.links[verb]
        text.append(f"| {verb} | {1e6 * link.latency:.0f} | {link.bandwidth / 1e9:.0f} | {100 * link.error:.0f} % |")
    rates = ", ".join(f"`{kind}` {rate:.3g}" for kind, rate in sorted(found.rate.items()))
    text += ["", f"Nonzeros per second and GPU: {rates}. Beside kernels and collectives a product takes "
             f"{1e3 * found.beside:.2f} ms (ranks that wait for the slowest one, calls from Python).", ""]
    text += ["| case | GPUs | measured ms | by the fit ms | ratio |", "|---|---|---|---|---|"]
    for row in measured:
        by_fit = found.product(row)
        text.append(f"| {row.title}, `{row.backend}` | {row.ranks} | {1e3 * row.product:.2f} | {1e3 * by_fit:.2f} | "
                    f"{by_fit / row.product:.2f} |")
    two, four = ([row for row in measured if row.ranks == ranks] for ranks in (2, 4))
    alone = fit(two)
    ahead = ", ".join(f"{row.title} {alone.product(row) / row.product:.2f}" for row in four)
    text += ["", f"Error (rms): {100 * found.error:.0f} %. Fitted to two GPUs alone, four over measured: {ahead}. The "
             "model before any measurement was 6 to 17 % too low ([gpu_results.md](gpu_results.md), Predicted beside "
             "measured).", ""]
    text += ["## Projected: stored blocks, one vector, triangles", "",
             f"Machines of {MACHINE} GPUs; nothing was measured between machines, so the network is the larger doubt: "
             "two are given. Each product has the error of the fit besides. Cases whose blocks do not fit 90 % of "
             f"{CARD / 1e9:.0f} GB are left out.", ""]
    heads = " | ".join(f"product ms, efficiency: {name}" for name in NETWORKS)
    text += [f"| case | GPUs | block GB | kernels ms | {heads} |", "|---|---|---|---|---|---|"]
    for case in PUBLISHED:
        for gpus, n_d in BLOCK_ROWS.items():
            block = NONZERO * 2 * case.nonzeros / n_d**2
            if block > 0.9 * CARD:
                continue
            ideal = case.nonzeros / gpus / found.rate["csb"]
            cells = []
            for network in NETWORKS.values():
                seconds = project(case, gpus, found, network)["product"]
                error = found.error * seconds
                cells.append(f"{1e3 * seconds:.1f} ± {1e3 * error:.1f}, {100 * ideal / seconds:.0f} %")
            kernels = project(case, gpus, found, 20e9)["kernels"]
            text.append(f"| {case.name} | {gpus} | {block / 1e9:.2f} | {1e3 * kernels:.1f} | {' | '.join(cells)} |")
    return text


def main() -> None:
    """Writes the tables."""
    measured = rows()
    text = "\n".join(lines(measured, fit(measured))) + "\n"
    (HERE / "projected.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
