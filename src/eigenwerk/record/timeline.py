"""The last events of a run, each with its moment and length: what a picture of its course is drawn from."""

from array import array
from typing import Any

from eigenwerk.record.packed import pack

EVENTS = 65536
"""Events that are kept; the oldest give way."""


class Timeline:
    """A ring of events on one clock; an event costs a fraction of a microsecond."""

    __slots__ = ("_bytes", "_count", "_limit", "_names", "_seconds", "_started")

    def __init__(self, limit: int = EVENTS):
        self._limit = limit
        self._count = 0
        self._names: list[str] = []
        self._started, self._seconds, self._bytes = array("d"), array("d"), array("d")

    def __len__(self) -> int:
        return len(self._names)

    def add(self, name: str, started: float, seconds: float, bytes: float = 0.0) -> None:
        """One more event: name, clock at its start, length in seconds, bytes that travelled."""
        place = self._count
        self._count += 1
        if place < self._limit:
            self._names.append(name)
            self._started.append(started)
            self._seconds.append(seconds)
            self._bytes.append(bytes)
            return
        place %= self._limit
        self._names[place] = name
        self._started[place] = started
        self._seconds[place] = seconds
        self._bytes[place] = bytes

    def as_dict(self) -> dict[str, Any]:
        """Columns of the events in the order in which they ended, oldest first; `name` counts in `names`; dropped:
        events that had to give way."""
        first = self._count % self._limit if self._count > self._limit else 0
        names = self._names[first:] + self._names[:first]
        number = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return {
            "names": list(number),
            "name": pack([number[name] for name in names], 1),
            "started": pack(self._started[first:] + self._started[:first]),
            "seconds": pack(self._seconds[first:] + self._seconds[:first]),
            "bytes": pack(self._bytes[first:] + self._bytes[:first], 1),
            "dropped": self._count - len(names),
        }
