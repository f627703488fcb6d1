"""Up to which wave vectors orbitals and their grid tell functions apart."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from eigenwerk.dft.basis.grids import GridSizes
from eigenwerk.dft.crystal.structure import Structure


@dataclass(frozen=True)
class WaveLimits:
    """orbital: largest wave vector G of orbitals; alias: γ, from which on the grid mixes components; bohr⁻¹."""

    orbital: float
    alias: float


def wave_limits(structure: Structure, grids: GridSizes, cutoff: float) -> WaveLimits:
    """G = sqrt(2 E_cut) and γ = K - G, K the shortest reciprocal vector of the wave grid's own lattice."""
    multiple_xc = np.stack(np.meshgrid(*[range(-2, 3)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    vector_xv = (multiple_xc * np.array(grids.wave)) @ structure.reciprocal_cv
    shortest = np.linalg.norm(vector_xv[multiple_xc.any(axis=1)], axis=1).min()
    return WaveLimits(sqrt(2 * cutoff), float(shortest) - sqrt(2 * cutoff))
