"""What a run records about itself: named, nested spans, traffic between ranks, laps of its loops, a timeline.

    trace = Trace()
    with trace.span("scf step"):
        with trace.span("hamiltonian", flops=2e9):
            ...
    trace.as_dict()

Times are of the host's clock, so work queued on a GPU counts where the host waits for it; with a device clock every
span also gets the time between its two marks in the device's queue.  A trace belongs to one thread of one process;
those that help it are muted (`mute_thread`).  It is always on: a span or a call of `traffic` costs about a
microsecond; one made with `enabled=False` records nothing.
"""

import threading
import time
from array import array
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from eigenwerk.record.device_times import DeviceClock, DeviceTimes
from eigenwerk.record.phases import Phase
from eigenwerk.record.timeline import Timeline
from eigenwerk.record.traffic import Traffic

FORMAT = "eigenwerk-trace"

FORMAT_VERSION = 2
"""Version of the record that `Trace.as_dict` returns; raised whenever its fields change meaning.

2: phases have device_seconds; traffic, laps, started, clock_offset and the columns of events.  1: the first.
"""

COMMUNICATION = "communication"
"""Name of the inner phase that holds the traffic of a phase."""


class Span:
    """One open stretch of time of a trace; made by `Trace.span`, used once by `with`."""

    __slots__ = ("_began", "_name", "_outer", "_phase", "_started", "_trace")

    def __init__(self, trace: "Trace", name: str):
        self._trace = trace
        self._name = name

    def __enter__(self) -> "Span":
        # The place in the tree is that of the entry, not of the making.
        trace = self._trace
        self._outer = trace._open
        self._phase = self._outer.child(self._name)
        trace._open = self._phase
        self._began = None if trace._device is None else trace._device.clock.mark()
        self._started = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Also after an error: the time was spent, and the outer span must be found open again.
        seconds = time.perf_counter() - self._started
        trace, phase = self._trace, self._phase
        phase.seconds += seconds
        phase.calls += 1
        trace._open = self._outer
        trace._timeline.add(self._name, self._started, seconds)
        if trace._device is not None and self._began is not None:
            trace._device.add(self._began, phase, self._name)


class _NoSpan(Span):
    """The span of a trace that records nothing."""

    __slots__ = ()

    def __init__(self) -> None:
        pass

    def __enter__(self) -> "Span":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass


_NO_SPAN = _NoSpan()

_thread = threading.local()


def mute_thread() -> None:
    """Nothing that this thread does enters a trace: it helps one whose spans say what both are doing."""
    _thread.muted = True


def _muted() -> bool:
    return getattr(_thread, "muted", False)


class Trace:
    """The recorder: a tree of phases, the phase that is open now, traffic, laps and the last events.

    device_clock: marks in the queue of the device that does the work; clock_offset: seconds to add to this process's
    time.perf_counter to get that of rank 0, zero on one node.
    """

    def __init__(self, enabled: bool = True, device_clock: DeviceClock | None = None):
        self.enabled = enabled
        self.clock_offset = 0.0
        self.root = Phase("run")
        self._open = self.root
        self._traffic: dict[tuple[str, str, str], Traffic] = {}
        self._laps: dict[str, array[float]] = {}
        self._groups: dict[str, list[int]] = {}
        self._timeline = Timeline()
        self._started = time.perf_counter()
        self._device: DeviceTimes | None = None
        if device_clock is not None:
            self.attach(device_clock)

    def attach(self, device_clock: DeviceClock) -> None:
        """From now on, record the time of a device too; once, when it is known which one does the work."""
        if self.enabled and self._device is None:
            self._device = DeviceTimes(device_clock, time.perf_counter())

    def span(self, name: str, bytes: float = 0.0, flops: float = 0.0) -> Span:
        """A span to be used by `with`; `bytes` and `flops` are what the work inside is known to need."""
        if not self.enabled or _muted():
            return _NO_SPAN
        if bytes or flops:
            phase = self._open.child(name)
            phase.bytes += bytes
            phase.flops += flops
        return Span(self, name)

    def add(self, bytes: float = 0.0, flops: float = 0.0) -> None:
        """Adds to the innermost open span, for counts known only while the work runs."""
        if self.enabled and not _muted():
            self._open.bytes += bytes
            self._open.flops += flops

    def mark(self) -> Any:
        """A mark in the device's queue for `traffic(..., began=mark)`; None without a device clock."""
        return None if self._device is None else self._device.clock.mark()

    def traffic(
        self,
        verb: str,
        group: str,
        transport: str,
        bytes: int,
        seconds: float,
        entered: float = 0.0,
        peers: Sequence[tuple[int, int]] = (),
        began: Any = None,
        travel: float | None = None,
        ended: Any = None,
    ) -> None:
        """One call of a communicator, told when it is over; the time also enters the open phase as "communication".

        verb, group, transport: "sum", "bands", "gloo"; bytes: of the array that this rank gave; seconds: how long the
        caller was held up (of a call with a handle: by `wait`); entered: time.perf_counter when the call began; peers:
        for point-to-point, (rank in the world, bytes) of each partner; began: `mark()` from where the device's queue
        was held up, so that the call also gets the device's time; travel: seconds for which the data were on
        their way, where somebody has watched them; then ended: `mark()` where they had arrived, and what the device
        counts between the two held up no phase.
        """
        if not self.enabled:
            return
        key = (verb, group, transport)
        record = self._traffic.get(key)
        if record is None:
            record = self._traffic[key] = Traffic(verb, group, transport)
        record.add(bytes, seconds, entered, peers, travel)
        phase = self._open.child(COMMUNICATION)
        phase.calls += 1
        phase.seconds += seconds
        phase.bytes += bytes
        # drawn where the caller was held up last: a call with a handle was entered long before
        self._timeline.add(record.name, time.perf_counter() - seconds, seconds, bytes)
        if began is not None and self._device is not None:
            self._device.add(began, phase if travel is None else None, record.name, record, bytes, ended)

    def joined(self, group: str, world_ranks: Sequence[int]) -> None:
        """This rank is now in a group of this name, with these ranks of the world; of several of one name that differ
        nothing is kept."""
        if self.enabled and not _muted():
            members = list(world_ranks)
            self._groups[group] = members if self._groups.get(group, members) == members else []

    def lap(self, name: str, seconds: float) -> None:
        """One more turn of a loop that users know: "LOOP", a step of self-consistency, "LOOP+", an ionic step."""
        if self.enabled:
            self._laps.setdefault(name, array("d")).append(seconds)

    @property
    def seconds(self) -> float:
        """Seconds since the trace was made."""
        return time.perf_counter() - self._started

    def as_dict(self, events: bool = False) -> dict[str, Any]:
        """The whole record, ready for JSON: docs/formats/eigenwerk_trace.md lists the fields.

        events: with the timeline and the moments of calls, which may take some megabytes.
        """
        if self._device is not None:
            self._device.read_all()
        record: dict[str, Any] = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "seconds": self.seconds,
            "started": self._started,
            "clock_offset": self.clock_offset,
            "laps": {name: list(seconds) for name, seconds in self._laps.items()},
            "groups": {name: ranks for name, ranks in self._groups.items() if ranks},
            "phases": self.root.as_dict()["children"],
            "traffic": [traffic.as_dict(events) for traffic in self._traffic.values()],
        }
        if events:
            record["timeline"] = self._timeline.as_dict()
            record["device_timeline"] = None if self._device is None else self._device.timeline.as_dict()
        return record
