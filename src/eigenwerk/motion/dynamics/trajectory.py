"""What every molecular dynamics has: points one after the other, a thermostat, and an end."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.lattice_reduction import heights
from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.motion.dynamics.freedom import Freedom
from eigenwerk.motion.dynamics.noise import Noise
from eigenwerk.motion.dynamics.thermostat import Thermostat
from eigenwerk.motion.mover import Report
from eigenwerk.motion.surface import Arrangement, SurfacePoint
from eigenwerk.units import BOLTZMANN_EV_KELVIN, EV_PER_ANGSTROM3_GPA

SMALLEST_VOLUME, LARGEST_VOLUME = 0.3, 3.0
"""Of a cell that moves, in volumes of the start: beyond them basis and k-points of the run fit no more."""

LARGEST_STRAIN = 0.1
"""Of the cell in one step."""


def nearest_pair(arrangement: Arrangement, within: float) -> tuple[float, int, int] | None:
    """The shortest distance between two atoms, Å, and their numbers from 0; None if there is none below `within`.

    Atoms are sorted along one lattice vector, so that few pairs are looked at.  Distances are those of the nearest
    images if the cell is thicker than 2 `within`.
    """
    lattice_cv = arrangement.lattice_cv
    folded_ac = arrangement.scaled_ac - np.floor(arrangement.scaled_ac)
    heights_c = heights(lattice_cv)
    axis = int(np.argmax(heights_c))
    order_a = np.argsort(folded_ac[:, axis], kind="stable")
    sorted_ac = folded_ac[order_a]
    count, along_a = len(order_a), sorted_ac[:, axis]
    # of atom a those that follow it within the distance along this vector, those behind the boundary among them
    ends_a = np.searchsorted(np.concatenate([along_a, along_a + 1]), along_a + within / heights_c[axis], side="right")
    most = min(int((ends_a - np.arange(count)).max()) - 1, count - 1)
    if most < 1:
        return None
    next_ax = (np.arange(count)[:, None] + np.arange(1, most + 1)) % count
    apart_axc = sorted_ac[next_ax] - sorted_ac[:, None]
    apart_axv = (apart_axc - np.round(apart_axc)) @ lattice_cv
    square_ax = np.einsum("axv,axv->ax", apart_axv, apart_axv)
    a, x = divmod(int(np.argmin(square_ax)), most)
    distance = float(np.sqrt(square_ax[a, x]))
    return (distance, int(order_a[a]), int(order_a[next_ax[a, x]])) if distance < within else None


def trouble(before: Arrangement, after: Arrangement, start_volume: float, closest: float, longest: float) -> str | None:
    """Why the next arrangement is not to be computed, one sentence; None if nothing speaks against it.

    longest: Å, the step of one atom beyond the motion of the cell.
    """
    if not (np.isfinite(after.scaled_ac).all() and np.isfinite(after.lattice_cv).all()):
        return "the atoms have left all bounds: their positions are no numbers any more"
    if after.lattice_cv is not before.lattice_cv:
        share = float(np.linalg.det(after.lattice_cv)) / float(np.linalg.det(before.lattice_cv)) * before.volume
        strain = np.abs(np.linalg.solve(before.lattice_cv, after.lattice_cv) - np.eye(3)).max()
        if not SMALLEST_VOLUME <= share / start_volume <= LARGEST_VOLUME:
            what = "collapses" if share < start_volume else "flies apart"
            return (
                f"the cell {what}: {after.volume:.1f} Å³ after {start_volume:.1f} Å³ at the start; "
                "look at the pressure and at the settings of the cell"
            )
        if strain > LARGEST_STRAIN:
            return (
                f"the cell would change by {100 * strain:.0f} % in one step; "
                "give it a larger mass or a longer time, or take shorter steps"
            )
    move_a = np.linalg.norm((after.scaled_ac - before.scaled_ac) @ after.lattice_cv, axis=1)
    a = int(np.argmax(move_a))
    if move_a[a] > longest:
        return (
            f"atom {a + 1} would move {move_a[a]:.2f} Å in one step, more than {longest:g} Å: "
            "the step is too long, or the start too far from equilibrium"
        )
    if pair := nearest_pair(after, closest):
        distance, a, b = pair
        return (
            f"atoms {a + 1} and {b + 1} meet: {distance:.2f} Å apart, nearer than {closest:g} Å; "
            "look at the start, at the temperature and at the step"
        )
    return None


KILOBAR = 10 * EV_PER_ANGSTROM3_GPA
"""One eV/Å³ in kilobar."""

MOST_UNCONVERGED = 5
"""Points in a row whose forces mean little, after which a trajectory means nothing."""


class Trajectory(ABC):
    """A mover that follows Newton's law from point to point; the first point is the start.

    velocity_av: Å/fs, relative to the cell where that moves; between `tell` and the next `tell` those in the middle of
    the step.  words: remarks that belong to the first point.  trouble: why the next arrangement must not be computed;
    failure: why nothing could be done with the last point, which then counts as not told.  Raises InputError where the
    start is in trouble already.
    """

    def __init__(
        self,
        settings: DynamicsSettings,
        start: Arrangement,
        velocity_av: np.ndarray,
        freedom: Freedom,
        thermostat: Thermostat,
        noise: Noise,
        words: tuple[str, ...] = (),
    ) -> None:
        self.settings = settings
        self.freedom = freedom
        self.thermostat = thermostat
        self.noise = noise
        self.arrangement = start
        self.velocity_av = velocity_av
        self.start_volume = start.volume
        self.told = 0
        self.unconverged = 0
        self.trouble: str | None = None
        if why := trouble(start, start, start.volume, settings.closest, settings.longest_move):
            raise InputError(f"Molecular dynamics cannot begin here: {why}.")
        self.failure: str | None = None
        self.first_words = words
        self.conserved_at_start: float | None = None
        self.last_words = "nothing has been computed yet"

    @property
    def finished(self) -> bool:
        """Whether all points have been told."""
        return self.told >= self.settings.steps

    @property
    def status(self) -> str:
        """How it stands, one sentence."""
        why = self.failure or ("" if self.finished else self.trouble)
        return f"given up: {why}; the last good arrangement stays" if why else self.last_words

    def ask(self) -> Arrangement | None:
        """The next point of the trajectory; None when all have been told, or at the first trouble."""
        return None if self.finished or self.trouble or self.failure else self.arrangement

    def tell(self, point: SurfacePoint) -> Report:
        """Complete the step to this point and begin the next one."""
        words = self._judge(point)
        if self.failure:
            return Report(words=(*words, self.failure))
        self.told += 1
        report = self._arrive(point)
        if self.conserved_at_start is None:
            self.conserved_at_start = report.conserved
        before = self.arrangement
        self._leave(point)
        longest = np.inf if self.settings.thermostat == "constant velocities" else self.settings.longest_move
        self.trouble = trouble(before, self.arrangement, self.start_volume, self.settings.closest, longest)
        self.last_words = self._summary(report)
        if self.trouble and not self.finished:
            words = (*words, self.trouble)
        return replace(report, words=(*words, *report.words))

    def _judge(self, point: SurfacePoint) -> tuple[str, ...]:
        """Remarks on the numbers of a point; `failure` where nothing can be done with them."""
        words = self.first_words if self.told == 0 else ()
        number, stress_vv = self.told + 1, point.stress_vv
        if not (np.isfinite(point.forces_av).all() and np.isfinite(point.free_energy)):
            self.failure = f"point {number}: energy or forces are no numbers"
        if self.settings.barostat != "none" and (stress_vv is None or not np.isfinite(stress_vv).all()):
            self.failure = f"point {number} has no stress, without which the cell cannot move"
        self.unconverged = 0 if point.converged else self.unconverged + 1
        if self.unconverged >= MOST_UNCONVERGED:
            self.failure = (
                f"{self.unconverged} points in a row did not converge: their forces lead nowhere; help the electrons "
                "to converge and go on from an earlier point"
            )
        elif self.unconverged:
            words = (*words, f"point {number} did not converge; the trajectory goes on with its forces")
        return words

    def _summary(self, report: Report) -> str:
        """One sentence for people who look how it stands."""
        text = f"point {self.told} of {self.settings.steps}: {report.temperature:.1f} K"
        if report.conserved is not None and self.conserved_at_start is not None:
            change = 1000 * (report.conserved - self.conserved_at_start) / len(self.velocity_av)
            text += f", the conserved quantity has changed by {change:.3f} meV per atom"
        return text

    @property
    def ensemble(self) -> str:
        """In words, with the step: a trajectory can only be continued by the same."""
        settings = self.settings
        return f"thermostat: {settings.thermostat}, barostat: {settings.barostat}, {settings.time_step:g} fs"

    def kt(self) -> float:
        """Temperature wanted at the present point, eV."""
        return BOLTZMANN_EV_KELVIN * self.settings.target(self.told)

    @abstractmethod
    def _arrive(self, point: SurfacePoint) -> Report:
        """Velocities at the point, and what there is to report."""

    @abstractmethod
    def _leave(self, point: SurfacePoint) -> None:
        """Half a step of velocities and the step to the next arrangement."""

    def report(self, point: SurfacePoint, outside: float = 0.0, **more: float) -> Report:
        """What is known at a point; outside: eV, of everything conserved beside atoms and thermostat.

        In `more`: target_temperature (K), kinetic_pressure (kbar, 2K/3Ω); collisions (Andersen's bath); of a cell that
        moves pressure (kbar, inner), volume (Å³); cell_kinetic (eV) and cell_temperature (K) where it has a mass.
        """
        kinetic = self.freedom.kinetic(self.velocity_av)
        bath = self.thermostat
        forces_av = self.freedom.allowed(point.forces_av)
        return Report(
            largest_force=float(np.sqrt((forces_av**2).sum(1)).max()),
            kinetic=kinetic,
            thermostat=bath.energy,
            thermostat_kinetic=bath.kinetic,
            conserved=point.free_energy + kinetic + bath.energy + bath.kinetic + outside,
            temperature=self.freedom.temperature(kinetic),
            velocities_av=self.velocity_av.copy(),
            lattice_velocity_cv=self.lattice_velocity(),
            more={
                "target_temperature": self.settings.target(self.told),
                "kinetic_pressure": 2 * kinetic / (3 * point.arrangement.volume) * KILOBAR,
                **bath.more,
                **more,
            },
        )

    def lattice_velocity(self) -> np.ndarray | None:
        """Of lattice vectors with a mass at the point, Å/fs; None for others."""
        return None

    def state(self) -> dict[str, Any]:
        """All that it needs to go on, to the last bit."""
        return {
            "ensemble": self.ensemble,
            "told": self.told,
            "unconverged": self.unconverged,
            "trouble": self.trouble,
            "last_words": self.last_words,
            "conserved_at_start": self.conserved_at_start,
            "start_volume": self.start_volume,
            "lattice_cv": self.arrangement.lattice_cv.copy(),
            "scaled_ac": self.arrangement.scaled_ac.copy(),
            "velocity_av": self.velocity_av.copy(),
            "noise_key": self.noise.key.copy(),
            "thermostat": self.thermostat.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken; raises InputError if that was another ensemble or another number of atoms."""
        if state["ensemble"] != self.ensemble or np.shape(state["scaled_ac"]) != self.arrangement.scaled_ac.shape:
            raise InputError(
                f"The saved trajectory is one of {len(state['scaled_ac'])} atoms ({state['ensemble']}); this run has "
                f"{len(self.velocity_av)} atoms ({self.ensemble}). Set the same tags, or start anew from CONTCAR."
            )
        self.told, self.unconverged = int(state["told"]), int(state["unconverged"])
        self.trouble, self.last_words = state["trouble"], state["last_words"]
        self.conserved_at_start = None if state["conserved_at_start"] is None else float(state["conserved_at_start"])
        self.start_volume = float(state["start_volume"])
        lattice_cv = np.array(state["lattice_cv"], float)
        scaled_ac = np.array(state["scaled_ac"], float)
        self.arrangement = replace(self.arrangement, lattice_cv=lattice_cv, scaled_ac=scaled_ac)
        self.velocity_av = np.array(state["velocity_av"], float)
        self.noise.key = np.array(state["noise_key"], np.uint64)
        self.thermostat.restore(state["thermostat"])


class FixedCell(Trajectory):
    """Velocity Verlet in a cell that stays as it is.

    v += F δ/2m; x += v δ; forces; v += F δ/2m.  Reversible in time; energies oscillate by O(δ²) about a value that
    stays.  Source: W. C. Swope et al., J. Chem. Phys. 76, 637 (1982).
    """

    def _arrive(self, point: SurfacePoint) -> Report:
        acceleration_av = self.freedom.accelerations(point.forces_av)
        if self.told > 1:
            self.velocity_av = self.velocity_av + 0.5 * self.settings.time_step * acceleration_av
            self.velocity_av = self.thermostat.arrive(self.velocity_av, self.kt(), self.told)
        elif self.settings.thermostat == "scaling":
            self.velocity_av = self.thermostat.arrive(self.velocity_av, self.kt(), self.told)
        return self.report(point)

    def _leave(self, point: SurfacePoint) -> None:
        step = self.settings.time_step
        self.velocity_av = self.thermostat.leave(self.velocity_av, self.kt())
        self.velocity_av = self.velocity_av + 0.5 * step * self.freedom.accelerations(point.forces_av)
        self._move(step)

    def _move(self, step: float) -> None:
        lattice_cv = self.arrangement.lattice_cv
        moved_ac = step * np.linalg.solve(lattice_cv.T, self.velocity_av.T).T
        self.arrangement = replace(self.arrangement, scaled_ac=self.arrangement.scaled_ac + moved_ac)


class ConstantVelocities(FixedCell):
    """Atoms that fly past each other: positions along given directions, not dynamics; nothing is conserved."""

    def _arrive(self, point: SurfacePoint) -> Report:
        return replace(self.report(point), conserved=None)

    def _leave(self, point: SurfacePoint) -> None:
        self._move(self.settings.time_step)
