"""Energies of the data sets' reference atoms, from which energies of crystals and molecules are counted."""

from math import pi, sqrt

import numpy as np
import torch

from eigenwerk.dft.paw.radial import derivative, integrate
from eigenwerk.dft.xc.evaluation import energy_density
from eigenwerk.functionals.functional import DENSITY, SIGMA, Functional
from eigenwerk.functionals.table import FUNCTIONALS
from eigenwerk.io.paw.dataset import PawDataset


def reference_energy(data: PawDataset, functional: Functional) -> float:
    """All-electron energy of the reference atom, spherical and without spin, in this functional; hartree.

    E_F = E_F0 + E_xc^F[n] - E_xc^F0[n], F0 the functional of the data set, n the atom's density of cores and valence
    electrons: the energy in F to second order in the change of the density.  That of the data set where it was made
    with F, or with a functional that is not known here.
    """
    own = own_functional(data)
    total = data.ae_energy.total
    if own is None or own is functional:
        return total
    return total + atomic_xc(data, functional) - atomic_xc(data, own)


def own_functional(data: PawDataset) -> Functional | None:
    """The functional that a data set was made with, None if it is not known."""
    made = [functional for functional in FUNCTIONALS.values() if data.functional == functional.data[0]]
    named = [functional for functional in made if functional.offered and functional.title == data.functional]
    # of the two LDAs, the data sets have that of Perdew and Wang
    return next(iter(named or [functional for functional in made if functional.tag == "PW92"]), None)


def atom_density(data: PawDataset) -> np.ndarray:
    """n(r) of the reference atom with all electrons, electrons/bohr³; (g,)."""
    filling_j = np.array([state.f for state in data.states])
    # the file's core is the radial part in front of Y_00, as that of each wave is in front of its harmonic
    valence_g = filling_j @ data.ae_partial_wave_jg**2 / (4 * pi)
    return np.asarray(data.ae_core_density_g / sqrt(4 * pi) + valence_g)


def atomic_xc(data: PawDataset, functional: Functional) -> float:
    """E_xc[n] of the reference atom, hartree."""
    grid, density_g = data.grid, atom_density(data)
    values = {
        DENSITY: torch.from_numpy(density_g)[None], SIGMA: torch.from_numpy(derivative(grid, density_g) ** 2)[None],
    }  # fmt: skip
    return 4 * pi * float(integrate(grid, energy_density(functional, values).numpy()))
