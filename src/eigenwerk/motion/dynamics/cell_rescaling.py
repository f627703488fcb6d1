"""A cell without mass that is scaled at random, by Bernetti and Bussi."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenwerk.motion.dynamics.moving_cell import MovingCell
from eigenwerk.motion.dynamics.noise import CELL
from eigenwerk.motion.surface import SurfacePoint


class CellRescaling(MovingCell):
    """Stochastic cell rescaling: in every step h → h e^ε, v → v e^-ε, scaled coordinates as they are.

    ε = M Ω (P - p + (1 + (3N - f)/3) kT/Ω) δ + √(2 M kT δ) R,  M = β / (3 τ Ω₀),
    symmetric, R of normal numbers (diagonal of variance 1, others of ½); isotropic: a third of the trace alone.  β:
    compressibility; a wrong one only changes τ.  The volume forgets with the time τ Ω₀/Ω.  M does not depend on Ω, so
    the walk without forces is uniform in the invariant measure Ω⁻³ dh, and no derivative of M is needed.

    The scaling stands in the middle of the step of the positions.  Then the step with -ε leads back, and
    E + K + pΩ + Σ [-(1 + (3N - f)/3) kT Δln Ω + (|ε + m'|² - |ε - m|²) / 4Mδ] is conserved but for the error of finite
    steps, m and m' the means of ε before and after the step: it says how well detailed balance is kept.
    Sources: M. Bernetti and G. Bussi, J. Chem. Phys. 153, 114107 (2020); V. Del Tatto, P. Raiteri, M. Bernetti and
    G. Bussi, Appl. Sci. 12, 1139 (2022), for all components.
    """

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.strain_vv = np.zeros((3, 3))
        self.mean_vv = np.zeros((3, 3))
        self.left_volume = self.start_volume
        self.taken = 0.0

    @property
    def mobility(self) -> float:
        """M, 1/(eV fs)."""
        return self.settings.compressibility / (3 * self.settings.cell_time * self.start_volume)

    def _allowed(self, strain_vv: np.ndarray) -> np.ndarray:
        """The part of a strain that the cell may have."""
        if self.settings.barostat == "cell rescaling":
            return 0.5 * (strain_vv + strain_vv.T)
        return np.eye(3) * np.trace(strain_vv) / 3

    def _mean(self, point: SurfacePoint) -> np.ndarray:
        """Of the strain in a step from here."""
        volume = point.arrangement.volume
        excess_vv = self.pressure(point) - self.settings.pressure * np.eye(3)
        force_vv = volume * excess_vv + (1 + self.missing) * self.kt() * np.eye(3)
        return self._allowed(self.mobility * self.settings.time_step * force_vv)

    def cell_energy(self, volume: float) -> float:
        """What the walk of the cell has taken, eV."""
        return self.taken

    def _cell_arrives(self, point: SurfacePoint) -> None:
        returning = ((self.strain_vv + self._mean(point)) ** 2).sum() - ((self.strain_vv - self.mean_vv) ** 2).sum()
        larger = np.log(point.arrangement.volume / self.left_volume)
        self.taken -= (1 + self.missing) * self.kt() * larger
        self.taken += float(returning) / (4 * self.mobility * self.settings.time_step)

    def _leave(self, point: SurfacePoint) -> None:
        step, kt = self.settings.time_step, self.kt()
        self.mean_vv, self.left_volume = self._mean(point), point.arrangement.volume
        spread = np.sqrt(2 * self.mobility * kt * step)
        self.strain_vv = self.mean_vv + spread * self._allowed(self.noise.normal(self.told, CELL, (3, 3)))
        self.velocity_av = self.velocity_av + 0.5 * step * self.freedom.accelerations(point.forces_av)
        lattice_cv, scaled_ac = self.arrangement.lattice_cv, self.arrangement.scaled_ac
        scaled_ac = scaled_ac + 0.5 * step * self.velocity_av @ np.linalg.inv(lattice_cv)
        value_x, axis_vx = np.linalg.eigh(self.strain_vv)
        lattice_cv = lattice_cv @ (axis_vx * np.exp(value_x)) @ axis_vx.T
        self.velocity_av = self.velocity_av @ (axis_vx * np.exp(-value_x)) @ axis_vx.T
        scaled_ac = scaled_ac + 0.5 * step * self.velocity_av @ np.linalg.inv(lattice_cv)
        back_vv = self.turn_back(lattice_cv, scaled_ac)
        self.strain_vv = back_vv.T @ self.strain_vv @ back_vv
        self.mean_vv = back_vv.T @ self.mean_vv @ back_vv

    def state(self) -> dict[str, Any]:
        """All that it needs to go on, to the last bit."""
        cell = {"strain_vv": self.strain_vv.copy(), "mean_vv": self.mean_vv.copy()}
        return {**super().state(), "cell": {**cell, "left_volume": self.left_volume, "taken": self.taken}}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken."""
        super().restore(state)
        cell = state["cell"]
        self.strain_vv, self.mean_vv = np.array(cell["strain_vv"], float), np.array(cell["mean_vv"], float)
        self.left_volume, self.taken = float(cell["left_volume"]), float(cell["taken"])
