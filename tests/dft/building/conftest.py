"""Crystals to build from."""

import numpy as np
import pytest

from eigenwerk.io.vasp.input.poscar import Poscar

FCC = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])


@pytest.fixture(scope="session")
def copper():
    """Cubic cell of copper."""
    return Poscar("Cu", 3.6 * np.eye(3), ("Cu",) * 4, FCC)


@pytest.fixture(scope="session")
def arsenide():
    """Cubic cell of gallium arsenide with names of data sets and flags."""
    return Poscar(
        "GaAs", 5.65 * np.eye(3), ("Ga",) * 4 + ("As",) * 4, np.concatenate([FCC, FCC + 0.25]), suffixes=("_d", ""),
        selective_ac=np.arange(24).reshape(8, 3) % 2 == 0,
    )  # fmt: skip


@pytest.fixture(scope="session")
def skewed():
    """A triclinic cell with three atoms, some outside of it, and velocities."""
    lattice_cv = np.array([[4.0, 0.3, 0.1], [-0.8, 4.4, 0.5], [0.2, 0.9, 5.1]])
    scaled_ac = np.array([[0.1, 0.2, 0.3], [-0.3, 0.7, 1.2], [0.6, 0.1, 0.75]])
    return Poscar("", lattice_cv, ("Si", "O", "Si"), scaled_ac, velocities_av=np.ones((3, 3)))
