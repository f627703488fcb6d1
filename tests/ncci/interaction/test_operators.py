"""One-body and two-body operators of the oscillator: closed forms, spectra of two nucleons, the relative motion."""

import numpy as np
import pytest

from eigenwerk.ncci.interaction.angular import intrinsic_spin, isospin, orbital_spin, total_spin
from eigenwerk.ncci.interaction.centre_of_mass import centre_of_mass_quanta, intrinsic_kinetic
from eigenwerk.ncci.interaction.radii import squared_distances
from eigenwerk.ncci.interaction.relative_motion import oscillator
from eigenwerk.ncci.interaction.relative_motion.coupling import couple
from eigenwerk.ncci.interaction.relative_motion.potentials import coulomb, minnesota
from eigenwerk.ncci.interaction.relative_motion.relative import Relative, all_waves
from eigenwerk.ncci.interaction.two_body import SPECIES, PairSpace
from eigenwerk.ncci.orbitals import no_core_orbitals
from scattering import hamiltonian, p_squared, r_squared


@pytest.fixture(scope="module")
def space():
    return PairSpace(no_core_orbitals(5), no_core_orbitals(5), 5, 5, 5)


def closest_multiples(values, allowed):
    return np.abs(values[:, None] - np.array(allowed)).min(axis=1).max()


def test_radial_functions_are_orthonormal_and_positive_at_the_origin():
    for l in (0, 1, 5):
        r, weight = oscillator.radial_grid(40, l, 1.7)
        functions = oscillator.radial(40, l, r, 1.7)
        np.testing.assert_allclose((functions * weight * r**2) @ functions.T, np.eye(41), atol=1e-12)
        assert (functions[:, 0] > 0).all()


def test_closed_form_of_r_squared_is_its_radial_integral():
    found = oscillator.local_potential(lambda r: (r / 1.3) ** 2, 3, 12, 1.3)
    np.testing.assert_allclose(r_squared(3, 12), found, atol=1e-10)


@pytest.mark.fast("pn")
@pytest.mark.parametrize("kind", SPECIES)
def test_kinetic_energy_of_pairs_is_that_of_the_relative_motion(space, kind):
    """Brackets and products p_i.p_j are two ways to (p_i - p_j)^2."""
    hw = 17.0
    waves = {(j, s, l, l): hw / 2 * p_squared(l, 4) for j, s, l in all_waves(5)}
    other = couple(space, dict.fromkeys(SPECIES, Relative(hw, waves)), hw)
    kinetic = intrinsic_kinetic(space, hw, 2)
    for key, matrix in kinetic.matrices[kind].items():
        np.testing.assert_allclose(matrix, other.matrices[kind][key], atol=1e-11)


@pytest.mark.fast("pp")
@pytest.mark.parametrize("kind", SPECIES)
def test_distances_of_pairs_are_those_of_the_relative_motion(space, kind):
    hw = 17.0
    b = oscillator.relative_length(hw)
    waves = {(j, s, l, l): b**2 * r_squared(l, 4) for j, s, l in all_waves(5)}
    other = couple(space, dict.fromkeys(SPECIES, Relative(hw, waves)), hw)
    for key, matrix in squared_distances(space, hw).matrices[kind].items():
        np.testing.assert_allclose(matrix, other.matrices[kind][key], atol=1e-10)


@pytest.mark.parametrize("kind", SPECIES)
def test_two_nucleons_have_whole_numbers_of_centre_of_mass_quanta(space, kind):
    for matrix in centre_of_mass_quanta(space, 2).matrices[kind].values():
        assert closest_multiples(np.linalg.eigvalsh(matrix), range(6)) < 1e-10


@pytest.mark.parametrize("kind", SPECIES)
def test_two_nucleons_have_good_angular_momenta(space, kind):
    """Spectra of L^2, S^2, T^2 are L(L+1), 0 or 2, and L^2 + S^2 + 2 L.S = J^2 holds as |L - S| <= J <= L + S."""
    for (j, _), matrix in total_spin(space, 2).matrices[kind].items():
        np.testing.assert_allclose(matrix, j * (j + 1) * np.eye(len(matrix)), atol=1e-12)
    for (j, _), matrix in orbital_spin(space, 2).matrices[kind].items():
        assert closest_multiples(np.linalg.eigvalsh(matrix), [x * (x + 1) for x in (j - 1, j, j + 1) if x >= 0]) < 1e-9
    for operator in (intrinsic_spin, isospin):
        for matrix in operator(space, 2).matrices[kind].values():
            assert closest_multiples(np.linalg.eigvalsh(matrix), [0, 2]) < 1e-9


def test_spin_and_isospin_of_a_proton_and_a_neutron_commute_with_the_interaction(space):
    potential = couple(space, dict.fromkeys(SPECIES, minnesota(20.0, 5)), 20.0)
    for operator in (intrinsic_spin, isospin, orbital_spin):
        for key, matrix in operator(space, 2).matrices["pn"].items():
            v = potential.matrices["pn"][key]
            np.testing.assert_allclose(v @ matrix, matrix @ v, atol=1e-9)


def test_deuteron_of_minnesota():
    """Energy -2.202 MeV is the value quoted for this potential."""
    potential = minnesota(20.0, 200, max_l=0)
    assert np.linalg.eigvalsh(hamiltonian(potential, 1, 1, (0,), 101))[0] == pytest.approx(-2.2019, abs=2e-4)


def test_coulomb_scales_with_the_root_of_the_oscillator_energy(space):
    at_10, at_40 = (coulomb(space, hw).matrices["pp"] for hw in (10.0, 40.0))
    for key, matrix in at_10.items():
        np.testing.assert_allclose(2 * matrix, at_40[key], atol=1e-10)
    assert abs(coulomb(space, 10.0).matrices["pn"][1, 0]).max() == 0.0


@pytest.mark.fast("2-2-2-*")
@pytest.mark.parametrize(
    ("protons", "neutrons", "nmax", "twice_m", "energy"), [(1, 2, 4, 1, -6.9736), (2, 2, 2, 0, None)]
)
def test_minnesota_nuclei(small_nucleus, protons, neutrons, nmax, twice_m, energy):
    """3H as computed by an independent code; the 4He bound falls with Nmax."""
    nucleus = small_nucleus(protons, neutrons, nmax, twice_m)
    potential = couple(nucleus.space, dict.fromkeys(SPECIES, minnesota(20.0, nmax + 2)), 20.0)
    found = nucleus.solve(potential, 20.0)[0]
    if energy is not None:
        assert found == pytest.approx(energy, abs=1e-4)
    else:
        assert -27.9792 < found < -20.0  # above the energy at Nmax 4
