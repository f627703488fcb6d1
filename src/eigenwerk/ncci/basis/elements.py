"""Two-body matrix elements found by the four states: <ab|V|cd> = flat[row_ab + column_cd]."""

from dataclasses import dataclass

import numpy as np

from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis


@dataclass(frozen=True, eq=False)
class Elements:
    """All matrix elements of one kind of pairs in one array.

    flat_z: in the number type of the pairs; NaN where the ranges |ja - jb| .. ja + jb of the two pairs do not overlap,
    so that the element is zero whatever the interaction.  row_xx, column_xx: (states, states) of the first and second
    nucleon, int64; a pair that does not occur has 0.  Like nucleons need a < b and c < d.
    """

    flat_z: np.ndarray
    row_xx: np.ndarray
    column_xx: np.ndarray

    def value(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
        """<ab|V|cd> for arrays of states, zero where no J can couple them."""
        return np.nan_to_num(self.flat_z[self.row_xx[a, b] + self.column_xx[c, d]], nan=0.0)

    def ordered(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
        """The same for like nucleons in any order, with the signs of ordering; zero if a = b or c = d."""
        sign = np.where(a < b, 1.0, -1.0) * np.where(c < d, 1.0, -1.0) * ((a != b) & (c != d))
        return sign * self.value(np.minimum(a, b), np.maximum(a, b), np.minimum(c, d), np.maximum(c, d))


def elements(basis: ManyBodyBasis, pairs: BasisPairs, kind: str) -> Elements:
    """The elements of one kind of pairs as flat arrays."""
    side_of = {"p": (basis.protons, basis.space.orbitals_p), "n": (basis.neutrons, basis.space.orbitals_n)}
    sides = [side_of[letter] for letter in kind]
    twice_j = [orbitals.twice_j_a[determinants.states.orbital_x] for determinants, orbitals in sides]
    shape = len(twice_j[0]), len(twice_j[1])
    row_xx, column_xx = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    blocks, total = pairs.blocks[kind], 1
    dtype = blocks[0].matrix_xx.dtype if blocks else np.dtype(np.float64)
    flat_z = np.zeros(1 + sum(block.matrix_xx.size for block in blocks), dtype)
    for block in blocks:
        x, y, count = block.first_x, block.second_x, len(block.first_x)
        low, high = abs(twice_j[0][x] - twice_j[1][y]), twice_j[0][x] + twice_j[1][y]
        couples = (low[:, None] <= high) & (low <= high[:, None])
        flat_z[total : total + count * count] = np.where(couples, block.matrix_xx, dtype.type(np.nan)).ravel()
        row_xx[x, y] = total + count * np.arange(count)
        column_xx[x, y] = np.arange(count)
        total += count * count
    return Elements(flat_z, row_xx, column_xx)
