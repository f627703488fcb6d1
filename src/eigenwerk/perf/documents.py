"""What `eigenwerk perf` prints with --json: the numbers of the text, for programs.  Fields: docs/guides/perf.md."""

from typing import Any

import numpy as np

from eigenwerk.perf.communication import Communication, FunctionUse, SizeUse
from eigenwerk.perf.profile import PhaseUse, Profile
from eigenwerk.perf.run_trace import RunTrace

VERSION = 1
"""Of both documents; raised whenever a field changes meaning."""


def communication_document(found: Communication) -> dict[str, Any]:
    """All numbers of `eigenwerk perf communication`."""
    return {
        "format": "eigenwerk-perf-communication",
        "version": VERSION,
        **run_document(found.run),
        "share": found.share,
        "imbalance": found.imbalance,
        "work_seconds": found.work_p.tolist(),
        "communication_seconds": found.held_p.tolist(),
        "waiting_seconds": found.wait_p.tolist(),
        "functions": [_function(use) for use in found.functions],
        "sizes": [_size(entry) for entry in found.sizes],
        "bytes_from_to": found.sent_pp.tolist(),
        "calls_from_to": found.call_pp.tolist(),
    }


def profile_document(found: Profile) -> dict[str, Any]:
    """All numbers of `eigenwerk perf profile`."""
    return {
        "format": "eigenwerk-perf-profile",
        "version": VERSION,
        **run_document(found.run),
        "phases": [_phase(phase) for phase in found.phases],
        "everything_else_seconds": found.rest_p.tolist(),
        "loops": {lap.name: list(lap.seconds) for lap in found.laps},
        "peak_bytes": [dict(rank.peak_bytes) for rank in found.run.ranks],
    }


def run_document(run: RunTrace) -> dict[str, Any]:
    """What documents have in common: which run, where it ran, how long."""
    return {
        "run": str(run.path),
        "ranks": len(run.ranks),
        "grid": {"groups": run.groups, "band_ranks": run.band_ranks},
        "hosts": [rank.host for rank in run.ranks],
        "devices": [rank.device for rank in run.ranks],
        "threads": [rank.threads for rank in run.ranks],
        "elapsed_seconds": [rank.seconds for rank in run.ranks],
    }


def _function(use: FunctionUse) -> dict[str, Any]:
    verb, group, transport = use.function
    return {
        "verb": verb, "group": group, "transport": transport, "calls": use.call_p.tolist(),
        "bytes": use.byte_p.tolist(), "seconds": use.second_p.tolist(), "waiting_seconds": _known(use.wait_p),
        "clock": "device" if use.on_device else "host", "bytes_per_second": use.rate,
    }  # fmt: skip


def _size(entry: SizeUse) -> dict[str, Any]:
    return {
        "from_bytes": entry.from_bytes, "calls": entry.calls, "bytes": entry.bytes, "seconds": entry.seconds,
        "bytes_per_second": entry.rate,
    }  # fmt: skip


def _phase(phase: PhaseUse) -> dict[str, Any]:
    return {
        "path": list(phase.path), "calls": phase.calls, "seconds": phase.second_p.tolist(),
        "own_seconds": phase.own_p.tolist(), "uneven_seconds": phase.uneven, "device_seconds": _known(phase.device_p),
        "own_device_seconds": _known(phase.own_device_p), "bytes": phase.bytes, "flops": phase.flops,
        "bytes_per_second": phase.rate(phase.bytes), "flops_per_second": phase.rate(phase.flops),
    }  # fmt: skip


def _known(value_p: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in value_p]
