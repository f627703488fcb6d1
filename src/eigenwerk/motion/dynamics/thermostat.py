"""Baths that hold the temperature: what they do to velocities between two steps, and the energy they have taken."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenwerk.motion.dynamics.freedom import Freedom
from eigenwerk.motion.dynamics.noise import ATOMS, Noise


class Thermostat(ABC):
    """Acts on velocities at the points of the trajectory, where positions stand still.

    `arrive` completes the step to a point, `leave` begins the step from it; point: counted from 1; kt: eV wanted there.
    The sum of the system's energy, `energy` and `kinetic` is conserved but for the error of finite steps: for baths of
    random numbers `energy` is what they have taken out, the effective energy of Bussi et al.
    """

    def __init__(self) -> None:
        self.energy = 0.0
        self.more: dict[str, float] = {}  # numbers for the report of a point

    @property
    def kinetic(self) -> float:
        """Of the bath itself, eV."""
        return 0.0

    @abstractmethod
    def arrive(self, velocity_av: np.ndarray, kt: float, point: int) -> np.ndarray:
        """Velocities at a point, Å/fs."""

    def leave(self, velocity_av: np.ndarray, kt: float) -> np.ndarray:
        """Velocities with which the next step begins, Å/fs."""
        return velocity_av

    def state(self) -> dict[str, Any]:
        """All that it needs to go on."""
        return {"energy": self.energy}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken."""
        self.energy = float(state["energy"])


class NoThermostat(Thermostat):
    """The microcanonical ensemble."""

    def arrive(self, velocity_av: np.ndarray, kt: float, point: int) -> np.ndarray:
        """The same velocities."""
        return velocity_av


class Bath(Thermostat):
    """One that changes velocities at once, at the end of a step, and notes the energy."""

    def __init__(self, freedom: Freedom, noise: Noise) -> None:
        super().__init__()
        self.freedom = freedom
        self.noise = noise

    def arrive(self, velocity_av: np.ndarray, kt: float, point: int) -> np.ndarray:
        """Changed velocities; what they lost of the kinetic energy goes to `energy`."""
        changed_av = self.change(velocity_av, kt, point)
        self.energy += self.freedom.kinetic(velocity_av) - self.freedom.kinetic(changed_av)
        return changed_av

    @abstractmethod
    def change(self, velocity_av: np.ndarray, kt: float, point: int) -> np.ndarray:
        """The velocities after one step in the bath."""


class Scaling(Bath):
    """Velocities scaled to the temperature at points 1, 1 + stride, 1 + 2 stride...; no ensemble, for heating."""

    def __init__(self, freedom: Freedom, noise: Noise, stride: int) -> None:
        super().__init__(freedom, noise)
        self.stride = stride

    def change(self, velocity_av: np.ndarray, kt: float, point: int) -> np.ndarray:
        """v √(f kT / 2K)."""
        if (point - 1) % self.stride:
            return velocity_av
        kinetic = self.freedom.kinetic(velocity_av)
        if kinetic == 0:
            return self.freedom.start(self.noise.normal(point, ATOMS, velocity_av.shape), kt)
        return velocity_av * np.sqrt(0.5 * self.freedom.count * kt / kinetic)


class Andersen(Bath):
    """Single atoms collide with the bath: new velocities of Maxwell and Boltzmann.

    The momentum stays zero, and the distribution canonical under that condition: atoms get a thermal velocity of the
    centre of mass before the collisions, and lose the one that they then have.
    Source: H. C. Andersen, J. Chem. Phys. 72, 2384 (1980).
    """

    def __init__(self, freedom: Freedom, noise: Noise, chance: float) -> None:
        super().__init__(freedom, noise)
        self.chance = chance

    def change(self, velocity_av: np.ndarray, kt: float, point: int) -> np.ndarray:
        """New velocities for atoms drawn with the probability `chance`."""
        generator = self.noise.generator(point, ATOMS)
        struck_a = generator.random(len(velocity_av)) < self.chance
        thermal_av = self.freedom.thermal(generator.standard_normal(velocity_av.shape), kt)
        common_v = self.freedom.drift(self.freedom.thermal(generator.standard_normal(velocity_av.shape), kt))
        self.more = {"collisions": float(struck_a.sum())}
        if not struck_a.any():
            return velocity_av
        changed_av = np.where(struck_a[:, None], thermal_av, velocity_av + common_v)
        return changed_av - self.freedom.drift(changed_av)


class Langevin(Bath):
    """Friction and random forces on every atom, solved over a step δ: v → c v + √(1 - c²) v_thermal, c = e^(-γδ).

    Together with velocity Verlet this is the integrator of Bussi and Parrinello: velocities have the exact
    distribution, positions that of velocity Verlet (variance larger by 1 / (1 - ω²δ²/4) in a harmonic well).
    Source: G. Bussi and M. Parrinello, Phys. Rev. E 75, 056707 (2007).
    """

    def __init__(self, freedom: Freedom, noise: Noise, friction_a: np.ndarray, step: float) -> None:
        super().__init__(freedom, noise)
        self.kept_a1 = np.exp(-friction_a * step)[:, None]

    def change(self, velocity_av: np.ndarray, kt: float, point: int) -> np.ndarray:
        """One step of friction and noise."""
        thermal_av = self.freedom.thermal(self.noise.normal(point, ATOMS, velocity_av.shape), kt)
        return self.kept_a1 * velocity_av + np.sqrt(1 - self.kept_a1**2) * thermal_av


class VelocityRescaling(Bath):
    """Canonical sampling through velocity rescaling (CSVR): the kinetic energy walks at random with the time τ.

    K → c K + (1-c) k̄ Σ Rᵢ² + 2 R₁ √(c (1-c) k̄ K), c = e^(-δ/τ), k̄ = kT/2, i = 1...f: the law of the kinetic energy of
    f degrees of freedom in a bath of friction 1/2τ.
    Source: G. Bussi, D. Donadio and M. Parrinello, J. Chem. Phys. 126, 014101 (2007), eq. A7.
    """

    def __init__(self, freedom: Freedom, noise: Noise, time: float, step: float) -> None:
        super().__init__(freedom, noise)
        self.kept = float(np.exp(-step / time))

    def change(self, velocity_av: np.ndarray, kt: float, point: int) -> np.ndarray:
        """Velocities scaled by √(K'/K), turned round where the amplitude changes its sign."""
        generator = self.noise.generator(point, ATOMS)
        kinetic, each, c = self.freedom.kinetic(velocity_av), 0.5 * kt, self.kept
        if kinetic == 0:
            return self.freedom.start(generator.standard_normal(velocity_av.shape), kt)
        first = generator.standard_normal()
        others = 2 * generator.standard_gamma(0.5 * (self.freedom.count - 1)) if self.freedom.count > 1 else 0.0
        amplitude = np.sqrt(c * kinetic) + np.sqrt((1 - c) * each) * first
        wanted = amplitude**2 + (1 - c) * each * others
        return velocity_av * np.copysign(np.sqrt(wanted / kinetic), amplitude)
