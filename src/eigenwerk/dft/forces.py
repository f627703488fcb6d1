"""Forces: minus the derivative of the free energy with respect to atomic positions.

At self-consistency the free energy is stationary in orbitals (under the overlap constraint),
occupations and occupancies D, so only what moves with an atom counts: its compensation charges, smooth
core, zero potential and projectors,

    F_a = - Σ_L Q_aL ∫ v_H ∂g_L/∂R - ∫ ṽ ∂ñ_c/∂R - ∫ ñ ∂v̄/∂R
          - 2 Re Σ_n f_n Σ_ij P*_ni (ΔH_ij - ε_n ΔS_ij) ∂P_nj/∂R.

Source: Kresse and Joubert, Phys. Rev. B 59, 1758 (1999), section IV; Goedecker and Maschke,
Phys. Rev. B 45, 1597 (1992).
"""

from collections.abc import Callable

import numpy as np
import torch

from eigenwerk.dft.density import Density
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.one_centre import OneCentreMatrix
from eigenwerk.dft.potential import Potential

BANDS_PER_BATCH = 64
"""Bands whose orbitals and projection derivatives are held together (bounds memory)."""


def forces(
    atoms: PawAtoms,
    density: Density,
    potential: Potential,
    coeff_sknG: torch.Tensor,
    eig_skn: torch.Tensor,
    filling_skn: torch.Tensor,
) -> torch.Tensor:
    """Forces in hartree per bohr, (a, 3), not symmetrised.

    eig_skn and filling_skn = w_k g f are those of all k-points.  The density must be the one of the potential, the
    orbitals those of its Hamiltonian.
    """
    local_av = _local_forces(atoms, density, potential)
    nonlocal_av = torch.zeros_like(local_av)
    eig_skn, filling_skn = (value[:, atoms.basis.own_k].to(local_av.device) for value in (eig_skn, filling_skn))
    for spin in range(coeff_sknG.shape[0]):
        energy_II = OneCentreMatrix(atoms.layout, atoms.even(potential.hamiltonian_sx[spin]), atoms.basis.form.dtype)
        nonlocal_av += _projector_forces(atoms, energy_II, coeff_sknG[spin], eig_skn[spin], filling_skn[spin])
    return local_av + atoms.runtime.world.sum(nonlocal_av)


def _local_forces(atoms: PawAtoms, density: Density, potential: Potential) -> torch.Tensor:
    """Compensation charges in the Hartree potential, smooth cores and zero potentials."""
    basis, count = atoms.basis, atoms.basis.density_count
    weight_g = basis.weight_g * basis.volume
    # d/dR of exp(-i g·R) is -i g exp(-i g·R)
    slope_gv = -1j * basis.vector_gv.to(atoms.runtime.complex)
    field_vg = slope_gv.T * (potential.hartree_g.conj() * weight_g)
    smooth_g = potential.potential_sg.mean(0)
    total_g = density.density_sg.sum(0) + atoms.pseudo_core_g
    force_av = torch.zeros((len(basis.structure.symbols), 3), dtype=atoms.runtime.real, device=atoms.runtime.device)
    for species, moment_aL in atoms.charge_moments(density.occupancy_sx):
        setup, atom_a = species.setup, torch.as_tensor(species.atom_a, device=force_av.device)
        core_g = atoms.form_factor_g(setup, setup.dataset.pseudo_core_density_g, count) * smooth_g.conj()
        zero_g = atoms.form_factor_g(setup, setup.dataset.zero_potential_g, count) * total_g.conj()
        core_g = (core_g + zero_g) * weight_g[:count]
        charge_va = [(atoms.compensation_integrals(species, field_g) * moment_aL).sum(1) for field_g in field_vg]
        core_va = atoms.structure_factors(species, count).atoms(core_g * slope_gv[:count].T).real
        force_av[atom_a] = -(torch.stack(charge_va) + core_va).T
    return force_av


def _projector_forces(
    atoms: PawAtoms, energy_II: OneCentreMatrix, coeff_knG: torch.Tensor, eig_kn: torch.Tensor, filling_kn: torch.Tensor
) -> torch.Tensor:
    overlap_II = OneCentreMatrix(atoms.layout, atoms.overlap_x, atoms.basis.form.dtype)
    gradient_Iv = torch.zeros((atoms.layout.projector_count, 3), dtype=atoms.runtime.real, device=atoms.runtime.device)
    for k in range(coeff_knG.shape[0]):
        projector_GI = atoms.projector_kIG[k].mH
        used = torch.nonzero(filling_kn[k].abs() > 1e-14).flatten().split(BANDS_PER_BATCH)
        weights = []
        for n in used:
            proj_nI = atoms.runtime.bands.sum(coeff_knG[k, n] @ projector_GI)
            h_nI, s_nI = energy_II.times(proj_nI[None])[0], overlap_II.times(proj_nI[None])[0]
            weights.append((h_nI - eig_kn[k, n, None] * s_nI) * filling_kn[k, n, None])
        for v in range(3):
            slope_products = _slope(atoms, k, v)
            for n, weight_nI in zip(used, weights, strict=True):
                gradient_Iv[:, v] += slope_products(weight_nI, coeff_knG[k, n])
    atom_I = torch.as_tensor(np.repeat(np.arange(len(atoms.layout.projectors_a)), atoms.layout.projectors_a))
    force_av = gradient_Iv.new_zeros((len(atoms.layout.projectors_a), 3))
    return force_av.index_add_(0, atom_I.to(force_av.device), -gradient_Iv)


def _slope(atoms: PawAtoms, k: int, v: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Gives 2 Re Σ_n W*_nI ∂P_nI of one k-point and direction, (I,), for weights W (n, I) and orbitals (n, G)."""
    form, projector_GI = atoms.basis.form, atoms.projector_kIG[k].mH
    vector_G = form.slots(atoms.basis.wave_vector_khv[k].T)[v]
    if atoms.pairs is not None:
        pairs = atoms.pairs
        return lambda weighted_nI, coeff_nG: pairs.slope_products(weighted_nI, (coeff_nG * vector_G) @ projector_GI)
    if atoms.real_space is not None:
        sloping_GI = atoms.real_space.slope(v).vectors(atoms.basis.sphere_map, slice(k, k + 1))[0].mH
        return lambda weighted_nI, coeff_nG: 2 * (weighted_nI.conj() * (coeff_nG @ sloping_GI)).real.sum(0)
    return lambda weighted_nI, coeff_nG: 2 * (
        weighted_nI.conj() * (form.times_i(coeff_nG[None], vector_G[None])[0] @ projector_GI)
    ).real.sum(0)
