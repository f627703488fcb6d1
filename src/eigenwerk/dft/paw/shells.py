"""Exchange-correlation energy of one-centre densities on radial grid x Lebedev points, in shells of radii.

All-electron and smooth densities stand side by side on the axis g of radii, the smooth ones with negative weights: what
comes out is the difference of the two energies.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.dft.paw.setup import Setup, matching_radius
from eigenwerk.dft.paw.spherical import solid_harmonics, solid_harmonics_gradient, sphere_quadrature
from eigenwerk.dft.xc.functional import Functional
from eigenwerk.dft.xc.gradients import contract, flux
from eigenwerk.parallel.runtime import Runtime

INNER_DEGREE, OUTER_DEGREE = 11, 29
"""Degrees of the Lebedev rules near the nucleus (50 points) and further out (302 points).

With 50 points everywhere the energy of a distorted cell depends on its orientation by up to 0.8 meV;
with these by less than 1e-6 eV (tests/dft/paw/test_onsite.py).
"""

INNER_SHARE = 0.1
"""Share of the matching radius inside which the density is so nearly spherical that 50 points do."""

AngularMesh = Callable[[int], tuple[torch.Tensor, torch.Tensor]]
"""Degree -> points (x, 3) on the unit sphere and their weights (x,)."""

MATCHED = 1.05
"""Radii up to this multiple of the matching radius are integrated."""


@dataclass(frozen=True)
class Shell:
    """Radii with a common angular rule.

    weight_xg: quadrature weights of points (x directions, g radii), negative for smooth densities; inverse_r_g: 1/r;
    harmonic_xL: Y_L; tangent_xLv: tangential part of r∇Y_L; pair_qg, core_g: radial functions of channel pairs and of
    the core, with their slopes.
    """

    weight_xg: torch.Tensor
    inverse_r_g: torch.Tensor
    harmonic_xL: torch.Tensor
    tangent_xLv: torch.Tensor
    pair_qg: torch.Tensor
    pair_slope_qg: torch.Tensor
    core_g: torch.Tensor
    core_slope_g: torch.Tensor

    def density(self, channel_saLq: torch.Tensor) -> torch.Tensor:
        """Σ D_Lq n_q(r) + core in each (l, m); (s, a, L, g)."""
        return self._with_core(channel_saLq @ self.pair_qg, self.core_g)

    def gradient(self, channel_saLq: torch.Tensor, density_saLg: torch.Tensor) -> torch.Tensor:
        """Radial and tangential components of ∇n at the points; (s, a, x, g, 4)."""
        slope_saLg = self._with_core(channel_saLq @ self.pair_slope_qg, self.core_slope_g)
        radial_saxg = self.harmonic_xL @ slope_saLg
        tangent_saxgv = torch.einsum("xLv,saLg->saxgv", self.tangent_xLv, density_saLg) * self.inverse_r_g[:, None]
        return torch.cat([radial_saxg[..., None], tangent_saxgv], dim=-1)

    def derivative(self, dedn_saxg: torch.Tensor, flux_saxgv: torch.Tensor | None) -> torch.Tensor:
        """∂E/∂D_Lq from ∂e/∂n and ∂e/∂∇n at the points, both times their weights; (s, a, L, q)."""
        derivative_saLg = self.harmonic_xL.T @ dedn_saxg
        if flux_saxgv is None:
            return derivative_saLg @ self.pair_qg.T
        derivative_saLg = derivative_saLg + torch.einsum(
            "xLv,saxgv->saLg", self.tangent_xLv, flux_saxgv[..., 1:] * self.inverse_r_g[:, None]
        )
        slope_derivative_saLg = self.harmonic_xL.T @ flux_saxgv[..., 0]
        return derivative_saLg @ self.pair_qg.T + slope_derivative_saLg @ self.pair_slope_qg.T

    @staticmethod
    def _with_core(value_saLg: torch.Tensor, core_g: torch.Tensor) -> torch.Tensor:
        value_saLg[:, :, 0] += core_g / len(value_saLg)
        return value_saLg


def shell_energies(
    channel_saLq: torch.Tensor, shells: list[Shell], functional: Functional
) -> tuple[torch.Tensor, torch.Tensor]:
    """E_xc[all-electron] - E_xc[smooth] of each atom, (a,), and its derivative with respect to D_Lq, (s, a, L, q).

    The functional is called once for the points of all shells: on a GPU its many small operations cost what launching
    them costs.
    """
    in_Lg = [shell.density(channel_saLq) for shell in shells]
    density_list = [shell.harmonic_xL @ density_saLg for shell, density_saLg in zip(shells, in_Lg, strict=True)]
    gradient_list, sigma_yx = [], None
    if functional.needs_gradient:
        gradient_list = [shell.gradient(channel_saLq, n) for shell, n in zip(shells, in_Lg, strict=True)]
        sigma_yx = torch.cat([contract(gradient).flatten(2) for gradient in gradient_list], -1)
    density_sax = torch.cat([density.flatten(2) for density in density_list], -1)
    energy_ax, dedn_sax, deds_yax = functional.energy_and_derivatives(density_sax, sigma_yx)
    energy_a, total_saLq, start = channel_saLq.new_zeros(channel_saLq.shape[1]), torch.zeros_like(channel_saLq), 0
    for n, shell in enumerate(shells):
        part = slice(start, start + shell.weight_xg.numel())
        energy_a += energy_ax[:, part] @ shell.weight_xg.flatten()
        dedn_saxg = dedn_sax[..., part].unflatten(-1, shell.weight_xg.shape) * shell.weight_xg
        flux_saxgv = None
        if deds_yax is not None:
            deds_yaxg = deds_yax[..., part].unflatten(-1, shell.weight_xg.shape)
            flux_saxgv = flux(deds_yaxg, gradient_list[n]) * shell.weight_xg[..., None]
        total_saLq += shell.derivative(dedn_saxg, flux_saxgv)
        start = part.stop
    return energy_a, total_saLq


def highest_harmonic(setup: Setup) -> int:
    """The highest angular momentum in the density of a species."""
    return 2 * max(setup.l_j)


def make_shells(
    setup: Setup, runtime: Runtime, own: slice, directions: AngularMesh = sphere_quadrature
) -> list[Shell]:
    """Inner and outer shell of a species; own: which of their radii; directions: points and weights by degree."""
    radii = setup.pairs.grid.r_g
    split = int(np.searchsorted(radii, INNER_SHARE * matching_radius(setup.dataset)))
    # beyond the matching radius both kinds of functions are the same, and their energies cancel
    stop = min(int(np.searchsorted(radii, MATCHED * matching_radius(setup.dataset))), len(radii))
    shells = ((np.arange(split)[own], INNER_DEGREE), (np.arange(split, stop)[own], OUTER_DEGREE))
    return [_make_shell(setup, runtime, shell_g, directions(degree)) for shell_g, degree in shells if len(shell_g)]


def _make_shell(
    setup: Setup, runtime: Runtime, shell_g: np.ndarray, mesh: tuple[torch.Tensor, torch.Tensor]
) -> Shell:
    """The radii with the indices shell_g."""
    pairs, lmax = setup.pairs, highest_harmonic(setup)
    grid, (ae_d, pseudo_d, core_d, pseudo_core_d) = pairs.grid, pairs.derivatives
    r_g = grid.r_g.copy()
    # the centre has no volume; take the neighbour's radius so that its angular gradient stays finite
    r_g[0] = r_g[1]
    volume_g = grid.r_g**2 * grid.dr_g
    point_xv, weight_x = mesh
    both = [
        np.concatenate([ae[..., shell_g], pseudo[..., shell_g]], axis=-1)
        for ae, pseudo in (
            (volume_g, -volume_g), (1 / r_g, 1 / r_g), (pairs.ae_qg, pairs.pseudo_qg), (ae_d, pseudo_d),
            (pairs.core_g, pairs.pseudo_core_g), (core_d, pseudo_core_d),
        )
    ]  # fmt: skip
    harmonic_xL = solid_harmonics(lmax, point_xv)
    l_L = torch.tensor([float(l) for l in range(lmax + 1) for _ in range(2 * l + 1)], dtype=point_xv.dtype)
    radial_xLv = (l_L * harmonic_xL)[:, :, None] * point_xv[:, None, :]
    tangent_xLv = solid_harmonics_gradient(lmax, point_xv) - radial_xLv
    weight_xg = np.asarray(weight_x)[:, None] * both[0]
    return Shell(*(runtime.tensor(t) for t in (weight_xg, both[1], harmonic_xL, tangent_xLv, *both[2:])))
