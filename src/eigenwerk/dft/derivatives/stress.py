"""Stress: the derivative of the free energy by a strain r -> (1 + ε) r, divided by the cell volume.

    σ_vw = 1/Ω ∂F/∂ε_vw      (positive where the cell wants to shrink; the pressure is -tr σ / 3)

Coefficients of orbitals are fixed, so that Ω ñ(g) is, too; at self-consistency F is stationary in them, in occupations
and in D, so only what a cell measures counts:

    Ω σ_vw = - Σ_n f_n Σ_G |c_nG|² q_v q_w + ∂/∂ε { Σ_terms E + Σ_s ∫ ṽ_s (ñ_s + ñ_c/s) + Σ_n f_n P†(ΔH - ε_n ΔS)P }

with each term E at fixed coefficients of ñ + ñ_c and fixed D (`Term.strained`), ṽ, ΔH and ε_n fixed, ñ as 1/Ω.
Terms that depend on the orbitals themselves (exact exchange) add their own strain and what they put between projectors
(`Term.orbital_derivatives`).  What stands in braces is differentiated automatically.
Equations: docs/equations/stress.md.
Source: O. H. Nielsen and R. M. Martin, Phys. Rev. B 32, 3792 (1985); for PAW M. Torrent et al., Comput. Mater. Sci. 42,
337 (2008).
"""

from functools import partial, reduce

import torch

from eigenwerk.dft.density.density import Density
from eigenwerk.dft.density.kinds.kind import FilledOrbitals
from eigenwerk.dft.derivatives.force_correction import felt_change, of_atom
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.dft.terms.projectors import projector_strain


def stress(
    builder: PotentialBuilder,
    density: Density,
    output: Density,
    coeff_sknG: torch.Tensor,
    eig_skn: torch.Tensor,
    filling_skn: torch.Tensor,
    correct: bool = True,
) -> torch.Tensor:
    """σ in hartree per bohr³, (3, 3), symmetric as a matrix, not symmetrised by the crystal; arguments as `forces`."""
    atoms, potential = builder.atoms, builder(density)
    found = [term.orbital_derivatives(coeff_sknG, filling_skn) for term in builder.terms]
    of_orbitals = [part for part in found if part is not None]
    pencils = [part.pencil_sknI for part in of_orbitals]
    strain_vv = torch.zeros((3, 3), dtype=torch.float64, requires_grad=True)
    lattice_cv = atoms.basis.lattice.vector_cv
    strained = atoms.strained(lattice_cv @ (torch.eye(3, dtype=lattice_cv.dtype) + strain_vv).T)
    if correct:
        common = _at_output(builder, potential, builder(output), strained)
    else:
        common = _fixed_fields(builder, potential, strained)
    (common_vv,) = torch.autograd.grad(common, strain_vv, retain_graph=True)
    more_sknI = reduce(torch.add, pencils) if pencils else None
    own = projector_strain(atoms, strained, potential.dH_sx, coeff_sknG, eig_skn, filling_skn, more_sknI)
    own_vv = sum((part.strain_vv for part in of_orbitals), kinetic_strain(atoms, coeff_sknG, filling_skn))
    if own.requires_grad:
        own_vv = own_vv + torch.autograd.grad(own, strain_vv)[0].to(own_vv.device)
    total_vv = atoms.runtime.world.sum(own_vv) + common_vv.to(own_vv.device)
    orbitals = FilledOrbitals.of(atoms, coeff_sknG, filling_skn)
    for kind, slope_sg in potential.derivative.on_waves:
        if (of_field_vv := kind.strained(orbitals, slope_sg)) is not None:
            total_vv = total_vv + of_field_vv
    return (total_vv + total_vv.T) / (2 * float(atoms.basis.volume))


def _fixed_fields(builder: PotentialBuilder, potential: Potential, strained: PawAtoms) -> torch.Tensor:
    """Terms at fixed coefficients, and what the fields themselves do in ṽ."""
    charges, basis = potential.charges, builder.atoms.basis
    density = charges.density
    parts = [part for term in builder.terms if (part := term.strained(charges, strained)) is not None]
    thinner = (basis.volume / strained.basis.volume).to(density.density_sg.device)
    for kind, slope_sg in potential.derivative.on_waves:
        thin_sg = density.value[kind.name] * thinner
        smooth_sg = thin_sg + density.spin.of_total(strained.scalar_field(kind.of_core, basis.density_count))
        parts.append(basis.inner(slope_sg, smooth_sg).sum())
    return torch.stack([part.to(parts[0].device) for part in parts]).sum()


def _at_output(
    builder: PotentialBuilder, before: Potential, after: Potential, strained: PawAtoms
) -> torch.Tensor:
    """The same at the output density, and free atoms that move with the strain in v[output] - v[input].

    That is right to first order in the residual, as `force_correction` has it for forces.
    """
    basis = builder.atoms.basis
    moving = [
        (after.charges.density.spin.by_total(slope_sg), strained.scalar_field(partial(of_atom, kind), len(slope_sg[0])))
        for kind, slope_sg in felt_change(builder.atoms, before, after).on_waves
    ]
    thicker = strained.basis.volume / basis.volume
    total = _fixed_fields(builder, after, strained)
    for change_g, free_g in moving:
        total = total + basis.inner(change_g, free_g * thicker.to(free_g.device))
    return total


def kinetic_strain(atoms: PawAtoms, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor) -> torch.Tensor:
    """-Σ_n f_n Σ_G |c_nG|² q_v q_w of this rank's waves, (3, 3)."""
    basis = atoms.basis
    filling_skn = filling_skn[:, basis.own_k].to(coeff_sknG.device)
    total_vv = filling_skn.new_zeros((3, 3))
    for coeff_knG, filling_kn in zip(coeff_sknG, filling_skn, strict=True):
        for coeff_nG, filling_n, wave_hv in zip(coeff_knG, filling_kn, basis.wave_vector_khv, strict=True):
            weight_G = filling_n @ coeff_nG.abs().square()
            weight_h = weight_G.unflatten(-1, (-1, basis.form.numbers)).sum(-1)
            total_vv -= wave_hv.T @ (weight_h[:, None] * wave_hv)
    return total_vv
