"""NNLOopt: deuteron, scattering lengths and phase shifts as published, partial waves against coordinate space."""

import numpy as np
import pytest

from eigenwerk.ncci.interaction.files import interaction
from eigenwerk.ncci.interaction.relative_motion import nnlo_opt as chiral
from eigenwerk.ncci.interaction.relative_motion import oscillator
from eigenwerk.ncci.interaction.relative_motion.nnlo_opt import angles, momentum_transfer, project, spin_matrices
from eigenwerk.ncci.interaction.relative_motion.pion_exchange import Components
from eigenwerk.units import HBAR_C_MEV_FM
from scattering import bound_state, hamiltonian, phase_shifts, scattering_length

DEUTERON = [(1, 1, 0, 0), (1, 1, 0, 2), (1, 1, 2, 2)]


def potential(kind, waves, p_x):
    found = chiral.momentum_matrices(kind, p_x, waves)
    if len(waves) == 1:
        return found[waves[0]]
    low, mixed, high = (found[wave] for wave in waves)
    return np.block([[low, mixed], [mixed.T, high]])


def at_laboratory_energy(energy, waves):
    """pn phase shifts; k^2 from relativistic kinematics."""
    p_x, weight = chiral.momentum_mesh()
    a, b = chiral.PROTON, chiral.NEUTRON
    k = np.sqrt(a**2 * energy * (energy + 2 * b) / ((a + b) ** 2 + 2 * energy * a))
    points = np.append(p_x, k)
    return phase_shifts(potential("pn", waves, points), points, weight, chiral.MASS["pn"])


def test_deuteron_has_the_published_energy_and_d_state():
    """-2.224584616 MeV and 4.045860 % with the parameters in more digits."""
    p_x, weight = chiral.momentum_mesh()
    energy, parts = bound_state(potential("pn", DEUTERON, p_x), p_x, weight, chiral.MASS["pn"])
    assert energy == pytest.approx(-2.2245846, abs=1e-6)
    assert parts[1] == pytest.approx(0.0404586, abs=1e-6)


@pytest.mark.parametrize(("kind", "length"), [("pn", -23.749), ("nn", -18.889)])
def test_scattering_lengths_are_published_ones(kind, length):
    p_x, weight = chiral.momentum_mesh()
    points = np.append(p_x, 0.01)
    found = scattering_length(potential(kind, [(0, 0, 0, 0)], points), points, weight, chiral.MASS[kind])
    assert found == pytest.approx(length, abs=2e-3)


# partial-wave analysis of Nijmegen (1993), degrees, at 50 MeV; the potential follows it within about half a degree
@pytest.mark.fast("waves0-*", "waves2-*", "waves7-*")
@pytest.mark.parametrize(
    ("waves", "name", "value"),
    [
        ([(0, 0, 0, 0)], "first", 40.54),
        ([(0, 1, 1, 1)], "first", 10.70),
        ([(1, 0, 1, 1)], "first", -9.67),
        ([(1, 1, 1, 1)], "first", -8.25),
        ([(2, 1, 2, 2)], "first", 8.97),
        (DEUTERON, "first", 62.77),
        (DEUTERON, "second", -6.43),
        (DEUTERON, "mixing", 2.11),
    ],
)
def test_phase_shifts_follow_the_measured_ones(waves, name, value):
    assert getattr(at_laboratory_energy(50.0, waves), name) == pytest.approx(value, abs=0.7)


def test_phase_shifts_do_not_depend_on_the_mesh():
    waves, energy = [(0, 0, 0, 0)], 20.0
    reference = at_laboratory_energy(energy, waves).first
    p_x, weight = chiral.momentum_mesh(70, 1100.0)
    k = np.sqrt(chiral.MASS["pn"] * energy / 2)
    points = np.append(p_x, k)
    found = phase_shifts(potential("pn", waves, points), points, weight, chiral.MASS["pn"]).first
    assert found == pytest.approx(reference, abs=0.01)  # k differs by relativity in the 5th digit


def test_partial_waves_of_a_tensor_force_are_its_radial_integrals():
    """s1.q s2.q exp(-q^2/c^2) is -(s1.grad)(s2.grad) of a Gaussian; S12 is 0, sqrt(8), -2 in 3S1-3D1."""
    p_x, weight = chiral.momentum_mesh(100, 1500.0)
    z, angle_weight = angles(64)
    cutoff = 300.0
    tensor = 1e-6 * np.exp(-(momentum_transfer(p_x, z) ** 2) / cutoff**2)
    matrices = spin_matrices(Components(0 * tensor, 0 * tensor, tensor, 0 * tensor), p_x, z, 1)
    b = oscillator.relative_length(20.0)
    r, r_weight = oscillator.radial_grid(6, 4, b)
    x, a = r / HBAR_C_MEV_FM, cutoff**2 / 4
    f = 1e-6 * (a / np.pi) ** 1.5 * np.exp(-a * x**2)
    slope_over_x, curvature = -2 * a * f, (4 * a**2 * x**2 - 2 * a) * f
    central, s12 = -(curvature + 2 * slope_over_x) / 3, -(curvature - slope_over_x) / 3
    n = np.arange(3)
    for (l, lp), strength in {(0, 0): 0.0, (0, 2): np.sqrt(8), (2, 2): -2.0}.items():
        left, right = (oscillator.radial(2, k, r, b) for k in (l, lp))
        expected = (left * (r_weight * r**2 * ((l == lp) * central + strength * s12))) @ right.T
        out, start = (
            oscillator.radial(2, k, p_x, HBAR_C_MEV_FM / b) * weight * p_x**2 * (1.0 - 2.0 * (n % 2))[:, None]
            for k in (l, lp)
        )
        found = (1 - (lp - l)) * out @ project(matrices, z, angle_weight, 1, l, lp) @ start.T / (2 * np.pi) ** 3
        np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.slow
def test_oscillator_basis_gives_the_same_deuteron_from_above():
    energies = [
        np.linalg.eigvalsh(hamiltonian(chiral.nnlo_opt("pn", 25.0, quanta), 1, 1, (0, 2), quanta // 2))[0]
        for quanta in (8, 16, 32, 48)
    ]
    assert (np.diff(energies) < 0).all()
    assert energies[-1] == pytest.approx(-2.22458, abs=5e-3)


@pytest.mark.slow
def test_tritium_in_a_small_space(small_nucleus):
    """No published number at this Nmax: the bound falls with Nmax and stays above the converged -8.25 MeV."""
    energies = []
    for nmax in (2, 4):
        nucleus = small_nucleus(1, 2, nmax, 1)
        energies.append(nucleus.solve(interaction("NNLOopt", nucleus.space, 28.0), 28.0)[0])
    assert -8.25 < energies[1] < energies[0]
