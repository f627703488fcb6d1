"""What `eigenwerk perf schemes` says, as plain lines."""

from collections.abc import Sequence

import numpy as np

from eigenwerk.perf.communication_text import heading
from eigenwerk.perf.schemes.comparison import Row
from eigenwerk.perf.schemes.products import ProductUse, StepUse
from eigenwerk.perf.tables import gigabytes_per_second, percent, seconds, size, spread, table


def schemes_lines(rows: Sequence[Row]) -> list[str]:
    """The tables of every run, and of several all beside each other."""
    lines = [line for row in rows for line in [*_run(row.use), ""]][:-1]
    return [*lines, "", *_comparison(rows)] if len(rows) > 1 else lines


def _run(use: ProductUse) -> list[str]:
    case = use.cases[0]
    title, *where = heading(use.run)
    layout = "" if case.get("layout") is None else f", blocks {case['layout']}"
    what = f"  scheme {use.scheme}, back end {case['backend']}{layout}, {case['precision']} precision"
    return [title, *where, what, "", *_times(use), "", *_steps(use), "", *_arithmetic(use)]


def _times(use: ProductUse) -> list[str]:
    def row(label: str, second_p: np.ndarray) -> tuple[str, ...]:
        return label, *spread(second_p), percent(float(second_p.mean() / use.solver_p.mean()))

    steps = sum((step.held_p for step in use.steps), np.zeros(use.ranks))
    rows = [
        row("solver", use.solver_p), row("  products", use.product_p), row("    local products", use.kernel_p),
        row("    the four steps", steps), row("  all else", use.solver_p - use.product_p),
    ]  # fmt: skip
    if use.meeting_p.any():
        rows.insert(4, row("    meetings before calls", use.meeting_p))
    return table(("seconds of a rank", "min", "mean", "max", "of solver"), rows)


def _steps(use: ProductUse) -> list[str]:
    rows = [_step(use, step) for step in use.steps]
    head = (
        "step", "calls", "message", "moved", "held up s", "of solver", "waiting s", "on its way s", "hidden", "GB/s",
    )  # fmt: skip
    clock = "the device's clock" if use.on_device else "the clock of processors"
    words = f"calls of a rank, bytes of all, seconds are means by {clock}"
    return [f"The four steps of {use.products} products ({words})", *table(head, rows)]


def _step(use: ProductUse, step: StepUse) -> tuple[str, ...]:
    held, callers = float(step.held_p.mean()), step.call_p > 0
    if not callers.any():
        return step.name, "0", "", "", seconds(held), percent(held / float(use.solver_p.mean())), "", "", "", ""
    transfer = None if np.isnan(step.transfer_p[callers]).all() else float(np.nanmean(step.transfer_p[callers]))
    waited = None if np.isnan(step.wait_p).all() else float(np.nansum(step.wait_p) / use.ranks)
    moving = transfer if transfer is not None else float(step.held_p[callers].mean())
    rate = step.moved / callers.sum() / moving if moving > 0 else None
    return (
        step.name, f"{step.call_p[callers].mean():.0f}", size(step.message), size(step.moved), seconds(held),
        percent(held / float(use.solver_p.mean())), seconds(waited), seconds(transfer),
        "" if step.hidden is None else percent(step.hidden), gigabytes_per_second(rate),
    )  # fmt: skip


def _arithmetic(use: ProductUse) -> list[str]:
    lines = []
    if use.typical_message is not None and use.ranks > 1:
        lines.append(f"  typical message, a vector over the ranks of a column: {size(use.typical_message)}")
    if use.flops_per_byte is not None:
        lines.append(
            f"  {use.flops / use.products:.3g} FLOPs of a product, {size(use.moved / use.products)} that travel: "
            f"{use.flops_per_byte:.0f} FLOPs per byte"
        )
    if use.flops > 0 and use.kernel_p.any():
        lines.append(f"  {use.flops / use.ranks / float(use.kernel_p.mean()) / 1e9:.3g} GFLOP/s of a rank")
    if use.ranks > 1:
        lines.append(f"  imbalance: local products of rank {int(use.kernel_p.argmax())} take {percent(use.imbalance)} "
                     "longer than the mean")  # fmt: skip
    return lines


def _comparison(rows: Sequence[Row]) -> list[str]:
    def times(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}x"

    def share(value: float | None) -> str:
        return "" if value is None else percent(value)

    found = [
        (
            row.use.scheme, str(row.use.ranks), str(row.use.cases[0].get("layout") or ""),
            f"{1e3 * row.use.seconds:.3f}",
            seconds(row.use.solver), percent(row.use.share), times(row.over_plain), times(row.over_mpi),
            share(row.slower), share(row.efficiency),
        )
        for row in rows
    ]  # fmt: skip
    head = (
        "scheme", "ranks", "layout", "product ms", "solver s", "four steps", "over plain", "over mpi", "slower by",
        "efficiency",
    )  # fmt: skip
    words = "products of the slowest rank; slower than the best thread blocks; efficiency over the fewest ranks"
    return [f"All runs ({words})", *table(head, found)]
