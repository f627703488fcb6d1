"""Forces: minus the derivative of the free energy with respect to atomic positions.

At self-consistency the free energy is stationary in orbitals (under the overlap constraint), occupations and
occupancies D, so only what moves with an atom counts: smooth core, projectors, and what terms have of their own,

    F_a = Σ_terms F_a - ∫ ṽ ∂ñ_c/∂R - 2 Re Σ_n f_n Σ_ij P*_ni (ΔH_ij - ε_n ΔS_ij) ∂P_nj/∂R.

The last two hold for all terms together, by the fields through which every term sees them: ñ + ñ_c and D.
Source: Kresse and Joubert, Phys. Rev. B 59, 1758 (1999), section IV; Goedecker and Maschke,
Phys. Rev. B 45, 1597 (1992).
"""

import torch

from eigenwerk.dft.density import Density
from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.dft.terms.projectors import projector_forces
from eigenwerk.dft.terms.term import spherical_forces


def forces(
    builder: PotentialBuilder,
    density: Density,
    coeff_sknG: torch.Tensor,
    eig_skn: torch.Tensor,
    filling_skn: torch.Tensor,
) -> torch.Tensor:
    """Forces in hartree per bohr, (a, 3), not symmetrised.

    eig_skn and filling_skn = w_k g f are those of all k-points; the orbitals are those of the density's Hamiltonian.
    """
    atoms, potential = builder.atoms, builder(density)
    moving_av = projector_forces(atoms, potential.dH_sx, coeff_sknG, eig_skn, filling_skn)
    return fixed_fields_forces(builder, density) + atoms.runtime.world.sum(moving_av)


def fixed_fields_forces(builder: PotentialBuilder, density: Density) -> torch.Tensor:
    """-∂E/∂R of all terms at fixed ñ and D, (a, 3): what they have of their own, and the smooth cores in ṽ."""
    potential = builder(density)
    found = [term.forces(potential.charges) for term in builder.terms]
    # each component of the density holds its part of the cores
    field_g = potential.vt_sg.mean(0)
    core_av = spherical_forces(builder.atoms, lambda setup: setup.dataset.pseudo_core_density_g, field_g)
    return sum((force_av for force_av in found if force_av is not None), core_av)
