"""A cell with a mass, friction and noise, after Parrinello and Rahman."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenwerk.motion.dynamics.moving_cell import MovingCell
from eigenwerk.motion.dynamics.noise import CELL
from eigenwerk.motion.surface import SurfacePoint
from eigenwerk.units import AMU_EV_FS2_PER_ANGSTROM2, BOLTZMANN_EV_KELVIN


class ParrinelloRahman(MovingCell):
    """Lattice vectors that obey Newton's law, in a bath like the atoms.

    W d²h/dt² = Ω h⁻ᵀ (P - p) - c kT h⁻ᵀ - γ W dh/dt + noise,  P = Σ m v v / Ω - σ;
    m dv/dt = F - m v (dh/dt)ᵀ h⁻ᵀ, and the bath.  The term c kT ln Ω, c = 2 - (3N - f)/3, makes the ensemble that of
    `MovingCell`; the paper does without it, which shifts the mean pressure by c kT / Ω.
    Conserved: E + K + pΩ + W |dh/dt|² / 2 + c kT ln(Ω / Ω₀) + what the baths have taken.

    A step is a product of motions that are solved exactly, so it is symplectic and can be reversed in time but for the
    baths: forces and stress act; h moves over half a step, then s and what their motion gives to the cell, then h.
    Sources: M. Parrinello and A. Rahman, J. Appl. Phys. 52, 7182 (1981); D. Quigley and M. I. J. Probert, J. Chem.
    Phys. 120, 11432 (2004), for the bath of the cell.

    arguments: those of a `Trajectory`, and dh/dt, Å/fs; None: of Maxwell and Boltzmann.  point_rate_cv: dh/dt at the
    last point, as the velocities of its report.
    """

    def __init__(self, *arguments: Any) -> None:
        *parts, rate_cv = arguments
        super().__init__(*parts)
        self.mass = self.settings.cell_mass * AMU_EV_FS2_PER_ANGSTROM2
        kt = BOLTZMANN_EV_KELVIN * self.settings.temperature
        drawn_cv = self.noise.normal(0, CELL, (3, 3)) * np.sqrt(kt / self.mass)
        self.rate_cv = drawn_cv if rate_cv is None else np.array(rate_cv, float)
        self.point_rate_cv = self.rate_cv
        self.taken = 0.0
        self.last_kt = kt

    @property
    def cell_kinetic(self) -> float:
        """W |dh/dt|² / 2, eV."""
        return 0.5 * self.mass * float((self.rate_cv**2).sum())

    def lattice_velocity(self) -> np.ndarray:
        """dh/dt at the point, Å/fs."""
        return self.point_rate_cv.copy()

    def more(self) -> dict[str, float]:
        """Kinetic energy of the cell, eV, and its temperature, K, of nine degrees of freedom."""
        kinetic = self.cell_kinetic
        return {"cell_kinetic": kinetic, "cell_temperature": 2 * kinetic / (9 * BOLTZMANN_EV_KELVIN)}

    def cell_energy(self, volume: float) -> float:
        """Kinetic, of the measure, and given to the bath, eV."""
        return self.cell_kinetic + (2 - self.missing) * self.kt() * np.log(volume / self.start_volume) + self.taken

    def _push(self, point: SurfacePoint) -> None:
        """Half a step of the stress, atoms at rest: their motion acts on the cell where they move."""
        assert point.stress_vv is not None
        lattice_cv, volume = point.arrangement.lattice_cv, point.arrangement.volume
        outer = self.settings.pressure + (2 - self.missing) * self.kt() / volume
        tension_vv = 0.5 * (point.stress_vv + point.stress_vv.T) + outer * np.eye(3)
        push_cv = -volume * np.linalg.solve(lattice_cv, np.eye(3)).T @ tension_vv
        self.rate_cv = self.rate_cv + 0.5 * self.settings.time_step * push_cv / self.mass

    def _cell_arrives(self, point: SurfacePoint) -> None:
        self._push(point)
        kt = self.kt()
        # the energy of the measure changes with the temperature that is wanted, by no motion: not conserved otherwise
        measure = (2 - self.missing) * np.log(point.arrangement.volume / self.start_volume)
        self.taken -= (kt - self.last_kt) * measure
        self.last_kt = kt
        kept = np.exp(-self.settings.cell_friction * self.settings.time_step)
        before = self.cell_kinetic
        thermal_cv = self.noise.normal(self.told, CELL, (3, 3)) * np.sqrt(kt / self.mass)
        self.rate_cv = kept * self.rate_cv + np.sqrt(1 - kept**2) * thermal_cv
        self.taken += before - self.cell_kinetic
        self.point_rate_cv = self.rate_cv

    def _leave(self, point: SurfacePoint) -> None:
        step = self.settings.time_step
        self.velocity_av = self.velocity_av + 0.5 * step * self.freedom.accelerations(point.forces_av)
        self._push(point)
        lattice_cv = self._deform(self.arrangement.lattice_cv, 0.5 * step)
        inverse_vc = np.linalg.inv(lattice_cv)
        scaled_ac = self.arrangement.scaled_ac + step * self.velocity_av @ inverse_vc
        flow_vv = (self.freedom.mass_a1 * self.velocity_av).T @ self.velocity_av
        self.rate_cv = self.rate_cv + step * inverse_vc.T @ flow_vv / self.mass
        lattice_cv = self._deform(lattice_cv, 0.5 * step)
        self.rate_cv = self.rate_cv @ self.turn_back(lattice_cv, scaled_ac)

    def _deform(self, lattice_cv: np.ndarray, time: float) -> np.ndarray:
        """Moved lattice vectors; momenta of the scaled coordinates, m v hᵀ, stay, so velocities change."""
        moved_cv = lattice_cv + time * self.rate_cv
        self.velocity_av = self.velocity_av @ np.linalg.solve(moved_cv, lattice_cv).T
        return moved_cv

    def state(self) -> dict[str, Any]:
        """All that it needs to go on, to the last bit."""
        cell = {"rate_cv": self.rate_cv.copy(), "taken": self.taken, "last_kt": self.last_kt}
        return {**super().state(), "cell": cell}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken."""
        super().restore(state)
        cell = state["cell"]
        self.rate_cv = np.array(cell["rate_cv"], float)
        self.taken, self.last_kt = float(cell["taken"]), float(cell["last_kt"])
