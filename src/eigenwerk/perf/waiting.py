"""How long ranks waited for each other: the part of communication that a faster network would not shorten."""

from collections.abc import Sequence

import numpy as np

from eigenwerk.perf.run_trace import POINT_TO_POINT, Function, RunTrace, TrafficSum


def waiting(run: RunTrace, function: Function) -> np.ndarray:
    """Seconds that each rank waited for the last one of its group in all calls of one function.

    In call i, rank p waits  w_p = min(max_q t_q − t_p, b_p)  where t is the moment of entry and b the time until the
    call returned: who enters last waits for nobody, and who need not wait (a handle, the root of a broadcast) does not.
    With a device clock the entries on the host say nothing; there  w_p = d_p − min_q d_q  with d the time for which the
    device stood still: the rank that comes last only moves data.

    Returns (p,), nan where it is not known: point-to-point, groups of other names than the grid's, ranks whose calls
    do not match.
    """
    verb, group, _ = function
    wait_p = np.full(len(run.ranks), np.nan)
    if verb in POINT_TO_POINT:
        return wait_p
    for members in run.groups_of(group):
        found = [run.ranks[rank].traffic.get(function) for rank in members]
        records = [record for record in found if record is not None]
        if len(records) == len(members) and _match(records):
            wait_p[list(members)] = _waiting_of(records)
    return wait_p


def _match(records: Sequence[TrafficSum]) -> bool:
    """Whether the ranks made the same calls, so that entry i of all columns belongs to one call."""
    lengths = {(record.calls, record.stride, len(record.entered)) for record in records}
    return len(lengths) == 1 and all(len(record.blocked) == len(record.entered) for record in records)


def _waiting_of(records: Sequence[TrafficSum]) -> np.ndarray:
    if all(len(record.device_blocked) == len(record.entered) for record in records):
        held_px = np.stack([record.device_blocked for record in records])
        wait_px = held_px - held_px.min(axis=0)
    else:
        entered_px = np.stack([record.entered for record in records])
        wait_px = np.minimum(entered_px.max(axis=0) - entered_px, np.stack([record.blocked for record in records]))
    kept = wait_px.shape[1]
    return np.asarray(wait_px.sum(axis=1) * (records[0].calls / kept if kept else 0.0))
