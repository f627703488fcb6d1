"""What a run records about itself: named, nested spans with calls, seconds, bytes and operations.

    trace = Trace()
    with trace.span("scf step"):
        with trace.span("hamiltonian", flops=2e9):
            ...
    print(trace.table())

Times are of the host's clock, so work queued on a GPU counts where the host waits for it.  A trace
belongs to one thread of one process.  One span costs about a microsecond; a trace made with
`enabled=False` records nothing.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from eigenwerk.traffic import Traffic

FORMAT_VERSION = 2
"""Version of the record that `Trace.as_dict` returns; raised whenever its fields change meaning."""


@dataclass
class Phase:
    """The sum over all spans of one name at one place of the tree.

    calls: spans that ended; seconds: their time, inner phases included; bytes: moved by them and
    flops: floating-point operations done by them, inner phases not included.
    """

    name: str
    calls: int = 0
    seconds: float = 0.0
    bytes: float = 0.0
    flops: float = 0.0
    children: dict[str, "Phase"] = field(default_factory=dict)

    @property
    def own_seconds(self) -> float:
        """Seconds spent in the phase outside of its inner phases."""
        return self.seconds - sum(child.seconds for child in self.children.values())

    def child(self, name: str) -> "Phase":
        """The inner phase of this name, made when new."""
        phase = self.children.get(name)
        if phase is None:
            phase = self.children[name] = Phase(name)
        return phase

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Phase"]]:
        """The inner phases in the order of their first call, each with its depth (0 for direct children)."""
        for child in self.children.values():
            yield depth, child
            yield from child.walk(depth + 1)

    def as_dict(self) -> dict[str, Any]:
        """Name, calls, seconds, bytes, flops and children, ready for JSON."""
        return {
            "name": self.name,
            "calls": self.calls,
            "seconds": self.seconds,
            "bytes": self.bytes,
            "flops": self.flops,
            "children": [child.as_dict() for child in self.children.values()],
        }


COMMUNICATION = "communication"
"""Name of the inner phase that holds the traffic of a phase."""


class Span:
    """One open stretch of time of a trace; made by `Trace.span`, used once by `with`."""

    __slots__ = ("_name", "_outer", "_phase", "_started", "_trace")

    def __init__(self, trace: "Trace", name: str):
        self._trace = trace
        self._name = name

    def __enter__(self) -> "Span":
        # The place in the tree is that of the entry, not of the making.
        self._outer = self._trace._open
        self._phase = self._outer.child(self._name)
        self._trace._open = self._phase
        self._started = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Also after an error: the time was spent, and the outer span must be found open again.
        self._phase.seconds += time.perf_counter() - self._started
        self._phase.calls += 1
        self._trace._open = self._outer


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


class Trace:
    """The recorder: a tree of phases and the phase that is open now."""

    def __init__(self, enabled: bool = True):
        self.enabled = enabled
        self.root = Phase("run")
        self._traffic: dict[tuple[str, str, str], Traffic] = {}
        self._open = self.root
        self._started = time.perf_counter()

    def span(self, name: str, bytes: float = 0.0, flops: float = 0.0) -> Span:
        """A span to be used by `with`; `bytes` and `flops` are what the work inside is known to need."""
        if not self.enabled:
            return _NO_SPAN
        if bytes or flops:
            phase = self._open.child(name)
            phase.bytes += bytes
            phase.flops += flops
        return Span(self, name)

    def add(self, bytes: float = 0.0, flops: float = 0.0) -> None:
        """Adds to the innermost open span, for counts known only while the work runs."""
        if self.enabled:
            self._open.bytes += bytes
            self._open.flops += flops

    def traffic(
        self,
        verb: str,
        group: str,
        transport: str,
        bytes: int,
        seconds: float,
        entered: float = 0.0,
        peers: Sequence[tuple[int, int]] = (),
    ) -> None:
        """One call of a communicator, told when it is over; the time also enters the open phase as "communication".

        verb, group, transport: "sum", "bands", "gloo"; bytes: of the array that this rank gave; seconds: how long the
        caller was held up (of a call with a handle: by `wait`); entered: time.perf_counter when the call began; peers:
        for point-to-point, (rank in the world, bytes) of each partner.
        """
        if not self.enabled:
            return
        key = (verb, group, transport)
        record = self._traffic.get(key)
        if record is None:
            record = self._traffic[key] = Traffic(verb, group, transport)
        record.add(bytes, seconds, entered, peers)
        phase = self._open.child(COMMUNICATION)
        phase.calls += 1
        phase.seconds += seconds
        phase.bytes += bytes

    @property
    def seconds(self) -> float:
        """Seconds since the trace was made."""
        return time.perf_counter() - self._started

    def as_dict(self) -> dict[str, Any]:
        """The whole record, ready for JSON: format version, seconds since the start, the tree of phases."""
        return {
            "format": "eigenwerk-trace",
            "version": FORMAT_VERSION,
            "seconds": self.seconds,
            "phases": self.root.as_dict()["children"],
            "traffic": [record.as_dict() for record in self._traffic.values()],
        }

    def table(self) -> str:
        """The phases as plain lines: calls, seconds, own seconds, share of the run, rates where known."""
        total = self.seconds
        lines = [f"{'phase':<36}{'calls':>9}{'seconds':>11}{'own':>11}{'share':>8}{'GB/s':>9}{'GFLOP/s':>9}"]
        for depth, phase in self.root.walk():
            lines.append(
                f"{'  ' * depth + phase.name:<36}{phase.calls:>9}{phase.seconds:>11.3f}{phase.own_seconds:>11.3f}"
                f"{_ratio(100 * phase.seconds, total):>7}%"
                f"{_rate(phase.bytes, phase.own_seconds):>9}{_rate(phase.flops, phase.own_seconds):>9}"
            )
        return "\n".join(lines)


def _ratio(part: float, whole: float) -> str:
    return f"{part / whole:.1f}" if whole > 0 else "-"


def _rate(count: float, seconds: float) -> str:
    return _ratio(count / 1e9, seconds) if count else ""
