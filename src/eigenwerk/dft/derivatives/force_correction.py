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

from functools import partial, reduce
from math import pi

import numpy as np
import torch

from eigenwerk.dft.density.density import Density, moment_per_atom, polarised_occupancy, superposed_atoms
from eigenwerk.dft.density.fields import Fields
from eigenwerk.dft.density.kinds.kind import WaveField
from eigenwerk.dft.density.kinds.table import WAVES
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.setup import Setup
from eigenwerk.dft.spin.form import COLLINEAR, UNPOLARISED, paired
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.dft.terms.term import spherical_forces, spherical_integrals
from eigenwerk.functionals.functional import DENSITY

SPREAD_SHARE = 4.0
"""The error left, in units of what two descriptions of ρ' differ by (measured: docs/equations/forces.md)."""

ENERGY_SHARE = 0.023
"""The error left, in units of the root of the residual's energy at the atom (hartree^½ per bohr; measured)."""

LEAST_DENSITY = 1e-5
"""Share of the largest density of free atoms below which a point belongs to vacuum."""


EMPTY_CHANNEL = 1e-3
"""Share of the density below which a spin channel has too few electrons for its potential to be felt."""


def felt_change(atoms: PawAtoms, before: Potential, after: Potential) -> Fields:
    """v[output] - v[input] of the fields on waves, of each spin as far as there are electrons of it.

    Correlation of gradients has an infinite derivative where a channel is empty: there v is noise, tens of hartree for
    the minority of a hydrogen atom, and no density moves in it.  Free atoms, which stand for ρ', would.
    """
    density, spin = after.charges.density, after.charges.density.spin
    change = Fields({
        kind.name: slope_sg - before.derivative.value[kind.name] for kind, slope_sg in after.derivative.on_waves
    }, spin)  # fmt: skip
    if not spin.polarised:
        return change
    fine = atoms.basis.fine_map
    density_sR = fine.to_grid(density.density_sg)
    least_R = (EMPTY_CHANNEL * spin.total(density_sR)).clamp_min(torch.finfo(density_sR.dtype).tiny)
    share_sR = (density_sR / least_R).clamp(0, 1)
    return change.map(lambda slope_sg: fine.from_grid(fine.to_grid(slope_sg) * share_sR, slope_sg.shape[-1]))


def moving_atoms_forces(atoms: PawAtoms, change: Fields, output: Density) -> torch.Tensor:
    """-∫ (v[output] - v[input]) ρ'_a with free atoms for ρ', (a, 3); change: see `felt_change`.

    Of n_s v_s over both spins, n moves in the derivative by the total, the magnetisation in that by it.
    """
    spin, found = output.spin, []
    for kind, slope_sg in change.on_waves:
        found.append(spherical_forces(atoms, partial(of_atom, kind), spin.by_total(slope_sg)))
        if spin.polarised:
            moment_a = atoms.runtime.tensor(moment_per_atom(output, atoms))
            field_g = spin.by_magnetisation(slope_sg)
            found.append(moment_a[:, None] * spherical_forces(atoms, partial(of_moment, kind), field_g))
    return reduce(torch.add, found)


def error_left(atoms: PawAtoms, before: Potential, after: Potential, change: Fields) -> torch.Tensor:
    """Estimate of the error that the correction leaves, hartree per bohr, (a,); potentials of input and output, and
    what is felt of their change (`felt_change`).

    It is ∫ (v[output] - v[input]) (ρ' - free atoms).  Two things tell of it: what another description of ρ' would
    change, in which atoms carry their share w_a of the density with them, n_a n / Σ n_a in place of n_a; and the root
    of the residual's energy, which bounds that integral (Cauchy and Schwarz), ∫ w_a |∇v_H[R]|²/4π of the charge
    and |Σ_ij R_D,ij δ(ΔH)_ij| of the occupancies.
    Shares: F. L. Hirshfeld, Theor. Chim. Acta 44, 129 (1977).
    """
    basis, fine, output = atoms.basis, atoms.basis.fine_map, after.charges.density
    change_g, count = output.spin.by_total(change.value[DENSITY]), basis.density_count
    hartree_g = (basis.coulomb_g * (after.charges.charge_g - before.charges.charge_g))[:count]
    slope_vg = basis.slope_vg(count)
    free_R = fine.to_grid(superposed_atoms(atoms, UNPOLARISED).density_sg)[0].clamp_min(0)
    density_R = fine.to_grid(output.spin.total(output.density_sg)[None])[0].clamp_min(0)
    least = LEAST_DENSITY * free_R.amax()
    excess_vR = fine.to_grid(slope_vg * change_g) * ((density_R + least) / (free_R + least) - 1)
    energy_R = fine.to_grid(slope_vg * hartree_g).square().sum(0) / (4 * pi * (free_R + least))
    field_xg = fine.from_grid(torch.cat([excess_vR, energy_R[None]]), count)
    weighted_xg = field_xg.conj() * (basis.weight_g[:count] * basis.volume)
    value_xa = spherical_integrals(atoms, partial(of_atom, WAVES[DENSITY]), weighted_xg)
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


def of_atom(kind: WaveField, setup: Setup) -> np.ndarray:
    """A field of the free atom, as f(r) of f Y_00."""
    return kind.of_electrons(setup, setup.atom_occupancy_j)


def of_moment(kind: WaveField, setup: Setup) -> np.ndarray:
    """The same of its magnetisation, for a moment of one Bohr magneton."""
    occupancy_sj = torch.as_tensor(polarised_occupancy(setup, 1.0, COLLINEAR))
    return kind.of_electrons(setup, COLLINEAR.magnetisation(occupancy_sj).numpy())
