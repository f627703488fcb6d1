"""What a correction gives, and the parts of which it is the sum; hartree and bohr."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class PositionEnergy:
    """An energy of the positions alone: energy in hartree; gradient_av = ∂E/∂R (a, 3), hartree per bohr;
    virial_vv = ∂E/∂ε, by a strain that moves cell and atoms alike, hartree."""

    energy: float
    gradient_av: np.ndarray
    virial_vv: np.ndarray

    @staticmethod
    def sum(parts: Sequence["PositionEnergy"]) -> "PositionEnergy":
        """Of parts of one energy, in their order."""
        return PositionEnergy(
            float(sum(part.energy for part in parts)),
            np.sum([part.gradient_av for part in parts], axis=0), np.sum([part.virial_vv for part in parts], axis=0),
        )  # fmt: skip
