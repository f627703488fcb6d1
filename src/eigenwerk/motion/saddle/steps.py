"""Steps of a whole band by its projected forces, which are no derivatives of an energy.

quick-min  motion by F of which the part along F is kept, and nothing where it goes uphill (H. Jónsson, G. Mills and
           K. W. Jacobsen, in Classical and Quantum Dynamics in Condensed Phase Simulations, World Scientific 1998)
diis       the combination of earlier bands whose combined P⁻¹F is smallest, and from there P⁻¹F of it (P. Pulay, Chem.
           Phys. Lett. 73, 393 (1980), on all images at once)

P is, for each image, a model of the second derivatives of its energy, to which the springs add 2k along the band, where
the energy may be soft and P alone would send images too far.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from eigenwerk.motion.relaxation.chart import ions_of, of_ions
from eigenwerk.motion.relaxation.diis import DIVERGED, LARGEST_SHARE, MOST_KEPT, combination
from eigenwerk.motion.relaxation.hessian.hessian import Hessian

SHORTEST = 1e-3
"""Share of a step below which a shorter one is of no use."""


class BandSteps(Protocol):
    """position_xav: of the images between the end points, Å; force_xav: projected, eV/Å; stiff_xav: √(2k) τ."""

    def take(self, position_xav: np.ndarray, force_xav: np.ndarray, stiff_xav: np.ndarray) -> str:
        """Learn from a band; a remark ("" for none)."""

    def renew(self, model_x: Sequence[Hessian]) -> None:
        """Another model, because the band has moved."""

    def propose(self) -> np.ndarray:
        """The next band, position_xav."""

    def shorten(self, share: float = 0.5) -> bool:
        """The last proposal was of no use: the next one is nearer.  False if it can hardly be."""

    def forget(self) -> None:
        """The forces mean something else from now on."""

    def state(self) -> dict[str, Any]:
        """All that it needs to go on, but for the model."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken."""


def capped(step_xav: np.ndarray, most: float) -> np.ndarray:
    """The step, or the part of it by which no atom goes farther than most Å."""
    return step_xav * min(1.0, most / max(float(np.linalg.norm(step_xav, axis=-1).max(initial=0.0)), 1e-300))


def pushes(model_x: Sequence[Hessian], stiff_xav: np.ndarray, force_yxav: np.ndarray) -> np.ndarray:
    """(P + s sᵀ)⁻¹ F of each image x, for several bands y (Sherman and Morrison)."""
    found_yxav = np.zeros_like(force_yxav)
    for x, model in enumerate(model_x):
        stiff_z = of_ions(stiff_xav[x])
        soft_z = model.solve(stiff_z)
        for y, force_xav in enumerate(force_yxav):
            push_z = model.solve(of_ions(force_xav[x]))
            push_z = push_z - soft_z * (stiff_z @ push_z) / (1 + stiff_z @ soft_z)
            found_yxav[y, x] = ions_of(push_z)
    return found_yxav


class BandDiis:
    """model_x: P of each image, eV/Å²; pace: multiplies P⁻¹F; most: Å of a step."""

    def __init__(self, model_x: Sequence[Hessian], pace: float, most: float) -> None:
        self._model, self._pace, self._most = model_x, pace, most
        self._position: list[np.ndarray] = []
        self._force: list[np.ndarray] = []
        self._shortened = 1.0
        self._stiff: np.ndarray | None = None

    def take(self, position_xav: np.ndarray, force_xav: np.ndarray, stiff_xav: np.ndarray) -> str:
        self._shortened, self._stiff = 1.0, stiff_xav
        sizes = [float(np.linalg.norm(force)) for force in self._force]
        remark = ""
        if sizes and np.linalg.norm(force_xav) > DIVERGED * min(sizes):
            self.forget()
            remark = "the forces have grown: earlier bands are forgotten"
        self._position = [*self._position, position_xav][-MOST_KEPT:]
        self._force = [*self._force, force_xav][-MOST_KEPT:]
        return remark

    def renew(self, model_x: Sequence[Hessian]) -> None:
        self._model = model_x

    def propose(self) -> np.ndarray:
        assert self._stiff is not None, "a band is taken before"
        push_yxav = pushes(self._model, self._stiff, np.array(self._force))
        first = 0
        while True:
            share_y = combination(push_yxav[first:].reshape(len(push_yxav) - first, -1))
            if len(share_y) == 1 or np.abs(share_y).max() < LARGEST_SHARE:
                break
            first += 1
        there = np.tensordot(share_y, np.array(self._position[first:]), 1)
        step = there + self._pace * np.tensordot(share_y, push_yxav[first:], 1) - self._position[-1]
        return self._position[-1] + self._shortened * capped(step, self._most)

    def shorten(self, share: float = 0.5) -> bool:
        self._shortened *= share
        return self._shortened > SHORTEST

    def forget(self) -> None:
        self._position, self._force = [], []

    def state(self) -> dict[str, Any]:
        return {
            "position": np.array(self._position), "force": np.array(self._force),
            "shortened": self._shortened, "stiff": self._stiff,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        self._position, self._force = list(np.array(state["position"])), list(np.array(state["force"]))
        self._shortened = float(state["shortened"])
        self._stiff = None if state["stiff"] is None else np.array(state["stiff"])


class BandQuickMin:
    """As `BandDiis`, but without the model; pace: the time step, in which a force of 1 eV/Å moves an atom at rest
    by its square in Å."""

    def __init__(self, model_x: Sequence[Hessian], pace: float, most: float) -> None:
        self._most, self._time = most, pace
        self._velocity: np.ndarray | None = None
        self._position: np.ndarray | None = None

    def take(self, position_xav: np.ndarray, force_xav: np.ndarray, stiff_xav: np.ndarray) -> str:
        remark, kick_xav = "", 0.5 * self._time * force_xav
        velocity = kick_xav if self._velocity is None else self._velocity + kick_xav
        power = float(np.vdot(velocity, force_xav))
        if power < 0:
            velocity, remark = np.zeros_like(force_xav), "uphill: the motion starts anew"
        else:
            velocity = power * force_xav / max(float(np.vdot(force_xav, force_xav)), 1e-300)
        self._velocity, self._position = velocity + kick_xav, position_xav
        return remark

    def renew(self, model_x: Sequence[Hessian]) -> None:
        pass

    def propose(self) -> np.ndarray:
        assert self._position is not None and self._velocity is not None, "a band is taken before"
        return self._position + capped(self._time * self._velocity, self._most)

    def shorten(self, share: float = 0.5) -> bool:
        assert self._velocity is not None, "a band is taken before"
        self._velocity = share * self._velocity
        return bool(np.abs(self._velocity).max() > SHORTEST)

    def forget(self) -> None:
        self._velocity = None

    def state(self) -> dict[str, Any]:
        return {"velocity": self._velocity, "position": self._position}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._velocity, self._position = (
            None if state[name] is None else np.array(state[name]) for name in ("velocity", "position")
        )
