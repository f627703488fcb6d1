"""An energy surface by a formula, and arrangements on it, for tests of what moves atoms."""

from dataclasses import dataclass, field

import numpy as np

from eigenwerk.motion.surface import Arrangement, SurfacePoint


@dataclass
class Pairwise:
    """Σ over pairs of D (e^(-2a(r-r0)) - 2 e^(-a(r-r0))), a Morse potential brought smoothly to zero, images included.

    depth, eV; steepness, 1/Å; length, cutoff, Å; noise: eV/Å, random errors of forces up to this, in each component.
    """

    depth: float = 0.4
    steepness: float = 1.5
    length: float = 2.8
    cutoff: float = 6.0
    noise: float = 0.0
    calls: int = 0
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    def __call__(self, arrangement: Arrangement) -> SurfacePoint:
        self.calls += 1
        lattice, position = arrangement.lattice_cv, arrangement.position_av
        heights = 1 / np.linalg.norm(np.linalg.inv(lattice), axis=0)
        spread = np.ptp(arrangement.scaled_ac, axis=0)
        most = np.ceil(self.cutoff / heights + spread).astype(int)
        energy, forces, virial = 0.0, np.zeros_like(position), np.zeros((3, 3))
        for image in np.ndindex(*(2 * most + 1)):
            vector = position[None] + (np.array(image) - most) @ lattice - position[:, None]
            distance = np.linalg.norm(vector, axis=2)
            near = (distance > 1e-9) & (distance < self.cutoff)
            first = np.nonzero(near)[0]
            r, unit = distance[near], vector[near] / distance[near][:, None]
            fade, slope = _fade(r / self.cutoff)
            decay = np.exp(-self.steepness * (r - self.length))
            value = self.depth * (decay**2 - 2 * decay)
            change = -2 * self.depth * self.steepness * (decay**2 - decay)
            derivative = change * fade + value * slope / self.cutoff
            energy += (value * fade).sum() / 2
            np.add.at(forces, first, derivative[:, None] * unit)
            virial += np.einsum("x,xi,xj->ij", derivative * r, unit, unit) / 2
        forces = forces + self.noise * self.random.uniform(-1, 1, forces.shape)
        return SurfacePoint(arrangement, float(energy), forces, virial / arrangement.volume, self.noise)


def _fade(x):
    """1 below x = 0.7, 0 above 1, twice differentiable between; and its derivative."""
    t = np.clip((x - 0.7) / 0.3, 0, 1)
    return 1 - t**3 * (10 - 15 * t + 6 * t**2), -30 * t**2 * (1 - t) ** 2 / 0.3


FCC = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])


def crystal(constant=3.9, rattle=0.0, strain=0.0, seed=0):
    """A cube of four atoms, moved and strained at random."""
    random = np.random.default_rng(seed)
    change = random.uniform(-strain, strain, (3, 3))
    lattice = constant * np.eye(3) @ (np.eye(3) + (change + change.T) / 2)
    return Arrangement(lattice, FCC + rattle / constant * random.uniform(-1, 1, (4, 3)))


def cluster(atoms=7, seed=0, box=20.0):
    """Atoms near the middle of a box, about as far from each other as they like to be."""
    random = np.random.default_rng(seed)
    places = np.array(list(np.ndindex(2, 2, 2)), float)[:atoms] * 2.8 + random.uniform(-0.3, 0.3, (atoms, 3))
    return Arrangement(box * np.eye(3), places / box + 0.4)
