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
from eigenwerk.dft.xc.evaluation import energy_and_derivatives
from eigenwerk.dft.xc.gradients import flux, ingredient
from eigenwerk.functionals.functional import DENSITY, SIGMA, Functional
from eigenwerk.parallel.runtime import Runtime

INNER_DEGREE, OUTER_DEGREE = 11, 29
"""Degrees of the Lebedev rules near the nucleus (50 points) and further out (302 points).

With 50 points everywhere the energy of a distorted cell depends on its orientation by up to 0.8 meV;
with these by less than 1e-6 eV (tests/dft/terms/test_one_centre.py).
"""

INNER_SHARE = 0.1
"""Share of the matching radius inside which the density is so nearly spherical that 50 points do."""

AngularMesh = Callable[[int], tuple[torch.Tensor, torch.Tensor]]
"""Degree -> points (x, 3) on the unit sphere and their weights (x,)."""

Fields = dict[str, torch.Tensor]
"""What each ingredient of a functional is made of at the points of a shell: the density, (s, a, x, g), and for σ its
gradient, (s, a, v, x, g); v: along the radius and, Cartesian, across it."""

MATCHED = 1.05
"""Radii up to this multiple of the matching radius are integrated."""


@dataclass(frozen=True)
class Shell:
    """Radii with a common angular rule.

    weight_xg: quadrature weights of points (x directions, g radii), negative for smooth densities; harmonic_xL: Y_L;
    tangent_tL: tangential part of r∇Y_L, t = Cartesian axes times directions; pair_qf, core_f: radial functions n of
    channel pairs and of the core, their slopes n' and n/r one after the other (f = 3 g).
    """

    weight_xg: torch.Tensor
    harmonic_xL: torch.Tensor
    tangent_tL: torch.Tensor
    pair_qf: torch.Tensor
    core_f: torch.Tensor

    def fields(self, channel_saLq: torch.Tensor, ingredients: tuple[str, ...]) -> Fields:
        """The fields of some ingredients at the points."""
        g = self.weight_xg.shape[1]
        f = self.pair_qf.shape[1] if SIGMA in ingredients else g
        radial_saLf = channel_saLq @ self.pair_qf[:, :f]
        radial_saLf[:, :, 0] += self.core_f[:f] / len(radial_saLf)
        both_saxf = _times(self.harmonic_xL, radial_saLf[..., : 2 * g])
        if SIGMA not in ingredients:
            return {DENSITY: both_saxf}  # only the first of the radial functions are there
        tangent_satg = _times(self.tangent_tL, radial_saLf[..., 2 * g :])
        gradient_satg = torch.cat([both_saxf[..., g:], tangent_satg], 2)
        return {DENSITY: both_saxf[..., :g], SIGMA: gradient_satg.unflatten(2, (4, -1))}

    def add_derivative(self, fields: Fields, slopes: dict[str, torch.Tensor], total_saLq: torch.Tensor) -> None:
        """total_saLq += ∂E/∂D_Lq, from the derivatives of e by each ingredient at the points, (c, a, x, g)."""
        g, total_xq = self.weight_xg.shape[1], total_saLq.view(-1, total_saLq.shape[-1])
        dedn_saxg = slopes[DENSITY] * self.weight_xg
        if SIGMA not in slopes:
            radial_saLg = _times(self.harmonic_xL.T, dedn_saxg)
            total_xq.addmm_(radial_saLg.flatten(0, 2), self.pair_qf[:, :g].T)
            return
        flux_savxg = flux(slopes[SIGMA] * self.weight_xg, fields[SIGMA], 1)
        radial_saLf = _times(self.harmonic_xL.T, torch.cat([dedn_saxg, flux_savxg[:, :, 0]], -1))
        tangent_saLg = _times(self.tangent_tL.T, flux_savxg[:, :, 1:].flatten(2, 3))
        total_xq.addmm_(radial_saLf.flatten(0, 2), self.pair_qf[:, : 2 * g].T)
        total_xq.addmm_(tangent_saLg.flatten(0, 2), self.pair_qf[:, 2 * g :].T)


def _times(matrix_xL: torch.Tensor, value_saLg: torch.Tensor) -> torch.Tensor:
    """The same matrix times that of each spin and atom, (s, a, x, g), as one batch without copies."""
    batch = value_saLg.shape[:2]
    matrix_bxL = matrix_xL.expand(batch.numel(), -1, -1)
    return torch.bmm(matrix_bxL, value_saLg.flatten(0, 1)).unflatten(0, batch)


def shell_energies(
    channel_list: list[torch.Tensor], shells_list: list[list[Shell]], functional: Functional
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """E_xc[all-electron] - E_xc[smooth] of each atom, (a,), and its derivative with respect to D_Lq, (s, a, L, q).

    channel_list: D_Lq of the atoms of several species, (s, a, L, q) each; shells_list: the shells of each.
    The functional is called once for the points of all: its many small operations cost what launching them costs.
    """
    pairs = list(zip(channel_list, shells_list, strict=True))
    names = functional.ingredients
    fields = [[shell.fields(channel, names) for shell in shells] for channel, shells in pairs]
    every = [field for of_species in fields for field in of_species]
    if not every:  # a rank without radii
        return [(channel.new_zeros(channel.shape[1]), torch.zeros_like(channel)) for channel in channel_list]
    at = energy_and_derivatives(
        functional, {name: torch.cat([ingredient(name, f[name], 1).flatten(1) for f in every], 1) for name in names}
    )
    found, start = [], 0
    for (channel_saLq, shells), of_species in zip(pairs, fields, strict=True):
        energy_a, total_saLq = channel_saLq.new_zeros(channel_saLq.shape[1]), torch.zeros_like(channel_saLq)
        for shell, field in zip(shells, of_species, strict=True):
            shape = field[DENSITY].shape[1:]
            part = slice(start, start + shape.numel())
            energy_a.addmv_(at.energy_x[part].view(len(energy_a), -1), shell.weight_xg.view(-1))
            slopes = {name: slope[:, part].unflatten(1, shape) for name, slope in at.slopes.items()}
            shell.add_derivative(field, slopes, total_saLq)
            start = part.stop
        found.append((energy_a, total_saLq))
    return found


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
    tangent_tL = tangent_xLv.movedim(-1, 0).flatten(0, 1)
    volume, inverse_r, pair_qg, slope_qg, core, core_slope = both
    weight_xg = np.asarray(weight_x)[:, None] * volume
    pair_qf = np.concatenate([pair_qg, slope_qg, pair_qg * inverse_r], -1)
    core_f = np.concatenate([core, core_slope, core * inverse_r])
    return Shell(*(runtime.tensor(t) for t in (weight_xg, harmonic_xL, tangent_tL, pair_qf, core_f)))
