"""The electron localisation function on the wave grid, as ELFCAR holds it.

    ELF = 1 / (1 + (D / D_h)²),   D = τ - |∇n|² / 4n,   D_h = 3/5 (6π²)^(2/3) n^(5/3),   τ = Σ f |∇ψ̃|²

for the smooth orbitals and density of one spin: 1 where electrons are localised, 1/2 as in the homogeneous gas, 0 where
there are none.  Source: Becke and Edgecombe, J. Chem. Phys. 92, 5397 (1990).
"""

from math import pi

import numpy as np
import torch

from eigenwerk.dft.density.density import Density, band_density
from eigenwerk.dft.density.symmetrise import Symmetriser
from eigenwerk.dft.scf.state import State

LEAST = 1e-5
"""Added to D (bohr⁻⁵), so that ELF is 0 where there are hardly any electrons, and not noise."""


def localisation_blocks(state: State, symmetrise: Symmetriser) -> list[np.ndarray]:
    """ELF of each spin, or of half of the electrons without spin.  All ranks call it together."""
    basis = state.system.basis
    tau_sg = symmetrise(_kinetic(state)).density_sg
    density_sg, slope_vg = state.output.density_sg, 1j * basis.vector_gv[: basis.density_count].T
    found = []
    for density_g, tau_g in zip(density_sg / basis.spin.degeneracy, tau_sg / basis.spin.degeneracy, strict=True):
        density_R = basis.wave_map.to_grid(density_g).clamp_min(1e-12)
        square_R = basis.wave_map.to_grid(slope_vg * density_g).square().sum(0)
        excess_R = (basis.wave_map.to_grid(tau_g) - square_R / (4 * density_R)).clamp_min(0) + LEAST
        homogeneous_R = 0.6 * (6 * pi**2) ** (2 / 3) * density_R ** (5 / 3)
        found.append((1 / (1 + (excess_R / homogeneous_R).square())).cpu().numpy())
    return found


def _kinetic(state: State) -> Density:
    """Σ f |∇ψ̃|² of each spin, not symmetrised."""
    basis = state.system.basis
    filling_skn = state.filling_skn[:, basis.own_k]
    total_sR = []
    for coeff_knG, filling_kn in zip(state.coeff_sknG, filling_skn, strict=True):
        parts = []
        for v in range(3):
            factor_kG = basis.form.slots(basis.wave_vector_khv[..., v])
            # of orbitals that are real by inversion -i∇ψ has the same form, and the same square
            inversion = basis.form.turn_kh is not None
            slope_knG = coeff_knG * factor_kG[:, None] if inversion else basis.form.times_i(coeff_knG, factor_kG)
            parts.append(band_density(basis, slope_knG, filling_kn))
        total_sR.append(torch.stack(parts).sum(0))
    kinetic_sR = basis.runtime.world.sum(torch.stack(total_sR))
    return Density.of(basis.density_of_orbitals(kinetic_sR), torch.zeros_like(state.output.occupancy_sx), basis.spin)
