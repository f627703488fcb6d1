"""What one kind of communication cost a rank: calls, bytes, seconds, sizes of messages, partners, moments of entry.

The moments are for afterwards: when the records of all ranks lie side by side, the call that came last tells how long
the others waited for it.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eigenwerk.record.packed import pack

TRAVEL = "orbitals of other ranks"
"""Name of the span for the time in which exact exchange waits for orbitals that it could not hide behind its work."""

SAMPLES = 65536
"""Calls of one kind whose moments are kept; of more calls every second, fourth, ... one."""


class Samples:
    """One number per call, in bounded memory: when the room is full, every other number goes and the stride doubles.

    Which calls are kept depends on their count only, so ranks that make the same calls keep the same ones.
    """

    __slots__ = ("count", "limit", "stride", "values")

    def __init__(self, limit: int = SAMPLES, values: Iterable[float] = ()):
        self.limit = limit
        self.count = 0
        self.stride = 1
        self.values = array("d")
        for value in values:
            self.add(value)

    def add(self, value: float) -> None:
        """The number of the next call."""
        if self.count % self.stride == 0:
            if len(self.values) == self.limit:
                self.values = self.values[::2]
                self.stride *= 2
            if self.count % self.stride == 0:
                self.values.append(value)
        self.count += 1

    def as_dict(self) -> dict[str, Any]:
        """Stride and column of the numbers."""
        return {"stride": self.stride, **pack(self.values)}


@dataclass
class Traffic:
    """All calls of one verb in one group by one transport.

    sizes: calls, bytes, seconds and the device's seconds by `bit_length` of the bytes of a call, so entry b holds
    2^(b-1) to 2^b - 1 bytes;
    peers: calls and bytes sent to or received from single ranks of the world; entered: clock at the entry of calls;
    blocked: seconds until they returned; device_blocked: the same on the device's clock, where there is one.  travel:
    seconds for which the data of calls were on their way while the caller went on, from where the rank was ready for
    them (a partner that comes late counts); None where nobody has watched them (on a device its clock knows).
    """

    verb: str
    group: str
    transport: str
    sizes: dict[int, list[float]] = field(default_factory=dict)
    peers: dict[int, list[int]] = field(default_factory=dict)
    entered: Samples = field(default_factory=Samples)
    blocked: Samples = field(default_factory=Samples)
    device_blocked: Samples = field(default_factory=Samples)
    travel: float | None = None

    def __post_init__(self) -> None:
        self.name = f"{self.verb} {self.group}"

    @property
    def calls(self) -> int:
        """Number of calls."""
        return int(sum(size[0] for size in self.sizes.values()))

    @property
    def bytes(self) -> int:
        """Bytes that this rank gave."""
        return int(sum(size[1] for size in self.sizes.values()))

    @property
    def seconds(self) -> float:
        """Seconds in which the callers waited."""
        return sum(size[2] for size in self.sizes.values())

    @property
    def device_seconds(self) -> float | None:
        """The same by the device's clock; None where there is none."""
        return sum(size[3] for size in self.sizes.values()) if self.device_blocked.count else None

    @property
    def travel_seconds(self) -> float | None:
        """Seconds for which data were on their way, by the device's clock where there is one; None if not watched."""
        return self.device_seconds if self.travel is not None and self.device_blocked.count else self.travel

    def add(
        self, bytes: int, seconds: float, entered: float, peers: Sequence[tuple[int, int]], travel: float | None = None
    ) -> None:
        """One more call."""
        if travel is not None:
            self.travel = (self.travel or 0.0) + travel
        size = self.sizes.get(bytes.bit_length())
        if size is None:
            size = self.sizes[bytes.bit_length()] = [0, 0, 0.0, 0.0]
        size[0] += 1
        size[1] += bytes
        size[2] += seconds
        self.entered.add(entered)
        self.blocked.add(seconds)
        for peer, amount in peers:
            row = self.peers.setdefault(peer, [0, 0])
            row[0] += 1
            row[1] += amount

    def add_device(self, bytes: int, seconds: float) -> None:
        """The time of the next call by the clock of the device; after `add`, in the order of the calls."""
        self.sizes[bytes.bit_length()][3] += seconds
        self.device_blocked.add(seconds)

    def as_dict(self, samples: bool = False) -> dict[str, Any]:
        """The sums, ready for JSON; sizes by the smallest number of bytes of their class, in rising order.

        samples: with the columns of single calls.
        """
        record: dict[str, Any] = {
            "verb": self.verb,
            "group": self.group,
            "transport": self.transport,
            "calls": self.calls,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "device_seconds": self.device_seconds,
            "travel_seconds": self.travel_seconds,
            "sizes": [self._size_dict(bits) for bits in sorted(self.sizes)],
            "peers": [{"rank": rank, "calls": row[0], "bytes": row[1]} for rank, row in sorted(self.peers.items())],
        }
        if samples:
            columns = {"entered": self.entered, "blocked": self.blocked, "device_blocked": self.device_blocked}
            record["samples"] = {name: column.as_dict() for name, column in columns.items()}
        return record

    def _size_dict(self, bits: int) -> dict[str, Any]:
        calls, bytes, seconds, device_seconds = self.sizes[bits]
        return {
            "from_bytes": 2**bits // 2,
            "calls": calls,
            "bytes": bytes,
            "seconds": seconds,
            "device_seconds": device_seconds if self.device_blocked.count else None,
        }


def hidden_travel(record: Mapping[str, Any]) -> tuple[float, float] | None:
    """(Seconds for which orbitals of other ranks were on their way, the share that work has hidden) of the record of a
    trace; None where none were."""
    travel = sum(entry.get("travel_seconds") or 0.0 for entry in record["traffic"])
    held = sum(_held(phase) for phase in record["phases"])
    return (travel, min(1.0, max(0.0, 1 - held / travel))) if travel > 0 else None


def _held(phase: Mapping[str, Any]) -> float:
    if phase["name"] == TRAVEL:
        return float(phase["seconds"] if phase["device_seconds"] is None else phase["device_seconds"])
    return sum(_held(child) for child in phase["children"])
