"""The similarity renormalisation group: two nucleons keep their observables, the potential becomes a narrow band."""

import numpy as np
import pytest
from scipy.linalg import expm

from eigenwerk.errors import InputError
from eigenwerk.ncci.interaction.files import interaction
from eigenwerk.ncci.interaction.relative_motion import nnlo_opt as chiral
from eigenwerk.ncci.interaction.relative_motion.srg import evolve, evolve_waves
from eigenwerk.units import HBAR_C_MEV_FM
from scattering import bound_state, hamiltonian, phase_shifts

SINGLET = [(0, 0, 0, 0)]
TRIPLET = [(1, 1, 0, 0), (1, 1, 0, 2), (1, 1, 2, 2)]
MASS = chiral.MASS


def joined(matrices, waves):
    if len(waves) == 1:
        return matrices[waves[0]]
    low, mixed, high = (matrices[wave] for wave in waves)
    return np.block([[low, mixed], [mixed.T, high]])


def bare(kind, waves, p_x):
    return joined(chiral.momentum_matrices(kind, p_x, waves), waves)


@pytest.mark.fast("1.5", "3.0")
@pytest.mark.parametrize("srg_lambda", [3.0, 2.0, 1.5])
def test_the_deuteron_keeps_its_energy_and_loses_d_state(srg_lambda):
    p_x, weight = chiral.momentum_mesh(60)
    potential = bare("pn", TRIPLET, p_x)
    energy, parts = bound_state(potential, p_x, weight, MASS["pn"])
    found, found_parts = bound_state(evolve(potential, p_x, weight, MASS["pn"], srg_lambda), p_x, weight, MASS["pn"])
    assert found == pytest.approx(energy, abs=1e-8) and energy == pytest.approx(-2.2245846, abs=1e-6)
    assert found_parts[1] < 0.95 * parts[1]


@pytest.mark.fast("200.0-*", "50.0-pn-*")
@pytest.mark.parametrize(
    ("kind", "waves"),
    [("pn", SINGLET), ("pn", TRIPLET), ("nn", [(0, 1, 1, 1)]), ("pp", [(2, 1, 1, 1), (2, 1, 1, 3), (2, 1, 3, 3)])],
)
@pytest.mark.parametrize("momentum", [50.0, 200.0, 350.0])
def test_phase_shifts_stay(kind, waves, momentum):
    p_x, weight = chiral.momentum_mesh(60)
    points = np.append(p_x, momentum)
    potential = bare(kind, waves, points)
    evolved = evolve(potential, points, np.append(weight, 0.0), MASS[kind], 2.0)
    expected = phase_shifts(potential, points, weight, MASS[kind])
    assert phase_shifts(evolved, points, weight, MASS[kind]) == pytest.approx(expected, abs=1e-6)
    assert abs(evolved - potential).max() > 0.02 * abs(potential).max()


def test_the_flow_is_the_commutator_of_whole_matrices():
    """H(s + ds) = U H U^T with U = exp(ds [T, H]) on the mesh, in many small steps."""
    p_x, weight = chiral.momentum_mesh(16)
    potential, mass, srg_lambda = bare("pn", TRIPLET, p_x), MASS["pn"], 3.0
    root = np.tile(np.sqrt(weight / HBAR_C_MEV_FM) * p_x / HBAR_C_MEV_FM, 2)
    kinetic = np.diag(np.tile(p_x / HBAR_C_MEV_FM, 2) ** 2)
    whole = kinetic + root[:, None] * potential * root * mass * HBAR_C_MEV_FM

    def after(steps):
        h = whole
        for _ in range(steps):
            turn = expm((kinetic @ h - h @ kinetic) * srg_lambda**-4 / steps)
            h = turn @ h @ turn.T
        return h

    found = evolve(potential, p_x, weight, mass, srg_lambda) * root[:, None] * root * mass * HBAR_C_MEV_FM
    expected = 2 * after(400) - after(200) - kinetic  # without the error of first order in the step
    np.testing.assert_allclose(found, expected, atol=2e-4 * abs(expected).max())
    assert abs(found - (whole - kinetic)).max() > 0.05 * abs(expected).max()


def test_what_couples_low_to_high_momenta_fades():
    """To first order an element falls as exp[-(k^2 - k'^2)^2 / lambda^4]."""
    p_x, weight = chiral.momentum_mesh(60)
    low, high = p_x < 100.0, (p_x > 500.0) & (p_x < 700.0)
    potential = bare("pn", TRIPLET, p_x)
    block = np.ix_(low, high)
    least = (p_x[high][0] ** 2 - p_x[low][-1] ** 2) / HBAR_C_MEV_FM**2
    for srg_lambda in (3.0, 2.0, 1.5):
        evolved = evolve(potential, p_x, weight, MASS["pn"], srg_lambda)
        left = abs(evolved[block]).max() / abs(potential[block]).max()
        assert left < 2 * np.exp(-(least**2) / srg_lambda**4)


def test_infinite_lambda_is_the_potential_itself():
    p_x, weight = chiral.momentum_mesh(40)
    potential = bare("pn", TRIPLET, p_x)
    changes = [abs(evolve(potential, p_x, weight, MASS["pn"], x) - potential).max() for x in (20.0, 40.0, 1000.0)]
    assert changes[0] / changes[1] == pytest.approx(2**4, rel=0.05)  # the flow parameter is lambda^-4
    assert changes[2] < 1e-8 * abs(potential).max()


def test_coupled_waves_are_evolved_together():
    p_x, weight = chiral.momentum_mesh(30)
    matrices = chiral.momentum_matrices("pn", p_x, chiral.waves(2))
    found = evolve_waves(matrices, p_x, weight, MASS["pn"], 2.0)
    assert found.keys() == matrices.keys()
    for waves in (SINGLET, TRIPLET, [(1, 1, 1, 1)]):
        together = evolve(joined(matrices, waves), p_x, weight, MASS["pn"], 2.0)
        np.testing.assert_allclose(joined(found, waves), together, rtol=0, atol=1e-13 * abs(together).max())


@pytest.mark.parametrize("srg_lambda", [0.0, -2.0, float("nan")])
def test_a_lambda_that_means_nothing_is_refused(srg_lambda):
    p_x, weight = chiral.momentum_mesh(10)
    with pytest.raises(InputError, match="positive"):
        evolve(bare("pn", SINGLET, p_x), p_x, weight, MASS["pn"], srg_lambda)


@pytest.mark.slow
def test_the_oscillator_basis_needs_fewer_quanta_for_the_deuteron():
    """The same energy from above, and nearer for smaller lambda, at an hw so small that high momenta are what lacks."""
    distances = []
    for srg_lambda in (None, 3.0, 2.0):
        relative = chiral.nnlo_opt("pn", 12.0, 16, srg_lambda)
        distances.append(np.linalg.eigvalsh(hamiltonian(relative, 1, 1, (0, 2), 8))[0] + 2.2245846)
    assert distances[0] > distances[1] > distances[2] > 0


@pytest.mark.slow
def test_tritium_falls_with_nmax_and_faster_with_smaller_lambda(small_nucleus):
    """No published numbers: the Hamiltonian of each lambda is one, so that energies fall with Nmax."""
    steps, energies = [], []
    for srg_lambda in (None, 2.0):
        for nmax in (2, 4):
            nucleus = small_nucleus(1, 2, nmax, 1)
            energies.append(nucleus.solve(interaction("NNLOopt", nucleus.space, 24.0, srg_lambda), 24.0)[0])
        steps.append(energies[-2] - energies[-1])
    assert steps[0] > steps[1] > 0
    assert energies[2] < energies[0]
