"""Energy and potential of non-local correlation on the density grid, by FFTs.

With functions p_u of q that are 1 at one node of a mesh and 0 at the others, theta_u(R) = f(R) p_u(q(R)) and

    E = Ω/2 Σ_g Σ_uw theta_u*(g) phi_uw(|g|) theta_w(g),      u_u(R) = Σ_w [phi_uw theta_w](R)
    ∂E/∂f = Ω/N Σ_u u_u p_u(q),    ∂E/∂q = Ω/N f Σ_u u_u p_u'(q)

over the electrostatic sphere of g, so that the potential is the exact derivative of the energy on the grid.  q and its
slopes by density and gradient are a functional's (`functionals/non_local.py`).  Nodes are dealt out to ranks: each
makes its theta, all get all of them, each adds its part of both sums over u.
Source: G. Roman-Perez and J. M. Soler, Phys. Rev. Lett. 103, 096102 (2009).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.interpolate import CubicSpline

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.non_local.kernel import KernelTable, kernel_table
from eigenwerk.dft.xc.evaluation import energy_and_derivatives
from eigenwerk.dft.xc.gradients import contract, flux
from eigenwerk.functionals.functional import DENSITY, SIGMA
from eigenwerk.functionals.non_local import Mesh, NonLocal, wave_vector, weight
from eigenwerk.functionals.pbe import GGA_FLOOR
from eigenwerk.parallel.process_grid import share

WAVES_AT_A_TIME = 2**14
"""Waves whose matrices phi_uw are held at once: 52 MB, on a GPU with their cubics 260 MB."""

Members = slice | torch.Tensor
"""Some of the waves."""

POINTS_AT_A_TIME = {"cpu": 2**15, "cuda": 2**23}
"""Points whose p_u are made at once: what stays in the cache, half a gigabyte."""


@dataclass(frozen=True)
class Nodes:
    """Cubic splines p_u(q): 1 at one node, 0 at the others, without curvature at the ends.

    node_u: the mesh; cubic_upx: (u, power, interval), lowest power first, of q - node.
    """

    node_u: torch.Tensor
    cubic_upx: torch.Tensor

    @staticmethod
    def of(mesh: Mesh, device: torch.device) -> "Nodes":
        """On a device."""
        node_u = np.array(mesh.values)
        spline = CubicSpline(node_u, np.eye(len(node_u)), bc_type="natural")
        cubic_upx = np.ascontiguousarray(spline.c[::-1].transpose(2, 0, 1))
        return Nodes(torch.tensor(node_u, device=device), torch.tensor(cubic_upx, device=device))

    def placed(self, q_x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Interval and distance from its lower end, (x,)."""
        interval_x = torch.bucketize(q_x, self.node_u[1:-1], right=True)
        return interval_x, q_x - self.node_u[interval_x]

    def value(self, u: int, interval_x: torch.Tensor, distance_x: torch.Tensor) -> torch.Tensor:
        """p_u."""
        return _cubic(self.cubic_upx[u].index_select(1, interval_x), distance_x)

    def value_and_slope(
        self, u: int, interval_x: torch.Tensor, distance_x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """p_u and its derivative."""
        power_px = self.cubic_upx[u].index_select(1, interval_x)
        _, b_x, c_x, d_x = power_px
        slope_x = (3 * d_x).mul_(distance_x).add_(2 * c_x).mul_(distance_x).add_(b_x)
        return _cubic(power_px, distance_x), slope_x


def _cubic(power_px: torch.Tensor, distance_x: torch.Tensor) -> torch.Tensor:
    """The cubics with these coefficients, lowest power first; they are used up."""
    a_x, b_x, c_x, d_x = power_px
    return d_x.mul_(distance_x).add_(c_x).mul_(distance_x).add_(b_x).mul_(distance_x).add_(a_x)


@dataclass(frozen=True)
class AtPoints:
    """What a density gives at the points of the grid, flat.

    weight_x: f; weight_slope_x: ∂f/∂n; interval_x, distance_x: of q on its mesh (`Nodes.placed`); slope_sx, slope_yx:
    ∂q/∂n and ∂q/∂σ, of the channels that q takes; gradient_svR: of these.
    """

    weight_x: torch.Tensor
    weight_slope_x: torch.Tensor
    filled_x: torch.Tensor
    interval_x: torch.Tensor
    distance_x: torch.Tensor
    slope_sx: torch.Tensor
    slope_yx: torch.Tensor
    gradient_svR: torch.Tensor


class NonLocalCorrelation:
    """For densities on one basis."""

    def __init__(self, basis: PlaneWaveBasis, non_local: NonLocal):
        self.basis, self.non_local = basis, non_local
        self.table: KernelTable = kernel_table(non_local.kernel)
        self.nodes = Nodes.of(self.table.mesh, basis.runtime.device)
        world = basis.runtime.world
        shares = [share(self.table.mesh.count, world.size, rank) for rank in range(world.size)]
        self._as_they_stand = basis.runtime.device.type == "cuda"
        self._lengths, self._own = [part.stop - part.start for part in shares], shares[world.rank]

    def energy_and_potential(self, density_sg: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """E in hartree, and ∂E/∂n of each given density on its sphere, (s, g).

        density_sg: one density, or two whose spin-resolved q is wanted.
        """
        at, theta_ug = self._thetas(density_sg)
        energy, field_ug = self._product(theta_ug)
        by_weight_x, by_q_x = self._summed(at, field_ug)
        energy = self.basis.runtime.world.sum(energy)
        found_sR = (at.weight_slope_x * by_weight_x + by_q_x * at.slope_sx).unflatten(1, self._size_c)
        potential_sg = self.basis.fine_map.from_grid(found_sR, density_sg.shape[-1])
        flux_svg = self._flux(at, by_q_x, density_sg.shape[-1])
        return energy, potential_sg - (self.basis.slope_vg(density_sg.shape[-1]) * flux_svg).sum(1)

    def strained(self, density_sg: torch.Tensor, basis: PlaneWaveBasis) -> torch.Tensor:
        """A number that depends on the cell of another basis as E does at fixed coefficients.

        The cell grows, |g| moves in phi, and gradients turn: ΔE = E ΔΩ/Ω + Ω/2 Σ theta* ∂phi/∂|g| theta Δ|g|
        + ∫ ∂E/∂∇n · Δ∇n.
        """
        at, theta_ug = self._thetas(density_sg)
        energy, field_ug = self._product(theta_ug)
        _, by_q_x = self._summed(at, field_ug)
        by_length_g = self._by_length(theta_ug)
        energy, by_length_g = (self.basis.runtime.world.sum(part) for part in (energy, by_length_g))
        far_g = self.basis.norm2_g > 0
        length_g = basis.norm2_g.where(far_g, torch.ones_like(basis.norm2_g)).sqrt()
        flux_svg = self._flux(at, by_q_x, density_sg.shape[-1])
        turned = self.basis.inner(flux_svg, basis.slope_vg(density_sg.shape[-1]) * density_sg[:, None]).sum()
        grown = energy * (basis.volume / self.basis.volume).to(energy.device)
        return grown + turned + (by_length_g.where(far_g, torch.zeros_like(by_length_g)) * length_g).sum()

    @property
    def _size_c(self) -> tuple[int, int, int]:
        return self.basis.fine_map.size_c

    def _flux(self, at: AtPoints, by_q_x: torch.Tensor, count: int) -> torch.Tensor:
        """∂E/∂∇n on the sphere of the density, (s, v, g)."""
        by_sigma_yR = (by_q_x * at.slope_yx).unflatten(1, self._size_c)
        return self.basis.fine_map.from_grid(flux(by_sigma_yR, at.gradient_svR, 0), count)

    def _thetas(self, density_sg: torch.Tensor) -> tuple[AtPoints, torch.Tensor]:
        """What the density gives at points, and theta_u(g) of all nodes."""
        fine, world = self.basis.fine_map, self.basis.runtime.world
        density_sR = fine.to_grid(density_sg)
        gradient_svR = fine.to_grid(self.basis.slope_vg(density_sg.shape[-1]) * density_sg[:, None])
        values = {DENSITY: density_sR.flatten(1), SIGMA: contract(gradient_svR, 0).flatten(1)}
        found = energy_and_derivatives(wave_vector(self.non_local), values)
        total_x = values[DENSITY].sum(0)
        weight_x, weight_slope_x = weight(self.non_local, total_x)
        interval_x, distance_x = self.nodes.placed(found.energy_x)
        at = AtPoints(
            weight_x, weight_slope_x, total_x > GGA_FLOOR, interval_x, distance_x, found.slopes[DENSITY],
            found.slopes[SIGMA], gradient_svR,
        )  # fmt: skip
        own = [
            fine.from_grid((weight_x * self.nodes.value(u, interval_x, distance_x)).unflatten(0, self._size_c))
            for u in range(self._own.start, self._own.stop)
        ]
        waves = len(self.basis.index_gc)
        mine_ug = torch.stack(own) if own else density_sg.new_empty((0, waves))
        return at, world.all_gather(mine_ug, self._lengths) if world.size > 1 else mine_ug

    def _product(self, theta_ug: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """This rank's part of E, and Σ_w phi_uw theta_w of its nodes, (u, g)."""
        field_ug = torch.empty_like(theta_ug[self._own])
        for members, phi_xuw in self._kernels(0):
            part_xu2 = torch.bmm(phi_xuw, _by_wave(theta_ug, members))
            field_ug[:, members] = torch.view_as_complex(part_xu2.transpose(0, 1).contiguous())
        return 0.5 * self.basis.inner(theta_ug[self._own], field_ug).sum(), field_ug

    def _by_length(self, theta_ug: torch.Tensor) -> torch.Tensor:
        """∂E/∂|g| by |g| in phi, this rank's nodes, (g,)."""
        found_g = theta_ug.real.new_zeros(theta_ug.shape[1])
        volume = self.basis.volume.to(found_g.device)
        for members, slope_xuw in self._kernels(1):
            theta_xw2 = _by_wave(theta_ug, members)
            found_g[members] = (torch.bmm(slope_xuw, theta_xw2) * theta_xw2[:, self._own]).sum((1, 2))
        return 0.5 * volume * self.basis.weight_g * found_g

    @cached_property
    def _parts(self) -> list[Members]:
        """Waves in parts of limited number: on a processor those of one interval of the table each, which take one
        product of matrices; on a GPU, where launches count, as they stand."""
        if self._as_they_stand:
            waves = len(self.basis.index_gc)
            return [slice(start, start + WAVES_AT_A_TIME) for start in range(0, waves, WAVES_AT_A_TIME)]
        interval_g = self._place_g.long()
        order_x = torch.argsort(interval_g, stable=True)
        counts = torch.bincount(interval_g, minlength=len(self.table.cubic_xpx)).tolist()
        pieces = (piece for members_x in order_x.split(counts) for piece in members_x.split(WAVES_AT_A_TIME))
        return [piece for piece in pieces if len(piece)]

    @cached_property
    def _place_g(self) -> torch.Tensor:
        """Where |g| stands in the table."""
        return self.table.places(self.basis.norm2_g.detach().sqrt())

    @cached_property
    def _pair_y(self) -> torch.Tensor:
        """Pairs of this rank's nodes u and all w, one after the other."""
        return self.basis.runtime.index(self.table.pair_uw[self._own].ravel())

    @cached_property
    def _cubics(self) -> torch.Tensor:
        """Cubics of the table: of all pairs where parts of waves stand as they are, else of `_pair_y`."""
        cubic_xpx = torch.from_numpy(self.table.cubic_xpx).to(self.basis.runtime.device)
        return cubic_xpx if self._as_they_stand else cubic_xpx[:, :, self._pair_y]

    def _kernels(self, derivative: int) -> Iterator[tuple[Members, torch.Tensor]]:
        """Waves and their phi_uw of this rank's nodes u, or its derivative by |g|, (x, u, w)."""
        for members in self._parts:
            place_x = self._place_g[members]
            interval_x = place_x.long()
            place_x, ones_x = place_x - interval_x, torch.ones_like(place_x)
            power_xp = torch.stack([ones_x, place_x, place_x**2, place_x**3], 1)
            if derivative:
                power_xp = torch.stack([0 * ones_x, ones_x, 2 * place_x, 3 * place_x**2], 1)
                power_xp *= self.table.place_slope(self.basis.norm2_g[members].detach().sqrt())[:, None]
            if self._as_they_stand:
                pair_xx = torch.bmm(power_xp[:, None], self._cubics[interval_x])[:, 0]
                phi_xy = pair_xx.index_select(1, self._pair_y)
            else:
                phi_xy = power_xp @ self._cubics[int(interval_x[0])]
            yield members, phi_xy.unflatten(1, (-1, self.table.mesh.count))

    def _summed(self, at: AtPoints, field_ug: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Σ_u u_u p_u and f Σ_u u_u p_u', over all ranks, (x,)."""
        fine, step = self.basis.fine_map, POINTS_AT_A_TIME[at.weight_x.device.type]
        sum_px = at.weight_x.new_zeros((2, len(at.weight_x)))
        for u, field_g in zip(range(self._own.start, self._own.stop), field_ug, strict=True):
            field_x = fine.to_grid(field_g).flatten()
            for start in range(0, len(field_x), step):
                block = slice(start, start + step)
                found = self.nodes.value_and_slope(u, at.interval_x[block], at.distance_x[block])
                for sum_x, value_x in zip(sum_px, found, strict=True):
                    sum_x[block].addcmul_(field_x[block], value_x)
        by_weight_x, by_q_x = self.basis.runtime.world.sum(sum_px)
        # of next to nothing q has slopes without bound, and no say
        return by_weight_x, torch.where(at.filled_x, at.weight_x * by_q_x, torch.zeros_like(by_q_x))


def _by_wave(theta_ug: torch.Tensor, members: Members) -> torch.Tensor:
    """theta of some waves, real and imaginary part last, (x, u, 2)."""
    return torch.view_as_real(theta_ug[:, members]).transpose(0, 1).contiguous()
