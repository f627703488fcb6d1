"""Orbitals as the vectors of numbers that solvers see: complex, or real where 2k is a lattice vector or by inversion.

Equations: docs/equations/plane_waves.md.

If 2k = g for an integer g, -(k+G) is k+G' with G' = -G - g, so each wave q = k+G has its partner -q among the waves of
the same k-point, and orbitals can be chosen real in space: c(-q) = c(q)*.  Then one of each pair is kept, half the
waves, and the vector of an orbital holds two real numbers for each kept wave, √2 Re c and √2 Im c one after the other
(1 and 0 in place of √2 for q = 0): sums of products of these vectors are those over all waves of the complex ones.
Everything that solvers do is real arithmetic then, a quarter of the operations and half of the memory, and two orbitals
share one complex FFT, ψ₁ + iψ₂.

In a crystal with an inversion r -> t - r the same holds at any k: c(q) exp(i q·t/2) can be chosen real (inversion.py).
All waves are kept and the vector of an orbital holds these numbers.  Two orbitals share one FFT again: what H makes of
c₁ + i c₂ has H c₁ as its real part and H c₂ as its imaginary one.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eigenwerk.dft.basis.orbital_fft import FilledGrid
from eigenwerk.dft.basis.transforms import grid_to_orbitals, orbitals_to_grid


def half_of(index_Gc: np.ndarray, point_c: np.ndarray) -> np.ndarray:
    """Which waves to keep, one of each pair ±(k+G): those whose last nonzero component of k+G is positive, and zero."""
    i, j, k = (2 * index_Gc + np.rint(2 * point_c).astype(np.int64)).T
    return (k > 0) | ((k == 0) & ((j > 0) | ((j == 0) & (i >= 0))))


def partners(index_Gc: np.ndarray, point_c: np.ndarray) -> np.ndarray:
    """G' of the waves -(k+G)."""
    return -index_Gc - np.rint(2 * point_c).astype(np.int64)


@dataclass(frozen=True)
class WaveForm:
    """How the orbitals of a basis are written as vectors.

    Waves are the axis h (of this rank) or W (of all band ranks): the kept plane waves.  Vectors have one complex number
    for each, or two real ones, on the axis G; by inversion, one real number.  scale_kh: √2 (1 for q = 0) and zero for
    padding, of orbitals that are real in space; turn_kh: exp(i q·t/2) of those that are real by inversion.
    """

    real: bool
    dtype: torch.dtype
    scale_kh: torch.Tensor | None = None
    turn_kh: torch.Tensor | None = None

    @property
    def real_in_space(self) -> bool:
        """Whether half of the waves is kept."""
        return self.scale_kh is not None

    @property
    def numbers(self) -> int:
        """Numbers of a vector for each wave."""
        return 2 if self.real_in_space else 1

    @property
    def orbitals_on_grid(self) -> int:
        """Orbitals that share a complex FFT."""
        return 2 if self.real else 1

    def on(self, device: torch.device) -> "WaveForm":
        """The same for vectors on another device."""
        scale_kh, turn_kh = (None if x_kh is None else x_kh.to(device) for x_kh in (self.scale_kh, self.turn_kh))
        return WaveForm(self.real, self.dtype, scale_kh, turn_kh)

    def vectors(self, wave_knh: torch.Tensor, k: slice = slice(None)) -> torch.Tensor:
        """Coefficients (k, n, h) of functions as vectors (k, n, G): those that are real as the form asks, or their part
        that is."""
        if self.turn_kh is not None:
            return (wave_knh * self.turn_kh[k][:, None]).real.contiguous()
        if self.scale_kh is None:
            return wave_knh
        pair_knh2 = torch.view_as_real(wave_knh * self.scale_kh[k][:, None])
        pair_knh2[..., 1] *= self.scale_kh[k][:, None] != 1  # the wave q = 0 has one number
        return pair_knh2.flatten(-2)

    def waves(self, x_knG: torch.Tensor, k: slice = slice(None)) -> torch.Tensor:
        """Coefficients (k, n, h) of vectors (k, n, G), zero at padding; inverse of `vectors`."""
        if self.turn_kh is not None:
            return x_knG * self.turn_kh[k][:, None].conj()
        if self.scale_kh is None:
            return x_knG
        scale_k1h = self.scale_kh[k][:, None]
        return complex_pairs(x_knG) / torch.where(scale_k1h > 0, scale_k1h, 1)

    def rounding(self, x_knG: torch.Tensor, wave_knh: torch.Tensor, k: slice = slice(None)) -> torch.Tensor:
        """What real vectors have lost when they come back from coefficients, `vectors(wave_knh)`: by how many units in
        the last place each number of `x_knG` is larger; (k, n, h), the numbers of a wave as real and imaginary part.

        So few that a byte holds them: each number has been divided and multiplied by a factor near one.
        """
        lost_knhx = last_places(x_knG, self.vectors(wave_knh, k)).unflatten(-1, (-1, self.numbers)).to(x_knG.dtype)
        second_knh = lost_knhx[..., 1] if self.real_in_space else torch.zeros_like(lost_knhx[..., 0])
        return torch.complex(lost_knhx[..., 0], second_knh)

    def slots(self, value_kh: torch.Tensor) -> torch.Tensor:
        """What belongs to waves, repeated for the numbers of a vector; (k, h) -> (k, G)."""
        return value_kh.repeat_interleave(2, -1) if self.real_in_space else value_kh

    def times_i(self, x_knG: torch.Tensor, factor_kG: torch.Tensor) -> torch.Tensor:
        """i f(q) c(q) for a real odd f, such as a component of q; factor_kG from `slots`.

        Not for orbitals that are real by inversion: this is none.
        """
        assert self.turn_kh is None
        if not self.real:
            return x_knG * (1j * factor_kG)[:, None]
        turned_knG = torch.view_as_real(complex_pairs(x_knG) * 1j).flatten(-2)
        return turned_knG * factor_kG[:, None]


    def slope(self, x_knG: torch.Tensor, factor_kG: torch.Tensor) -> torch.Tensor:
        """∇ of orbitals along an axis, i q c(q); of those that are real by inversion -i ∇, which is so, too."""
        return x_knG * factor_kG[:, None] if self.turn_kh is not None else self.times_i(x_knG, factor_kG)

    def slope_back(self, x_knG: torch.Tensor, factor_kG: torch.Tensor) -> torch.Tensor:
        """Its adjoint."""
        return x_knG * factor_kG[:, None] if self.turn_kh is not None else self.times_i(x_knG, -factor_kG)


MOST_PLACES = 127
"""What a byte can hold."""


def last_places(x_x: torch.Tensor, near_x: torch.Tensor) -> torch.Tensor:
    """By how many units in the last place numbers in double precision are larger in magnitude than those near them,
    whole numbers; zero where they are equal."""
    lost_x = x_x.contiguous().view(torch.int64) - near_x.contiguous().view(torch.int64)
    return torch.where(x_x == near_x, 0, lost_x).clamp(-MOST_PLACES, MOST_PLACES)


def with_last_places(near_x: torch.Tensor, lost_x: torch.Tensor) -> torch.Tensor:
    """Inverse of `last_places`."""
    return (near_x.contiguous().view(torch.int64) + lost_x).view(near_x.dtype)


def complex_pairs(x_knG: torch.Tensor) -> torch.Tensor:
    """Neighbouring numbers as one complex number; a copy where they do not lie so in memory."""
    pair_knG2 = x_knG.unflatten(-1, (-1, 2)).contiguous()
    if pair_knG2.storage_offset() % 2:  # a single row of a longer vector
        pair_knG2 = pair_knG2.clone()
    return torch.view_as_complex(pair_knG2)


@dataclass(frozen=True)
class SphereMap:
    """Where the waves W of whole spheres lie on the FFT grid.

    grid: its size and the rows that the waves fill.  index_kW: of the waves; for orbitals that are real in space those
    of their partners stand behind them, (k, 2 W).  scale_kW: that of `WaveForm` (1 for padding), None for others.
    inversion: orbitals are real by it; turn_kW: exp(-i q·(t/2 - s)) then, s the shift of the grid, None where it is 1.
    """

    grid: FilledGrid
    index_kW: torch.Tensor
    scale_kW: torch.Tensor | None = None
    inversion: bool = False
    turn_kW: torch.Tensor | None = None

    @cached_property
    def inverse_kW(self) -> torch.Tensor:
        """1 / scale_kW of real vectors."""
        assert self.scale_kW is not None
        return 1 / self.scale_kW

    def problems(self, k: slice | torch.Tensor) -> "SphereMap":
        """Some of the k-points."""
        scale_kW, turn_kW = (None if x_kW is None else x_kW[k] for x_kW in (self.scale_kW, self.turn_kW))
        return SphereMap(self.grid, self.index_kW[k], scale_kW, self.inversion, turn_kW)

    @property
    def waves(self) -> int:
        """Kept waves of a whole sphere, padding included."""
        return self.index_kW.shape[1] // (1 if self.scale_kW is None else 2)

    def to_grid(self, x_knG: torch.Tensor) -> torch.Tensor:
        """u(R) of complex vectors, or exp(-ik·R) (ψ₁ + iψ₂) of neighbours among real ones; (k, fields, R, R, R)."""
        if self.inversion:
            return orbitals_to_grid(self._turned(_pairs(x_knG)), self.index_kW, self.grid)
        if self.scale_kW is None:
            return orbitals_to_grid(x_knG, self.index_kW, self.grid)
        wave_knW = complex_pairs(x_knG)
        if wave_knW.shape[1] % 2:
            wave_knW = torch.cat([wave_knW, torch.zeros_like(wave_knW[:, :1])], 1)
        first_ktW = wave_knW[:, 0::2] * self.inverse_kW[:, None]
        second_ktW = wave_knW[:, 1::2] * (1j * self.inverse_kW)[:, None]
        both_ktW = first_ktW.new_empty((*first_ktW.shape[:2], self.index_kW.shape[1]))
        here_ktW, there_ktW = both_ktW.chunk(2, -1)
        # at the partners stands c₁* + i c₂*, the conjugate of c₁ - i c₂
        torch.sub(first_ktW, second_ktW, out=there_ktW).conj_physical_()
        torch.add(first_ktW, second_ktW, out=here_ktW)
        return orbitals_to_grid(both_ktW, self.index_kW, self.grid)

    def from_grid(self, field_ktR: torch.Tensor, count: int, norm: str = "forward") -> torch.Tensor:
        """Vectors of `count` orbitals from the grids of `to_grid`, used up; norm as in `grid_to_orbitals`."""
        both_ktW = grid_to_orbitals(field_ktR, self.index_kW, self.grid, norm)
        if self.inversion:
            return _unpaired(self._turned(both_ktW, back=True))[:, :count]
        if self.scale_kW is None:
            return both_ktW
        here_ktW, there_ktW = both_ktW.chunk(2, -1)
        there_ktW = there_ktW.conj_physical()
        half_k1W = 0.5 * self.scale_kW[:, None]
        pair_kt2W = here_ktW.new_empty((*here_ktW.shape[:2], 2, here_ktW.shape[2]))
        torch.add(here_ktW, there_ktW, out=pair_kt2W[:, :, 0]).mul_(half_k1W)
        torch.sub(here_ktW, there_ktW, out=pair_kt2W[:, :, 1]).mul_(-1j * half_k1W)
        return torch.view_as_real(pair_kt2W.flatten(1, 2)[:, :count]).flatten(-2)

    def _turned(self, pair_ktW: torch.Tensor, back: bool = False) -> torch.Tensor:
        """From real coefficients to those on the grid, or back."""
        if self.turn_kW is None:
            return pair_ktW
        return pair_ktW.mul_((self.turn_kW.conj() if back else self.turn_kW)[:, None])


def _pairs(x_knW: torch.Tensor) -> torch.Tensor:
    """Two neighbouring real vectors as one complex vector; with zeros where the last is alone."""
    first_ktW, second_ktW = x_knW[:, 0::2], x_knW[:, 1::2]
    if x_knW.shape[1] % 2:
        second_ktW = torch.cat([second_ktW, torch.zeros_like(x_knW[:, :1])], 1)
    return torch.complex(first_ktW, second_ktW)


def _unpaired(pair_ktW: torch.Tensor) -> torch.Tensor:
    """Real and imaginary parts as neighbouring real vectors; inverse of `_pairs`."""
    return torch.view_as_real(pair_ktW).movedim(-1, 2).flatten(1, 2)
