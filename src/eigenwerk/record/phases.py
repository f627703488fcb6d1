"""The sums over the spans of a run, as a tree."""

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

    def child(self, name: str) -> "Phase":
        """The inner phase of this name, made when new."""
        phase = self.children.get(name)
        if phase is None:
            phase = self.children[name] = Phase(name)
        return phase

    def add_device(self, seconds: float) -> None:
        """More time by the clock of the device."""
        self.device_seconds = (self.device_seconds or 0.0) + seconds

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
