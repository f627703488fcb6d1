"""A band of images that is pulled onto the path of lowest energy between two end points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from eigenwerk.motion.relaxation.chart import Chart, of_ions
from eigenwerk.motion.relaxation.hessian.hessian import Hessian, model_at
from eigenwerk.motion.saddle.barrier import PathEnergy
from eigenwerk.motion.saddle.nudged import BandForces, nudged_forces, require_ase
from eigenwerk.motion.saddle.saddle_settings import BandSettings
from eigenwerk.motion.saddle.steps import BandDiis, BandQuickMin, BandSteps
from eigenwerk.motion.surface import Arrangement, SurfacePoint
from eigenwerk.shown import counted

METHODS: dict[str, type[BandDiis] | type[BandQuickMin]] = {"diis": BandDiis, "quick-min": BandQuickMin}
"""By the name in `BandSettings`."""

CLIMB_BELOW = 0.5
"""eV/Å: the highest image climbs when no force on the band is larger; before, another one may become the highest."""

STALE = 0.3
"""Å: an atom that has moved farther since the second derivatives were estimated asks for another estimate."""

MOST_FAILURES = 6
"""Bands in a row with images that did not converge, before the search is given up."""

DEPENDENT = 1e-6
"""Share of the largest below which a turn is none of its own: that of a line about itself."""

ERROR_SHARE, FINAL_ERROR_SHARE = 0.05, 0.3
"""How well forces have to be known: of the largest force, and of force_tolerance."""


@dataclass(frozen=True, eq=False)
class BandReport:
    """A step of the band.

    largest_x: largest force on an atom by image, 0 for end points, eV/Å; highest: number of the highest image;
    climbing: whether it climbs; forces: None where an image did not converge; energies: as a curve, or None.
    """

    largest_x: np.ndarray
    highest: int
    climbing: bool
    forces: BandForces | None
    energies: PathEnergy | None
    words: tuple[str, ...] = ()

    @property
    def largest(self) -> float | None:
        """Largest force on an atom of any image, eV/Å."""
        return None if self.forces is None else float(self.largest_x.max())


@dataclass(eq=False)
class Band:
    """Asks for points of all images, again and again, until none is pulled any more.

    image_xac: positions of all images in the lattice, both end points among them, unwrapped: neighbours are as near to
    each other as periodicity allows; computed_xac: where the last points lie; turns: whether all atoms may be turned
    together.  It is deterministic, as a `Mover` is.
    """

    settings: BandSettings
    lattice_cv: np.ndarray
    image_xac: np.ndarray
    symbols: tuple[str, ...]
    free_ac: np.ndarray
    turns: bool = False
    status: str = "nothing was computed yet"
    finished: bool = False
    ended: bool = False
    steps_done: int = 0
    _failures: int = 0
    _climbing: bool = False
    _error: float | None = None
    _before_x: np.ndarray | None = None
    _energy_x: np.ndarray = field(init=False)
    _force_xav: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        require_ase("A path between images (IMAGES)")
        self._start_xac = self.computed_xac = self.image_xac.copy()
        count, atoms = self.image_xac.shape[:2]
        self._energy_x, self._force_xav = np.full(count, np.nan), np.zeros((count, atoms, 3))
        self._chart = Chart(self.lattice_cv, self.free_ac, np.zeros((0, 6)))
        self._steps: BandSteps = METHODS[self.settings.method](
            self._model(self.image_xac), self.settings.pace, self.settings.longest_radius
        )

    def _model(self, image_xac: np.ndarray) -> list[Hessian]:
        """Second derivatives of each image between the end points by rule of thumb."""
        self._modelled_xac = image_xac
        found = []
        for scaled_ac in image_xac[1:-1]:
            found.append(model_at(self._chart, of_ions(scaled_ac @ self.lattice_cv), scaled_ac, self.symbols))
        return found

    @property
    def last(self) -> int:
        """Number of the last end point."""
        return len(self.image_xac) - 1

    def ask(self) -> dict[int, Arrangement]:
        """Where points of which images are wanted; none at the end."""
        if self.ended:
            return {}
        first = np.isnan(self._energy_x)
        wanted = [x for x in range(self.last + 1) if 0 < x < self.last or first[x]]
        return {x: Arrangement(self.lattice_cv, self.image_xac[x], self._error) for x in wanted}

    def tell(self, points: Mapping[int, SurfacePoint]) -> BandReport:
        """Take all points that were asked for."""
        for x, point in points.items():
            self._energy_x[x], self._force_xav[x] = point.free_energy, self._chart.project_ions(point.forces_av)
        words: list[str] = []
        self.steps_done += 1
        self.computed_xac = self.image_xac
        good = all(point.converged and np.isfinite(point.free_energy) for point in points.values())
        report = self._with(words) if good else self._without(words)
        if not self.ended and self.steps_done >= max(self.settings.most_points, 1):
            self.ended, self.status = True, self._out_of_steps(report)
        return report

    def _with(self, words: list[str]) -> BandReport:
        settings, self._failures = self.settings, 0
        forces = self._forces()
        if settings.climb and not self._climbing and self._largest(forces).max() <= self._climb_below:
            self._climbing = True
            self._steps.forget()
            forces = self._forces()
            words.append(f"image {forces.highest:02d}, the highest, climbs from here on")
        largest_x = self._largest(forces)
        largest = float(largest_x.max())
        if self._at_rest(largest):
            self.ended = self.finished = True
            self.status = f"at rest after {counted(self.steps_done, 'step')}: largest force {largest:.2e} eV/Å"
        else:
            self.status = f"largest force {largest:.2e} eV/Å"
            self._error = max(ERROR_SHARE * largest, FINAL_ERROR_SHARE * (settings.force_tolerance or 0.0))
            position_xav = self.image_xac[1:-1] @ self.lattice_cv
            moved_xac = self.image_xac - self._modelled_xac
            if np.linalg.norm(moved_xac @ self.lattice_cv, axis=-1).max() > STALE:
                self._steps.renew(self._model(self.image_xac))
            words += filter(None, [self._steps.take(position_xav, forces.force_xav, self._stiff(forces))])
            self._next()
        self._before_x = self._energy_x.copy()
        curve = PathEnergy(forces.distance_x, self._energy_x.copy(), -forces.tangent_x)
        return BandReport(largest_x, forces.highest, self._climbing, forces, curve, tuple(words))

    @property
    def _climb_below(self) -> float:
        return max(CLIMB_BELOW, self.settings.force_tolerance or 0.0)

    def _at_rest(self, largest: float) -> bool:
        settings = self.settings
        if settings.climb and not self._climbing:
            return False
        if settings.force_tolerance is not None:
            return largest <= settings.force_tolerance
        if settings.energy_tolerance is None or self._before_x is None:
            return False
        return float(np.abs(self._energy_x - self._before_x).max()) < settings.energy_tolerance

    def _forces(self) -> BandForces:
        position_xav = self.image_xac @ self.lattice_cv
        found = nudged_forces(
            self.lattice_cv, position_xav, self._energy_x, self._force_xav, self.settings.spring, self._climbing
        )
        pairs = zip(found.force_xav, position_xav[1:-1], strict=True)
        return replace(found, force_xav=np.array([self._useful(force_av, place_av) for force_av, place_av in pairs]))

    def _useful(self, force_av: np.ndarray, position_av: np.ndarray) -> np.ndarray:
        """Without what is fixed, and without motions of all atoms together that change no energy."""
        free_av = self._chart.project_ions(force_av)
        return without_turns(free_av, position_av) if self.turns else free_av

    def _stiff(self, forces: BandForces) -> np.ndarray:
        """√(2k) τ of each image, which the springs add to its second derivatives as 2k ττᵀ; 0 where an image climbs."""
        pairs = zip(forces.along_xav, self.image_xac[1:-1] @ self.lattice_cv, strict=True)
        along_xav = np.sqrt(2 * self.settings.spring) * np.array([self._useful(one, place) for one, place in pairs])
        if self._climbing:
            along_xav[forces.highest - 1] = 0.0
        return along_xav

    def _largest(self, forces: BandForces) -> np.ndarray:
        inner = np.linalg.norm(forces.force_xav, axis=-1).max(axis=-1)
        return np.concatenate([[0.0], inner, [0.0]])

    def _without(self, words: list[str]) -> BandReport:
        self._failures += 1
        if self._failures >= MOST_FAILURES or self.steps_done == self._failures:
            self.ended, self.status = True, "given up: the electrons of images do not converge"
        elif self._steps.shorten():
            words.append("an image did not converge, its forces are not used: a shorter step from the band before")
            self._next()
        else:
            self.ended, self.status = True, "given up: bands near the last good one do not converge"
        highest = 1 + int(np.argmax(self._energy_x[1:-1]))
        return BandReport(np.zeros(self.last + 1), highest, self._climbing, None, None, tuple(words))

    def _next(self) -> None:
        """The next band; what may not move stays to the last bit."""
        moved_xac = (self._steps.propose() - self._start_xac[1:-1] @ self.lattice_cv) @ np.linalg.inv(self.lattice_cv)
        self.image_xac = self.image_xac.copy()
        self.image_xac[1:-1] = self._start_xac[1:-1] + np.where(self.free_ac, moved_xac, 0.0)

    def _out_of_steps(self, report: BandReport) -> str:
        if self.settings.most_points <= 0:
            self.finished = True
            return "the images were computed where they are (NSW = 0)"
        force = "" if report.largest is None else f": largest force {report.largest:.2e} eV/Å"
        return f"not at rest after {counted(self.steps_done, 'step')}{force}"

    def state(self) -> dict[str, Any]:
        """All that it needs to go on."""
        return {
            "images": self.image_xac, "computed": self.computed_xac, "energies": self._energy_x,
            "forces": self._force_xav, "before": self._before_x, "steps": self._steps.state(),
            "modelled": self._modelled_xac,
            "counts": np.array([self.steps_done, self._failures]), "climbing": self._climbing, "error": self._error,
            "ended": self.ended, "finished": self.finished, "status": self.status, "method": self.settings.method,
        }  # fmt: skip

    def go_on(self) -> None:
        """A band that was out of steps, or given up, goes on if the settings allow more steps."""
        if self.ended and not self.finished and self.steps_done < self.settings.most_points:
            self.ended = False

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken.  Raises ValueError if that was another band."""
        images = np.array(state["images"])
        if images.shape != self.image_xac.shape or state["method"] != self.settings.method:
            raise ValueError(f"a band of {len(images) - 2} images with {images.shape[1]} atoms, by {state['method']}")
        self.image_xac, self.computed_xac = images, np.array(state["computed"])
        self._energy_x, self._force_xav = np.array(state["energies"]), np.array(state["forces"])
        self._before_x = None if state["before"] is None else np.array(state["before"])
        self._steps.restore(state["steps"])
        self._steps.renew(self._model(np.array(state["modelled"])))
        self.steps_done, self._failures = (int(count) for count in state["counts"])
        self._climbing = bool(state["climbing"])
        self._error = None if state["error"] is None else float(state["error"])
        self.ended, self.finished, self.status = bool(state["ended"]), bool(state["finished"]), str(state["status"])


def unwrapped(scaled_xac: Sequence[np.ndarray]) -> np.ndarray:
    """Images one after the other, each atom at that periodic copy that is next to itself in the image before."""
    found = [np.array(scaled_xac[0], dtype=float)]
    for scaled_ac in scaled_xac[1:]:
        step_ac = scaled_ac - found[-1]
        found.append(found[-1] + step_ac - np.round(step_ac))
    return np.array(found)


def without_turns(vector_av: np.ndarray, position_av: np.ndarray) -> np.ndarray:
    """Of forces or steps, what is no turn of all atoms about their centre; (a, 3).

    A molecule with vacuum on all sides may be turned.  The springs see that as length of the path: images turn, the
    path grows longer, and its forces never come to rest.  (Shifts, of which the same holds, are left out by `Chart`.)
    """
    around_av = position_av - position_av.mean(axis=0)
    motion_xz = np.array([np.cross(axis, around_av).ravel() for axis in np.eye(3)])
    _, size_x, unit_xz = np.linalg.svd(motion_xz, full_matrices=False)
    unit_xz = unit_xz[size_x > DEPENDENT * size_x[0]]
    left_z = vector_av.ravel() - unit_xz.T @ (unit_xz @ vector_av.ravel())
    return left_z.reshape(-1, 3)
