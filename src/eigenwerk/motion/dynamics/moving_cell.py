"""Molecular dynamics in a cell that moves: pressures, the orientation of the cell, and what both barostats share."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from eigenwerk.motion.dynamics.trajectory import KILOBAR, Trajectory
from eigenwerk.motion.mover import Report
from eigenwerk.motion.surface import SurfacePoint


class MovingCell(Trajectory):
    """Lattice vectors h (rows) that follow the pressure; atoms have coordinates s in them and velocities v = (ds/dt) h.

    Ensemble of both barostats: e^(-(K + U + pΩ)/kT) over positions, momenta and cells, the volume Ω counted by dΩ, so
    that the mean of the inner pressure is p: Ω^(-2) dh over lattice vectors, times Ω^free, where free is the share of
    the drift that is no degree of freedom: (3N - f) / 3.
    Source: G. J. Martyna, D. J. Tobias and M. L. Klein, J. Chem. Phys. 101, 4177 (1994), for Ω^(-2).

    The cell never turns: where its deformation from the start has a rotation, cell, velocities and all that belongs to
    the cell are turned back before forces are asked for.  That changes no distance, and no energy.

    parts: those of a `Trajectory`.
    """

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.start_lattice_cv = self.arrangement.lattice_cv.copy()

    @property
    def missing(self) -> float:
        """(3N - f) / 3: 1 where the momentum stays zero, 0 where the bath moves the centre of mass."""
        return (self.velocity_av.size - self.freedom.count) / 3

    def pressure(self, point: SurfacePoint) -> np.ndarray:
        """Inner pressure Σ m v v / Ω - σ, (3, 3), eV/Å³."""
        assert point.stress_vv is not None
        kinetic_vv = (self.freedom.mass_a1 * self.velocity_av).T @ self.velocity_av / point.arrangement.volume
        return kinetic_vv - 0.5 * (point.stress_vv + point.stress_vv.T)

    def _arrive(self, point: SurfacePoint) -> Report:
        if self.told > 1:
            acceleration_av = self.freedom.accelerations(point.forces_av)
            self.velocity_av = self.velocity_av + 0.5 * self.settings.time_step * acceleration_av
            self._cell_arrives(point)
            self.velocity_av = self.thermostat.arrive(self.velocity_av, self.kt(), self.told)
        volume = point.arrangement.volume
        pressure = float(np.trace(self.pressure(point))) / 3
        outside = self.settings.pressure * volume + self.cell_energy(volume)
        more = {"pressure": pressure * KILOBAR, "volume": volume, **self.more()}
        return self.report(point, outside, **more)

    @abstractmethod
    def _cell_arrives(self, point: SurfacePoint) -> None:
        """What the cell does between the half step of the velocities and the bath of the atoms."""

    @abstractmethod
    def cell_energy(self, volume: float) -> float:
        """Of cell and barostat beside pΩ, eV."""

    def more(self) -> dict[str, float]:
        """Numbers of the cell for the report."""
        return {}

    def turn_back(self, lattice_cv: np.ndarray, scaled_ac: np.ndarray) -> np.ndarray:
        """Take over an arrangement in the orientation of the start; the rotation (3, 3) that was applied to rows.

        h = h₀ S R by polar decomposition, S symmetric: Rᵀ turns h back.
        """
        left_vx, _, right_xv = np.linalg.svd(np.linalg.solve(self.start_lattice_cv, lattice_cv))
        back_vv = (left_vx @ right_xv).T
        self.velocity_av = self.velocity_av @ back_vv
        self.arrangement = replace(self.arrangement, lattice_cv=lattice_cv @ back_vv, scaled_ac=scaled_ac)
        return back_vv

    def state(self) -> dict[str, Any]:
        """All that it needs to go on, to the last bit."""
        return {**super().state(), "start_lattice_cv": self.start_lattice_cv.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken."""
        super().restore(state)
        self.start_lattice_cv = np.array(state["start_lattice_cv"], float)
