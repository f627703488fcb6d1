"""The last events of a run for the viewers of Chrome traces (chrome://tracing, ui.perfetto.dev).

Format: "Trace Event Format" of the Chromium project: complete events (ph "X") with times in microseconds, one process
per rank; within it one track for the host and one for the device.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eigenwerk.io.atomic_write import replacing
from eigenwerk.perf.run_trace import Events, RankTrace, RunTrace

TRACKS = ("host", "device")


def write_chrome_trace(path: str | Path, run: RunTrace) -> int:
    """Write the events of all ranks; returns their number.  Raises InputError if the file cannot be written."""
    start = min(rank.started for rank in run.ranks)
    entries = [entry for rank in run.ranks for entry in _rank_events(rank, start)]
    document = {"traceEvents": entries, "displayTimeUnit": "ms", "otherData": {"run": str(run.path)}}
    with replacing(path) as new:
        new.write_text(json.dumps(document), encoding="utf-8")
    return sum(entry["ph"] == "X" for entry in entries)


def _rank_events(rank: RankTrace, start: float) -> Iterator[dict[str, Any]]:
    yield _label("process_name", rank.rank, 0, f"rank {rank.rank} on {rank.host} ({rank.device})")
    yield {"ph": "M", "name": "process_sort_index", "pid": rank.rank, "tid": 0, "args": {"sort_index": rank.rank}}
    for track, (name, events) in enumerate(zip(TRACKS, (rank.events, rank.device_events), strict=True)):
        if events is not None:
            yield _label("thread_name", rank.rank, track, name)
            yield from _complete_events(events, rank.rank, track, start)


def _label(kind: str, rank: int, track: int, text: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": rank, "tid": track, "args": {"name": text}}


def _complete_events(events: Events, rank: int, track: int, start: float) -> Iterator[dict[str, Any]]:
    columns = zip(events.names, events.started.tolist(), events.seconds.tolist(), events.bytes.tolist(), strict=True)
    for name, started, seconds, count in columns:
        entry = {
            "ph": "X", "name": name, "pid": rank, "tid": track, "ts": round((started - start) * 1e6, 3),
            "dur": round(seconds * 1e6, 3),
        }  # fmt: skip
        yield entry | {"args": {"bytes": int(count)}} if count else entry
