"""How electrons of a cell that is not uniform screen: the response of the local density of states.

    χ₀(r, r') = -D(r) δ(r - r') + D(r) D(r') / ∫ D,    D(r) = Σ w g (-∂f/∂ε) |ψ(r)|² at the Fermi level

so that metal screens, vacuum and insulators do not, and no charge leaves the cell.  An error ρ of the input density
shows in the residual as R = -(1 - χ₀ v) ρ; the preconditioner takes ρ from R.
Source: M. F. Herbst, A. Levitt, J. Phys.: Condens. Matter 33, 085503 (2021).
Equations, units and measured choices: docs/equations/mixing.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.basis.transforms import HalfSphereMap
from eigenwerk.dft.density.density import Density
from eigenwerk.dft.filling.occupations import Occupations
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.bands import Bands, density_of_bands
from eigenwerk.units import HARTREE_EV

DENSEST = 0.15
"""Largest D, 1/(hartree bohr³), twice that of aluminium: local response overdoes what d shells do."""

STATES_WIDTH = 0.3 / HARTREE_EV
"""Smallest width of the Fermi level that D is taken at: few k-points have few states nearer."""

REACH = 2.0
"""Waves beyond this (1/bohr) screen by themselves: the Coulomb kernel is cut by exp(-g²/REACH²).  Atoms next to each
other exchange charge in waves up to it."""

TOLERANCE, MOST_PRODUCTS = 1e-2, 60
"""The equation is solved to this share of its right-hand side, or until so many products."""


@dataclass(frozen=True)
class Screening:
    """(1 - χ₀ v)⁻¹ for real fields on the density sphere.

    map: between waves and points; states_R: D, 1/(hartree bohr³); coulomb_g: v, hartree bohr³, 0 at g = 0;
    root_g: √(number of waves that each stands for).
    """

    map: HalfSphereMap
    states_R: torch.Tensor
    coulomb_g: torch.Tensor
    root_g: torch.Tensor

    @staticmethod
    def of(basis: PlaneWaveBasis, states_g: torch.Tensor) -> Screening:
        """From the waves of D."""
        count = basis.density_count
        coulomb_g = basis.coulomb_g[:count] * torch.exp(-basis.norm2_g[:count] / REACH**2)
        states_R = basis.wave_map.to_grid(states_g).clamp(0, DENSEST)
        return Screening(basis.wave_map, states_R, coulomb_g, basis.weight_g[:count].sqrt())

    def response(self, potential_g: torch.Tensor) -> torch.Tensor:
        """-χ₀ applied to a potential; (g,) -> (g,)."""
        potential_R = self.map.to_grid(potential_g)
        level = (self.states_R * potential_R).sum() / self.states_R.sum().clamp_min(1e-30)
        return self.map.from_grid(self.states_R * (potential_R - level), len(potential_g))

    def unscreened(self, residual_g: torch.Tensor) -> torch.Tensor:
        """ρ of (1 - χ₀ v) ρ = residual; (g,) -> (g,).

        With u = √v ρ it is (1 - √v χ₀ √v) u = √v R, positive definite, by conjugate gradients; ρ = R + χ₀ √v u.
        """
        half_g = self.coulomb_g.sqrt()

        def product(u_x: torch.Tensor) -> torch.Tensor:
            u_g = torch.view_as_complex(u_x.view(-1, 2)) * (half_g / self.root_g)
            return u_x + torch.view_as_real(self.response(u_g) * (half_g * self.root_g)).reshape(-1)

        right_x = torch.view_as_real(residual_g * (half_g * self.root_g)).reshape(-1)
        u_g = torch.view_as_complex(conjugate_gradients(product, right_x).view(-1, 2)) / self.root_g
        return residual_g - self.response(half_g * u_g)


def local_states(atoms: PawAtoms, bands: Bands, filled: Occupations, width: float) -> Density:
    """D as a density, not symmetrised, per hartree: of Fermi-Dirac steps of this width, at least STATES_WIDTH."""
    width, spin = max(width, STATES_WIDTH), atoms.basis.spin
    level_s = bands.eig_skn.new_tensor(filled.fermi_level_s)[:, None, None]
    near_skn = torch.sigmoid((bands.eig_skn - level_s) / width)
    near_skn = near_skn * (1 - near_skn) / width
    # bands of which no more than this share is near add nothing
    used_n = torch.nonzero((near_skn > 1e-4 / width).flatten(0, 1).any(0)).flatten()
    own_n = slice(int(used_n.min()), int(used_n.max()) + 1) if len(used_n) else slice(1)
    filling_skn = (atoms.basis.weight_k.cpu()[:, None] * spin.degeneracy * near_skn)[..., own_n]
    proj_sknI = None if bands.proj_sknI is None else bands.proj_sknI[:, :, own_n]
    return density_of_bands(atoms, bands.coeff_sknG[:, :, own_n].contiguous(), filling_skn, proj_sknI=proj_sknI)


def conjugate_gradients(product: Callable[[torch.Tensor], torch.Tensor], right_x: torch.Tensor) -> torch.Tensor:
    """x of A x = right for a positive definite A, in few products."""
    x_x, left_x = torch.zeros_like(right_x), right_x
    direction_x, square = right_x, float(right_x @ right_x)
    goal = TOLERANCE**2 * square
    for _ in range(MOST_PRODUCTS):
        if square <= goal:
            break
        image_x = product(direction_x)
        step = square / float(direction_x @ image_x)
        x_x, left_x = x_x + step * direction_x, left_x - step * image_x
        before, square = square, float(left_x @ left_x)
        direction_x = left_x + (square / before) * direction_x
    return x_x
