"""Exchange-correlation energy of the smooth density on the density grid."""

from collections.abc import Mapping
from typing import ClassVar, Self

import torch

from eigenwerk.dft.basis.grid_orbits import GridOrbits, grid_orbits
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.terms.term import Charges, Contribution, Scene, Term
from eigenwerk.dft.xc.evaluation import energy_and_derivatives
from eigenwerk.dft.xc.gradients import flux, ingredient
from eigenwerk.functionals.functional import DENSITY, SIGMA, Functional
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.process_grid import share


class ExchangeCorrelation(Term):
    """The term of ñ + ñ_c; it feels the atoms through ñ_c alone."""

    words: ClassVar = {"xc": "exchange and correlation of the smooth density"}

    @classmethod
    def of(cls, scene: Scene) -> Self:
        """There always is one."""
        return cls(scene.atoms, scene.functional, scene.symmetry)

    def __init__(self, atoms: PawAtoms, functional: Functional, symmetry: Symmetry | None):
        """symmetry: of all densities to come; without it every point is computed on its own."""
        self.basis, self.functional = atoms.basis, functional
        self.needs = frozenset(functional.ingredients) - {SIGMA}  # gradients follow from the density
        self.orbits: GridOrbits | None = None
        # on a GPU the functional is one kernel, which costs less than finding points and putting them back
        if symmetry is not None and atoms.runtime.device.type == "cpu":
            self.orbits = grid_orbits(symmetry, atoms.basis.grids.fine, atoms.runtime)

    def __call__(self, charges: Charges) -> Contribution:
        """Energy "xc" and v_xc."""
        with self.basis.runtime.trace.span("exchange-correlation"):
            waves = {DENSITY: charges.smooth_sg}
            energy, derivative = exchange_correlation(waves, self.basis, self.functional, self.orbits)
        return Contribution(("xc",), energy[None], derivative)

    def strained(self, charges: Charges, atoms: PawAtoms) -> torch.Tensor:
        """E grows with the cell, and gradients turn with it: ΔE = ∫ ∂e/∂∇n · Δ∇n."""
        smooth_sg, basis = charges.smooth_sg, self.basis
        energy, _, flux_svg = _evaluated({DENSITY: smooth_sg}, basis, self.functional, self.orbits)
        number = energy * (atoms.basis.volume / basis.volume)
        if flux_svg is None:
            return number
        slope_vg = atoms.basis.slope_vg(smooth_sg.shape[-1])
        return number + basis.inner(flux_svg, slope_vg * smooth_sg[:, None]).sum()


def exchange_correlation(
    waves: Mapping[str, torch.Tensor], basis: PlaneWaveBasis, functional: Functional, orbits: GridOrbits | None = None
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """E_xc = Ω/N Σ_R e(n(R), ∇n(R), ...), v(g) = ∂e/∂n - ∇·∂e/∂∇n, and ∂e/∂x of other fields x, on the density sphere.

    Gradients are taken in reciprocal space, so that the potential is the exact derivative of the
    energy on the grid.  Source: White and Bird, Phys. Rev. B 50, 4954 (1994).

    waves: the ingredients on the density sphere, (s, g) each, with the smooth cores included; σ follows from the
    density.  orbits: points of the fine grid at which they are the same by symmetry.  Returns (energy in hartree, the
    derivative by each of the waves).
    """
    energy, found, _ = _evaluated(waves, basis, functional, orbits)
    return energy, found


def _evaluated(
    waves: Mapping[str, torch.Tensor], basis: PlaneWaveBasis, functional: Functional, orbits: GridOrbits | None
) -> tuple[torch.Tensor, dict[str, torch.Tensor], torch.Tensor | None]:
    """`exchange_correlation`, and ∂e/∂∇n on the density sphere, (s, v, g), of functionals that take gradients."""
    density_sg, fine, flux_svg = waves[DENSITY], basis.fine_map, None
    count, cell, world = density_sg.shape[-1], basis.volume / fine.points, basis.runtime.world
    fields = {name: fine.to_grid(waves[name]) for name in functional.ingredients if name != SIGMA}
    if SIGMA in functional.ingredients:
        slope_vg = basis.slope_vg(count)
        fields[SIGMA] = fine.to_grid(slope_vg * density_sg[:, None])
    energy, slopes = _pointwise(world, functional, fields, orbits)
    if SIGMA in fields:
        flux_svg = fine.from_grid(_flux_in_place(slopes.pop(SIGMA), fields[SIGMA]), count)
    found = {name: fine.from_grid(slope_sR, count) for name, slope_sR in slopes.items()}
    if flux_svg is not None:
        found[DENSITY] = found[DENSITY] - (slope_vg * flux_svg).sum(1)
    return energy * cell, found, flux_svg


def _flux_in_place(deds_yR: torch.Tensor, gradient_svR: torch.Tensor) -> torch.Tensor:
    """`flux` that uses up both; for one density it takes no more memory."""
    if len(gradient_svR) == 2:
        return flux(deds_yR, gradient_svR, 0)
    return gradient_svR.mul_(deds_yR.mul_(2).unsqueeze(1))


def _pointwise(
    world: Communicator, functional: Functional, fields: Mapping[str, torch.Tensor], orbits: GridOrbits | None
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Sum of e over the grid, and its derivative by each ingredient, (c, R, R, R).

    fields: what each is made of, (s, ..., R, R, R).  Every rank computes some of the different points and gets all.
    """
    size_c = fields[DENSITY].shape[1:]
    flat = {name: field.flatten(-3) for name, field in fields.items()}
    if orbits is not None:
        flat = {name: orbits.reduced(field) for name, field in flat.items()}
    shares = [share(flat[DENSITY].shape[1], world.size, rank) for rank in range(world.size)]
    own, lengths = shares[world.rank], [part.stop - part.start for part in shares]
    found = energy_and_derivatives(functional, {name: ingredient(name, flat[name][..., own], 0) for name in flat})
    energy = world.sum(found.energy_x.sum() if orbits is None else found.energy_x @ orbits.size_u[own])
    slopes = {name: _all_points(world, slope, lengths) for name, slope in found.slopes.items()}
    if orbits is not None:
        slopes = {name: orbits.expanded(slope) for name, slope in slopes.items()}
    return energy, {name: slope.unflatten(1, size_c) for name, slope in slopes.items()}


def _all_points(world: Communicator, slope_sx: torch.Tensor, lengths: list[int]) -> torch.Tensor:
    return slope_sx if world.size == 1 else world.all_gather(slope_sx.T.contiguous(), lengths).T
