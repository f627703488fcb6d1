"""One-centre energies: all-electron minus pseudo, inside the augmentation spheres.

    ΔE(D) = ΔT_core + Σ ΔT_ij D_ij  +  C_0 + C_ij D_ij + D_x C_xx D_x  +  Z_0 + Z_ij D_ij
            + E_xc[n_c + Σ D φφ] - E_xc[ñ_c + Σ D φ̃φ̃]

(kinetic, electrostatic, zero potential, exchange-correlation; D summed over spins except in the last).
The exchange-correlation energy is integrated on radial grid x Lebedev points, so all angular shapes
of the density count.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eigenwerk.dft.paw.equivalence import EquivalentAtoms
from eigenwerk.dft.paw.setup import Setup, matching_radius
from eigenwerk.dft.paw.spherical import solid_harmonics, solid_harmonics_gradient, sphere_quadrature
from eigenwerk.dft.xc.functional import Functional
from eigenwerk.io.paw_xml import RadialGrid
from eigenwerk.parallel.runtime import Runtime

INNER_DEGREE, OUTER_DEGREE = 11, 29
"""Degrees of the Lebedev rules near the nucleus (50 points) and further out (302 points).

With 50 points everywhere the energy of a distorted cell depends on its orientation by up to 0.8 meV;
with these by less than 1e-6 eV (tests/dft/paw/test_onsite.py).
"""

INNER_SHARE = 0.1
"""Share of the matching radius inside which the density is so nearly spherical that 50 points do."""

MATCHED = 1.05
"""Radii up to this multiple of the matching radius are integrated."""

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
        equivalent: EquivalentAtoms | None = None,
    ):  # fmt: skip
        """count: atoms; equivalent: compute the exchange-correlation part once for atoms that symmetry makes equal."""
        self.setup, self.functional, self.runtime, self.equivalent = setup, functional, runtime, equivalent
        different = count if equivalent is None else len(equivalent.first_r)
        world = runtime.world
        self.by_radii = world.size > 1 and different < MANY_ATOMS_PER_RANK * world.size
        tensor = runtime.tensor
        self.linear_ij = tensor(setup.kinetic_ij), tensor(setup.coulomb_ij), tensor(setup.zero_ij)
        self.coulomb_xx = tensor(setup.coulomb_xx)
        self.segments = _segments(setup, runtime, slice(world.rank, None, world.size) if self.by_radii else slice(None))

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
            total_saLq, energy_a = torch.zeros_like(channel_saLq), channel_saLq.new_zeros(channel_saLq.shape[1])
            for segment in self.segments:
                for sign, radial in ((1.0, segment.ae), (-1.0, segment.pseudo)):
                    part_a, derivative_saLq = radial.energy(channel_saLq, segment.sphere, self.functional)
                    energy_a += sign * part_a
                    total_saLq += sign * derivative_saLq
            energy_list.append(energy_a)
            derivative_list.append(torch.einsum("Lqx,saLq->sax", self._expand_Lqx, total_saLq))
        derivative_sax = torch.cat(derivative_list, dim=1)
        return torch.cat(energy_list), derivative_sax.unflatten(2, self.setup.kinetic_ij.shape)

    @cached_property
    def _expand_Lqx(self) -> torch.Tensor:
        harmonics = (2 * max(self.setup.l_j) + 1) ** 2
        return self.runtime.tensor(self.setup.expand_Lqx[:harmonics])


@dataclass(frozen=True)
class _Segment:
    """A shell of radii with its angular rule, and both kinds of densities on it."""

    sphere: "_Sphere"
    ae: "_RadialDensity"
    pseudo: "_RadialDensity"


def _segments(setup: Setup, runtime: Runtime, own: slice) -> list[_Segment]:
    """Inner and outer shell of a species; own: which of their radii."""
    pairs, lmax = setup.pairs, 2 * max(setup.l_j)
    ae_d, pseudo_d, core_d, pseudo_core_d = pairs.derivatives
    split = int(np.searchsorted(pairs.grid.r_g, INNER_SHARE * matching_radius(setup.dataset)))
    # beyond the matching radius both kinds of functions are the same, and their energies cancel
    stop = min(int(np.searchsorted(pairs.grid.r_g, MATCHED * matching_radius(setup.dataset))), len(pairs.grid.r_g))
    shells = ((np.arange(split)[own], INNER_DEGREE), (np.arange(split, stop)[own], OUTER_DEGREE))
    return [
        _Segment(
            _Sphere.make(lmax, degree, runtime),
            _RadialDensity.make(pairs.grid, shell, (pairs.ae_qg, ae_d, pairs.core_g, core_d), runtime),
            _RadialDensity.make(
                pairs.grid, shell, (pairs.pseudo_qg, pseudo_d, pairs.pseudo_core_g, pseudo_core_d), runtime
            ),
        )
        for shell, degree in shells
        if len(shell)
    ]


@dataclass(frozen=True)
class _Sphere:
    """Quadrature on the unit sphere: weights, Y_L and the tangential part of r∇Y_L."""

    weight_x: torch.Tensor
    harmonic_xL: torch.Tensor
    tangent_xLv: torch.Tensor

    @staticmethod
    def make(lmax: int, degree: int, runtime: Runtime) -> "_Sphere":
        point_xv, weight_x = sphere_quadrature(degree)
        harmonic_xL = solid_harmonics(lmax, point_xv)
        l_L = torch.tensor([float(l) for l in range(lmax + 1) for _ in range(2 * l + 1)], dtype=point_xv.dtype)
        radial_xLv = (l_L * harmonic_xL)[:, :, None] * point_xv[:, None, :]
        tangent_xLv = solid_harmonics_gradient(lmax, point_xv) - radial_xLv
        return _Sphere(*(runtime.tensor(t) for t in (weight_x, harmonic_xL, tangent_xLv)))


@dataclass(frozen=True)
class _RadialDensity:
    """Pair functions and core of one kind (all-electron or pseudo) with their radial derivatives."""

    volume_g: torch.Tensor
    inverse_r_g: torch.Tensor
    pair_qg: torch.Tensor
    pair_slope_qg: torch.Tensor
    core_g: torch.Tensor
    core_slope_g: torch.Tensor

    @staticmethod
    def make(
        grid: RadialGrid, shell: np.ndarray, functions: tuple[np.ndarray, ...], runtime: Runtime
    ) -> "_RadialDensity":
        """shell: indices of radii; functions: pairs, their slopes, core, its slope, all on the whole grid."""
        r_g = grid.r_g.copy()
        # the centre has no volume; take the neighbour's radius so that its angular gradient stays finite
        r_g[0] = r_g[1]
        arrays = (grid.r_g**2 * grid.dr_g, 1 / r_g, *functions)
        return _RadialDensity(*(runtime.tensor(array[..., shell]) for array in arrays))

    def energy(
        self, channel_saLq: torch.Tensor, sphere: _Sphere, functional: Functional
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """E_xc of Σ D_Lq n_q(r) Y_L + core of each atom (a,), and its derivative with respect to D_Lq."""
        spins = channel_saLq.shape[0]
        density_saLg = channel_saLq @ self.pair_qg
        slope_saLg = channel_saLq @ self.pair_slope_qg
        density_saLg[:, :, 0] += self.core_g / spins
        slope_saLg[:, :, 0] += self.core_slope_g / spins
        density_saxg = sphere.harmonic_xL @ density_saLg
        if not functional.needs_gradient:
            energy_axg, dedn_saxg, _ = functional.energy_and_derivatives(density_saxg, None)
            weight_xg = sphere.weight_x[:, None] * self.volume_g
            derivative_saLg = sphere.harmonic_xL.T @ (dedn_saxg * weight_xg)
            return (energy_axg * weight_xg).sum((1, 2)), derivative_saLg @ self.pair_qg.T
        radial_saxg = sphere.harmonic_xL @ slope_saLg
        tangent_saxgv = torch.einsum("xLv,saLg->saxgv", sphere.tangent_xLv, density_saLg) * self.inverse_r_g[:, None]
        gradient_saxgv = torch.cat([radial_saxg[..., None], tangent_saxgv], dim=-1)
        energy_axg, dedn_saxg, deds_yaxg = functional.energy_and_derivatives(density_saxg, contract(gradient_saxgv))
        weight_xg = sphere.weight_x[:, None] * self.volume_g
        flux_saxgv = flux(deds_yaxg, gradient_saxgv) * weight_xg[..., None]
        derivative_saLg = sphere.harmonic_xL.T @ (dedn_saxg * weight_xg)
        derivative_saLg = derivative_saLg + torch.einsum(
            "xLv,saxgv->saLg", sphere.tangent_xLv, flux_saxgv[..., 1:] * self.inverse_r_g[:, None]
        )
        slope_derivative_saLg = sphere.harmonic_xL.T @ flux_saxgv[..., 0]
        derivative_saLq = derivative_saLg @ self.pair_qg.T + slope_derivative_saLg @ self.pair_slope_qg.T
        return (energy_axg * weight_xg).sum((1, 2)), derivative_saLq


def contract(gradient_sxv: torch.Tensor) -> torch.Tensor:
    """σ: |∇n|² for one density; (uu, ud, dd) products for two.  (s, ..., v) -> (y, ...)."""
    if gradient_sxv.shape[0] == 1:
        return (gradient_sxv**2).sum(-1)
    up, down = gradient_sxv
    return torch.stack([(up * up).sum(-1), (up * down).sum(-1), (down * down).sum(-1)])


def flux(deds_yx: torch.Tensor | None, gradient_sxv: torch.Tensor) -> torch.Tensor:
    """∂e/∂(∇n_s): 2 ∂e/∂σ_ss ∇n_s + ∂e/∂σ_ud ∇n_s'.  (y, ...), (s, ..., v) -> (s, ..., v)."""
    if deds_yx is None:
        raise ValueError("a functional without gradients has no gradient flux")
    if gradient_sxv.shape[0] == 1:
        return 2 * deds_yx[..., None] * gradient_sxv
    up, down = gradient_sxv
    uu, ud, dd = deds_yx[..., None]
    return torch.stack([2 * uu * up + ud * down, 2 * dd * down + ud * up])
