"""The thermostat of Nosé and Hoover, and chains of it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenwerk.motion.dynamics.freedom import Freedom
from eigenwerk.motion.dynamics.thermostat import Thermostat

YOSHIDA_WEIGHTS = {
    1: (1.0,),
    3: (1 / (2 - 2 ** (1 / 3)), 1 - 2 / (2 - 2 ** (1 / 3)), 1 / (2 - 2 ** (1 / 3))),
    7: (0.784513610477560, 0.235573213359357, -1.17767998417887, 1.315186320683906,
        -1.17767998417887, 0.235573213359357, 0.784513610477560),
}  # fmt: skip
"""Parts of a step whose errors cancel, of order 2, 4 and 6: H. Yoshida, Phys. Lett. A 150, 262 (1990)."""


class NoseHooverChain(Thermostat):
    """A friction ξ₁ that follows the kinetic energy, a friction ξ₂ on it, and so on.

    dv/dt = F/m - ξ₁ v,  Q₁ dξ₁/dt = 2K - f kT - Q₁ ξ₁ ξ₂,  Qⱼ dξⱼ/dt = Qⱼ₋₁ ξⱼ₋₁² - kT - Qⱼ ξⱼ ξⱼ₊₁;
    conserved: E + Σ Qⱼ ξⱼ²/2 + ∫ kT (f ξ₁ + ξ₂ + ...) dt.  Half a step of it stands before, and half after velocity
    Verlet, so that the whole can be reversed in time.
    Source: G. J. Martyna, M. E. Tuckerman, D. J. Tobias and M. L. Klein, Mol. Phys. 87, 1117 (1996).

    mass_x: Q, eV fs².  substeps, yoshida: pieces into which half a step is cut, and into which each of those is.
    """

    def __init__(self, freedom: Freedom, mass_x: np.ndarray, step: float, substeps: int, yoshida: int) -> None:
        super().__init__()
        self.freedom = freedom
        self.mass_x = mass_x
        self.rate_x = np.zeros(len(mass_x))
        self.pieces = [0.5 * step * weight / substeps for weight in YOSHIDA_WEIGHTS[yoshida]] * substeps

    @property
    def kinetic(self) -> float:
        """Σ Q ξ²/2, eV."""
        return 0.5 * float((self.mass_x * self.rate_x**2).sum())

    def arrive(self, velocity_av: np.ndarray, kt: float, point: int) -> np.ndarray:
        """The second half of the chain's step."""
        return self.half(velocity_av, kt)

    def leave(self, velocity_av: np.ndarray, kt: float) -> np.ndarray:
        """The first half of the chain's step."""
        return self.half(velocity_av, kt)

    def half(self, velocity_av: np.ndarray, kt: float) -> np.ndarray:
        """Half a step, the atoms at rest: velocities only get shorter or longer."""
        twice = 2 * self.freedom.kinetic(velocity_av)
        scale = 1.0
        for time in self.pieces:
            for j in reversed(range(len(self.mass_x))):
                self._push(j, twice, kt, time)
            shorter = np.exp(-self.rate_x[0] * time)
            scale, twice = scale * shorter, twice * shorter**2
            self.energy += kt * time * float(self.freedom.count * self.rate_x[0] + self.rate_x[1:].sum())
            for j in range(len(self.mass_x)):
                self._push(j, twice, kt, time)
        return velocity_av * scale

    def _push(self, j: int, twice: float, kt: float, time: float) -> None:
        """Friction j changes over half of `time`: by what drives it, between two quarters of its own friction."""
        above = np.exp(-0.25 * time * self.rate_x[j + 1]) if j + 1 < len(self.mass_x) else 1.0
        drive = twice - self.freedom.count * kt if j == 0 else self.mass_x[j - 1] * self.rate_x[j - 1] ** 2 - kt
        self.rate_x[j] = (self.rate_x[j] * above + 0.5 * time * drive / self.mass_x[j]) * above

    def state(self) -> dict[str, Any]:
        """Frictions and the energy given to the bath."""
        return {**super().state(), "rate_x": self.rate_x.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` was taken."""
        super().restore(state)
        self.rate_x = np.array(state["rate_x"], float)


def chain_masses(count: int, kt: float, length: int, time: float, first: float | None = None) -> np.ndarray:
    """Q₁ = f kT τ² or as given, Qⱼ = kT τ², eV fs²; without a τ all bear to Q₁ the ratio that they would with one."""
    shares_x = np.array([count, *(length - 1) * [1]], float)
    return shares_x * (kt * time**2 if first is None else first / count)


def nose_mass_of_period(count: int, kt: float, period: float) -> float:
    """Q = 2 f kT (period / 2π)², eV fs²: with it a small deviation of the temperature swings with this period, fs.

    Source: S. Nosé, J. Chem. Phys. 81, 511 (1984).
    """
    return 2 * count * kt * (period / (2 * np.pi)) ** 2
