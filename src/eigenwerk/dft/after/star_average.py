"""Weights of orbitals at irreducible k-points, averaged over the orbitals that symmetry makes of them.

An operation o takes an orbital at k with the matrices ρ_mm'(a) = Re <m|ψ><ψ|m'> of atom a to one at o k of the same
energy with M_o ρ(a) M_oᵀ at the atom o a, and for operations that flip all moments to the other spin channel.  A sum
over the full mesh is therefore one over irreducible points of

    w_aL = 1/N Σ_o [M_o ρ(o⁻¹ a) M_oᵀ]_LL,

M as in symmetrise.py.  First everything is brought to one atom of each kind, then from there to the others.
"""

from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.dft.crystal.rotations import real_harmonics_rotation
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.parallel.runtime import Runtime


@dataclass(frozen=True, eq=False)
class StarAverage:
    """first_a: the atom of its kind to which each is brought; gather_flaxx: 1/N Σ_o M_o x M_o of the operations that do
    this, without (f = 0) and with (f = 1) spin flip, for each l, on matrices as vectors; spread_laLx: the diagonal of
    M ρ Mᵀ of one operation back; flip_a: whether that flips the spins.
    """

    first_a: tuple[int, ...]
    gather_flaxx: tuple[tuple[torch.Tensor, ...], ...]
    spread_laLx: tuple[torch.Tensor, ...]
    flip_a: tuple[bool, ...]

    @property
    def flips(self) -> bool:
        """Whether operations exchange the spins."""
        return len(self.gather_flaxx) == 2

    def gathered(self, a: int, density_lxmm: list[torch.Tensor]) -> list[list[torch.Tensor]]:
        """What the matrices of atom a give for the first atom of its kind, for each f and l; (x, m m')."""
        return [
            [density_xmm.flatten(1) @ part_axx[a].T for part_axx, density_xmm in zip(part_l, density_lxmm, strict=True)]
            for part_l in self.gather_flaxx
        ]

    def spread(self, a: int, matrix_flxm: list[list[torch.Tensor]]) -> list[torch.Tensor]:
        """Weights of atom a from the sums over all atoms of its kind of what `gathered` gives: for each f, (x, L)."""
        parts = matrix_flxm[::-1] if self.flip_a[a] else matrix_flxm
        return [
            torch.cat([matrix_xm @ of_l[a].T for of_l, matrix_xm in zip(self.spread_laLx, part, strict=True)], -1)
            for part in parts
        ]


def star_average(symmetry: Symmetry, lmax: int, runtime: Runtime) -> StarAverage:
    """The averages over a group for angular momenta up to lmax."""
    map_oa = symmetry.atom_map_oa
    first_a = map_oa.min(axis=0)
    back_a = np.argmax(map_oa[:, first_a] == np.arange(map_oa.shape[1]), axis=0)  # operations first_a -> a
    key_ox = np.column_stack([symmetry.rotation_occ.reshape(symmetry.order, 9), symmetry.spin_flip_o])
    # a supercell has many operations but few rotations
    _, kind_x, of_o = np.unique(key_ox, axis=0, return_index=True, return_inverse=True)
    of_o = of_o.reshape(-1)
    count_xa = np.zeros((len(kind_x), len(first_a)))
    np.add.at(count_xa, of_o, map_oa == first_a)
    count_xa /= symmetry.order
    flip_x = symmetry.spin_flip_o[kind_x]
    chosen_f = [~flip_x, flip_x] if flip_x.any() else [~flip_x]
    gather: list[list[torch.Tensor]] = [[] for _ in chosen_f]
    spread = []
    for l in range(lmax + 1):
        turn_xmm = real_harmonics_rotation(l, symmetry.rotation_ovv[kind_x])
        size = (2 * l + 1) ** 2
        both_xyy = np.einsum("xik,xjl->xijkl", turn_xmm, turn_xmm).reshape(-1, size, size)
        for part, chosen_x in zip(gather, chosen_f, strict=True):
            part.append(runtime.tensor(np.einsum("xa,xyz->ayz", count_xa[chosen_x], both_xyy[chosen_x])))
        back_amm = turn_xmm[of_o[back_a]]
        spread.append(runtime.tensor(np.einsum("amk,aml->amkl", back_amm, back_amm).reshape(len(first_a), -1, size)))
    flips = tuple(bool(flip) for flip in symmetry.spin_flip_o[back_a])
    return StarAverage(tuple(first_a.tolist()), tuple(map(tuple, gather)), tuple(spread), flips)
