"""Degrees of freedom of the atoms: what may move, kinetic energy and temperature, thermal velocities."""

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.units import AMU_EV_FS2_PER_ANGSTROM2, BOLTZMANN_EV_KELVIN

SMALL = 1e-10


class Freedom:
    """Which velocities atoms may have: each in the span of its free lattice vectors, all together without a drift.

    A drift is a velocity that all atoms share, in directions that are free for each of them.  Forces that depend on
    distances alone leave its momentum as it is, so it is no degree of freedom of a thermostat: f = 3N - 3 for atoms
    that are all free.  A bath that pushes single atoms (Langevin's) gives it thermal motion: f = 3N.

    masses_a: amu.  free_ac: whether atom a may move along lattice vector c.  drifts: whether the drift is one of the
    degrees of freedom.  Raises InputError if nothing is left to move.
    """

    def __init__(self, masses_a: np.ndarray, free_ac: np.ndarray, lattice_cv: np.ndarray, drifts: bool) -> None:
        self.mass_a1 = np.asarray(masses_a, float)[:, None] * AMU_EV_FS2_PER_ANGSTROM2
        self.free_ac = np.asarray(free_ac, bool)
        if not (self.mass_a1 > 0).all() or self.free_ac.shape != (len(self.mass_a1), 3):
            raise InputError(f"Molecular dynamics of {len(self.mass_a1)} atoms needs a mass above 0 for each of them.")
        self.projector_avv = None
        if not self.free_ac.all():
            self.projector_avv = np.array([projector(lattice_cv[free_c]) for free_c in self.free_ac])
        self.shared_vv = self._shared()
        self.drifts = drifts
        shared = round(float(np.trace(self.shared_vv)))
        self.count = int(self.free_ac.sum()) - (0 if drifts else shared)
        if self.count < 1 and len(self.free_ac) == 1:
            raise InputError(
                "Molecular dynamics: nothing is left to move: one atom cannot move against others. Take a larger cell "
                "(eigenwerk build makes one)."
            )
        if self.count < 1:
            raise InputError(
                f"Molecular dynamics: nothing is left to move: {int(self.free_ac.sum())} of {self.free_ac.size} "
                f"coordinates are free, {shared} of them shift all atoms together. Free more atoms in POSCAR."
            )

    def _shared(self) -> np.ndarray:
        """Projector (3, 3) on the directions in which every atom is free."""
        if self.projector_avv is None:
            return np.eye(3)
        values_x, vectors_vx = np.linalg.eigh(self.projector_avv.mean(0))
        shared_vx = vectors_vx[:, values_x > 1 - SMALL]
        return shared_vx @ shared_vx.T

    def allowed(self, vector_av: np.ndarray) -> np.ndarray:
        """Its part along free lattice vectors, atom by atom."""
        if self.projector_avv is None:
            return vector_av
        return np.einsum("avw,aw->av", self.projector_avv, vector_av)

    def drift(self, velocity_av: np.ndarray) -> np.ndarray:
        """The velocity of the centre of mass in directions that are free for all atoms, (3,), Å/fs."""
        return (self.mass_a1 * velocity_av).sum(0) / self.mass_a1.sum() @ self.shared_vv

    def accelerations(self, forces_av: np.ndarray) -> np.ndarray:
        """Of the free coordinates, without that of the drift, Å/fs²: noise in forces must not move all atoms."""
        acceleration_av = self.allowed(forces_av / self.mass_a1)
        return acceleration_av - self.drift(acceleration_av)

    def kinetic(self, velocity_av: np.ndarray) -> float:
        """½ Σ m v², eV."""
        return 0.5 * float((self.mass_a1 * velocity_av**2).sum())

    def temperature(self, kinetic: float) -> float:
        """2 K / (f k), kelvin."""
        return 2 * kinetic / (self.count * BOLTZMANN_EV_KELVIN)

    def thermal(self, normal_av: np.ndarray, kt: float) -> np.ndarray:
        """Velocities of Maxwell and Boltzmann from normal numbers, drift among them, Å/fs; kt: eV."""
        return self.allowed(normal_av * np.sqrt(kt / self.mass_a1))

    def start(self, normal_av: np.ndarray, kt: float) -> np.ndarray:
        """The same without drift, scaled to a kinetic energy of f kt / 2."""
        velocity_av = self.thermal(normal_av, kt)
        velocity_av = velocity_av - self.drift(velocity_av)
        kinetic = self.kinetic(velocity_av)
        return velocity_av * np.sqrt(0.5 * self.count * kt / kinetic) if kinetic > 0 else velocity_av


def projector(vectors_cv: np.ndarray) -> np.ndarray:
    """On the space that up to three vectors span, (3, 3)."""
    if len(vectors_cv) == 3:
        return np.eye(3)
    basis_vx = np.linalg.qr(vectors_cv.T)[0] if len(vectors_cv) else np.zeros((3, 0))
    return basis_vx @ basis_vx.T
