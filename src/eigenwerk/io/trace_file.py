"""eigenwerk-trace.json: what all ranks of a run recorded about it.

docs/formats/eigenwerk_trace.md describes the layout; version history: 2, the first that lies in a file of its own (1 is
the record inside eigenwerk.h5 of the first version, of one rank and without traffic).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.bounded import MEGABYTE, read_json
from eigenwerk.record.trace import FORMAT, FORMAT_VERSION

TRACE_FILE = "eigenwerk-trace.json"
"""Name of the file beside eigenwerk.h5."""

LARGEST = 1000 * MEGABYTE
"""Bytes of a record that is read: some of runs with many ranks are large."""

OLDEST = 2
"""Older files than this cannot be read."""

NEEDED = ("rank", "host", "device", "threads", "seconds", "started", "clock_offset", "laps", "phases", "traffic")
"""Fields of a rank without which nothing can be said about it."""


def trace_document(records: Sequence[Mapping[str, Any]], meta: Mapping[str, Any]) -> dict[str, Any]:
    """The records of all ranks as one document.

    records: of each rank `Trace.as_dict(events=True)` with "rank", "host", "device", "threads" and "peak_bytes" (as
    `parallel.trace_records` gathers them), in any order; meta: what is common to all: "grid" with "groups" (k-groups)
    and "band_ranks", and whatever else describes the run ("system", "program_version", "created", ...).
    Raises ValueError unless there is one record of each rank and the grid has as many places.
    """
    ordered = sorted((dict(record) for record in records), key=lambda record: record["rank"])
    if [record["rank"] for record in ordered] != list(range(len(ordered))):
        raise ValueError(f"records of the ranks {[record['rank'] for record in ordered]}, one of each is needed")
    grid = dict(meta.get("grid") or {"groups": 1, "band_ranks": len(ordered)})
    if grid["groups"] * grid["band_ranks"] != len(ordered):
        raise ValueError(f"{len(ordered)} ranks in a grid of {grid['groups']} x {grid['band_ranks']}")
    return {"format": FORMAT, "version": FORMAT_VERSION} | dict(meta) | {"grid": grid, "ranks": ordered}


def write_trace_file(path: str | Path, records: Sequence[Mapping[str, Any]], meta: Mapping[str, Any]) -> None:
    """Write the records of all ranks as one JSON file, whole or not at all; arguments as for `trace_document`.

    Raises InputError if the file cannot be written.
    """
    text = json.dumps(trace_document(records, meta), allow_nan=False)
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")


def read_trace_file(run: str | Path) -> dict[str, Any]:
    """Read the document of a run back.

    run: the file, or the folder that holds it.  Raises InputError if there is no such file, if it is none of these, of
    another version, cut off or damaged.
    """
    path = trace_path(run)
    try:
        document = read_json(path, LARGEST)
    except ValueError as error:
        raise InputError(
            f"{path}: not a whole record of a run ({error}). It was cut off or changed after it had been written. "
            "Take another copy, or run the calculation again."
        ) from error
    _check(path, document)
    return document


def trace_path(run: str | Path) -> Path:
    """The file of a run, given the file or its folder.  Raises InputError if there is none."""
    path = Path(run)
    if path.is_dir():
        path = path / TRACE_FILE
        if not path.is_file():
            raise InputError(
                f"{path.parent}: no {TRACE_FILE} in this folder. `eigenwerk run` writes it into its output folder "
                "at the end of a run; give that folder."
            )
    elif not path.is_file():
        raise InputError(f"{path}: no such folder or file. Give the output folder of a run, or its {TRACE_FILE}.")
    return path


def _check(path: Path, document: Any) -> None:
    """Raise InputError unless this is a document that this version understands."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f"{path}: JSON, but not a record of a run of eigenwerk. Give the {TRACE_FILE} of a run.")
    version = document.get("version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise InputError(
            f"{path}: version {version} of the format, and this eigenwerk reads {OLDEST} to {FORMAT_VERSION}. "
            "Use the newer eigenwerk that wrote it."
        )
    if version < OLDEST:
        raise InputError(
            f"{path}: version {version} of the format, written by an older eigenwerk; this one reads {OLDEST} to "
            f"{FORMAT_VERSION}. Run the calculation again."
        )
    ranks = document.get("ranks")
    if not isinstance(ranks, list) or not ranks or not all(isinstance(rank, dict) for rank in ranks):
        raise InputError(f"{path}: damaged: the records of the ranks are missing. Run the calculation again.")
    missing = sorted({name for rank in ranks for name in NEEDED if name not in rank})
    if missing or not isinstance(document.get("grid"), dict):
        raise InputError(f"{path}: damaged: {', '.join(missing or ['grid'])} missing. Run the calculation again.")
