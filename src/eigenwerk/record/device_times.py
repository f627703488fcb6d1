"""Times by the clock of a device, read long after they were marked, so that the host never waits for them."""

from typing import Any, Protocol

from eigenwerk.record.phases import Phase
from eigenwerk.record.timeline import Timeline
from eigenwerk.record.traffic import Traffic

PENDING = 4096
"""Pairs of marks that may wait to be read; then the older half is read, which the device has passed long ago."""


class DeviceClock(Protocol):
    """Marks in the queue of a device."""

    def mark(self) -> Any:
        """Put a mark behind the work queued so far."""

    def seconds(self, began: Any, ended: Any) -> float:
        """Seconds between two marks; waits until the device has passed both."""

    def release(self, mark: Any) -> None:
        """The mark may be used for something else."""


class DeviceTimes:
    """Pairs of marks, and where their seconds go once they are read.

    The device's events are put on the host's clock by one moment at which both were read; marks are read in batches,
    and the last one of a batch is what the next batch is measured from, so that no long time is measured in one piece.
    """

    def __init__(self, clock: DeviceClock, now: float, limit: int = PENDING):
        """now: the host's clock at this moment, with nothing of weight in the device's queue."""
        self.clock = clock
        self.timeline = Timeline()
        self._limit = limit
        self._pending: list[tuple[Any, Any, Phase | None, str, Traffic | None, int]] = []
        self._anchor, self._anchor_time = clock.mark(), now

    def add(
        self, began: Any, phase: Phase | None, name: str, traffic: Traffic | None = None, bytes: int = 0,
        ended: Any = None,
    ) -> None:  # fmt: skip
        """Mark the end of what began at a mark; its seconds will go to the phase, the traffic and the timeline.

        phase: None for what went on beside the work; ended: the mark at the end, if there is one already."""
        self._pending.append((began, self.clock.mark() if ended is None else ended, phase, name, traffic, bytes))
        if len(self._pending) >= self._limit:
            self._read(self._limit // 2)

    def read_all(self) -> None:
        """Wait for the device and read all marks."""
        self._read(len(self._pending))

    def _read(self, count: int) -> None:
        batch, self._pending = self._pending[:count], self._pending[count:]
        for began, ended, phase, name, traffic, bytes in batch:
            seconds = self.clock.seconds(began, ended)
            if phase is not None:
                phase.add_device(seconds)
            if traffic is not None:
                traffic.add_device(bytes, seconds)
            self.timeline.add(name, self._anchor_time + self.clock.seconds(self._anchor, began), seconds, bytes)
        if batch:
            self._move_anchor([mark for began, ended, *_ in batch for mark in (began, ended)])

    def _move_anchor(self, marks: list[Any]) -> None:
        """From the old anchor to the last of these marks; all others are free again."""
        self._anchor_time += self.clock.seconds(self._anchor, marks[-1])
        for mark in (self._anchor, *marks[:-1]):
            self.clock.release(mark)
        self._anchor = marks[-1]
