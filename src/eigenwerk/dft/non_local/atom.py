"""Non-local correlation of the data sets' reference atoms, from which energies count.

Of the smooth density with its smooth core, as in the crystal: a double integral over radii, taken by wave number,

    E = 1/2 int d³k/(2 pi)³ Σ_uw theta_u(k) phi_uw(k) theta_w(k) = 4 int k² Σ_uw F_u phi_uw F_w dk,
    F_u(k) = int r² j_0(kr) f p_u(q) dr.
"""

from math import pi, sqrt

import numpy as np
import torch

from eigenwerk.dft.non_local.correlation import Nodes
from eigenwerk.dft.non_local.dion import quadrature
from eigenwerk.dft.non_local.kernel import kernel_table
from eigenwerk.dft.paw.radial import derivative, spherical_bessel_transform
from eigenwerk.dft.xc.evaluation import energy_density
from eigenwerk.functionals.functional import DENSITY, SIGMA
from eigenwerk.functionals.non_local import NonLocal, wave_vector, weight
from eigenwerk.io.paw.dataset import PawDataset

LONGEST = 40.0
"""bohr⁻¹; smooth densities have no shorter waves."""


def smooth_atom_density(data: PawDataset) -> np.ndarray:
    """ñ(r) + ñ_c(r) of the reference atom, electrons/bohr³; (g,)."""
    filling_j = np.array([state.f for state in data.states])
    valence_g = filling_j @ data.pseudo_partial_wave_jg**2 / (4 * pi)
    return np.asarray(data.pseudo_core_density_g / sqrt(4 * pi) + valence_g)


def atomic_non_local(data: PawDataset, non_local: NonLocal) -> float:
    """E of the reference atom, spherical and without spin, hartree."""
    table, grid = kernel_table(non_local.kernel), data.grid
    density_x = torch.from_numpy(smooth_atom_density(data))
    slope_x = torch.from_numpy(derivative(grid, density_x.numpy()))
    values = {DENSITY: density_x[None], SIGMA: slope_x.square()[None]}
    nodes = Nodes.of(table.mesh, density_x.device)
    placed = nodes.placed(energy_density(wave_vector(non_local), values))
    weight_x = weight(non_local, density_x)[0]
    theta_ug = torch.stack([weight_x * nodes.value(u, *placed) for u in range(table.mesh.count)]).numpy()
    number_k, step_k = quadrature(1e-3, 0.5, LONGEST, 10)
    transform_uk = spherical_bessel_transform(grid, theta_ug, 0, number_k)
    pair_k = np.einsum("uk,kuw,wk->k", transform_uk, table.at(number_k), transform_uk, optimize=True)
    return float(4 * np.sum(step_k * number_k**2 * pair_k))
