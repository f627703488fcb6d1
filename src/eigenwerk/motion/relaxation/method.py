"""What a method of relaxation does, apart from when it ends and what happens to points that are of no use."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

STRAIN_LENGTH = 4.0
"""Å: a strain counts as the movement of an atom so far from the origin."""


def size(step: np.ndarray) -> float:
    """Å, how far the atom goes that goes farthest."""
    ions = np.linalg.norm(step[:-6].reshape(-1, 3), axis=1).max(initial=0.0)
    return max(float(ions), STRAIN_LENGTH * float(np.linalg.norm(step[-6:])))


def capped(step: np.ndarray, most: float) -> np.ndarray:
    """The step, or the part of it that is most Å long."""
    return step * min(1.0, most / max(size(step), 1e-300))


@dataclass(frozen=True, eq=False)
class TrialPoint:
    """A point as a method sees it: z; energy + pV, eV; gradient by z of what may change; error of forces, eV/Å."""

    z: np.ndarray
    energy: float
    gradient: np.ndarray
    error: float

    def state(self) -> dict[str, Any]:
        return {"z": self.z, "energy": self.energy, "gradient": self.gradient, "error": self.error}

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "TrialPoint":
        return cls(np.array(state["z"]), float(state["energy"]), np.array(state["gradient"]), float(state["error"]))


class Method(Protocol):
    """Steps of a relaxation, one by one."""

    @property
    def best(self) -> TrialPoint | None:
        """The point from which the next step goes."""

    def take(self, trial: TrialPoint) -> tuple[bool, str]:
        """Learn from a point; whether it is the best now, and a remark ("" for none)."""

    def propose(self) -> np.ndarray:
        """Where to look next; the same until a point is taken, or the step is shortened."""

    def shorten(self, share: float = 0.5) -> bool:
        """The last proposal was of no use: the next one is nearer to the best point.  False if it can hardly be."""

    def state(self) -> dict[str, Any]:
        """All that it needs to go on."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken."""
