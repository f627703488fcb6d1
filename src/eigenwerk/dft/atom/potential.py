"""The potential in which the orbitals of a data set's atom move, rebuilt from its density.

    v(r) = -Z/r + ∫ n(r') / |r - r'| d³r' + v_xc[n](r)

with n of the core and of the valence electrons, and the functional that the data set was made with.
"""

from math import pi, sqrt

import numpy as np
import torch

from eigenwerk.dft.paw.radial import integrate
from eigenwerk.dft.paw.setup import poisson
from eigenwerk.dft.terms.reference_atoms import atom_density, own_functional
from eigenwerk.dft.xc.evaluation import energy_density
from eigenwerk.errors import InputError
from eigenwerk.functionals.functional import DENSITY, SIGMA, Functional
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.io.paw.radial_grid import RadialGrid

MISSING_CHARGE = 1e-3
"""Electrons that the density of a neutral atom may lack."""


def atom_potential(data: PawDataset) -> np.ndarray:
    """r v(r) of the all-electron reference atom, hartree bohr; (g,).

    Raises InputError for data sets of a functional that is not known, or whose electrons do not add up to Z.
    """
    functional = own_functional(data)
    if functional is None:
        raise InputError(
            f"{data.file}: the data set of {data.symbol} was made with {data.xc_name}, of which there is no formula to "
            "find core orbitals with. Use a data set of LDA, PBE, RPBE or revPBE, or remove CORE_EXCHANGE."
        )
    grid, density_g = data.grid, atom_density(data)
    electrons = 4 * pi * float(integrate(grid, density_g))
    if abs(electrons - data.Z) > MISSING_CHARGE:
        raise InputError(
            f"{data.file}: core and valence of {data.symbol} add up to {electrons:.4f} electrons in place of "
            f"{data.Z:g}, so that the atom, and its core orbitals, cannot be rebuilt. Use a data set of gpaw-data, or "
            "remove CORE_EXCHANGE."
        )
    hartree_g = poisson(grid, sqrt(4 * pi) * density_g, 0) / sqrt(4 * pi)
    return np.asarray(grid.r_g * (hartree_g + xc_potential(grid, density_g, functional)) - data.Z)


def xc_potential(grid: RadialGrid, density_g: np.ndarray, functional: Functional) -> np.ndarray:
    """δE_xc/δn of a spherical density, hartree; (g,), 0 at r = 0.

    The derivative of the sum over points that `integrate` is, with the slopes of `derivative`.
    """
    n_g, step_g = torch.tensor(density_g, requires_grad=True), torch.tensor(grid.dr_g)
    volume_g = torch.tensor(grid.r_g) ** 2 * step_g
    with torch.enable_grad():
        slope_g = torch.gradient(n_g)[0] / step_g
        energy_g = energy_density(functional, {DENSITY: n_g[None], SIGMA: slope_g[None] ** 2})
        (by_density_g,) = torch.autograd.grad((volume_g * energy_g).sum(), n_g)
    return np.asarray(torch.where(volume_g > 0, by_density_g / volume_g, 0.0))
