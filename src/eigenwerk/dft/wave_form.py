"""Orbitals as the vectors of numbers that solvers see: complex, or real where 2k is a lattice vector.

If 2k = g for an integer g, -(k+G) is k+G' with G' = -G - g, so each wave q = k+G has its partner -q among the waves of
the same k-point, and orbitals can be chosen real in space: c(-q) = c(q)*.  Then one of each pair is kept, half the
waves, and the vector of an orbital holds two real numbers for each kept wave, √2 Re c and √2 Im c one after the other
(1 and 0 in place of √2 for q = 0): sums of products of these vectors are those over all waves of the complex ones.
Everything that solvers do is real arithmetic then, a quarter of the operations and half of the memory, and two orbitals
share one complex FFT, ψ₁ + iψ₂.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eigenwerk.dft.transforms import grid_to_orbitals, orbitals_to_grid


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
    for each, or two real ones, on the axis G.  scale_kh: √2 (1 for q = 0) and zero for padding, if real.
    """

    real: bool
    dtype: torch.dtype
    scale_kh: torch.Tensor | None = None

    @property
    def numbers(self) -> int:
        """Numbers of a vector for each wave."""
        return 2 if self.real else 1

    def on(self, device: torch.device) -> "WaveForm":
        """The same for vectors on another device."""
        return WaveForm(self.real, self.dtype, None if self.scale_kh is None else self.scale_kh.to(device))

    def vectors(self, wave_knh: torch.Tensor, k: slice = slice(None)) -> torch.Tensor:
        """Coefficients (k, n, h) of functions that are real in space, if the form is, as vectors (k, n, G)."""
        if self.scale_kh is None:
            return wave_knh
        pair_knh2 = torch.view_as_real(wave_knh * self.scale_kh[k][:, None])
        pair_knh2[..., 1] *= self.scale_kh[k][:, None] != 1  # the wave q = 0 has one number
        return pair_knh2.flatten(-2)

    def waves(self, x_knG: torch.Tensor, k: slice = slice(None)) -> torch.Tensor:
        """Coefficients (k, n, h) of vectors (k, n, G), zero at padding; inverse of `vectors`."""
        if self.scale_kh is None:
            return x_knG
        scale_k1h = self.scale_kh[k][:, None]
        return complex_pairs(x_knG) / torch.where(scale_k1h > 0, scale_k1h, 1)

    def slots(self, value_kh: torch.Tensor) -> torch.Tensor:
        """What belongs to waves, repeated for the numbers of a vector; (k, h) -> (k, G)."""
        return value_kh.repeat_interleave(2, -1) if self.real else value_kh

    def times_i(self, x_knG: torch.Tensor, factor_kG: torch.Tensor) -> torch.Tensor:
        """i f(q) c(q) for a real odd f, such as a component of q; factor_kG from `slots`."""
        if not self.real:
            return x_knG * (1j * factor_kG)[:, None]
        turned_knG = torch.view_as_real(complex_pairs(x_knG) * 1j).flatten(-2)
        return turned_knG * factor_kG[:, None]


def complex_pairs(x_knG: torch.Tensor) -> torch.Tensor:
    """Neighbouring numbers as one complex number."""
    return torch.view_as_complex(x_knG.unflatten(-1, (-1, 2)).contiguous())


@dataclass(frozen=True)
class SphereMap:
    """Where the waves W of whole spheres lie on the FFT grid.

    index_kW: of the waves; for real vectors those of their partners stand behind them, (k, 2 W).  scale_kW: that of
    `WaveForm` (1 for padding), None for complex vectors.
    """

    size_c: tuple[int, int, int]
    index_kW: torch.Tensor
    scale_kW: torch.Tensor | None = None

    @cached_property
    def inverse_kW(self) -> torch.Tensor:
        """1 / scale_kW of real vectors."""
        assert self.scale_kW is not None
        return 1 / self.scale_kW

    def problems(self, k: slice | torch.Tensor) -> "SphereMap":
        """Some of the k-points."""
        return SphereMap(self.size_c, self.index_kW[k], None if self.scale_kW is None else self.scale_kW[k])

    def fields(self, count: int) -> int:
        """Number of grids that `to_grid` makes of so many orbitals."""
        return count if self.scale_kW is None else (count + 1) // 2

    def to_grid(self, x_knG: torch.Tensor) -> torch.Tensor:
        """u(R) of complex vectors, or exp(-ik·R) (ψ₁ + iψ₂) of neighbours among real ones; (k, fields, R, R, R)."""
        if self.scale_kW is None:
            return orbitals_to_grid(x_knG, self.index_kW, self.size_c)
        wave_knW = complex_pairs(x_knG)
        if wave_knW.shape[1] % 2:
            wave_knW = torch.cat([wave_knW, torch.zeros_like(wave_knW[:, :1])], 1)
        first_kpW = wave_knW[:, 0::2] * self.inverse_kW[:, None]
        second_kpW = wave_knW[:, 1::2] * (1j * self.inverse_kW)[:, None]
        both_kpW = first_kpW.new_empty((*first_kpW.shape[:2], self.index_kW.shape[1]))
        here_kpW, there_kpW = both_kpW.chunk(2, -1)
        # at the partners stands c₁* + i c₂*, the conjugate of c₁ - i c₂
        torch.sub(first_kpW, second_kpW, out=there_kpW).conj_physical_()
        torch.add(first_kpW, second_kpW, out=here_kpW)
        return orbitals_to_grid(both_kpW, self.index_kW, self.size_c)

    def from_grid(self, field_kpR: torch.Tensor, count: int, norm: str = "forward") -> torch.Tensor:
        """Vectors of `count` orbitals from the grids of `to_grid`; norm as in `grid_to_orbitals`."""
        both_kpW = grid_to_orbitals(field_kpR, self.index_kW, norm)
        if self.scale_kW is None:
            return both_kpW
        here_kpW, there_kpW = both_kpW.chunk(2, -1)
        there_kpW = there_kpW.conj_physical()
        half_k1W = 0.5 * self.scale_kW[:, None]
        pair_kp2W = here_kpW.new_empty((*here_kpW.shape[:2], 2, here_kpW.shape[2]))
        torch.add(here_kpW, there_kpW, out=pair_kp2W[:, :, 0]).mul_(half_k1W)
        torch.sub(here_kpW, there_kpW, out=pair_kp2W[:, :, 1]).mul_(-1j * half_k1W)
        return torch.view_as_real(pair_kp2W.flatten(1, 2)[:, :count]).flatten(-2)
