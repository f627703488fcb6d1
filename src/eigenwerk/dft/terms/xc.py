"""Exchange-correlation energy of the smooth density on the density grid."""

import torch

from eigenwerk.dft.basis import PlaneWaveBasis
from eigenwerk.dft.xc.functional import Functional
from eigenwerk.dft.xc.gradients import contract, flux
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.process_grid import share


def exchange_correlation(
    density_sg: torch.Tensor, basis: PlaneWaveBasis, functional: Functional
) -> tuple[torch.Tensor, torch.Tensor]:
    """E_xc = Ω/N Σ_R e(n(R), ∇n(R)) and v(g) = ∂e/∂n - ∇·∂e/∂∇n on the density sphere.

    Gradients are taken in reciprocal space, so that the potential is the exact derivative of the
    energy on the grid.  Source: White and Bird, Phys. Rev. B 50, 4954 (1994).

    density_sg: (s, g) with the smooth cores included.  Returns (energy in hartree, potential_sg).
    """
    count = density_sg.shape[-1]
    density_sR = basis.fine_map.to_grid(density_sg)
    cell = basis.volume / basis.fine_map.points
    if not functional.needs_gradient:
        energy, dedn_sR, _ = _shared(basis.runtime.world, functional, density_sR, None)
        return energy * cell, basis.fine_map.from_grid(dedn_sR, count)
    wave_vector_vg = basis.vector_gv[:count].T
    gradient_svR = basis.fine_map.to_grid(1j * wave_vector_vg * density_sg[:, None])
    gradient_sRv = gradient_svR.movedim(1, -1)
    energy, dedn_sR, deds_yR = _shared(basis.runtime.world, functional, density_sR, contract(gradient_sRv))
    flux_svR = flux(deds_yR, gradient_sRv).movedim(-1, 1)
    potential_sg = basis.fine_map.from_grid(dedn_sR, count)
    potential_sg = potential_sg - 1j * (wave_vector_vg * basis.fine_map.from_grid(flux_svR, count)).sum(1)
    return energy * cell, potential_sg


def _shared(
    world: Communicator, functional: Functional, density_sR: torch.Tensor, sigma_yR: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Sum of e over the grid, ∂e/∂n and ∂e/∂σ: every rank computes some planes of the grid and gets all."""
    if world.size == 1:
        energy_R, dedn_sR, deds_yR = functional.energy_and_derivatives(density_sR, sigma_yR)
        return energy_R.sum(), dedn_sR, deds_yR
    own = share(density_sR.shape[1], world.size, world.rank)
    own_sigma = None if sigma_yR is None else sigma_yR[..., own, :, :].contiguous()
    energy_R, dedn_sR, deds_yR = functional.energy_and_derivatives(density_sR[:, own].contiguous(), own_sigma)
    if deds_yR is not None:
        deds_yR = _all_planes(world, deds_yR)
    return world.sum(energy_R.sum()), _all_planes(world, dedn_sR), deds_yR


def _all_planes(world: Communicator, field_xR: torch.Tensor) -> torch.Tensor:
    return world.all_gather(field_xR.movedim(-3, 0).contiguous()).movedim(0, -3)
