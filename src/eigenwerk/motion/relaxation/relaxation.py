"""The mover of relaxations: when it ends, and what happens to points that are of no use."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eigenwerk.motion.mover import Report
from eigenwerk.motion.relaxation.chart import ISIF, Chart, free_strains
from eigenwerk.motion.relaxation.damped import Damped
from eigenwerk.motion.relaxation.diis import Diis
from eigenwerk.motion.relaxation.hessian.neighbours import covalent_radii, near_pairs
from eigenwerk.motion.relaxation.method import Method, TrialPoint
from eigenwerk.motion.relaxation.quasi_newton import QuasiNewton
from eigenwerk.motion.relaxation.relaxation_settings import KILOBAR, RelaxationSettings
from eigenwerk.motion.surface import Arrangement, SurfacePoint
from eigenwerk.shown import counted

METHODS: dict[str, Callable[..., Method]] = {"quasi-newton": QuasiNewton, "diis": Diis, "damped": Damped}
"""By the name in `RelaxationSettings`."""

NEAREST = 0.45
"""Of the sum of two covalent radii: atoms nearer than this, and nearer than they were, have met."""

VOLUME_RANGE = (0.2, 8.0)
"""Of the start's volume: outside, the cell has collapsed or flown apart."""

MOST_FAILURES = 6
"""Points in a row that did not converge, before a relaxation gives up."""

ERROR_SHARE = 0.05
"""Of the largest force: how well the forces of the next point have to be known."""

FINAL_ERROR_SHARE = 0.3
"""Of force_tolerance: how well forces have to be known that are small enough."""

UNSEEN_POINTS = 6
"""Points in a row with forces below twice their errors, before a relaxation gives up."""

LEAST_SHARE = 1e-9
"""Of a pressure, in the stress that a cell may follow; less is none, as where the volume is kept."""


def relaxation(
    settings: RelaxationSettings,
    start: Arrangement,
    masses_a: np.ndarray,
    symbols: tuple[str, ...],
    free_ac: np.ndarray | None = None,
) -> "Relaxation":
    """The mover of a relaxation.

    masses_a: amu, without meaning here.  free_ac: which direct coordinates move (selective dynamics), all if None.
    """
    return Relaxation(settings, start, tuple(symbols), free_ac)


class Relaxation:
    """A Mover that looks for the nearest minimum of the energy, or of the enthalpy E + pV."""

    def __init__(
        self, settings: RelaxationSettings, start: Arrangement, symbols: tuple[str, ...], free_ac: np.ndarray | None
    ) -> None:
        ions, cell = ISIF[settings.isif]
        free = np.ones((len(symbols), 3), bool) if free_ac is None else np.array(free_ac, bool)
        self._settings, self._start, self._symbols = settings, start, symbols
        self._chart = Chart(
            np.array(start.lattice_cv, float), free & ions, free_strains(cell, settings.lattice_free),
            settings.translations,
        )  # fmt: skip
        self._origin = self._chart.vector(start)
        self._method: Method = METHODS[settings.method](settings, self._chart, symbols, self._scaled)
        self.status, self.finished = "nothing was computed yet", False
        self._points = self._failures = self._unseen = 0
        self._last_energy: float | None = None
        self._repeated = False
        self._ended = False
        self._error: float | None = None
        self._pulay: float | None = None
        self._z = self._origin
        if not self._chart.free_ac.any() and not len(self._chart.strain_mz):
            self.status, self._ended, self.finished = "nothing may move", True, True

    def _scaled(self, z: np.ndarray) -> np.ndarray:
        return self._chart.arrangement(z, self._start.scaled_ac, self._origin).scaled_ac

    def ask(self) -> Arrangement | None:
        if self._ended:
            return None
        return self._chart.arrangement(self._z, self._start.scaled_ac, self._origin, force_error=self._error)

    @property
    def wants_pulay(self) -> bool:
        """Whether the next point should bring its Pulay pressure: asked for, acting on this cell, and unknown."""
        acts = self._chart.largest_stress(np.eye(3)) > LEAST_SHARE
        return self._settings.pulay and self._pulay is None and acts

    @property
    def pulay(self) -> float | None:
        """The Pulay pressure that is taken from that of the stress, eV/Å³; None without."""
        return self._pulay

    @property
    def _pressure(self) -> float:
        """At which the cell is at rest: p(stress) - p_Pulay = PSTRESS."""
        return self._settings.pressure + (self._pulay or 0.0)

    def tell(self, point: SurfacePoint) -> Report:
        words: list[str] = []
        if self.wants_pulay and point.converged:
            self._pulay = point.pulay
        cell = bool(len(self._chart.strain_mz))
        finite = np.isfinite(point.free_energy) and np.isfinite(point.forces_av).all()
        if cell and point.stress_vv is None:
            raise ValueError("a cell can only be relaxed where the stress is computed")
        self._points += 0 if self._repeated else 1
        usable = point.converged and bool(finite)
        if not usable:
            force = stress = None
            self._without(words)
        else:
            self._failures = 0
            gradient = self._chart.gradient(self._z, point, self._pressure)
            enthalpy = point.free_energy + self._pressure * point.arrangement.volume
            force, stress = self._largest(gradient, point)
            self._with(TrialPoint(self._z, enthalpy, gradient, point.force_error), force, stress, words)
        if not self._ended and self._points >= self._settings.most_points:
            self._ended, self.status = True, f"not at rest after {counted(self._points, 'point')}"
        largest = None if stress is None else stress / KILOBAR
        return Report(largest_force=force, largest_stress=largest, words=tuple(words))

    def _largest(self, gradient: np.ndarray, point: SurfacePoint) -> tuple[float, float | None]:
        """Largest force on an atom that may move, eV/Å, and component of the stress that the cell may follow."""
        deform = self._chart.deformation(self._z)
        ions = np.linalg.solve(deform, gradient[:-6].reshape(-1, 3).T).T
        force = float(np.linalg.norm(ions, axis=1).max(initial=0.0))
        if not len(self._chart.strain_mz):
            return force, None
        assert point.stress_vv is not None
        return force, self._chart.largest_stress(point.stress_vv + self._pressure * np.eye(3))

    def _with(self, trial: TrialPoint, force: float, stress: float | None, words: list[str]) -> None:
        settings = self._settings
        small = self._small(force, stress)
        needed = FINAL_ERROR_SHARE * (settings.force_tolerance or 0.0)
        if small and trial.error > needed and not self._repeated:
            self._repeated, self._error = True, needed
            words.append(f"forces are small, but known to {trial.error:.1e} eV/Å only: computed again, more accurately")
            return
        self._repeated = False
        accepted, remark = self._method.take(trial)
        if remark:
            words.append(remark)
        before, self._last_energy = self._last_energy, trial.energy if accepted else self._last_energy
        if small or self._still(accepted, before, trial):
            self._ended = self.finished = True
            still = f"the energy changes by less than {settings.energy_tolerance or 0.0:g} eV"
            self.status = f"{'at rest' if small else still} after {counted(self._points, 'point')}"
            self.status += f": largest force {force:.2e} eV/Å"
            self.status += "" if stress is None else f", stress {stress / KILOBAR:.2f} kbar"
            return
        # forces that vanish by symmetry are no reason to leave a cell under stress
        blind = force < 2 * trial.error and (stress is None or stress <= settings.stress_tolerance)
        self._unseen = self._unseen + 1 if accepted and blind else 0
        if self._unseen >= UNSEEN_POINTS:
            self._give_up(f"the forces, {force:.1e} eV/Å, are not above their error, {trial.error:.1e} eV/Å", words)
            return
        self.status = f"largest force {force:.2e} eV/Å"
        self._error = self._error_of(force)
        self._next(words)

    def _small(self, force: float, stress: float | None) -> bool:
        tolerance = self._settings.force_tolerance
        if tolerance is None:
            return False
        return force <= tolerance and (stress is None or stress <= self._settings.stress_tolerance)

    def _still(self, accepted: bool, before: float | None, trial: TrialPoint) -> bool:
        tolerance = self._settings.energy_tolerance
        return tolerance is not None and accepted and before is not None and abs(trial.energy - before) < tolerance

    def _error_of(self, force: float) -> float:
        """The error of forces that the next point may have."""
        tolerance = self._settings.force_tolerance or 0.0
        return max(ERROR_SHARE * force, FINAL_ERROR_SHARE * tolerance)

    def _without(self, words: list[str]) -> None:
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            self._give_up(f"{self._failures} points in a row did not converge", words)
        elif self._method.best is None:
            words.append("the first point did not converge: computed again")
        else:
            words.append("the point did not converge, its forces are not used: a shorter step from the one before")
            if self._method.shorten():
                self._next(words)
            else:
                self._give_up("points near the last good one do not converge", words)

    def _next(self, words: list[str]) -> None:
        """The next arrangement; steps by which atoms meet or the cell collapses are shortened."""
        while True:
            z = self._method.propose()
            trouble = self._trouble(z)
            if not trouble:
                self._z = z
                return
            words.append(f"{trouble}: a shorter step")
            if not self._method.shorten():
                self._give_up(trouble, words)
                return

    def _trouble(self, z: np.ndarray) -> str:
        there = self._chart.arrangement(z, self._start.scaled_ac, self._origin)
        ratio = there.volume / self._start.volume
        if not VOLUME_RANGE[0] < ratio < VOLUME_RANGE[1]:
            return f"the cell would have {ratio:.2f} times the volume of the start"
        radii = covalent_radii(self._symbols)
        try:
            near = near_pairs(there.lattice_cv, there.scaled_ac, NEAREST * radii, 0.0)
        except ValueError as error:
            return str(error)
        if not len(near.length):
            return ""
        best = self.arrangement
        image = near.image_xc
        before = np.linalg.norm(
            (best.scaled_ac[near.second] + image - best.scaled_ac[near.first]) @ best.lattice_cv, axis=1
        )
        worst = np.argmin(near.length - before)
        if near.length[worst] >= before[worst]:
            return ""
        one, other = near.first[worst] + 1, near.second[worst] + 1
        return f"atoms {one} and {other} would come as near as {near.length[worst]:.2f} Å"

    def _give_up(self, why: str, words: list[str]) -> None:
        self._ended, self.status = True, f"given up: {why}; the last good arrangement stays"
        if self._method.best is not None:
            self._z = self._method.best.z
        words.append(self.status)

    @property
    def arrangement(self) -> Arrangement:
        """The best one, or the start."""
        z = self._origin if self._method.best is None else self._method.best.z
        return self._chart.arrangement(z, self._start.scaled_ac, self._origin)

    @property
    def freedom(self) -> tuple[int, int]:
        """How many coordinates of ions may change, and how many strains of the cell."""
        return int(self._chart.free_ac.sum()), len(self._chart.strain_mz)

    def state(self) -> dict[str, Any]:
        return {
            "method": self._method.state(),
            "z": self._z,
            "error": self._error,
            "pulay": self._pulay,
            "counts": np.array([self._points, self._failures, self._unseen]),
            "repeated": self._repeated,
            "ended": self._ended,
            "finished": self.finished,
            "status": self.status,
            "last_energy": self._last_energy,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._method.restore(state["method"])
        self._z = np.array(state["z"])
        self._error = None if state["error"] is None else float(state["error"])
        pulay = state.get("pulay")  # older files lack it
        self._pulay = None if pulay is None else float(pulay)
        self._points, self._failures, self._unseen = (int(count) for count in state["counts"])
        self._repeated, self._ended = bool(state["repeated"]), bool(state["ended"])
        self.finished, self.status = bool(state["finished"]), str(state["status"])
        self._last_energy = None if state["last_energy"] is None else float(state["last_energy"])
