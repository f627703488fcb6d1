"""One-centre energies: all-electron minus pseudo, inside the augmentation spheres.

    ΔE(D) = ΔT_core + Σ ΔT_ij D_ij  +  C_0 + C_ij D_ij + D_x C_xx D_x  +  Z_0 + Z_ij D_ij
            + E_xc[n_c + Σ D φφ] - E_xc[ñ_c + Σ D φ̃φ̃]

(kinetic, electrostatic, zero potential, exchange-correlation; D summed over spins except in the last).
The exchange-correlation energy is integrated on radial grid x Lebedev points, so all angular shapes
of the density count.
"""

from dataclasses import dataclass
from functools import cached_property

import torch

from eigenwerk.dft.paw.equivalence import EquivalentAtoms
from eigenwerk.dft.paw.setup import Setup
from eigenwerk.dft.paw.shells import highest_harmonic, make_shells, shell_energies
from eigenwerk.dft.paw.site_symmetry import SiteSymmetry
from eigenwerk.dft.paw.spherical import sphere_quadrature
from eigenwerk.dft.xc.functional import Functional
from eigenwerk.parallel.runtime import Runtime

MANY_ATOMS_PER_RANK = 4
"""From this number of different atoms per rank on, ranks share atoms; below it they share the radii of each."""

ATOMS_PER_BATCH, ATOMS_PER_DEVICE_BATCH = 8, 64
"""Atoms whose densities are held on the angular mesh together, on a processor and on a GPU (bounds memory)."""


@dataclass(frozen=True)
class OnsiteEnergy:
    """Energies in hartree summed over atoms, and ∂E/∂D per spin of one species; (s, a, i, i)."""

    kinetic: float
    electrostatic: float
    zero: float
    xc: float
    hamiltonian_saij: torch.Tensor


class OnsiteTerms:
    """One-centre energy of one species for one functional."""

    def __init__(
        self, setup: Setup, functional: Functional, runtime: Runtime, count: int,
        equivalent: EquivalentAtoms | None = None, site: SiteSymmetry | None = None,
    ):  # fmt: skip
        """count: atoms; equivalent: compute the exchange-correlation part once for atoms that symmetry makes equal;
        site: and, of these, in directions that symmetry does not make equal.
        """
        self.setup, self.functional, self.runtime = setup, functional, runtime
        self.equivalent, self.site = equivalent, site
        different = count if equivalent is None else len(equivalent.first_r)
        world = runtime.world
        self.by_radii = world.size > 1 and different < MANY_ATOMS_PER_RANK * world.size
        tensor = runtime.tensor
        self.linear_ij = tensor(setup.kinetic_ij), tensor(setup.coulomb_ij), tensor(setup.zero_ij)
        self.coulomb_xx = tensor(setup.coulomb_xx)
        own = slice(world.rank, None, world.size) if self.by_radii else slice(None)
        self.shells = make_shells(setup, runtime, own, sphere_quadrature if site is None else site.directions)

    def energy(self, occupancy_saij: torch.Tensor) -> OnsiteEnergy:
        """Energy and derivative for occupancies D of all atoms of the species; (s, a, i, i)."""
        atoms = occupancy_saij.shape[1]
        total_aij = occupancy_saij.sum(0)
        total_ax = total_aij.flatten(1)
        coulomb_ax = total_ax @ self.coulomb_xx
        kinetic_ij, linear_ij, zero_ij = self.linear_ij
        common_aij = kinetic_ij + linear_ij + zero_ij + 2 * coulomb_ax.unflatten(1, kinetic_ij.shape)
        xc, xc_saij = self._exchange_correlation(occupancy_saij)
        setup = self.setup
        return OnsiteEnergy(
            kinetic=atoms * setup.dataset.core_kinetic_energy + float((kinetic_ij * total_aij).sum()),
            electrostatic=atoms * setup.coulomb_0
            + float((linear_ij * total_aij).sum() + (coulomb_ax * total_ax).sum()),
            zero=atoms * setup.zero_0 + float((zero_ij * total_aij).sum()),
            xc=xc,
            hamiltonian_saij=common_aij + xc_saij,
        )

    def _exchange_correlation(self, occupancy_saij: torch.Tensor) -> tuple[float, torch.Tensor]:
        """Energy of all atoms and its derivative; (s, a, i, i)."""
        same = self.equivalent
        if same is None:
            energy_a, derivative_saij = self._shared_exchange_correlation(occupancy_saij)
            return float(energy_a.sum()), derivative_saij
        energy_r, derivative_srij = self._shared_exchange_correlation(occupancy_saij[:, same.first_r])
        if self.site is not None:
            derivative_srij = self.site.average(derivative_srij)
        return float((energy_r * same.count_r).sum()), same.spread(derivative_srij)

    def _shared_exchange_correlation(self, occupancy_saij: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Energies and derivatives of all atoms: of many atoms each rank computes some, of few some radii of all."""
        world = self.runtime.world
        if world.size == 1:
            return self._each_exchange_correlation(occupancy_saij)
        own_a = torch.arange(occupancy_saij.shape[1], device=occupancy_saij.device)
        if not self.by_radii:
            own_a = own_a[own_a % world.size == world.rank]
        energy_a, derivative_saij = occupancy_saij.new_zeros(occupancy_saij.shape[1]), torch.zeros_like(occupancy_saij)
        if len(own_a):
            energy_a[own_a], derivative_saij[:, own_a] = self._each_exchange_correlation(occupancy_saij[:, own_a])
        both_x = world.sum(torch.cat([energy_a, derivative_saij.flatten()]))
        return both_x[: len(energy_a)], both_x[len(energy_a) :].view_as(derivative_saij)

    def _each_exchange_correlation(self, occupancy_saij: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        energy_list, derivative_list = [], []
        batch = ATOMS_PER_BATCH if occupancy_saij.device.type == "cpu" else ATOMS_PER_DEVICE_BATCH
        for block_saij in occupancy_saij.split(batch, dim=1):
            channel_saLq = torch.einsum("Lqx,sax->saLq", self._expand_Lqx, block_saij.flatten(2))
            energy_a, derivative_saLq = shell_energies(channel_saLq, self.shells, self.functional)
            energy_list.append(energy_a)
            derivative_list.append(torch.einsum("Lqx,saLq->sax", self._expand_Lqx, derivative_saLq))
        derivative_sax = torch.cat(derivative_list, dim=1)
        return torch.cat(energy_list), derivative_sax.unflatten(2, self.setup.kinetic_ij.shape)

    @cached_property
    def _expand_Lqx(self) -> torch.Tensor:
        harmonics = (highest_harmonic(self.setup) + 1) ** 2
        return self.runtime.tensor(self.setup.expand_Lqx[:harmonics])
