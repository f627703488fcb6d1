"""Orbitals and single-particle states of the oscillator."""

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.ncci.orbitals import Orbitals, no_core_orbitals


def test_orbitals_stand_in_the_order_of_mfdn():
    assert no_core_orbitals(2).names() == "0s1/2 0p1/2 0p3/2 1s1/2 0d3/2 0d5/2"


@pytest.mark.parametrize("max_quanta", [0, 1, 5, 12])
def test_every_shell_has_as_many_states_as_the_oscillator(max_quanta):
    states = no_core_orbitals(max_quanta).states()
    shells = np.bincount(states.quanta_x)
    assert shells.tolist() == [(n + 1) * (n + 2) for n in range(max_quanta + 1)]
    assert states.twice_m_x.sum() == 0
    assert (states.parity_x == states.quanta_x % 2).all()


def test_states_of_an_orbital_go_from_minus_j_to_j():
    states = no_core_orbitals(1).states()
    assert states.twice_m_x.tolist() == [-1, 1, -1, 1, -3, -1, 1, 3]
    assert states.orbital_x.tolist() == [0, 0, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize("twice_j", [0, 2, 5])
def test_an_impossible_orbital_is_refused_by_its_numbers(twice_j):
    with pytest.raises(InputError, match=f"2j = {twice_j} is no orbital"):
        Orbitals(np.array([0]), np.array([1]), np.array([twice_j]))


def test_an_orbital_twice_is_refused():
    with pytest.raises(InputError, match="twice"):
        Orbitals(np.array([0, 0]), np.array([1, 1]), np.array([1, 1]))
