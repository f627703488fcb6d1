"""Electrostatic energy of the smooth charge with compensation charges, cores and nuclei.

    E = ½ ∫ ρ v_H,   ∂E/∂ñ = v_H,   ∂E/∂D_ij = Σ_L Δ_Lij ∫ v_H g_L,   ρ = ñ + ñ_c + Σ_aL Q_aL g_L
    F_a = -Σ_L Q_aL ∫ v_H ∂g_L/∂R_a

What the smooth charge misses inside the spheres is in the one-centre terms.
"""

from typing import ClassVar, Self

import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.density.kinds.occupancy import OCCUPANCY
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.terms.term import Charges, Contribution, Scene, Term, field_slopes
from eigenwerk.functionals.functional import DENSITY


class Hartree(Term):
    """The term of the smooth charge."""

    words: ClassVar = {"electrostatic": "of the smooth charge"}

    @classmethod
    def of(cls, scene: Scene) -> Self:
        """There always is one."""
        return cls(scene.atoms)

    def __init__(self, atoms: PawAtoms):
        self.atoms = atoms

    def __call__(self, charges: Charges) -> Contribution:
        """Energy "electrostatic", v_H on the density sphere, and what it does to the moments of D."""
        atoms, count = self.atoms, self.atoms.basis.density_count
        energy, potential_g = hartree(charges.charge_g, atoms.basis)
        blocks = {OCCUPANCY: on_moments(atoms, potential_g)}
        return Contribution(("electrostatic",), energy[None], {DENSITY: potential_g[:count]}, blocks)

    def strained(self, charges: Charges, atoms: PawAtoms) -> torch.Tensor:
        """E of fixed ρ(g), and the compensation charges in v_H."""
        charge_g, basis = charges.charge_g, self.atoms.basis
        moving_g = atoms.compensation_charge(charges.occupancy_x)
        return hartree(charge_g, atoms.basis)[0] + basis.inner(hartree(charge_g, basis)[1], moving_g)

    def forces(self, charges: Charges) -> torch.Tensor:
        """Of the compensation charges in v_H."""
        return charge_forces(charges, hartree(charges.charge_g, self.atoms.basis)[1])


def on_moments(atoms: PawAtoms, potential_g: torch.Tensor) -> list[torch.Tensor]:
    """∂E/∂D of the compensation charges in a potential, Σ_L Δ_Lij ∫ v g_L; (a, i, i) of each species."""
    blocks = []
    for species, potential_aL in atoms.compensation_potential(potential_g):
        multipole_Lij = atoms.multipole_Lij(species.setup)
        blocks.append((potential_aL @ multipole_Lij.flatten(1)).unflatten(1, multipole_Lij.shape[1:]))
    return blocks


def charge_forces(charges: Charges, potential_g: torch.Tensor) -> torch.Tensor:
    """-Σ_L Q_aL ∫ v ∂g_L/∂R_a: forces on compensation charges, with cores and nuclei, in a potential; (a, 3)."""
    atoms = charges.atoms
    field_vg = field_slopes(atoms, potential_g)
    force_av = field_vg.real.new_zeros((len(atoms.basis.structure.symbols), 3))
    for species, moment_aL in atoms.charge_moments(charges.occupancy_x):
        slope_va = [(atoms.compensation_integrals(species, field_g) * moment_aL).sum(1) for field_g in field_vg]
        force_av[torch.as_tensor(species.atom_a, device=force_av.device)] = -torch.stack(slope_va).T
    return force_av


def hartree(charge_g: torch.Tensor, basis: PlaneWaveBasis) -> tuple[torch.Tensor, torch.Tensor]:
    """Hartree energy and potential.

    v(g) = 4π ρ(g) / |g|², v(0) = 0;  E = Ω/2 Σ_g ρ*(g) v(g).  A net charge is neutralised by a
    uniform background (the g = 0 term is left out).
    Source: Payne et al., Rev. Mod. Phys. 64, 1045 (1992).

    charge_g: (g,) on the electrostatic sphere, electrons per bohr³.  Returns (energy in hartree,
    potential_g in hartree).
    """
    potential_g = basis.coulomb_g[: charge_g.shape[-1]] * charge_g
    return 0.5 * basis.inner(charge_g, potential_g), potential_g
