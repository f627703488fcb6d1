"""Masses agree with another package's table."""

import pytest
from ase.data import atomic_masses, atomic_numbers

from eigenwerk.io.vasp.elements import MASSES, SYMBOLS


def test_every_element_has_its_mass():
    assert tuple(MASSES) == SYMBOLS
    for symbol, mass in MASSES.items():
        assert mass == pytest.approx(atomic_masses[atomic_numbers[symbol]], abs=6e-5), symbol
