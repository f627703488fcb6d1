"""Spinors on their own: Pauli matrices, rotations of orbitals and densities, potentials, time reversal, local axis."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.crystal.rotations import axial
from eigenwerk.dft.spin.form import COLLINEAR, SPINOR
from eigenwerk.dft.xc.evaluation import energy_and_derivatives
from eigenwerk.functionals.table import find_functional

UNIT = torch.eye(2, dtype=torch.complex128)
PAULI = torch.tensor([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]], dtype=torch.complex128)
ROTATIONS = {"a third about 111": ((1, 1, 1), 2 * np.pi / 3), "a quarter about z": ((0, 0, 1), np.pi / 2),
             "half about x": ((1, 0, 0), np.pi), "some": ((0.3, -0.5, 0.9), 1.1)}  # fmt: skip


def random(*shape, seed=1):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn((*shape, 2), generator=draw, dtype=torch.float64)


def orbitals(count=3, points=5, seed=1):
    """(c, t, R)."""
    return torch.view_as_complex(random(2, count, points, seed=seed))


def density_of(psi_tR):
    """n and m of orbitals, (z, R)."""
    return SPINOR.density(SPINOR.squares(psi_tR, torch.float64))


def turn(axis, angle):
    """The rotation in space, and that of spinors, exp(-i angle e·σ / 2)."""
    e = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -e[2], e[1]], [e[2], 0, -e[0]], [-e[1], e[0], 0]])
    rotation = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    sigma = torch.einsum("v,vcd->cd", torch.as_tensor(e, dtype=torch.complex128), PAULI)
    return torch.as_tensor(rotation), np.cos(angle / 2) * UNIT - 1j * np.sin(angle / 2) * sigma


# --- algebra ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("z", range(4))
def test_components_of_the_density_are_expectation_values_of_unit_and_pauli_matrices(z):
    matrix, psi = torch.cat([UNIT[None], PAULI])[z], orbitals()
    expected = torch.einsum("ctR,cd,dtR->R", psi.conj(), matrix, psi)
    torch.testing.assert_close(density_of(psi.clone())[z], expected.real)
    assert float(expected.imag.abs().max()) < 1e-14


@pytest.mark.parametrize("z", range(4))
def test_a_field_acts_as_its_pauli_matrix(z):
    psi, field = orbitals(), torch.zeros((4, 3, 5), dtype=torch.float64)
    field[z] = 0.7
    expected = 0.7 * torch.einsum("cd,dtR->ctR", torch.cat([UNIT[None], PAULI])[z], psi)
    torch.testing.assert_close(SPINOR.times(field, psi.clone()), expected)


def test_fields_have_the_algebra_of_pauli_matrices():
    """(a·σ)(b·σ) = a·b + i (a x b)·σ."""
    a, b, psi = random(3, 5)[..., 0], random(3, 5, seed=2)[..., 0], orbitals(count=1)[:, 0]

    def times(vector, psi):
        return SPINOR.times(torch.cat([torch.zeros_like(vector[:1]), vector]), psi)

    twice = times(a, times(b, psi.clone()))
    expected = (a * b).sum(0) * psi + 1j * times(torch.linalg.cross(a, b, dim=0), psi.clone())
    torch.testing.assert_close(twice, expected)


def test_one_orbital_is_magnetised_completely():
    n, *m = density_of(orbitals(count=1))
    torch.testing.assert_close(torch.stack(m).norm(dim=0), n)


def test_orbitals_along_z_are_those_of_two_channels():
    psi = orbitals()
    up, down = (torch.stack([psi[0], 0 * psi[0]]), torch.stack([0 * psi[1], psi[1]]))
    both = density_of(torch.cat([up, down], 1))
    channels = torch.stack([COLLINEAR.density(COLLINEAR.squares(part.clone(), torch.float64)) for part in psi])
    n, m = COLLINEAR.separated(channels)
    torch.testing.assert_close(both, torch.stack([n, 0 * m, 0 * m, m]))


# --- what a potential does is the derivative -------------------------------------------------------------------------


def test_the_product_is_the_derivative_of_the_integral_of_field_and_density():
    psi, field = orbitals().requires_grad_(), random(4, 5)[..., 0]
    n_and_m = torch.einsum("ctR,zcd,dtR->zR", psi.conj(), torch.cat([UNIT[None], PAULI]), psi).real
    energy = (field * n_and_m).sum()
    (gradient,) = torch.autograd.grad(energy, psi)  # twice the derivative by ψ*
    torch.testing.assert_close(2 * SPINOR.times(field[:, None], psi.detach().clone()), gradient)
    torch.testing.assert_close((field * density_of(psi.detach().clone())).sum(), energy.detach())


def test_one_centre_matrices_are_hermitian_and_pair_with_a_field_as_orbitals_do():
    """Σ_s Σ_ij ΔH_s,ij D_s,ij* is what orbitals have in ΔH = v + B·σ between projectors."""
    proj, filling = torch.view_as_complex(random(2, 1, 6, 3)), torch.linspace(0.1, 1, 6, dtype=torch.float64)
    found = SPINOR.matrices(proj, proj * filling[:, None])
    torch.testing.assert_close(found, found.mH)
    some = torch.view_as_complex(random(4, 3, 3, seed=5))
    dH = some + some.mH
    matrix = torch.einsum("zij,zcd->cidj", dH, torch.cat([UNIT[None], PAULI]))
    expected = torch.einsum("n,cni,cidj,dnj->", filling.to(proj.dtype), proj[:, 0].conj(), matrix, proj[:, 0])
    # D_ij = Σ f P_i P_j*, so that ΔH is found the other way around
    torch.testing.assert_close((dH.mT * found[:, 0]).sum(), expected)


# --- rotations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROTATIONS)
def test_turned_orbitals_have_the_turned_density(name):
    rotation, matrix = turn(*ROTATIONS[name])
    psi = orbitals()
    turned = density_of(torch.einsum("cd,dtR->ctR", matrix, psi))
    found = SPINOR.rotated(density_of(psi.clone())[:, None], rotation[None], False)[:, 0]
    torch.testing.assert_close(turned, found)


def test_a_whole_turn_changes_the_sign_of_orbitals_and_no_density():
    rotation, matrix = turn((1, 2, 3), 2 * np.pi)
    torch.testing.assert_close(matrix, -UNIT)
    density = density_of(orbitals())
    torch.testing.assert_close(SPINOR.rotated(density[:, None], rotation[None], False)[:, 0], density)


def test_rotations_one_after_the_other_are_their_product():
    (first, _), (second, _) = (turn(*ROTATIONS[name]) for name in ("a third about 111", "some"))
    density = density_of(orbitals())[:, None]
    twice = SPINOR.rotated(SPINOR.rotated(density, first[None], False), second[None], True)
    torch.testing.assert_close(twice, SPINOR.rotated(density, (second @ first)[None], True))


def test_inversion_and_mirrors_treat_a_moment_as_a_current_loop():
    """A mirror keeps the moment across it and turns around what lies in it."""
    mirror = np.diag([1.0, 1.0, -1.0])
    axial_ovv = torch.as_tensor(axial(np.array([-np.eye(3), mirror])))
    value = random(4, 1, 5)[..., 0].expand(4, 2, 5)
    found = SPINOR.rotated(value, axial_ovv, False)
    assert torch.equal(found[:, 0], value[:, 0])
    assert torch.equal(found[:, 1], value[:, 1] * torch.tensor([1.0, -1.0, -1.0, 1.0])[:, None])


def test_time_reversed_orbitals_have_the_reversed_density():
    """T ψ = -i σ_y ψ*; twice gives -ψ."""
    psi = orbitals()

    def reversed_in_time(psi):
        return torch.einsum("cd,dtR->ctR", -1j * PAULI[1], psi.conj())

    torch.testing.assert_close(reversed_in_time(reversed_in_time(psi)), -psi)
    unit = torch.eye(3, dtype=torch.float64)[None]
    found = SPINOR.rotated(density_of(psi.clone())[:, None], unit, True)[:, 0]
    torch.testing.assert_close(density_of(reversed_in_time(psi)), found)


# --- functionals -----------------------------------------------------------------------------------------------------


def local_energy(value):
    """Energy per volume in the local density approximation, and its derivative by n and m."""
    axis = SPINOR.axis(value)
    found = energy_and_derivatives(find_functional("PW92"), {"density": SPINOR.local(value, axis)})
    return found.energy_x, SPINOR.back(found.slopes["density"], axis)


@pytest.mark.parametrize("name", ROTATIONS)
def test_energies_are_the_same_along_every_axis_and_fields_turn(name):
    rotation, _ = turn(*ROTATIONS[name])

    def turned(value):
        return SPINOR.rotated(value[:, None], rotation[None], False)[:, 0]

    alone, several = density_of(orbitals(count=1)), density_of(orbitals(count=3))
    torch.testing.assert_close(local_energy(turned(alone))[0], local_energy(alone)[0])
    # of one orbital the second channel is empty, where the derivative has an infinite slope
    (energy, slope), (again, turned_slope) = local_energy(several), local_energy(turned(several))
    torch.testing.assert_close(again, energy)
    torch.testing.assert_close(turned_slope, turned(slope), atol=1e-9, rtol=1e-9)


def test_a_density_along_z_has_the_energy_and_potential_of_two_channels():
    value = density_of(orbitals())
    value[1:3] = 0
    value[3] = value[3].abs()
    channels = COLLINEAR.joined(value[[0, 3]])
    expected = energy_and_derivatives(find_functional("PW92"), {"density": channels})
    energy, slope = local_energy(value)
    torch.testing.assert_close(energy, expected.energy_x)
    torch.testing.assert_close(slope[0], COLLINEAR.by_total(expected.slopes["density"]))
    torch.testing.assert_close(slope[3], COLLINEAR.by_magnetisation(expected.slopes["density"]))
    assert not slope[1:3].any()


def test_without_a_moment_there_is_no_field():
    value = SPINOR.of_total(density_of(orbitals())[0])
    energy, slope = local_energy(value)
    assert not slope[1:].any() and torch.isfinite(energy).all()
