"""Arrangements of atoms without symmetry, and the corrections that INCAR would make."""

import numpy as np
import pytest

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.dispersion import libraries, pairwise
from eigenwerk.dft.dispersion.correction import D2, D4, DispersionCorrection
from eigenwerk.dft.dispersion.functionals import known_functionals
from eigenwerk.units import BOHR_ANGSTROM

OTHERS = {"sr": 1.0, "d": 20.0}


def make(method, functional="pbe", radius=50.2, counted=20.0, charge=0.0, **changes):
    """With the parameters of a functional, some of them changed; radii in Å."""
    usual = OTHERS if method == D2 else libraries.USUAL[method]
    given = {**usual, **known_functionals(method)[functional], **changes}
    table = {
        symbol: (c6 * pairwise.C6_UNIT, radius / BOHR_ANGSTROM)
        for symbol, (c6, radius) in pairwise.COEFFICIENTS.items()
    }
    reach = (None, None) if method == D4 else (radius / BOHR_ANGSTROM, counted / BOHR_ANGSTROM)
    return DispersionCorrection(method, functional, given, *reach, table if method == D2 else {}, charge)


@pytest.fixture
def correction():
    return make


@pytest.fixture
def bent():
    """Four atoms of three elements in a crooked cell, Å -> bohr."""
    cell_cv = np.array([[4.1, 0.2, 0.0], [-0.9, 3.8, 0.3], [0.4, 0.1, 5.2]]) / BOHR_ANGSTROM
    scaled_ac = [[0.02, 0.0, 0.05], [0.55, 0.48, 0.2], [0.3, 0.8, 0.6], [0.9, 0.4, 0.75]]
    return Structure(cell_cv, ("C", "Si", "O", "C"), np.array(scaled_ac))


@pytest.fixture
def box():
    """Two atoms of neon far from their images, 3.2 Å apart."""
    return Structure(np.eye(3) * 300.0, ("Ne", "Ne"), np.array([[0, 0, 0], [0, 0, 3.2 / BOHR_ANGSTROM / 300.0]]))
