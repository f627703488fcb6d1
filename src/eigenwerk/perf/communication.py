"""What communication cost a run: by function, by size of message, by rank, by pair of ranks."""

from dataclasses import dataclass

import numpy as np

from eigenwerk.perf.run_trace import Function, RunTrace
from eigenwerk.perf.waiting import waiting
from eigenwerk.record.traffic import TRAVEL


@dataclass(frozen=True)
class FunctionUse:
    """One function over all ranks: calls, bytes given and seconds held up of each rank, seconds of waiting or nan."""

    function: Function
    call_p: np.ndarray
    byte_p: np.ndarray
    second_p: np.ndarray
    wait_p: np.ndarray
    on_device: bool

    @property
    def users(self) -> np.ndarray:
        """The ranks that called it."""
        return np.nonzero(self.call_p)[0]

    @property
    def calls(self) -> float:
        """Mean over the ranks that called it."""
        return float(self.call_p[self.users].mean())

    @property
    def message(self) -> float:
        """Mean bytes of a call."""
        return float(self.byte_p.sum() / self.call_p.sum())

    @property
    def seconds(self) -> float:
        """Mean over all ranks."""
        return float(self.second_p.mean())

    @property
    def waiting(self) -> float | None:
        """Mean over all ranks of what is known; None if nothing is."""
        return None if np.isnan(self.wait_p).all() else float(np.nansum(self.wait_p) / len(self.wait_p))

    @property
    def rate(self) -> float | None:
        """Bytes that a rank gave per second of moving data; None where waiting is not known or nothing else is left."""
        known = ~np.isnan(self.wait_p)
        moving = float((self.second_p - self.wait_p)[known].sum())
        return float(self.byte_p[known].sum()) / moving if moving > 0 else None


@dataclass(frozen=True)
class SizeUse:
    """Messages of from_bytes to 2 from_bytes - 1 bytes: calls, bytes, seconds over all ranks."""

    from_bytes: int
    calls: int
    bytes: int
    seconds: float

    @property
    def rate(self) -> float | None:
        """Bytes per second, waiting included; None without time."""
        return self.bytes / self.seconds if self.seconds > 0 and self.bytes else None


@dataclass(frozen=True)
class Communication:
    """All traffic of a run.

    functions: by falling time; sizes: by rising size; elapsed_p, held_p, wait_p: seconds of each rank in all, in
    communication, and of that in waiting as far as it is known; sent_pp, call_pp: bytes and calls from the rank of the
    row to that of the column, as far as verbs have partners.
    """

    run: RunTrace
    functions: tuple[FunctionUse, ...]
    sizes: tuple[SizeUse, ...]
    elapsed_p: np.ndarray
    held_p: np.ndarray
    wait_p: np.ndarray
    sent_pp: np.ndarray
    call_pp: np.ndarray

    @property
    def share(self) -> float:
        """Communication as a share of the elapsed time, mean over ranks."""
        return float((self.held_p / self.elapsed_p).mean())

    @property
    def work_p(self) -> np.ndarray:
        """Seconds of each rank outside of communication."""
        return self.elapsed_p - self.held_p

    @property
    def imbalance(self) -> float:
        """How much longer the busiest rank worked than the mean, as a share of the mean."""
        return float(self.work_p.max() / self.work_p.mean() - 1)

    @property
    def top(self) -> tuple[FunctionUse, ...]:
        """The five functions that took longest."""
        return self.functions[:5]


def communication(run: RunTrace) -> Communication:
    """Put the traffic of all ranks together."""
    functions = sorted((_use(run, function) for function in run.functions), key=lambda use: -use.seconds)
    wait_p = np.zeros(len(run.ranks))
    for use in functions:
        wait_p += np.nan_to_num(use.wait_p)
    call_pp, sent_pp = _peers(run)
    return Communication(
        run=run, functions=tuple(functions), sizes=_sizes(run),
        elapsed_p=np.array([rank.seconds for rank in run.ranks]),
        held_p=np.array([rank.communication for rank in run.ranks]), wait_p=wait_p, sent_pp=sent_pp, call_pp=call_pp,
    )  # fmt: skip


def travelled(run: RunTrace) -> tuple[float, float] | None:
    """Orbitals on their way beside the work of exact exchange: seconds of a rank (mean), share in which no rank waited
    for them; None where none were."""
    travel = sum(traffic.travel or 0.0 for rank in run.ranks for traffic in rank.traffic.values())
    held = sum(phase.held for rank in run.ranks for phase in rank.phases if phase.path[-1] == TRAVEL)
    return (travel / len(run.ranks), min(1.0, max(0.0, 1 - held / travel))) if travel else None


def _use(run: RunTrace, function: Function) -> FunctionUse:
    found = [rank.traffic.get(function) for rank in run.ranks]
    return FunctionUse(
        function,
        call_p=np.array([0 if one is None else one.calls for one in found]),
        byte_p=np.array([0 if one is None else one.bytes for one in found]),
        second_p=np.array([0.0 if one is None else one.held for one in found]),
        wait_p=waiting(run, function),
        on_device=any(one is not None and one.device_seconds is not None for one in found),
    )


def _sizes(run: RunTrace) -> tuple[SizeUse, ...]:
    """Sizes from the smallest to the largest used, those between without calls included."""
    sums: dict[int, list[float]] = {}
    for rank in run.ranks:
        for traffic in rank.traffic.values():
            for size in traffic.sizes:
                row = sums.setdefault(size.from_bytes.bit_length(), [0, 0, 0.0])
                row[0] += size.calls
                row[1] += size.bytes
                row[2] += size.held
    if not sums:
        return ()
    rows = ((bits, sums.get(bits, [0, 0, 0.0])) for bits in range(min(sums), max(sums) + 1))
    return tuple(SizeUse(2**bits // 2, int(row[0]), int(row[1]), row[2]) for bits, row in rows)


def _peers(run: RunTrace) -> tuple[np.ndarray, np.ndarray]:
    """Calls and bytes from row to column; what a rank keeps for itself in an all-to-all does not travel."""
    size = len(run.ranks)
    call_pp, sent_pp = np.zeros((size, size), dtype=np.int64), np.zeros((size, size), dtype=np.int64)
    for rank in run.ranks:
        for traffic in rank.traffic.values():
            for peer, (calls, count) in traffic.peers.items():
                if peer != rank.rank:
                    call_pp[rank.rank, peer] += calls
                    sent_pp[rank.rank, peer] += count
    return call_pp, sent_pp
