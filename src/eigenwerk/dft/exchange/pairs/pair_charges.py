"""Compensation charges of pair densities on the points of the grid inside of each atom's sphere.

    ρ(r) += Σ_aL Q_aL g_L(r - R_a) exp(-iq·r),      I_aL = ∫ g_L(r - R_a) exp(iq·r) V(r),

of the parts of ρ and V that have the period of the lattice, q the wave vector.  What is added and what is integrated
are transposes of each other, so that potentials are derivatives of the energy whatever the grid.  By plane waves the
same would cost (atoms × plane waves) for each pair, here it is (points of spheres).  The sums of g_L over the points
are made exact: the charge of a pair is what the overlap of its orbitals says.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import isqrt, pi, sqrt

import numpy as np
import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.exchange.pairs.pair_grid import PairGrid
from eigenwerk.dft.exchange.pairs.pair_shape import PairShape
from eigenwerk.dft.paw.atom_layout import AtomLayout
from eigenwerk.dft.paw.real_space import sphere_points
from eigenwerk.dft.paw.shape import degrees
from eigenwerk.dft.paw.spherical import solid_harmonics, solid_harmonics_gradient


@dataclass(frozen=True, eq=False)
class ChargePart:
    """Spheres of one species, padded to the same number of points P.

    start: of their points on the axis S of all; atom_a; table_aLP: factor_aL g_L - share_aL g_0, whose sums over
    points are exactly √4π N for L = 0 and zero for others; offset_aPv: r - R_a, bohr.
    """

    start: int
    atom_a: torch.Tensor
    table_aLP: torch.Tensor
    offset_aPv: torch.Tensor
    shape: PairShape
    factor_aL: torch.Tensor
    share_aL: torch.Tensor

    @property
    def lmax(self) -> int:
        """Largest l of the axis L."""
        return isqrt(self.table_aLP.shape[1]) - 1

    @property
    def points(self) -> slice:
        """Of this species on the axis S."""
        atoms, _, count = self.table_aLP.shape
        return slice(self.start, self.start + atoms * count)

    def of_tables(self, slope_y: torch.Tensor) -> torch.Tensor:
        """This part of derivatives by the tables of all; (a, L, P)."""
        begin = self.start * self.table_aLP.shape[1]
        return slope_y[begin : begin + self.table_aLP.numel()].view(self.table_aLP.shape)

    @cached_property
    def radial_aLP(self) -> torch.Tensor:
        """g_l/r^l."""
        return _radial(self.shape.radial, self.lmax, self.offset_aPv)

    @cached_property
    def slope_aLP(self) -> torch.Tensor:
        """The derivative of g_l/r^l, divided by r."""
        return _radial(self.shape.slope, self.lmax, self.offset_aPv)

    def gradient(self, v: int) -> torch.Tensor:
        """∂g_L/∂r_v, without the factor of the table; (a, L, P)."""
        gradient_aPL = solid_harmonics_gradient(self.lmax, self.offset_aPv.flatten(0, 1))[..., v]
        gradient_aLP = gradient_aPL.view(*self.offset_aPv.shape[:2], -1).mT
        along_aLP = self.offset_aPv[..., v][:, None] * solid_harmonics(self.lmax, self.offset_aPv).mT
        return self.slope_aLP * along_aLP + self.radial_aLP * gradient_aLP

    def strained(self, v: int, w: int) -> torch.Tensor:
        """What a strain ε_vw does to Ω g_L at the points of the grid, over Ω; (a, L, P)."""
        change_aLP = self.gradient(v) * self.offset_aPv[..., w][:, None]
        if v == w:
            harmonic_aLP = solid_harmonics(self.lmax, self.offset_aPv).mT
            change_aLP = change_aLP + self.radial_aLP * harmonic_aLP
        return change_aLP

    def derivative(self, change_aLP: torch.Tensor) -> torch.Tensor:
        """How the table changes where g_L changes by change_aLP: the sums stay."""
        first_aP, whole_a = self.table_aLP[:, 0], self.table_aLP[:, 0].sum(-1)
        out_aLP = change_aLP * self.factor_aL[..., None]
        out_aLP[:, 1:] -= self.share_aL[:, 1:, None] * out_aLP[:, :1]
        return out_aLP - (out_aLP.sum(-1) / whole_a[:, None])[..., None] * first_aP[:, None]


@dataclass(frozen=True, eq=False)
class PairCharges:
    """The charges of all atoms; index_S: points of the grid, sphere after sphere, place_Sc: their fractional
    coordinates, not wrapped; atoms: how many."""

    index_S: torch.Tensor
    place_Sc: torch.Tensor
    parts: tuple[ChargePart, ...]
    atoms: int

    @property
    def harmonics(self) -> int:
        """Charges (l, m) of an atom."""
        return self.parts[0].table_aLP.shape[1]

    def phases(self, q_c: np.ndarray) -> torch.Tensor | None:
        """exp(-iq·r) of all points; None where q is zero."""
        if not np.any(q_c):
            return None
        angle_S = -2 * pi * self.place_Sc @ torch.as_tensor(q_c, dtype=torch.float64, device=self.place_Sc.device)
        return torch.polar(torch.ones_like(angle_S), angle_S)

    def add(self, grid_xR: torch.Tensor, charge_xA: torch.Tensor, phase_S: torch.Tensor | None) -> None:
        """grid += Σ Q g; A = (a, L)."""
        charge_axLc = torch.view_as_real(charge_xA.unflatten(1, (self.atoms, -1)).movedim(1, 0).contiguous())
        field_xSc = torch.view_as_real(grid_xR.new_empty((len(grid_xR), len(self.index_S))))
        for part in self.parts:
            atoms, _, points = part.table_aLP.shape
            here_axcL = charge_axLc[part.atom_a].mT
            made_axcP = (here_axcL.flatten(1, 2) @ part.table_aLP).unflatten(1, (-1, 2))
            field_xSc[:, part.points] = made_axcP.permute(1, 0, 3, 2).reshape(-1, atoms * points, 2)
        field_xS = torch.view_as_complex(field_xSc)
        if phase_S is not None:
            field_xS *= phase_S
        grid_xR.scatter_add_(1, self.index_S.expand(len(grid_xR), -1), field_xS)

    def integrals(self, grid_xR: torch.Tensor, phase_S: torch.Tensor | None) -> torch.Tensor:
        """Σ over points of g_L exp(iq·r) V; (x, A)."""
        field_xSc = torch.view_as_real(grid_at(grid_xR, self.index_S, phase_S))
        out_xaLc = field_xSc.new_empty((len(grid_xR), self.atoms, self.harmonics, 2))
        for part in self.parts:
            atoms, _, points = part.table_aLP.shape
            here_axcP = field_xSc[:, part.points].unflatten(1, (atoms, points)).permute(1, 0, 3, 2)
            made_axcL = (here_axcP.flatten(1, 2) @ part.table_aLP.mT).unflatten(1, (-1, 2))
            out_xaLc[:, part.atom_a] = made_axcL.permute(1, 0, 3, 2)
        return torch.view_as_complex(out_xaLc).flatten(1)

    def add_table_slopes(
        self, field_xR: torch.Tensor, charge_xA: torch.Tensor, phase_S: torch.Tensor | None, slope_y: torch.Tensor
    ) -> None:
        """slope_y += Re Σ_x Q*_xaL exp(iq·r) V_x at the points of spheres: ∂/∂g_L of Σ_x Re Q*·I."""
        field_xS = grid_at(field_xR, self.index_S, phase_S)
        charge_axLc = torch.view_as_real(charge_xA.unflatten(1, (self.atoms, -1)).movedim(1, 0).contiguous())
        for part in self.parts:
            atoms, _, points = part.table_aLP.shape
            here_axcP = torch.view_as_real(field_xS[:, part.points]).unflatten(1, (atoms, points)).permute(1, 0, 3, 2)
            charge_ayL = charge_axLc[part.atom_a].mT.flatten(1, 2)  # y = (x, c), as in the field
            part.of_tables(slope_y).add_(charge_ayL.mT @ here_axcP.flatten(1, 2))

    def no_table_slopes(self) -> torch.Tensor:
        """Zeros for `add_table_slopes`, in double precision."""
        return torch.zeros(len(self.index_S) * self.harmonics, dtype=torch.float64, device=self.index_S.device)

    def forces(self, slope_y: torch.Tensor) -> torch.Tensor:
        """∂/∂R_av of what has these derivatives by tables; (a, v)."""
        out_av = slope_y.new_zeros((self.atoms, 3))
        for part in self.parts:
            slope_aLP = part.of_tables(slope_y)
            for v in range(3):
                out_av[part.atom_a, v] = (slope_aLP * part.derivative(-part.gradient(v))).sum((1, 2))
        return out_av

    def strain(self, slope_y: torch.Tensor) -> torch.Tensor:
        """∂/∂ε_vw, of symmetric strains, of what has these derivatives by tables; (v, w)."""
        out_vv = slope_y.new_zeros((3, 3))
        for part in self.parts:
            slope_aLP = part.of_tables(slope_y)
            for v in range(3):
                for w in range(v, 3):
                    change_aLP = part.derivative(0.5 * (part.strained(v, w) + part.strained(w, v)))
                    out_vv[v, w] += (slope_aLP * change_aLP).sum()
        return out_vv.triu() + out_vv.triu(1).T

    def to(self, dtype: torch.dtype) -> "PairCharges":
        """Tables in another precision."""
        return replace(self, parts=tuple(replace(part, table_aLP=part.table_aLP.to(dtype)) for part in self.parts))

    def on(self, device: torch.device) -> "PairCharges":
        """Charges for integrals and densities on another device."""
        parts = tuple(
            replace(part, table_aLP=part.table_aLP.to(device), atom_a=part.atom_a.to(device)) for part in self.parts
        )
        return replace(self, index_S=self.index_S.to(device), parts=parts)


def grid_at(grid_xR: torch.Tensor, index_S: torch.Tensor, phase_S: torch.Tensor | None) -> torch.Tensor:
    """exp(iq·r) V at some points; (x, S)."""
    field_xS = grid_xR.index_select(1, index_S)
    return field_xS if phase_S is None else field_xS.mul_(phase_S.conj())


def pair_charges(
    basis: PlaneWaveBasis, layout: AtomLayout, grid: PairGrid, scaled_ac: np.ndarray
) -> PairCharges:
    """Tables of all atoms on a grid, times the volume; scaled_ac: their places against its first point."""
    size_c, lmax = grid.size_c, layout.charges_lmax
    runtime, parts, index, place, start = basis.runtime, [], [], [], 0
    for kind in layout.species:
        shape = PairShape.of(kind.setup, grid.wave)
        found_a = [sphere_points(basis.structure, size_c, scaled_ac[a], shape.radius) for a in kind.atom_a]
        most = max(1, max(len(point_xc) for point_xc in found_a))
        # what fills up lies far outside of the sphere, where charges are zero
        point_aPc = np.array([
            np.concatenate([point_xc, np.tile(np.rint(scaled_ac[a] * size_c) + 1000 * np.array(size_c), (rest, 1))])
            for point_xc, a in zip(found_a, kind.atom_a, strict=True) for rest in [most - len(point_xc)]
        ])  # fmt: skip
        offset_aPv = basis.lattice.places(runtime.tensor(point_aPc / size_c - scaled_ac[kind.atom_a][:, None]))
        harmonic_aLP = solid_harmonics(lmax, offset_aPv).mT
        table_aLP = _radial(shape.radial, lmax, offset_aPv) * harmonic_aLP
        factor_aL = torch.full_like(table_aLP[..., 0], float(basis.volume))
        factor_aL[:, 0] = np.prod(size_c) * sqrt(4 * pi) / table_aLP[:, 0].sum(-1)
        table_aLP *= factor_aL[..., None]
        share_aL = table_aLP.sum(-1) / table_aLP[:, :1].sum(-1)
        table_aLP[:, 1:] -= share_aL[:, 1:, None] * table_aLP[:, :1]
        parts.append(ChargePart(start, runtime.index(kind.atom_a), table_aLP, offset_aPv, shape, factor_aL, share_aL))
        point_xc = point_aPc.reshape(-1, 3)
        index.append(np.ravel_multi_index(tuple((point_xc.astype(np.int64) % np.array(size_c)).T), size_c))
        place.append(point_xc / size_c)
        start += len(point_xc)
    place_Sc = runtime.tensor(np.concatenate(place))
    return PairCharges(runtime.index(np.concatenate(index)), place_Sc, tuple(parts), len(scaled_ac))


def _radial(function: Callable[[int, np.ndarray], np.ndarray], lmax: int, offset_aPv: torch.Tensor) -> torch.Tensor:
    """A function of (l, r) for each L; (a, L, P)."""
    r_aP = offset_aPv.norm(dim=-1).cpu().numpy()
    value_laP = [function(l, r_aP) for l in range(lmax + 1)]
    return torch.as_tensor(np.stack([value_laP[l] for l in degrees(lmax)], 1)).to(offset_aPv)
