"""The electron localisation function on the wave grid, as ELFCAR holds it.

    ELF = 1 / (1 + (D / D_h)²),   D = τ - |∇n|² / 4n,   D_h = 3/5 (6π²)^(2/3) n^(5/3),   τ = Σ f |∇ψ̃|²

for the smooth orbitals and density of one spin: 1 where electrons are localised, 1/2 as in the homogeneous gas, 0 where
there are none.  Source: Becke and Edgecombe, J. Chem. Phys. 92, 5397 (1990).
"""

from dataclasses import replace
from math import pi

import numpy as np

from eigenwerk.dft.density.density import density_of
from eigenwerk.dft.density.kinds.kind import FilledOrbitals
from eigenwerk.dft.density.symmetrise import Symmetriser
from eigenwerk.dft.scf.state import State
from eigenwerk.functionals.functional import TAU

LEAST = 1e-5
"""Added to D (bohr⁻⁵), so that ELF is 0 where there are hardly any electrons, and not noise."""


def localisation_blocks(state: State, symmetrise: Symmetriser) -> list[np.ndarray]:
    """ELF of each spin, or of half of the electrons without spin.  All ranks call it together."""
    basis, output = state.system.basis, state.output
    if TAU not in output.value:  # a density that is kept
        made = density_of(FilledOrbitals.of(symmetrise.atoms, state.coeff_sknG, state.filling_skn), (TAU,))
        output = replace(output, value={**output.value, **symmetrise(made).value})
    tau_sg = 2 * output.value[TAU]
    density_sg, slope_vg = output.density_sg, basis.slope_vg(basis.density_count)
    found = []
    for density_g, tau_g in zip(density_sg / basis.spin.degeneracy, tau_sg / basis.spin.degeneracy, strict=True):
        density_R = basis.wave_map.to_grid(density_g).clamp_min(1e-12)
        square_R = basis.wave_map.to_grid(slope_vg * density_g).square().sum(0)
        excess_R = (basis.wave_map.to_grid(tau_g) - square_R / (4 * density_R)).clamp_min(0) + LEAST
        homogeneous_R = 0.6 * (6 * pi**2) ** (2 / 3) * density_R ** (5 / 3)
        found.append((1 / (1 + (excess_R / homogeneous_R).square())).cpu().numpy())
    return found
