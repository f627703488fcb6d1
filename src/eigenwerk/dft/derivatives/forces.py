"""Forces: minus the derivative of the free energy with respect to atomic positions.

At self-consistency the free energy is stationary in orbitals (under the overlap constraint), occupations and
occupancies D, so only what moves with an atom counts: smooth core, projectors, and what terms have of their own,

    F_a = Σ_terms F_a - ∫ ṽ ∂ñ_c/∂R - 2 Re Σ_n f_n Σ_ij P*_ni (ΔH_ij - ε_n ΔS_ij) ∂P_nj/∂R_a.

The last two hold for all terms together, by the fields through which every term sees them: ñ + ñ_c and D.  Terms that
depend on the orbitals themselves (exact exchange) add what they put between projectors.  What a density that is not
self-consistent leaves to first order is corrected (`force_correction`).
Source: Kresse and Joubert, Phys. Rev. B 59, 1758 (1999), section IV; Goedecker and Maschke,
Phys. Rev. B 45, 1597 (1992).
"""

from dataclasses import dataclass
from functools import reduce

import torch

from eigenwerk.dft.density.density import Density
from eigenwerk.dft.derivatives.force_correction import error_left, extrapolated, felt_change, moving_atoms_forces
from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.dft.terms.projectors import projector_forces
from eigenwerk.dft.terms.term import spherical_forces


@dataclass(frozen=True)
class Forces:
    """Forces in hartree per bohr, (a, 3).

    force_av: all of them; correction_av: what they hold for a density that is not self-consistent; error: estimate of
    the largest error that is left of that.
    """

    force_av: torch.Tensor
    correction_av: torch.Tensor
    error: float

    def after(self, before: "Forces") -> "Forces":
        """These with what they and those of the step before tell together.

        Correction and error are both linear in the residual: what makes the correction smallest makes the error small.
        """
        share = extrapolated(before.correction_av, self.correction_av)
        back_av = share * (before.force_av - self.force_av)
        return Forces(self.force_av + back_av, self.correction_av + back_av, self.error)


def forces(
    builder: PotentialBuilder,
    density: Density,
    output: Density,
    coeff_sknG: torch.Tensor,
    eig_skn: torch.Tensor,
    filling_skn: torch.Tensor,
    correct: bool = True,
) -> Forces:
    """Forces and their error, not symmetrised.

    output: the density of the orbitals, which are those of the Hamiltonian of `density`; eig_skn and filling_skn =
    w_k g f: of all k-points; correct: whether the forces hold the correction (LCORR), which is found in any case.
    """
    atoms, potential = builder.atoms, builder(density)
    found = [term.orbital_derivatives(coeff_sknG, filling_skn) for term in builder.terms]
    of_orbitals = [part for part in found if part is not None]
    pencils = [part.pencil_sknI for part in of_orbitals]
    moving_av = projector_forces(
        atoms, potential.dH_sx, coeff_sknG, eig_skn, filling_skn, reduce(torch.add, pencils) if pencils else None
    )
    fixed_av = fixed_fields_forces(builder, density)
    uncorrected_av = fixed_av + atoms.runtime.world.sum(moving_av)
    for part in of_orbitals:
        uncorrected_av = uncorrected_av + part.force_av
    correction_av, error_a = correction(builder, density, output)
    if correct:
        return Forces(uncorrected_av + correction_av, correction_av, float(error_a.max()))
    missing_a = torch.linalg.vector_norm(correction_av, dim=1)
    return Forces(uncorrected_av, torch.zeros_like(correction_av), float((error_a + missing_a).max()))


def correction(builder: PotentialBuilder, density: Density, output: Density) -> tuple[torch.Tensor, torch.Tensor]:
    """What forces lack for a density that is not self-consistent, (a, 3), and the error that is left then, (a,)."""
    potential, after = builder(density), builder(output)
    moved_av = fixed_fields_forces(builder, output) - fixed_fields_forces(builder, density)
    change = felt_change(builder.atoms, potential, after)
    correction_av = moved_av + moving_atoms_forces(builder.atoms, change, output)
    return correction_av, error_left(builder.atoms, potential, after, change)


def fixed_fields_forces(builder: PotentialBuilder, density: Density) -> torch.Tensor:
    """-∂E/∂R of all terms at fixed fields, (a, 3): what they have of their own, and the smooth cores in ṽ."""
    potential = builder(density)
    found = [term.forces(potential.charges) for term in builder.terms]
    of_cores = (spherical_forces(builder.atoms, kind.of_core, density.spin.by_total(slope_sg))
                for kind, slope_sg in potential.derivative.on_waves)  # fmt: skip
    return sum((force_av for force_av in found if force_av is not None), reduce(torch.add, of_cores))
