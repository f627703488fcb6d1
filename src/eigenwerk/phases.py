"""The sums over the spans of a run, as a tree, and how they are printed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Phase:
    """The sum over all spans of one name at one place of the tree.

    calls: spans that ended; seconds: their time, inner phases included; bytes: moved by them and
    flops: floating-point operations done by them, inner phases not included; device_seconds: their time by the clock of
    the device, None where there is none.
    """

    name: str
    calls: int = 0
    seconds: float = 0.0
    bytes: float = 0.0
    flops: float = 0.0
    device_seconds: float | None = None
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

    def add_device(self, seconds: float) -> None:
        """More time by the clock of the device."""
        self.device_seconds = (self.device_seconds or 0.0) + seconds

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Phase"]]:
        """The inner phases in the order of their first call, each with its depth (0 for direct children)."""
        for child in self.children.values():
            yield depth, child
            yield from child.walk(depth + 1)

    def as_dict(self) -> dict[str, Any]:
        """Name, calls, seconds, bytes, flops, device seconds and children, ready for JSON."""
        return {
            "name": self.name,
            "calls": self.calls,
            "seconds": self.seconds,
            "device_seconds": self.device_seconds,
            "bytes": self.bytes,
            "flops": self.flops,
            "children": [child.as_dict() for child in self.children.values()],
        }


def phase_table(root: Phase, total: float) -> str:
    """The phases below `root` as plain lines: calls, seconds, own seconds, share of `total`, rates where known."""
    rows = list(root.walk())
    device = any(phase.device_seconds is not None for _, phase in rows)
    head = f"{'device':>11}" if device else ""
    lines = [f"{'phase':<36}{'calls':>9}{'seconds':>11}{'own':>11}{head}{'share':>8}{'GB/s':>9}{'GFLOP/s':>9}"]
    for depth, phase in rows:
        lines.append(
            f"{'  ' * depth + phase.name:<36}{phase.calls:>9}{phase.seconds:>11.3f}{phase.own_seconds:>11.3f}"
            f"{_device(phase) if device else ''}{_ratio(100 * phase.seconds, total):>7}%"
            f"{_rate(phase.bytes, phase):>9}{_rate(phase.flops, phase):>9}"
        )
    return "\n".join(lines)


def _device(phase: Phase) -> str:
    return f"{'' if phase.device_seconds is None else format(phase.device_seconds, '.3f'):>11}"


def _ratio(part: float, whole: float) -> str:
    return f"{part / whole:.1f}" if whole > 0 else "-"


def _rate(count: float, phase: Phase) -> str:
    """Billions per second of the phase's own time; on a device by the clock that saw the work."""
    if not count:
        return ""
    seconds = phase.own_seconds
    if phase.device_seconds is not None:
        seconds = phase.device_seconds - sum(child.device_seconds or 0.0 for child in phase.children.values())
    return _ratio(count / 1e9, seconds)
