"""Sums over atoms and over waves with the phases exp(-i g·R_a).

For integer h the phase is a product of three one-dimensional ones, exp(-2πi h·x) = X(h_1) Y(h_2) Z(h_3).  Waves are
sorted into columns p = (h_1, h_2); with P_pa = X_a Y_a a sum over atoms is the matrix product Σ_a P_pa w_a Z_a(h_3), of
which the waves are picked, and a sum over waves is its transpose.  The phases themselves, waves times atoms, are never
made: they would take gigabytes and the time to read them.

Multipoles |g|^l Y_L(g) are polynomials of h_3 on each column, S_L = Σ_k C_kLp τ^k with τ = h_3 / max |h_3|.  So the
sum over atoms and multipoles is one such product, Σ_ak [P_pa Σ_L C_kLp w_aL] [τ^k Z_a(h_3)], k up to the largest l.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import pi

import torch

from eigenwerk.dft.paw.spherical import solid_harmonics

ATOM_BYTES = 2**26
"""Phases on columns of the atoms that are summed together."""


@dataclass(frozen=True)
class WaveColumns:
    """Integer waves g in columns.

    pair_pc: (h_1, h_2) of the columns; lowest, levels: first and number of h_3; place_g: p * levels + h_3 - lowest.
    """

    pair_pc: torch.Tensor
    lowest: int
    levels: int
    place_g: torch.Tensor

    @staticmethod
    def of(index_gc: torch.Tensor) -> "WaveColumns":
        """From integer waves, (g, 3)."""
        low_c, high_c = index_gc.amin(0), index_gc.amax(0)
        size_c = (high_c - low_c + 1).tolist()
        flat_g = (index_gc[:, 0] - low_c[0]) * size_c[1] + index_gc[:, 1] - low_c[1]
        used_x = torch.zeros(size_c[0] * size_c[1], dtype=torch.bool, device=index_gc.device)
        used_x[flat_g] = True
        column_x = torch.cumsum(used_x, 0) - 1
        used = used_x.nonzero()[:, 0]
        pair_pc = torch.stack([used // size_c[1] + low_c[0], used % size_c[1] + low_c[1]], 1)
        place_g = column_x[flat_g] * size_c[2] + index_gc[:, 2] - low_c[2]
        return WaveColumns(pair_pc, int(low_c[2]), size_c[2], place_g)


@dataclass(frozen=True)
class Multipoles:
    """|g|^l Y_L(g) of waves in columns, Σ_k coeff_kLp power_kl; L up to some largest l."""

    coeff_kLp: torch.Tensor
    power_kl: torch.Tensor

    @staticmethod
    def of(columns: WaveColumns, reciprocal_cv: torch.Tensor, lmax: int) -> "Multipoles":
        """Through lmax + 1 points of each column; reciprocal_cv: lattice of the waves, bohr⁻¹."""
        degree_k = torch.arange(lmax + 1, device=reciprocal_cv.device)
        last = columns.lowest + columns.levels - 1
        largest = max(abs(columns.lowest), abs(last), 1)
        node_n = torch.linspace(-1, 1, lmax + 1, dtype=reciprocal_cv.dtype, device=reciprocal_cv.device)
        pair_pv = columns.pair_pc.to(reciprocal_cv.dtype) @ reciprocal_cv[:2]
        value_npL = solid_harmonics(lmax, pair_pv + node_n[:, None, None] * largest * reciprocal_cv[2])
        fit_kn = torch.linalg.inv(node_n[:, None] ** degree_k)
        coeff_kLp = torch.einsum("kn,npL->kLp", fit_kn, value_npL)
        level_l = torch.arange(columns.lowest, last + 1, dtype=node_n.dtype, device=node_n.device)
        power_kl = (level_l / largest) ** degree_k[:, None]
        return Multipoles(torch.complex(coeff_kLp, torch.zeros_like(coeff_kLp)), power_kl)


@dataclass(frozen=True)
class StructureFactors:
    """The phases of some atoms on a list of waves; scaled_ac fractional positions."""

    columns: WaveColumns
    scaled_ac: torch.Tensor

    @cached_property
    def _column_pa(self) -> torch.Tensor:
        turn_pa = self.columns.pair_pc.to(self.scaled_ac.dtype) @ self.scaled_ac[:, :2].T
        return phases(turn_pa)

    @cached_property
    def _level_al(self) -> torch.Tensor:
        columns, z_a = self.columns, self.scaled_ac[:, 2]
        level_l = torch.arange(columns.lowest, columns.lowest + columns.levels, device=z_a.device, dtype=z_a.dtype)
        return phases(z_a[:, None] * level_l)

    def multipole_waves(self, multipoles: Multipoles, weight_aL: torch.Tensor) -> torch.Tensor:
        """Σ_aL w_aL |g|^l Y_L(g) exp(-i g·R_a), complex w; (g,)."""
        box_pl = weight_aL.new_zeros((len(self.columns.pair_pc), self.columns.levels))
        for a in self._blocks(multipoles):
            left_kap = (weight_aL[a] @ multipoles.coeff_kLp).mul_(self._column_pa[:, a].T)
            box_pl.addmm_(left_kap.flatten(0, 1).T, self._levels(multipoles, a))
        return box_pl.view(-1).index_select(0, self.columns.place_g)

    def multipoles_at(self, multipoles: Multipoles, field_g: torch.Tensor) -> torch.Tensor:
        """Σ_g f_g |g|^l Y_L(g) exp(-i g·R_a); (a, L)."""
        box_pl = field_g.new_zeros((len(self.columns.pair_pc), self.columns.levels))
        box_pl.view(-1).index_copy_(0, self.columns.place_g, field_g)
        found = []
        for a in self._blocks(multipoles):
            sum_kap = (self._levels(multipoles, a) @ box_pl.T).unflatten(0, (len(multipoles.power_kl), -1))
            found.append((sum_kap.mul_(self._column_pa[:, a].T) @ multipoles.coeff_kLp.mT).sum(0))
        return torch.cat(found)

    def _levels(self, multipoles: Multipoles, a: slice) -> torch.Tensor:
        """τ^k Z_a on the levels, (k a, l)."""
        return (multipoles.power_kl[:, None] * self._level_al[a]).flatten(0, 1)

    def _blocks(self, multipoles: Multipoles) -> Iterator[slice]:
        """Atoms that are summed together."""
        step = max(1, ATOM_BYTES // (len(multipoles.power_kl) * self._column_pa[:, 0].nbytes))
        return (slice(start, start + step) for start in range(0, len(self.scaled_ac), step))

    def waves(self, weight_xa: torch.Tensor, count: int | None = None) -> torch.Tensor:
        """Σ_a w_xa exp(-i g·R_a) on the first `count` waves (default: all); (x, g)."""
        place_g = self.columns.place_g[:count]
        out_xg = torch.empty((len(weight_xa), len(place_g)), dtype=self._level_al.dtype, device=place_g.device)
        for weight_a, out_g in zip(weight_xa, out_xg, strict=True):
            box_pl = self._column_pa @ (weight_a[:, None] * self._level_al)
            torch.index_select(box_pl.view(-1), 0, place_g, out=out_g)
        return out_xg

    def atoms(self, field_xg: torch.Tensor) -> torch.Tensor:
        """Σ_g f_xg exp(-i g·R_a) over the first waves, as many as f has; (x, a)."""
        place_g = self.columns.place_g[: field_xg.shape[-1]]
        box_pl = field_xg.new_zeros((len(self.columns.pair_pc), self.columns.levels))
        out_xa = []
        for field_g in field_xg:
            box_pl.view(-1)[place_g] = field_g
            out_xa.append((box_pl @ self._level_al.mT).mul_(self._column_pa).sum(0))
        return torch.stack(out_xa)


def phases(turns: torch.Tensor) -> torch.Tensor:
    """exp(-2πi t)."""
    angle = -2 * pi * turns
    return torch.polar(torch.ones_like(angle), angle)
