"""What the products of a run of nuclei cost: kernels, the four steps, what of these was hidden under kernels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.perf.run_trace import PhaseSum, RankTrace, RunTrace
from eigenwerk.perf.waiting import waiting
from eigenwerk.record.trace import COMMUNICATION

STEPS = (
    ("all-gather", "all_gather", "column"), ("broadcast", "broadcast", "row"), ("reduce", "reduce", "row"),
    ("reduce-scatter", "reduce_scatter", "column"),
)  # fmt: skip
"""Span, verb and group of the four steps, in their order."""

NEEDED = ("states", "nonzeros", "products", "scheme", "precision", "block", "backend")
"""What has to be known of a case."""

ITEM = {"double": 8, "single": 4}
"""Bytes of a number by the precision of a case."""


@dataclass(frozen=True)
class StepUse:
    """One step over all ranks, in the products of the solver.

    call_p: calls; byte_p: given; moved: bytes that reached another rank, of all; held_p: seconds for which it held up
    the work; transfer_p: seconds for which data were on their way, nan where that is not known (a call that runs beside
    the kernel of a processor); wait_p: seconds of waiting for other ranks in all calls of the run, nan if not known.
    """

    name: str
    call_p: np.ndarray
    byte_p: np.ndarray
    moved: float
    held_p: np.ndarray
    transfer_p: np.ndarray
    wait_p: np.ndarray

    @property
    def message(self) -> float:
        """Mean bytes of the array of a call."""
        calls = self.call_p.sum()
        return float(self.byte_p.sum() / calls) if calls else 0.0

    @property
    def hidden(self) -> float | None:
        """The share of the transfers beside which kernels ran; None where transfers are not known."""
        known = ~np.isnan(self.transfer_p) & (self.call_p > 0)
        transfer = float(self.transfer_p[known].sum())
        return max(0.0, 1 - float(self.held_p[known].sum()) / transfer) if transfer > 0 else None


@dataclass(frozen=True)
class ProductUse:
    """The products of the solver of a run.

    cases: of the record; solver_p, product_p, kernel_p, meeting_p: seconds of each rank in the solver, of that in
    products, of these in local products and in meetings that a scheme wants.
    """

    run: RunTrace
    cases: Sequence[dict[str, Any]]
    steps: tuple[StepUse, ...]
    solver_p: np.ndarray
    product_p: np.ndarray
    kernel_p: np.ndarray
    meeting_p: np.ndarray
    on_device: bool

    @property
    def ranks(self) -> int:
        """How many there are."""
        return len(self.run.ranks)

    @property
    def scheme(self) -> str:
        """Its name; `auto` with what was taken."""
        name = str(self.cases[0]["scheme"])
        return f"auto ({self.run.about.get('transport', '')})" if name == "auto" else name

    @property
    def products(self) -> int:
        """Vectors that H was applied to."""
        return sum(int(case["products"]) for case in self.cases)

    @property
    def solver(self) -> float:
        """Seconds of the slowest rank."""
        return float(self.solver_p.max())

    @property
    def seconds(self) -> float:
        """A product, of the slowest rank."""
        return float(self.product_p.max()) / self.products

    @property
    def held(self) -> float:
        """Seconds in which steps held up the work, mean over ranks."""
        return float(sum((step.held_p for step in self.steps), np.zeros(self.ranks)).mean())

    @property
    def share(self) -> float:
        """The same as a share of the solver's time."""
        return self.held / float(self.solver_p.mean())

    @property
    def moved(self) -> float:
        """Bytes that reached another rank, in all products."""
        return sum(step.moved for step in self.steps)

    @property
    def flops(self) -> float:
        """4 nonzeros - 2 states for every product, whatever the back end.

        Half of H is applied twice, multiply and add, the diagonal once: the count of the published study.
        """
        return float(sum((4 * case["nonzeros"] - 2 * case["states"]) * case["products"] for case in self.cases))

    @property
    def flops_per_byte(self) -> float | None:
        """Arithmetic for each byte that travels; None without traffic or where nonzeros were not counted."""
        counted = all(case["nonzeros"] for case in self.cases)
        return self.flops / self.moved if self.moved and counted else None

    @property
    def imbalance(self) -> float:
        """How much longer the local products of the busiest rank take than the mean, as a share of the mean."""
        mean = float(self.kernel_p.mean())
        return float(self.kernel_p.max()) / mean - 1 if mean else 0.0

    @property
    def typical_message(self) -> float | None:
        """Bytes of a vector over the ranks of a column: the published size; None where cases differ."""
        sizes = {case["states"] * ITEM[case["precision"]] * case["block"] for case in self.cases}
        columns = self.run.groups_of("column")
        ranks = max((len(members) for members in columns), default=1)
        return sizes.pop() / ranks if len(sizes) == 1 else None


def product_use(run: RunTrace) -> ProductUse:
    """The products of the solver of a run.  Raises InputError for a record without them."""
    told = run.about.get("cases")
    cases = [case for case in told if isinstance(case, dict)] if isinstance(told, list) else []
    if not cases or any(name not in case for case in cases for name in NEEDED):
        raise InputError(
            f"{run.path}: no products of nuclei in this record. Give the output folder of a finished `eigenwerk ncci "
            "run`."
        )
    tables = [_inside_products(rank) for rank in run.ranks]
    on_device = any(phase.device_seconds is not None for table in tables for phase in table.values())

    def seconds(*path: str) -> np.ndarray:
        return np.array([_clock(table[path]) if path in table else 0.0 for table in tables])

    return ProductUse(
        run, cases, tuple(_step(run, tables, *step) for step in STEPS),
        np.array([_solver(rank) for rank in run.ranks]), seconds(), seconds("local products"), seconds("meeting"),
        on_device,
    )  # fmt: skip


def _clock(phase: PhaseSum) -> float:
    """By the clock that saw the work."""
    return phase.seconds if phase.device_seconds is None else phase.device_seconds


def _solver(rank: RankTrace) -> float:
    return sum(phase.seconds for phase in rank.phases if phase.path == ("states",))


def _inside_products(rank: RankTrace) -> dict[tuple[str, ...], PhaseSum]:
    """The phases of the solver's products by the rest of their path; () is the product itself."""
    found: dict[tuple[str, ...], PhaseSum] = {}
    for phase in rank.phases:
        if phase.path[0] == "states" and "products" in phase.path:
            found[phase.path[phase.path.index("products") + 1 :]] = phase
    return found


def _step(
    run: RunTrace, tables: Sequence[dict[tuple[str, ...], PhaseSum]], name: str, verb: str, group: str
) -> StepUse:
    outer = [table.get((name,)) for table in tables]
    inner = [table.get((name, COMMUNICATION)) for table in tables]

    def of(phases: Sequence[PhaseSum | None], value: Callable[[PhaseSum], float]) -> np.ndarray:
        return np.array([0.0 if phase is None else value(phase) for phase in phases])

    byte_p, call_p = of(inner, lambda phase: phase.bytes), of(inner, lambda phase: float(phase.calls))
    functions = [function for function in run.functions if function[:2] == (verb, group)]
    wait_p = waiting(run, functions[0]) if len(functions) == 1 else np.full(len(run.ranks), np.nan)
    return StepUse(
        name, call_p, byte_p, _moved(run, verb, group, byte_p), of(outer, _clock),
        np.array([_transfer(*both) for both in zip(outer, inner, strict=True)]), wait_p,
    )  # fmt: skip


def _transfer(outer: PhaseSum | None, inner: PhaseSum | None) -> float:
    """Seconds for which data were on their way: by the device's clock, or by the host's where that waits while a device
    works."""
    if inner is None or outer is None:
        return 0.0
    if inner.device_seconds is not None:
        return inner.device_seconds
    return inner.seconds if outer.device_seconds is not None else float("nan")


def _moved(run: RunTrace, verb: str, group: str, byte_p: np.ndarray) -> float:
    """Bytes that reach another rank: all-gather brings the part of each to all others; broadcast, reduce and
    reduce-scatter move (p - 1) / p of what the ranks give."""
    total = 0.0
    for members in run.groups_of(group):
        size, given = len(members), float(byte_p[list(members)].sum())
        total += given * (size - 1) * (1.0 if verb == "all_gather" else 1.0 / size)
    return total
