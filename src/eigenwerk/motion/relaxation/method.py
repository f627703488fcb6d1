"""What a method of relaxation does, apart from when it ends and what happens to points that are of no use."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


@dataclass(frozen=True, eq=False)
class Trial:
    """A point as a method sees it: z; energy + pV, eV; gradient by z of what may change; error of forces, eV/Å."""

    z: np.ndarray
    energy: float
    gradient: np.ndarray
    error: float

    def state(self) -> dict[str, Any]:
        return {"z": self.z, "energy": self.energy, "gradient": self.gradient, "error": self.error}

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "Trial":
        return cls(np.array(state["z"]), float(state["energy"]), np.array(state["gradient"]), float(state["error"]))


class Method(Protocol):
    """Steps of a relaxation, one by one."""

    @property
    def best(self) -> Trial | None:
        """The point from which the next step goes."""

    def take(self, trial: Trial) -> tuple[bool, str]:
        """Learn from a point; whether it is the best now, and a remark ("" for none)."""

    def propose(self) -> np.ndarray:
        """Where to look next; the same until a point is taken, or the step is shortened."""

    def shorten(self, share: float = 0.5) -> bool:
        """The last proposal was of no use: the next one is nearer to the best point.  False if it can hardly be."""

    def state(self) -> dict[str, Any]:
        """All that it needs to go on."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken."""
