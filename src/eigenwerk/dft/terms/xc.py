"""Exchange-correlation energy of the smooth density on the density grid."""

import torch

from eigenwerk.dft.basis.grid_orbits import GridOrbits, grid_orbits
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.terms.term import Charges, Contribution, Term
from eigenwerk.dft.xc.functional import Functional
from eigenwerk.dft.xc.gradients import contract, flux
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.process_grid import share


class ExchangeCorrelation(Term):
    """The term of ñ + ñ_c; it feels the atoms through ñ_c alone."""

    def __init__(self, atoms: PawAtoms, functional: Functional, symmetry: Symmetry | None):
        """symmetry: of all densities to come; without it every point is computed on its own."""
        self.basis, self.functional = atoms.basis, functional
        self.orbits: GridOrbits | None = None
        # on a GPU the functional is one kernel, which costs less than finding points and putting them back
        if symmetry is not None and atoms.runtime.device.type == "cpu":
            self.orbits = grid_orbits(symmetry, atoms.basis.grids.fine, atoms.runtime)

    def __call__(self, charges: Charges) -> Contribution:
        """Energy "xc" and v_xc."""
        with self.basis.runtime.trace.span("exchange-correlation"):
            energy, potential_sg = exchange_correlation(charges.smooth_sg, self.basis, self.functional, self.orbits)
        return Contribution(("xc",), energy[None], {"density": potential_sg})


def exchange_correlation(
    density_sg: torch.Tensor, basis: PlaneWaveBasis, functional: Functional, orbits: GridOrbits | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """E_xc = Ω/N Σ_R e(n(R), ∇n(R)) and v(g) = ∂e/∂n - ∇·∂e/∂∇n on the density sphere.

    Gradients are taken in reciprocal space, so that the potential is the exact derivative of the
    energy on the grid.  Source: White and Bird, Phys. Rev. B 50, 4954 (1994).

    density_sg: (s, g) with the smooth cores included.  orbits: points of the fine grid at which the density is the same
    by symmetry.  Returns (energy in hartree, potential_sg).
    """
    count = density_sg.shape[-1]
    density_sR = basis.fine_map.to_grid(density_sg)
    cell, world = basis.volume / basis.fine_map.points, basis.runtime.world
    if not functional.needs_gradient:
        energy, dedn_sR, _ = _pointwise(world, functional, density_sR, None, orbits)
        return energy * cell, basis.fine_map.from_grid(dedn_sR, count)
    slope_vg = 1j * basis.vector_gv[:count].T
    gradient_svR = basis.fine_map.to_grid(slope_vg * density_sg[:, None])
    energy, dedn_sR, deds_yR = _pointwise(world, functional, density_sR, gradient_svR, orbits)
    flux_svg = basis.fine_map.from_grid(_flux_in_place(deds_yR, gradient_svR), count)
    return energy * cell, basis.fine_map.from_grid(dedn_sR, count) - (slope_vg * flux_svg).sum(1)


def _flux_in_place(deds_yR: torch.Tensor | None, gradient_svR: torch.Tensor) -> torch.Tensor:
    """`flux` that uses up both; for one density it takes no more memory."""
    if deds_yR is None or len(gradient_svR) == 2:
        return flux(deds_yR, gradient_svR, 0)
    return gradient_svR.mul_(deds_yR.mul_(2).unsqueeze(1))


def _pointwise(
    world: Communicator, functional: Functional, density_sR: torch.Tensor, gradient_svR: torch.Tensor | None,
    orbits: GridOrbits | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:  # fmt: skip
    """Sum of e over the grid, ∂e/∂n and ∂e/∂σ: every rank computes some of the different points and gets all."""
    density_sx, gradient_svx = density_sR.flatten(1), None if gradient_svR is None else gradient_svR.flatten(2)
    if orbits is not None:
        density_sx = orbits.reduced(density_sx)
        gradient_svx = None if gradient_svx is None else orbits.reduced(gradient_svx)
    shares = [share(density_sx.shape[1], world.size, rank) for rank in range(world.size)]
    own, lengths = shares[world.rank], [part.stop - part.start for part in shares]
    own_sigma_yx = None if gradient_svx is None else contract(gradient_svx[..., own], 0)
    energy_x, *slopes = functional.energy_and_derivatives(density_sx[:, own].contiguous(), own_sigma_yx)
    energy = world.sum(energy_x.sum() if orbits is None else energy_x @ orbits.size_u[own])
    found = [None if slope is None else _all_points(world, slope, lengths) for slope in slopes]
    if orbits is not None:
        found = [None if slope is None else orbits.expanded(slope) for slope in found]
    dedn_sR, deds_yR = (None if slope is None else slope.unflatten(1, density_sR.shape[1:]) for slope in found)
    assert dedn_sR is not None
    return energy, dedn_sR, deds_yR


def _all_points(world: Communicator, slope_sx: torch.Tensor, lengths: list[int]) -> torch.Tensor:
    return slope_sx if world.size == 1 else world.all_gather(slope_sx.T.contiguous(), lengths).T
