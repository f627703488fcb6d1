"""Small nuclear problems made up for tests: bases, random matrices between pairs of m-states, random vectors."""

import numpy as np
import torch

from eigenwerk.ncci.basis.basis_pairs import BasisPairs, select_pairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis, many_body_basis
from eigenwerk.ncci.basis.pair_counting import KINDS, needed_pairs
from eigenwerk.ncci.basis.space import no_core_space, valence_space
from eigenwerk.ncci.interaction.pair_blocks import PairBlock
from eigenwerk.ncci.orbitals import Orbitals


def no_core_basis(protons: int, neutrons: int, max_excitation: int, twice_M: int) -> ManyBodyBasis:
    """The no-core basis of a nucleus at Nmax = max_excitation; the parity of Nmax gives that of the states."""
    return many_body_basis(no_core_space(protons, neutrons, max_excitation, twice_M))


def valence_basis(
    orbitals_p: Orbitals, orbitals_n: Orbitals, protons: int, neutrons: int, twice_M: int, parity: int
) -> ManyBodyBasis:
    """All states of `protons` and `neutrons` valence nucleons in the given orbitals."""
    return many_body_basis(valence_space(orbitals_p, orbitals_n, protons, neutrons, twice_M, parity))


def random_pairs(basis: ManyBodyBasis, seed: int = 1) -> BasisPairs:
    """One block for every 2M and parity of the pairs that the basis needs."""
    generator = np.random.default_rng(seed)
    return select_pairs(basis, {kind: _blocks(basis, kind, generator) for kind in KINDS})


def random_vectors(count: int, dimension: int, dtype: torch.dtype = torch.float64, seed: int = 3) -> torch.Tensor:
    """(count, dimension), the same in every number type but for rounding."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((count, dimension))).to(dtype)


def p_and_sd_shell_basis() -> ManyBodyBasis:
    """Three protons in the p shell and two neutrons in two orbitals of the sd shell, 2M = 1, odd: 88 states."""
    p_shell = Orbitals(np.array([0, 0]), np.array([1, 1]), np.array([3, 1]))
    sd_shell = Orbitals(np.array([0, 1]), np.array([2, 0]), np.array([5, 1]))
    return valence_basis(p_shell, sd_shell, 3, 2, 1, 1)


def _twice_j(determinants):
    """2j of every m-state: the largest 2m of its orbital."""
    orbital, twice_m = determinants.states.orbital_x, determinants.states.twice_m_x
    largest = np.zeros(orbital.max() + 1, dtype=np.int64)
    np.maximum.at(largest, orbital, twice_m)
    return largest[orbital]


def _blocks(basis, kind, generator):
    one, two = ({"p": basis.protons, "n": basis.neutrons}[letter] for letter in kind)
    first, second = np.nonzero(needed_pairs(basis.space, kind))
    twice_M = one.states.twice_m_x[first] + two.states.twice_m_x[second]
    parity = (one.states.parity_x[first] + two.states.parity_x[second]) % 2
    blocks = []
    for m, p in sorted(set(zip(twice_M.tolist(), parity.tolist(), strict=True))):
        chosen = (twice_M == m) & (parity == p)
        matrix = generator.standard_normal((chosen.sum(),) * 2)
        weight = one.weight_x[first[chosen]] + two.weight_x[second[chosen]]
        j_1, j_2 = (_twice_j(side)[states[chosen]] for side, states in ((one, first), (two, second)))
        low, high = abs(j_1 - j_2), j_1 + j_2
        matrix *= (low[:, None] <= high) & (low <= high[:, None])  # no J in common: zero, as in every interaction
        blocks.append(PairBlock(m, p, first[chosen], second[chosen], weight, matrix + matrix.T))
    return blocks
