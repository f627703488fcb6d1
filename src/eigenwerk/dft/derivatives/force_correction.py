"""What forces lack while the density is not self-consistent, to first order; an estimate of what is left after that.

With the residual R = output - input density, v the potential (ṽ, ΔH) as a function of density and positions, and ρ' the
change of the self-consistent density as an atom moves, the Harris energy gives

    F_a = F_a(input) - ∫ R ∂v/∂R_a - ∫ (v[output] - v[input]) ρ'_a + O(R²).

∂v/∂R_a is what terms and smooth cores have of their own: these forces are taken at the output density.  For ρ' stand
free atoms that move as they are, with the moments they have; occupancies D stay with their atoms (D' = 0).
Derivation, measurements and the estimate: docs/equations/forces.md.
Source: C. T. Chan, K. P. Bohnen and K. M. Ho, Phys. Rev. B 47, 4771 (1993); P. Bendt and A. Zunger,
Phys. Rev. Lett. 50, 1684 (1983); G. Kresse and J. Furthmüller, Comput. Mater. Sci. 6, 15 (1996).
"""

from math import pi, sqrt

import numpy as np
import torch

from eigenwerk.dft.density.density import Density, moment_per_atom, polarised_occupancy, superposed_atoms
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.setup import Setup
from eigenwerk.dft.spin.form import COLLINEAR, UNPOLARISED, paired
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.dft.terms.term import spherical_forces, spherical_integrals

SPREAD_SHARE = 4.0
"""The error left, in units of what two descriptions of ρ' differ by (measured: docs/equations/forces.md)."""

ENERGY_SHARE = 0.023
"""The error left, in units of the root of the residual's energy at the atom (hartree^½ per bohr; measured)."""

LEAST_DENSITY = 1e-5
"""Share of the largest density of free atoms below which a point belongs to vacuum."""


EMPTY_CHANNEL = 1e-3
"""Share of the density below which a spin channel has too few electrons for its potential to be felt."""


def felt_change(atoms: PawAtoms, before: Potential, after: Potential) -> torch.Tensor:
    """v[output] - v[input] (s, g), of each spin as far as there are electrons of it.

    Correlation of gradients has an infinite derivative where a channel is empty: there v is noise, tens of hartree for
    the minority of a hydrogen atom, and no density moves in it.  Free atoms, which stand for ρ', would.
    """
    change_sg, density = after.vt_sg - before.vt_sg, after.charges.density
    if not density.spin.polarised:
        return change_sg
    fine = atoms.basis.fine_map
    density_sR = fine.to_grid(density.density_sg)
    least_R = (EMPTY_CHANNEL * density.spin.total(density_sR)).clamp_min(torch.finfo(density_sR.dtype).tiny)
    return fine.from_grid(fine.to_grid(change_sg) * (density_sR / least_R).clamp(0, 1), change_sg.shape[-1])


def moving_atoms_forces(atoms: PawAtoms, change_sg: torch.Tensor, output: Density) -> torch.Tensor:
    """-∫ (v[output] - v[input]) ρ'_a with free atoms for ρ', (a, 3); change_sg: see `felt_change`.

    Of n_s v_s over both spins, n moves in the derivative by the total, the magnetisation in that by it.
    """
    spin = output.spin
    force_av = spherical_forces(atoms, valence_density_g, spin.by_total(change_sg))
    if spin.polarised:
        moment_a = atoms.runtime.tensor(moment_per_atom(output, atoms))
        field_g = spin.by_magnetisation(change_sg)
        force_av = force_av + moment_a[:, None] * spherical_forces(atoms, moment_density_g, field_g)
    return force_av


def error_left(atoms: PawAtoms, before: Potential, after: Potential, change_sg: torch.Tensor) -> torch.Tensor:
    """Estimate of the error that the correction leaves, hartree per bohr, (a,); potentials of input and output, and
    what is felt of their change (`felt_change`).

    It is ∫ (v[output] - v[input]) (ρ' - free atoms).  Two things tell of it: what another description of ρ' would
    change, in which atoms carry their share w_a of the density with them, n_a n / Σ n_a in place of n_a; and the root
    of the residual's energy, which bounds that integral (Cauchy and Schwarz), ∫ w_a |∇v_H[R]|²/4π of the charge
    and |Σ_ij R_D,ij δ(ΔH)_ij| of the occupancies.
    Shares: F. L. Hirshfeld, Theor. Chim. Acta 44, 129 (1977).
    """
    basis, fine, output = atoms.basis, atoms.basis.fine_map, after.charges.density
    change_g, count = output.spin.by_total(change_sg), basis.density_count
    hartree_g = (basis.coulomb_g * (after.charges.charge_g - before.charges.charge_g))[:count]
    slope_vg = 1j * basis.vector_gv[:count].T
    free_R = fine.to_grid(superposed_atoms(atoms, UNPOLARISED).density_sg)[0].clamp_min(0)
    density_R = fine.to_grid(output.spin.total(output.density_sg)[None])[0].clamp_min(0)
    least = LEAST_DENSITY * free_R.amax()
    excess_vR = fine.to_grid(slope_vg * change_g) * ((density_R + least) / (free_R + least) - 1)
    energy_R = fine.to_grid(slope_vg * hartree_g).square().sum(0) / (4 * pi * (free_R + least))
    field_xg = fine.from_grid(torch.cat([excess_vR, energy_R[None]]), count)
    value_xa = spherical_integrals(atoms, valence_density_g, field_xg.conj() * (basis.weight_g[:count] * basis.volume))
    spread_a, smooth_a = torch.linalg.vector_norm(value_xa[:3], dim=0), value_xa[3].clamp_min(0)
    return SPREAD_SHARE * spread_a + ENERGY_SHARE * (smooth_a.sqrt() + _one_centre(atoms, before, after).sqrt())


def _one_centre(atoms: PawAtoms, before: Potential, after: Potential) -> torch.Tensor:
    """|Σ_ij (D_out - D_in)_ij (ΔH_out - ΔH_in)_ij| of each atom, hartree, (a,)."""
    change_sx = after.charges.density.occupancy_sx - before.charges.density.occupancy_sx
    product_x = paired(change_sx, after.dH_sx - before.dH_sx)
    size_a = atoms.layout.projectors_a**2
    atom_x = torch.as_tensor(np.repeat(np.arange(len(size_a)), size_a), device=product_x.device)
    return product_x.new_zeros(len(size_a)).index_add_(0, atom_x, product_x).abs()


def extrapolated(one: torch.Tensor, next_one: torch.Tensor) -> float:
    """The share γ of the way back to the correction before that makes the next one smallest, within -1 and 1."""
    change = next_one - one
    square = float((change * change).sum())
    return min(max(float((next_one * change).sum()) / square, -1.0), 1.0) if square > 0 else 0.0


def valence_density_g(setup: Setup) -> np.ndarray:
    """Smooth density of the free atom, as f(r) of f Y_00."""
    return _density_g(setup, setup.atom_occupancy_j)


def moment_density_g(setup: Setup) -> np.ndarray:
    """The same of its magnetisation, for a moment of one Bohr magneton."""
    occupancy_sj = torch.as_tensor(polarised_occupancy(setup, 1.0, COLLINEAR))
    return _density_g(setup, COLLINEAR.magnetisation(occupancy_sj).numpy())


def _density_g(setup: Setup, occupancy_j: np.ndarray) -> np.ndarray:
    return occupancy_j @ setup.dataset.pseudo_partial_wave_jg**2 / sqrt(4 * pi)
