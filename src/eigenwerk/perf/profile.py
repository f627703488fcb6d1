"""Where the time of a run went: phases over all ranks, and the turns of its loops."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenwerk.perf.run_trace import PhaseSum, RunTrace
from eigenwerk.record.trace import COMMUNICATION


@dataclass(frozen=True)
class PhaseUse:
    """One phase over all ranks; a rank that never came there has zeros.

    second_p, own_p: seconds with and without inner phases; device_p: by the device's clock, nan where there is none;
    bytes, flops: sums over ranks, without inner phases.
    """

    path: tuple[str, ...]
    calls: float
    second_p: np.ndarray
    own_p: np.ndarray
    device_p: np.ndarray
    own_device_p: np.ndarray
    bytes: float
    flops: float

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path[-1]

    @property
    def depth(self) -> int:
        """0 for the outermost phases."""
        return len(self.path) - 1

    @property
    def busy_p(self) -> np.ndarray:
        """Seconds without inner phases by the clock that saw the work: the device's where there is one."""
        return np.where(np.isnan(self.own_device_p), self.own_p, self.own_device_p)

    @property
    def uneven(self) -> float | None:
        """Seconds that equal shares would save: own time of the busiest rank less the mean; None for communication."""
        return None if self.name == COMMUNICATION else float(self.busy_p.max() - self.busy_p.mean())

    @property
    def device_seconds(self) -> float | None:
        """Mean over the ranks that have a device clock; None without."""
        return _known_mean(self.device_p)

    @property
    def own_device_seconds(self) -> float | None:
        """The same without inner phases."""
        return _known_mean(self.own_device_p)

    def rate(self, count: float) -> float | None:
        """What `count` (bytes or flops of all ranks) makes per second of a rank."""
        seconds = float(self.busy_p.sum())
        return count / seconds if count and seconds > 0 else None


@dataclass(frozen=True)
class Lap:
    """The turns of one loop (LOOP, LOOP+): seconds of each, of the slowest rank."""

    name: str
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class Profile:
    """The phases of a run as a tree in the order of its first rank, its loops, and the seconds of each rank."""

    run: RunTrace
    phases: tuple[PhaseUse, ...]
    laps: tuple[Lap, ...]
    elapsed_p: np.ndarray

    @property
    def rest_p(self) -> np.ndarray:
        """Seconds of each rank outside of all phases."""
        return self.elapsed_p - sum((phase.second_p for phase in self.phases if phase.depth == 0), np.zeros(1))

    @property
    def on_device(self) -> bool:
        """Whether there are times of a device."""
        return any(phase.device_seconds is not None for phase in self.phases)


def profile(run: RunTrace) -> Profile:
    """Put the phases of all ranks together by their places in the tree."""
    tables = [{phase.path: phase for phase in rank.phases} for rank in run.ranks]
    paths = _in_tree_order([path for table in tables for path in table])
    phases = tuple(_use(path, [table.get(path) for table in tables]) for path in paths)
    return Profile(run, phases, _laps(run), np.array([rank.seconds for rank in run.ranks]))


def _in_tree_order(paths: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Each path once, inner phases after their outer one, neighbours in the order of first mention."""
    place = {path: number for number, path in enumerate(dict.fromkeys(paths))}
    return sorted(place, key=lambda path: [place[path[: depth + 1]] for depth in range(len(path))])


def _use(path: tuple[str, ...], found: Sequence[PhaseSum | None]) -> PhaseUse:
    known = [phase for phase in found if phase is not None]
    return PhaseUse(
        path, sum(phase.calls for phase in known) / len(found),
        second_p=np.array([phase.seconds if phase else 0.0 for phase in found]),
        own_p=np.array([phase.own_seconds if phase else 0.0 for phase in found]),
        device_p=_or_nan([phase.device_seconds if phase else None for phase in found]),
        own_device_p=_or_nan([phase.own_device_seconds if phase else None for phase in found]),
        bytes=sum(phase.bytes for phase in known), flops=sum(phase.flops for phase in known),
    )  # fmt: skip


def _known_mean(value_p: np.ndarray) -> float | None:
    return None if np.isnan(value_p).all() else float(np.nanmean(value_p))


def _or_nan(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values])


def _laps(run: RunTrace) -> tuple[Lap, ...]:
    """Turn i of a loop took as long as its slowest rank."""
    names = dict.fromkeys(name for rank in run.ranks for name in rank.laps)
    laps = []
    for name in names:
        rows = [rank.laps[name] for rank in run.ranks if rank.laps.get(name)]
        turns = min((len(row) for row in rows), default=0)
        if turns:
            laps.append(Lap(name, tuple(max(row[turn] for row in rows) for turn in range(turns))))
    return tuple(laps)
