"""JISP16 against the deuteron, published tables and published energies of light nuclei."""

import numpy as np
import pytest

from eigenwerk.ncci.interaction.angular import intrinsic_spin, isospin, orbital_spin, total_spin
from eigenwerk.ncci.interaction.centre_of_mass import centre_of_mass_quanta
from eigenwerk.ncci.interaction.radii import point_radii, squared_distances
from eigenwerk.ncci.interaction.relative_motion.coupling import couple
from eigenwerk.ncci.interaction.relative_motion.potentials import coulomb, jisp16
from eigenwerk.ncci.interaction.two_body import SPECIES
from scattering import hamiltonian

EVERYWHERE = dict.fromkeys(SPECIES, jisp16())


def test_deuteron_has_its_energy_and_d_state():
    energies, states = np.linalg.eigh(hamiltonian(jisp16(), 1, 1, (0, 2), 200))
    assert energies[0] == pytest.approx(-2.22457, abs=1e-5)
    assert (states[200:, 0] ** 2).sum() == pytest.approx(0.0398, abs=1e-4)


def test_energy_of_the_deuteron_does_not_depend_on_the_oscillator_length():
    at_20 = jisp16().at(20.0, 240)
    assert np.linalg.eigvalsh(hamiltonian(at_20, 1, 1, (0, 2), 100))[0] == pytest.approx(-2.2245, abs=2e-4)


# MFDn for 4He and 3He; 3H at Nmax 4 and 6Li (M = 1) also from other published runs
@pytest.mark.fast("2-2-2-*", "2-1-2-*")
@pytest.mark.parametrize(
    ("protons", "neutrons", "nmax", "twice_m", "with_coulomb", "energies"),
    [
        (2, 2, 2, 0, True, [-23.6254]),
        (1, 2, 4, 1, False, [-7.4808]),
        (2, 1, 2, 1, False, [-5.15818]),
    ],
)
def test_energies_of_light_nuclei_are_those_of_mfdn(
    small_nucleus, protons, neutrons, nmax, twice_m, with_coulomb, energies
):
    nucleus = small_nucleus(protons, neutrons, nmax, twice_m)
    potential = couple(nucleus.space, EVERYWHERE, 20.0)
    if with_coulomb:
        potential = potential + coulomb(nucleus.space, 20.0)
    assert nucleus.solve(potential, 20.0)[: len(energies)] == pytest.approx(energies, abs=1e-4)


def test_helium_4_has_the_radii_and_quantum_numbers_that_mfdn_prints(small_nucleus):
    nucleus = small_nucleus(2, 2, 2)
    space = nucleus.space
    nucleus.solve(couple(space, EVERYWHERE, 20.0) + coulomb(space, 20.0), 20.0)
    distances = squared_distances(space, 20.0)
    sums = [nucleus.expectation(distances.only(kind)) for kind in ("pp", "nn", "pn")]
    assert point_radii(2, 2, *sums)[:3] == pytest.approx((1.41461, 1.41067, 1.41265), abs=1e-5)
    assert nucleus.expectation(total_spin(space, 4)) == pytest.approx(0.0, abs=1e-9)
    assert nucleus.expectation(isospin(space, 4)) == pytest.approx(0.00004, abs=5e-6)
    assert nucleus.expectation(centre_of_mass_quanta(space, 4)) == pytest.approx(0.0, abs=1e-9)
    orbital, spin = (nucleus.expectation(x(space, 4)) for x in (orbital_spin, intrinsic_spin))
    assert orbital == pytest.approx(spin, abs=1e-9)  # L = S where J = 0


@pytest.mark.slow
def test_lithium_6_has_the_energies_of_mfdn_and_lawson_leaves_them(small_nucleus):
    nucleus = small_nucleus(3, 3, 2, twice_m=2)
    potential = couple(nucleus.space, EVERYWHERE, 20.0) + 50.0 * centre_of_mass_quanta(nucleus.space, 6)
    assert nucleus.solve(potential, 20.0)[:3] == pytest.approx([-19.292, -18.081, -13.934], abs=6e-4)
    spins = [nucleus.expectation(total_spin(nucleus.space, 6), state) for state in (0, 1)]
    assert spins == pytest.approx([2.0, 12.0], abs=1e-8)
