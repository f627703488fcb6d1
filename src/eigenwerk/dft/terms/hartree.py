"""Electrostatic energy of a periodic, neutralised charge density."""

import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis


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
