"""Projectors of a crystal with an inversion as rows of real numbers.

With orbitals d(q) = c(q) exp(i q·t/2) real, and p_i(q) = <q|p̃_i> exp(i q·t/2) of an atom a, its partner a' has
(-1)^l p_i*(q), up to a phase that one-centre terms do not see, and (-1)^(l+l') times the matrix of a.  So

    Σ_ij p_i H_ij p_j† of both = 2 Σ_ij H_ij (Re p_i Re p_jᵀ + Im p_i Im p_jᵀ):

√2 Re p_i and (-1)^l √2 Im p_i serve as rows of a and of a', each with the matrix of its atom.  What they give as
occupancies of a and a' becomes right when it is symmetrised.  An atom that is its own partner has p_i real for even l
and imaginary for odd l, up to one phase.
"""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
import torch

from eigenwerk.dft.crystal.inversion import Inversion
from eigenwerk.dft.crystal.structure import Structure


@dataclass(frozen=True, eq=False)
class InversionPairs:
    """What inversion does to atoms and projectors.

    counts_a: projectors of each atom; position_ac: from the centre of inversion, x_partner = cell - x; partner_I,
    parity_I: the partner's row and (-1)^l; partner_x, parity_x: the same for the entries of one-centre matrices in flat
    order, (-1)^(l+l').
    """

    inversion: Inversion
    counts_a: tuple[int, ...]
    position_ac: torch.Tensor
    cell_ac: torch.Tensor
    partner_I: torch.Tensor
    parity_I: torch.Tensor
    partner_x: torch.Tensor
    parity_x: torch.Tensor

    @cached_property
    def cell_Ic(self) -> torch.Tensor:
        """n of the pair that a row belongs to, that of its first atom."""
        size_a = np.array(self.counts_a)
        first_a = np.minimum(np.arange(len(size_a)), self.inversion.partner_a)
        return self.cell_ac[torch.as_tensor(np.repeat(first_a, size_a), device=self.cell_ac.device)]

    @cached_property
    def first_I(self) -> torch.Tensor:
        """Whether a row is of the first atom of a pair."""
        place_I = torch.arange(len(self.partner_I), device=self.partner_I.device)
        return place_I < self.partner_I

    @cached_property
    def alone_I(self) -> torch.Tensor:
        """Whether a row's atom is its own partner."""
        place_I = torch.arange(len(self.partner_I), device=self.partner_I.device)
        return place_I == self.partner_I

    def rows(
        self, a: int, wave_kih: torch.Tensor, point_kc: torch.Tensor, parity_i: torch.Tensor
    ) -> list[tuple[int, torch.Tensor]]:
        """An atom and its partner, if that is another one, each with its real rows (k, i, h).

        wave_kih: p_i of the atom; point_kc: k, fractional.
        """
        partner = int(self.inversion.partner_a[a])
        if partner == a:
            half_k = point_kc @ self.cell_ac[a] / 2
            turned_kih = wave_kih * torch.exp(2j * torch.pi * half_k)[:, None, None]
            return [(a, torch.where(parity_i[:, None] > 0, turned_kih.real, turned_kih.imag))]
        return [(a, sqrt(2) * wave_kih.real), (partner, sqrt(2) * parity_i[:, None] * wave_kih.imag)]

    def projections(
        self, a: int, rows: list[torch.Tensor], point_kc: torch.Tensor, parity_i: torch.Tensor
    ) -> list[tuple[int, torch.Tensor]]:
        """<p|ψ̃> of an atom and its partner from the products of `rows` with an orbital; (k, n, i) complex.

        P = (R - i (-1)^l R') / √2 with the products R, R' of a pair, P' = (-1)^l exp(2πi k·n) (R + i (-1)^l R') / √2.
        """
        partner = int(self.inversion.partner_a[a])
        half_k11 = torch.exp(1j * torch.pi * (point_kc @ self.cell_ac[a]))[:, None, None]
        if partner == a:
            return [(a, rows[0] * torch.where(parity_i > 0, 1, -1j) * half_k11)]
        mirrored_kni = 1j * parity_i * rows[1]
        other_kni = parity_i * half_k11**2 * (rows[0] + mirrored_kni)
        return [(a, (rows[0] - mirrored_kni) / sqrt(2)), (partner, other_kni / sqrt(2))]

    def whole_projections(self, rows_knI: torch.Tensor, point_kc: torch.Tensor) -> torch.Tensor:
        """<p|ψ̃> of all projectors, complex, from products of the rows with orbitals, or with complex sums of these.

        P = U R, U unitary, by `projections` of all atoms at once.
        """
        other_knI = rows_knI[..., self.partner_I] * self._other_kI(point_kc)[:, None]
        return rows_knI * self._own_kI(point_kc)[:, None] + other_knI

    def rows_of_projections(self, proj_knI: torch.Tensor, point_kc: torch.Tensor) -> torch.Tensor:
        """R = U† P; real where P is that of a real orbital, else with real and imaginary part of a sum of two."""
        other_knI = (proj_knI * self._other_kI(point_kc)[:, None].conj())[..., self.partner_I]
        return proj_knI * self._own_kI(point_kc)[:, None].conj() + other_knI

    def _own_kI(self, point_kc: torch.Tensor) -> torch.Tensor:
        """Diagonal of U."""
        half_kI = torch.exp(1j * torch.pi * (point_kc @ self.cell_Ic.T))
        alone_I = torch.where(self.parity_I > 0, 1.0, -1j)
        # first of a pair: 1/√2; second: i/√2 with the whole turn
        paired_kI = torch.where(self.first_I, torch.ones_like(half_kI), 1j * half_kI**2) / sqrt(2)
        return torch.where(self.alone_I, alone_I * half_kI, paired_kI)

    def _other_kI(self, point_kc: torch.Tensor) -> torch.Tensor:
        """Elements of U between a projector and the row of its partner."""
        turn_kI = torch.exp(2j * torch.pi * (point_kc @ self.cell_Ic.T))
        paired_kI = torch.where(self.first_I, -1j * self.parity_I + 0 * turn_kI, self.parity_I * turn_kI) / sqrt(2)
        return torch.where(self.alone_I, torch.zeros_like(turn_kI), paired_kI)

    def even(self, flat_sx: torch.Tensor) -> torch.Tensor:
        """One-centre matrices that inversion leaves unchanged to the last bit; (..., x)."""
        return 0.5 * (flat_sx + flat_sx[..., self.partner_x] * self.parity_x)

    def slope_products(self, weight_nI: torch.Tensor, slope_nI: torch.Tensor) -> torch.Tensor:
        """2 Re Σ_n W*_n ∂P_n for the rows' own W and Σ_q q p d, (I,); ∂P = i Σ q p* d mixes the rows of partners."""
        own_I = (weight_nI * slope_nI[:, self.partner_I]).sum(0)
        return self.parity_I * (own_I - (weight_nI[:, self.partner_I] * slope_nI).sum(0))


def inversion_pairs(
    inversion: Inversion, structure: Structure, parity_a: list[np.ndarray], like: torch.Tensor
) -> InversionPairs:
    """parity_a: (-1)^l of each atom's projectors, atoms in order; like: a real tensor of the wanted kind and device."""
    position_ac, cell_ac = inversion.positions(structure)
    counts_a = np.array([len(parity_i) for parity_i in parity_a])
    row_a, block_a = (np.concatenate([[0], np.cumsum(size_a)]) for size_a in (counts_a, counts_a**2))
    partner_I = np.concatenate([row_a[b] + np.arange(counts_a[b]) for b in inversion.partner_a])
    partner_x = np.concatenate([block_a[b] + np.arange(counts_a[b] ** 2) for b in inversion.partner_a])
    parity_x = np.concatenate([np.outer(parity_i, parity_i).ravel() for parity_i in parity_a])
    device = like.device
    return InversionPairs(
        inversion, tuple(map(int, counts_a)), like.new_tensor(position_ac), like.new_tensor(cell_ac),
        torch.as_tensor(partner_I, device=device), like.new_tensor(np.concatenate(parity_a)),
        torch.as_tensor(partner_x, device=device), like.new_tensor(parity_x),
    )  # fmt: skip
