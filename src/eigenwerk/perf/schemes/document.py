"""What `eigenwerk perf schemes` prints with --json: the numbers of the text.  Fields: docs/guides/perf.md."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenwerk.perf.documents import run_document
from eigenwerk.perf.schemes.comparison import Row
from eigenwerk.perf.schemes.products import StepUse

VERSION = 1
"""Raised whenever a field changes meaning."""


def schemes_document(rows: Sequence[Row]) -> dict[str, Any]:
    """All numbers, run by run."""
    return {"format": "eigenwerk-perf-schemes", "version": VERSION, "runs": [_run(row) for row in rows]}


def _run(row: Row) -> dict[str, Any]:
    use = row.use
    return run_document(use.run) | {
        "scheme": use.scheme, "cases": list(use.cases), "clock": "device" if use.on_device else "host",
        "products": use.products, "seconds_per_product": use.seconds, "solver_seconds": use.solver_p.tolist(),
        "product_seconds": use.product_p.tolist(), "local_product_seconds": use.kernel_p.tolist(),
        "meeting_seconds": use.meeting_p.tolist(), "steps": [_step(step) for step in use.steps],
        "share_of_solver": use.share, "imbalance": use.imbalance, "typical_message_bytes": use.typical_message,
        "moved_bytes": use.moved, "flops": use.flops, "flops_per_byte": use.flops_per_byte,
        "speed_up_over_plain": row.over_plain, "speed_up_over_mpi": row.over_mpi,
        "slower_than_best_thread_blocks": row.slower, "efficiency": row.efficiency,
    }  # fmt: skip


def _step(step: StepUse) -> dict[str, Any]:
    return {
        "step": step.name, "calls": step.call_p.tolist(), "bytes": step.byte_p.tolist(), "moved_bytes": step.moved,
        "held_seconds": step.held_p.tolist(), "transfer_seconds": _known(step.transfer_p),
        "waiting_seconds": _known(step.wait_p), "hidden_share": step.hidden,
    }  # fmt: skip


def _known(value_p: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in value_p]
