"""Back end `dense`: the whole matrix by the rules of Slater and Condon, the slow twin of the others."""

from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.basis.pair_counting import KINDS
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.estimate import DENSE_LARGEST
from eigenwerk.ncci.interaction.pair_blocks import PairBlock


@dataclass(frozen=True, eq=False)
class DenseHamiltonian:
    """H as a full symmetric matrix (b, b)."""

    matrix_bb: torch.Tensor

    @property
    def dimension(self) -> int:
        """Many-body states."""
        return len(self.matrix_bb)

    @property
    def dtype(self) -> torch.dtype:
        """Number type of the stored elements."""
        return self.matrix_bb.dtype

    @property
    def device(self) -> torch.device:
        """Where they lie."""
        return self.matrix_bb.device

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x for every row, (n, b)."""
        return x_nb @ self.matrix_bb


def dense_hamiltonian(
    basis: ManyBodyBasis,
    pairs: BasisPairs,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> DenseHamiltonian:
    """The matrix <b|H|b'>.  Raises InputError if it would be too large."""
    if basis.dimension > DENSE_LARGEST:
        raise InputError(
            f"A dense matrix of dimension {basis.dimension} would take {8e-9 * basis.dimension**2:.0f} GB; the "
            f"limit is dimension {DENSE_LARGEST}. Choose the back end csb or pairs, or a smaller Nmax."
        )
    return DenseHamiltonian(tensor(slater_condon(basis, pairs), device).to(dtype))


def slater_condon(basis: ManyBodyBasis, pairs: BasisPairs) -> np.ndarray:
    """(b, b) float64.

    Both species are one row of states here, protons first.  No difference: sum of <ab|V|ab> over occupied pairs.
    One, a -> c: phase times the sum of <as|V|cs> over the other nucleons s.  Two, ab -> cd: phase times <ab|V|cd>.
    """
    if pairs.alone_bb is not None:
        return pairs.alone_bb
    occupied_bi, value = _occupied(basis), _Elements(basis, pairs)
    matrix_bb = np.zeros((basis.dimension,) * 2)
    for row, occupied_i in enumerate(occupied_bi):
        shared = (occupied_bi[row:, :, None] == occupied_i).any(axis=2).sum(axis=1)
        for column in row + np.flatnonzero(shared >= occupied_bi.shape[1] - 2):
            matrix_bb[row, column] = matrix_bb[column, row] = _element(occupied_i, occupied_bi[column], value)
    return matrix_bb


def _occupied(basis: ManyBodyBasis) -> np.ndarray:
    """(b, nucleons) occupied states, those of neutrons after all of protons."""
    proton_b, neutron_b = basis.all_states()
    neutrons = basis.neutrons.occupied_di[neutron_b].astype(np.int64) + len(basis.protons.states)
    return np.concatenate([basis.protons.occupied_di[proton_b].astype(np.int64), neutrons], axis=1)


class _Elements:
    """<ab|V|cd> of states numbered as in `_occupied`, a < b and c < d."""

    def __init__(self, basis: ManyBodyBasis, pairs: BasisPairs) -> None:
        first = {"p": 0, "n": len(basis.protons.states)}
        self.places: dict[tuple[int, int], tuple[PairBlock, int]] = {}
        for kind in KINDS:
            for block in pairs.blocks[kind]:
                labels = (block.first_x + first[kind[0]]).tolist(), (block.second_x + first[kind[1]]).tolist()
                self.places |= {pair: (block, x) for x, pair in enumerate(zip(*labels, strict=True))}

    def __call__(self, a: int, b: int, c: int, d: int) -> float:
        (block, x), (other, y) = self.places[a, b], self.places[c, d]
        return float(block.matrix_xx[x, y]) if block is other else 0.0


def _element(bra_i: np.ndarray, ket_i: np.ndarray, value: _Elements) -> float:
    """<bra|H|ket> of two rows of occupied states that differ in at most two places."""
    bra, ket = bra_i.tolist(), ket_i.tolist()
    out, into = [a for a in bra if a not in ket], [c for c in ket if c not in bra]
    common = [s for s in bra if s in ket]
    phase = (-1) ** (sum(bra.index(a) for a in out) + sum(ket.index(c) for c in into))
    if len(out) == 2:
        return phase * value(*out, *into)
    if len(out) == 1:
        return phase * sum(_ordered(out[0], into[0], s, value) for s in common)
    return sum(value(a, b, a, b) for i, a in enumerate(common) for b in common[i + 1 :])


def _ordered(a: int, c: int, s: int, value: _Elements) -> float:
    """<as|V|cs> with the sign of putting both pairs in order."""
    sign = (1 if a < s else -1) * (1 if c < s else -1)
    return sign * value(*sorted((a, s)), *sorted((c, s)))
