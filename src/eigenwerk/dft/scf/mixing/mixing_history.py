"""What a mixer remembers: changes of density and residual, their metric, and the least-squares fit with them.

A density is one real vector y for each channel x (total, magnetisation): its fields packed, real and imaginary part of
every wave side by side.  The changes are rows of one array, so all products of a step are a few matrix products,
fetched at once; the small algebra with them is done on the host.  Equations, units and measured choices:
docs/equations/mixing.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.density.fields import FieldKind

Reduce = Callable[[torch.Tensor], torch.Tensor]
"""Sum over the ranks that share the plane waves g."""

Parts = tuple[tuple[FieldKind, int], ...]
"""Kinds and lengths of the fields of a density, packed."""

FIRST_ROWS = 6
"""Changes for which there is room at first; the room doubles where it is too small."""

FITTED_STEPS = 5
"""Newest changes that take part in the fits of linear factors."""

LARGEST_AMIX = 1.0
"""Upper end of fitted factors of the total density: a residual that nothing screens is taken whole."""

LARGEST_BMIX = 1.5
"""Upper end of fitted Kerker wave vectors, 1/bohr: the Thomas-Fermi value of 0.3 electrons per bohr^3 is 1.6."""


@dataclass(frozen=True)
class MixingStep:
    """An input and its residual, or the changes of both; (x, y) each."""

    input_xy: torch.Tensor
    residual_xy: torch.Tensor


@dataclass(frozen=True)
class Metric:
    """Weights of the inner products <a|b>_x = Σ_y w_y a_xy b_xy, channel by channel.

    weight_y: Omega sum_g w_g f_g Re a*_xg b_xg + c sum_m a_xm b_xm, with w the half-sphere weight, c that of one-centre
    matrices and f_g = (g^2 + q^2) / g^2, q^2 = 19 g_min^2: twenty at the shortest g, one at long ones.
    flat_y: the same with f = 1.  electrons_y: Omega^2 w_g, of which the root is Omega sqrt(sum_xg w_g |R_xg|^2) =
    sqrt(Omega int R^2): at least int |R|, the electrons in the wrong place.  inverse_y: w_g / g^2 and inverse2_y:
    w_g / g^4 of the waves alone, zero at g = 0.
    Source of f: G. Kresse and J. Furthmueller, Comput. Mater. Sci. 6, 15 (1996), section 3.2.
    """

    weight_y: torch.Tensor
    flat_y: torch.Tensor
    electrons_y: torch.Tensor
    inverse_y: torch.Tensor
    inverse2_y: torch.Tensor
    reduce: Reduce

    @staticmethod
    def make(
        norm2_g: torch.Tensor, weight_g: torch.Tensor, volume: float, smallest: float, matrix_weight: float,
        parts: Parts, reduce: Reduce,
    ) -> Metric:  # fmt: skip
        """parts: kinds and lengths of the fields; all ranks that share g have the same one-centre matrices.

        f and all that looks at the length of waves is for the charge that is screened, other waves count as they are,
        and fields that are not measured not at all.
        """
        ranks = float(reduce(norm2_g.new_ones(())))
        factor_g = torch.where(norm2_g > 0, 1 + 19 * smallest / norm2_g.clamp_min(smallest), 20.0)
        inverse_g = torch.where(norm2_g > 0, 1 / norm2_g.clamp_min(smallest), 0)

        def slots(screened_g: torch.Tensor, other_g: torch.Tensor, matrices: float = 0.0) -> torch.Tensor:
            return torch.cat([
                (screened_g if kind.screened else other_g).repeat_interleave(2) if kind.waves and kind.measured
                else norm2_g.new_full((size,), matrices / ranks if kind.measured else 0.0)
                for kind, size in parts
            ])  # fmt: skip

        plain_g, none_g = volume * weight_g, torch.zeros_like(weight_g)
        return Metric(
            slots(plain_g * factor_g, plain_g, matrix_weight), slots(plain_g, plain_g, matrix_weight),
            slots(volume * plain_g, none_g), slots(weight_g * inverse_g, none_g),
            slots(weight_g * inverse_g**2, none_g), reduce,
        )  # fmt: skip

    def products(self, row_xjy: torch.Tensor, column_xky: torch.Tensor) -> torch.Tensor:
        """sum_y a_xjy b_xky of vectors of which one carries the weights; (x, j, k)."""
        return self.reduce(row_xjy @ column_xky.mT)


@dataclass(frozen=True)
class Measured:
    """What a new step is beside the history; numbers on the host.

    square_x: <R|R>; electrons: of the residual; right_xj: <dR_j|R> with the normalised changes, oldest first.
    """

    square_x: np.ndarray
    electrons: float
    right_xj: np.ndarray


class History:
    """The last changes of input and residual with their inner products.

    Rows stand as they came, with the lengths of the residual changes on the host, by which all numbers are divided:
    outside, a change has the length one.  One row more than `longest` takes the newest change before it is known
    whether it is kept.
    """

    def __init__(self, metric: Metric, longest: int):
        self.metric, self.longest = metric, longest
        self.shape_y: torch.Tensor | None = None
        """K/A of the total density, if the response to it is to be measured."""
        self.places: list[int] = []
        """Rows of the changes, oldest first."""
        self.length_c = np.ones(longest + 1)
        self.gram_xcc = np.zeros((1, longest + 1, longest + 1))
        self.fits_c = np.zeros((longest + 1, 6))
        """<dU|dR> and <dR|dR> of the magnetisation; dU(-dR - dU)/g^2 and dU dU/g^4 of the first, and with S = K/A of it
        <dU|S dR> and <S dR|S dR> with f = 1."""
        self._row_ixcy: torch.Tensor | None = None
        self._added, self._kept = 0, False
        weights = (metric.weight_y, metric.weight_y, metric.weight_y, metric.electrons_y)
        self._weight_ky = torch.stack([*weights, metric.inverse_y, metric.inverse2_y])
        self._shaped: tuple[torch.Tensor, torch.Tensor] | None = None

    def __len__(self) -> int:
        return len(self.places)

    def clear(self) -> None:
        """Forget all changes."""
        self.places = []

    def forget_newest(self) -> None:
        """Forget the last change, if the last `add` has kept one."""
        if self._kept:
            self.places.pop()

    def add(self, here: MixingStep, last: MixingStep | None) -> Measured:
        """Take in the change from the last step to this one, and measure the residual; one fetch from the device.

        A change without effect, or of an input that stood still (frozen densities), is not kept: it teaches nothing.
        """
        self._added += 1
        place = next(c for c in range(self.longest + 1) if c not in self.places)
        used = max([place, *self.places]) + 1
        row_ixcy = self._rows(used, here)
        before = last or here
        torch.sub(here.input_xy, before.input_xy, out=row_ixcy[0, :, place])
        torch.sub(here.residual_xy, before.residual_xy, out=row_ixcy[1, :, place])
        change_xy, response_xy = row_ixcy[:, :, place]
        residual_xy = here.residual_xy
        weight_ky, responses = self._weights()
        column_xky = weight_ky * torch.stack(
            [residual_xy, response_xy, change_xy, residual_xy, change_xy, change_xy, *responses * [response_xy]], 1
        )
        own_xjy = torch.stack([residual_xy, change_xy, response_xy], 1)
        products = (
            self.metric.products(row_ixcy[1, :, :used], column_xky[:, :2]),
            self.metric.products(own_xjy, column_xky),
        )
        old_xcl, own_xjk = (part.cpu().numpy() for part in _together(products))
        self._kept = bool(self.longest and own_xjk[:, 1, 2].sum() > 0 and own_xjk[:, 2, 1].sum() > 0)
        if self._kept:
            self._keep(place, old_xcl[:, :, 1], own_xjk)
        right_xj = old_xcl[:, self.places, 0] / self.length_c[self.places]
        return Measured(own_xjk[:, 0, 0], float(own_xjk[:, 0, 3].sum()) ** 0.5, right_xj)

    def _weights(self) -> tuple[torch.Tensor, int]:
        """Weights of the columns in `add`, and how many of the last ones are for the shape's response."""
        if self.shape_y is None:
            return self._weight_ky, 0
        if self._shaped is None or self._shaped[0] is not self.shape_y:
            shaped_y = self.metric.flat_y * self.shape_y
            self._shaped = self.shape_y, torch.cat([self._weight_ky, torch.stack([shaped_y, shaped_y * self.shape_y])])
        return self._shaped[1], 2

    def _keep(self, place: int, product_xc: np.ndarray, own_xjk: np.ndarray) -> None:
        """product_xc: <dR_c|dR> of all rows; own_xjk: products of R, dU and dR as in `add`."""
        if len(self.places) == self.longest:
            self.places.pop(0)
        self.places.append(place)
        channels, used = product_xc.shape
        if len(self.gram_xcc) < channels:
            self.gram_xcc = np.zeros((channels, *self.gram_xcc.shape[1:]))
        self.length_c[place] = own_xjk[:, 2, 1].sum() ** 0.5
        scaled_xc = product_xc / (self.length_c[:used] * self.length_c[place])
        self.gram_xcc[:channels, place, :used] = self.gram_xcc[:channels, :used, place] = scaled_xc
        moment_jk = own_xjk[1:].sum(0) if channels > 1 else own_xjk[0]
        fits = [moment_jk[1, 1], moment_jk[2, 1], -own_xjk[0, 2, 4] - own_xjk[0, 1, 4], own_xjk[0, 1, 5]]
        fits += [0.0, 0.0] if self.shape_y is None else [own_xjk[0, 1, 6], own_xjk[0, 2, 7]]
        self.fits_c[place] = np.array(fits) / self.length_c[place] ** 2

    def _rows(self, used: int, like: MixingStep) -> torch.Tensor:
        """The array of changes with room for so many; i: input, residual; (i, x, c, y)."""
        old = self._row_ixcy
        if old is None or old.shape[2] < used:
            count = FIRST_ROWS if old is None else 2 * old.shape[2]
            while count < used:
                count *= 2
            channels, size = like.input_xy.shape
            # zero: rows that hold nothing yet may be multiplied by zero
            self._row_ixcy = like.input_xy.new_zeros((2, channels, min(count, self.longest + 1), size))
            if old is not None:
                self._row_ixcy[:, :, : old.shape[2]] = old
        assert self._row_ixcy is not None
        return self._row_ixcy

    def gram_xjj(self, channels: int) -> np.ndarray:
        """<dR_j|dR_j'> of the normalised changes, oldest first."""
        return self.gram_xcc[:channels, self.places][:, :, self.places]

    def coefficients(self, right_xj: np.ndarray, cut: float) -> np.ndarray:
        """gamma_xj that make |R - sum_j gamma_j dR_j| smallest: one set for total and magnetisation, as the two respond
        to each other in every ferromagnet."""
        one_j = least_squares(self.gram_xjj(len(right_xj)).sum(0), right_xj.sum(0), cut)
        return np.repeat(one_j[None], len(right_xj), 0)

    def combined(self, gamma_xj: np.ndarray) -> torch.Tensor:
        """-sum_j gamma_j (dU_j, dR_j); (i, x, y)."""
        row_ixcy = self._row_ixcy
        assert row_ixcy is not None and self.places
        used = max(self.places) + 1
        factor_xc = np.zeros((len(gamma_xj), used))
        factor_xc[:, self.places] = -gamma_xj / self.length_c[self.places]
        factor_x1c = torch.as_tensor(factor_xc, device=row_ixcy.device, dtype=row_ixcy.dtype)[:, None]
        return (factor_x1c @ row_ixcy[:, :, :used])[:, :, 0]

    def numbers(self) -> dict[str, Any]:
        """Everything but the changes themselves."""
        return {
            "places": list(self.places), "length_c": self.length_c.copy(), "gram_xcc": self.gram_xcc.copy(),
            "fits_c": self.fits_c.copy(),
        }  # fmt: skip

    def changes(self) -> Callable[[], torch.Tensor | None]:
        """Gives the changes of now as they came, oldest first, on the host; None when it is asked for too late.

        (i, x, j, y).  A row is used anew two calls of `add` after its change was dropped from `places`, not before.
        """
        row_ixcy, places, added = self._row_ixcy, list(self.places), self._added

        def changes() -> torch.Tensor | None:
            change_ixjy = torch.empty(0) if row_ixcy is None else row_ixcy[:, :, places].cpu()
            return change_ixjy if self._added <= added + 1 else None

        return changes

    def restore(self, numbers: Mapping[str, Any], change_ixjy: torch.Tensor) -> None:
        """Continue with what `numbers` and `changes` were."""
        self.places = list(numbers["places"])
        self.length_c, self.gram_xcc, self.fits_c = (
            np.array(numbers[name]) for name in ("length_c", "gram_xcc", "fits_c")
        )
        if self.places:
            row_ixcy = self._rows(max(self.places) + 1, MixingStep(*change_ixjy[:, :, 0]))
            row_ixcy[:, :, self.places] = change_ixjy


def _together(parts: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """Several arrays in host memory by one copy."""
    flat = torch.cat([part.flatten() for part in parts]).cpu()
    pieces = flat.split([part.numel() for part in parts])
    return [piece.view(part.shape) for piece, part in zip(pieces, parts, strict=True)]


def least_squares(gram_jj: np.ndarray, right_j: np.ndarray, cut: float) -> np.ndarray:
    """Solution of G gamma = r with directions of eigenvalue below cut times the largest left out.

    The Gram matrix is scaled to unit diagonal first, so that old, long changes do not hide new, short ones.
    """
    diagonal_j = gram_jj.diagonal()
    scale_j = np.where(diagonal_j > 0, 1 / np.sqrt(np.maximum(diagonal_j, 1e-300)), 0)
    eig_j, u_jj = np.linalg.eigh(scale_j[:, None] * gram_jj * scale_j)
    inverse_j = np.where(eig_j > cut * eig_j.max(), 1 / np.maximum(eig_j, 1e-300), 0)
    return scale_j * (u_jj @ (inverse_j * (scale_j * right_j @ u_jj)))


def fitted_magnetic_factor(history: History, smallest: float, largest: float) -> float:
    """a of -dR a = dU for the magnetisation, by least squares over the last changes.

    That is the second step length of J. Barzilai and J. M. Borwein, IMA J. Numer. Anal. 8, 141 (1988).  A magnet
    answers a change of its magnetisation by less than that change, so a > 1; the levels of an atom, which empty and
    fill at once, by more.  a lies between AMIX (smallest), what serves atoms best, and AMIX_MAG (largest), which is
    also taken where the residual grows with the change (a moment on its way to be found).
    """
    top, bottom = history.fits_c[history.places[-FITTED_STEPS:], :2].sum(0).tolist()
    return largest if top >= 0 else min(max(-top / bottom, smallest), largest)


def fitted_charge_factor(history: History, smallest: float) -> float:
    """A of -A S dR = dU for the total density, S = K/A, by least squares over the last changes.

    As `fitted_magnetic_factor`, for what the Kerker factor leaves to be screened.  Between AMIX (smallest) and
    LARGEST_AMIX: where charge answers by more than it was moved, the history has to learn it.
    """
    top, bottom = history.fits_c[history.places[-FITTED_STEPS:], 4:].sum(0).tolist()
    return max(smallest, min(-top / bottom, LARGEST_AMIX)) if bottom > 0 else smallest


def fitted_wave_vector(history: History, otherwise: float) -> float:
    """B of the response -dR = (1 + B^2 / g^2) dU that fits the history of the total density best, 1/bohr.

    That is the dielectric function of a metal at small g; in an insulator B comes out small.  otherwise: where nothing
    is known.
    """
    top, bottom = history.fits_c[history.places, 2:4].sum(0).tolist()
    return math.sqrt(min(max(top / bottom, 0.0), LARGEST_BMIX**2)) if bottom > 0 else otherwise
