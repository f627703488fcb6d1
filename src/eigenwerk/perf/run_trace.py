"""What the ranks of a run recorded, as values that the laboratory works with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.trace_file import read_trace_file, trace_path
from eigenwerk.record.packed import unpack

POINT_TO_POINT = ("send", "receive", "swap")
"""Verbs of two ranks; all others are of a whole group."""

Function = tuple[str, str, str]
"""A kind of communication: verb, group, transport."""


@dataclass(frozen=True)
class PhaseSum:
    """One phase of one rank: where it stands in the tree, and the sums over its spans, as
    `eigenwerk.record.phases.Phase`."""

    path: tuple[str, ...]
    calls: int
    seconds: float
    device_seconds: float | None
    own_seconds: float
    own_device_seconds: float | None
    bytes: float
    flops: float

    @property
    def held(self) -> float:
        """Seconds by the clock that saw the work."""
        return self.seconds if self.device_seconds is None else self.device_seconds


@dataclass(frozen=True)
class SizeClass:
    """Calls with messages of from_bytes to 2 from_bytes - 1 bytes; held: seconds as in `TrafficSum`."""

    from_bytes: int
    calls: int
    bytes: int
    held: float


@dataclass(frozen=True)
class TrafficSum:
    """All calls of one function on one rank, as `eigenwerk.record.traffic.Traffic`; columns of every `stride`-th
    call."""

    function: Function
    calls: int
    bytes: int
    seconds: float
    device_seconds: float | None
    sizes: tuple[SizeClass, ...]
    peers: Mapping[int, tuple[int, int]]
    stride: int
    entered: np.ndarray
    blocked: np.ndarray
    device_blocked: np.ndarray
    travel: float | None = None

    @property
    def held(self) -> float:
        """Seconds in which the work stood still: of the device where it has a clock, else of the host.  Of data that
        travel beside the work the device's clock knows for how long they do."""
        return self.seconds if self.device_seconds is None or self.travel is not None else self.device_seconds


@dataclass(frozen=True)
class Events:
    """Events of one clock, in the order in which they ended: name, start on the clock of rank 0, length, bytes."""

    names: tuple[str, ...]
    started: np.ndarray
    seconds: np.ndarray
    bytes: np.ndarray
    dropped: int


@dataclass(frozen=True)
class RankTrace:
    """What one rank recorded, and where it ran; moments on the clock of rank 0."""

    rank: int
    host: str
    device: str
    threads: int
    seconds: float
    started: float
    peak_bytes: Mapping[str, int]
    laps: Mapping[str, tuple[float, ...]]
    phases: tuple[PhaseSum, ...]
    traffic: Mapping[Function, TrafficSum]
    events: Events | None
    device_events: Events | None
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def communication(self) -> float:
        """Seconds of all its traffic."""
        return sum(traffic.held for traffic in self.traffic.values())


@dataclass(frozen=True)
class RunTrace:
    """All ranks of a run in their grid: k-groups times band ranks, rank = group * band_ranks + band rank."""

    path: Path
    groups: int
    band_ranks: int
    about: Mapping[str, Any]
    ranks: tuple[RankTrace, ...]

    @property
    def elapsed(self) -> float:
        """Seconds from the start to the end of the slowest rank."""
        return max(rank.seconds for rank in self.ranks)

    @property
    def functions(self) -> tuple[Function, ...]:
        """Every function that a rank used, in the order of first use."""
        return tuple(dict.fromkeys(function for rank in self.ranks for function in rank.traffic))

    def groups_of(self, name: str) -> list[tuple[int, ...]]:
        """The groups of ranks that a name of a communicator stands for: of the grid, or as ranks say themselves; none
        for names that nobody knows."""
        size, band_ranks = len(self.ranks), self.band_ranks
        if name == "world":
            return [tuple(range(size))]
        if name == "bands":
            return [tuple(range(first, first + band_ranks)) for first in range(0, size, band_ranks)]
        if name == "kpoints":
            return [tuple(range(band_rank, size, band_ranks)) for band_rank in range(band_ranks)]
        told = dict.fromkeys(rank.groups[name] for rank in self.ranks if name in rank.groups)
        return [members for members in told if all(self.ranks[rank].groups.get(name) == members for rank in members)]


def load_run(run: str | Path) -> RunTrace:
    """The record of a run, given its folder or file.  Raises InputError as `read_trace_file` does, also for damage."""
    path = trace_path(run)
    document = read_trace_file(path)
    try:
        grid = document["grid"]
        about = {name: value for name, value in document.items() if name not in ("ranks", "grid")}
        ranks = tuple(_rank(entry) for entry in document["ranks"])
        if int(grid["groups"]) * int(grid["band_ranks"]) != len(ranks):
            raise ValueError(f"{len(ranks)} ranks in a grid of {grid['groups']} x {grid['band_ranks']}")
        _check_ranks(ranks)
        return RunTrace(path, int(grid["groups"]), int(grid["band_ranks"]), about, ranks)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path}: damaged ({type(error).__name__}: {error}). Take another copy, or run the calculation again."
        ) from error


def _check_ranks(ranks: Sequence[RankTrace]) -> None:
    """Raises ValueError unless ranks stand in their order and have partners among themselves."""
    peers = {peer for rank in ranks for traffic in rank.traffic.values() for peer in traffic.peers}
    peers |= {peer for rank in ranks for members in rank.groups.values() for peer in members}
    if [rank.rank for rank in ranks] != list(range(len(ranks))) or not peers <= set(range(len(ranks))):
        raise ValueError(f"ranks {[rank.rank for rank in ranks]} with the partners {sorted(peers)}")
    if any(rank.seconds <= 0 for rank in ranks):
        raise ValueError("a rank that took no time")


def _rank(entry: Mapping[str, Any]) -> RankTrace:
    offset = float(entry["clock_offset"])
    return RankTrace(
        rank=int(entry["rank"]), host=str(entry["host"]), device=str(entry["device"]), threads=int(entry["threads"]),
        seconds=float(entry["seconds"]), started=float(entry["started"]) + offset,
        peak_bytes={str(name): int(count) for name, count in entry.get("peak_bytes", {}).items()},
        laps={str(name): tuple(float(lap) for lap in laps) for name, laps in entry["laps"].items()},
        phases=tuple(_phases(entry["phases"], ())),
        traffic={traffic.function: traffic for traffic in (_traffic(one, offset) for one in entry["traffic"])},
        events=_events(entry.get("timeline"), offset), device_events=_events(entry.get("device_timeline"), offset),
        groups={str(name): tuple(int(one) for one in members) for name, members in entry.get("groups", {}).items()},
    )  # fmt: skip


def _phases(entries: list[Any], outer: tuple[str, ...]) -> Iterator[PhaseSum]:
    for entry in entries:
        path = (*outer, str(entry["name"]))
        device, inner = entry["device_seconds"], entry["children"]
        own_device = None if device is None else device - sum(child["device_seconds"] or 0.0 for child in inner)
        own = entry["seconds"] - sum(child["seconds"] for child in inner)
        yield PhaseSum(
            path, int(entry["calls"]), float(entry["seconds"]), device, own, own_device, float(entry["bytes"]),
            float(entry["flops"]),
        )  # fmt: skip
        yield from _phases(inner, path)


def _traffic(entry: Mapping[str, Any], offset: float) -> TrafficSum:
    samples = entry["samples"]
    device = entry["device_seconds"]
    return TrafficSum(
        function=(str(entry["verb"]), str(entry["group"]), str(entry["transport"])), calls=int(entry["calls"]),
        bytes=int(entry["bytes"]), seconds=float(entry["seconds"]),
        device_seconds=None if device is None else float(device),
        sizes=tuple(_size(size) for size in entry["sizes"]),
        peers={int(peer["rank"]): (int(peer["calls"]), int(peer["bytes"])) for peer in entry["peers"]},
        stride=int(samples["entered"]["stride"]), entered=unpack(samples["entered"]) + offset,
        blocked=unpack(samples["blocked"]), device_blocked=unpack(samples["device_blocked"]),
        travel=entry.get("travel_seconds"),
    )  # fmt: skip


def _size(entry: Mapping[str, Any]) -> SizeClass:
    held = entry["seconds"] if entry["device_seconds"] is None else entry["device_seconds"]
    return SizeClass(int(entry["from_bytes"]), int(entry["calls"]), int(entry["bytes"]), float(held))


def _events(columns: Mapping[str, Any] | None, offset: float) -> Events | None:
    if columns is None:
        return None
    names = [str(name) for name in columns["names"]]
    number = unpack(columns["name"]).astype(int)
    return Events(
        tuple(names[place] for place in number), unpack(columns["started"]) + offset, unpack(columns["seconds"]),
        unpack(columns["bytes"]), int(columns["dropped"]),
    )  # fmt: skip
