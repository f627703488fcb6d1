"""Small no-core calculations that several tests use."""

import sys
from pathlib import Path

import numpy as np
import pytest

from eigenwerk.ncci.interaction.centre_of_mass import intrinsic_kinetic
from eigenwerk.ncci.interaction.two_body import PairSpace
from eigenwerk.ncci.orbitals import no_core_orbitals

sys.path.append(str(Path(__file__).resolve().parent))
from dense_m_scheme import DenseMScheme


class SmallNucleus:
    """Z protons and N neutrons (at most p shell) with Nmax: pairs, basis, lowest states."""

    def __init__(self, protons, neutrons, nmax, twice_m=0):
        in_p_shell = max(protons - 2, 0), max(neutrons - 2, 0)
        highest = 1 if max(in_p_shell) else 0
        orbitals = no_core_orbitals(nmax + highest)
        self.space = PairSpace(orbitals, orbitals, *[nmax + min(2, sum(in_p_shell))] * 3)
        self.protons, self.neutrons, self.nucleons = protons, neutrons, protons + neutrons
        quanta = sum(in_p_shell) + nmax
        self.dense = DenseMScheme(orbitals, orbitals, protons, neutrons, quanta, twice_m, quanta)

    def solve(self, potential, hw):
        """Energies and states of T_int + potential."""
        hamiltonian = intrinsic_kinetic(self.space, hw, self.nucleons) + potential
        self.energies, self.vectors = np.linalg.eigh(self.dense.matrix(hamiltonian))
        return self.energies

    def expectation(self, operator, state=0):
        vector = self.vectors[:, state]
        return vector @ self.dense.matrix(operator) @ vector


@pytest.fixture
def small_nucleus():
    return SmallNucleus
