"""The energy along a path, between images: a cubic in each interval, by energies and forces at its ends."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

FINE = 200
"""Points of a curve in each interval."""


@dataclass(frozen=True, eq=False)
class PathEnergy:
    """The curve through the energies of images, with E' = -F·τ at each.

    distance_x: Å; energy_x: eV; slope_x: eV/Å.
    """

    distance_x: np.ndarray
    energy_x: np.ndarray
    slope_x: np.ndarray

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Distances and energies of many points."""
        places, energies = [self.distance_x[:1]], [self.energy_x[:1]]
        for number in range(len(self.distance_x) - 1):
            share = np.linspace(0, 1, FINE + 1)[1:]
            length = self.distance_x[number + 1] - self.distance_x[number]
            places.append(self.distance_x[number] + length * share)
            energies.append(np.polyval(self._cubic(number), share))
        return np.concatenate(places), np.concatenate(energies)

    def _cubic(self, number: int) -> np.ndarray:
        """Coefficients, highest power first, in the share of the way from one image to the next."""
        length = self.distance_x[number + 1] - self.distance_x[number]
        e0, e1 = self.energy_x[number : number + 2]
        d0, d1 = length * self.slope_x[number : number + 2]
        return np.array([2 * e0 - 2 * e1 + d0 + d1, 3 * e1 - 3 * e0 - 2 * d0 - d1, d0, e0])

    @property
    def top(self) -> tuple[float, float]:
        """Place and energy of the highest point."""
        best = int(np.argmax(self.energy_x))
        found = [(float(self.energy_x[best]), float(self.distance_x[best]))]
        for number in range(len(self.distance_x) - 1):
            cubic = self._cubic(number)
            start, length = self.distance_x[number], self.distance_x[number + 1] - self.distance_x[number]
            for root in np.roots(np.polyder(cubic)):
                if abs(root.imag) < 1e-12 and 0 < root.real < 1:
                    found.append((float(np.polyval(cubic, root.real)), float(start + length * root.real)))
        energy, place = max(found)
        return place, energy

    @property
    def forward(self) -> float:
        """The barrier from the first end point, eV."""
        return self.top[1] - float(self.energy_x[0])

    @property
    def backward(self) -> float:
        """The barrier from the last end point, eV."""
        return self.top[1] - float(self.energy_x[-1])

    @property
    def reaction(self) -> float:
        """Energy of the last end point over that of the first, eV."""
        return float(self.energy_x[-1] - self.energy_x[0])

    def as_dict(self) -> dict[str, Any]:
        """Barriers for documents."""
        place, energy = self.top
        return {
            "barrier_eV": self.forward, "backward_barrier_eV": self.backward, "reaction_energy_eV": self.reaction,
            "top": {"distance_A": place, "energy_eV": energy - float(self.energy_x[0])},
        }  # fmt: skip

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "PathEnergy":
        """From the rows of images in neb.json."""
        rows = document["images"]
        distance_x = np.array([row["distance_A"] for row in rows], dtype=float)
        energy_x = np.array([row["free_energy_eV"] for row in rows], dtype=float)
        return cls(distance_x, energy_x, -np.array([row["force_along_path_eV_per_A"] for row in rows], dtype=float))
