"""Non-local correlation on the density grid: against the plain twin, against differences, on any number of ranks."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.non_local import plain
from eigenwerk.dft.non_local.correlation import Nodes, NonLocalCorrelation
from eigenwerk.dft.xc.gradients import contract
from eigenwerk.functionals.non_local import MESHES, NonLocal

KERNELS = {
    "first": NonLocal(), "second": NonLocal(gradient=-1.8867), "rVV10": NonLocal("rVV10"),
    "spins": NonLocal(spin_resolved=True),
}  # fmt: skip


def smooth(basis, spins, seed=0, size=0.004):
    """A density with structure, tiny and negative in places; (s, g)."""
    draw = torch.Generator().manual_seed(seed)
    count = basis.density_count
    noise_sg = torch.randn((spins, count), generator=draw, dtype=torch.complex128)
    density_sg = size * noise_sg * torch.exp(-basis.norm2_g[:count] / 3)
    density_sg[:, 0] = torch.tensor([0.04] if spins == 1 else [0.03, 0.015], dtype=torch.complex128)
    return density_sg


@pytest.fixture(scope="module")
def basis(basis_of, crystal):
    return basis_of(crystal("sic_bent"), 100.0)


def spins_of(name):
    return 2 if name == "spins" else 1


def on_whole_grid(basis, coeff_xg):
    """Real fields from g and -g by a complex FFT; differentiable."""
    size_c = torch.tensor(basis.fine_map.size_c)
    field_xR = torch.zeros((*coeff_xg.shape[:-1], basis.fine_map.points), dtype=torch.complex128)
    for index_gc, value_xg in ((-basis.index_gc, coeff_xg.conj()), (basis.index_gc, coeff_xg)):
        place_gc = index_gc[: coeff_xg.shape[-1]] % size_c
        flat_g = (place_gc[:, 0] * size_c[1] + place_gc[:, 1]) * size_c[2] + place_gc[:, 2]
        field_xR = field_xR.index_copy(-1, flat_g, value_xg)
    return torch.fft.ifftn(field_xR.unflatten(-1, tuple(size_c)), dim=(-3, -2, -1), norm="forward").real


@pytest.mark.parametrize("name", KERNELS)
def test_energy_and_potential_are_those_of_the_plain_twin(basis, name):
    density_sg = smooth(basis, spins_of(name), size=0.02)
    assert float(basis.fine_map.to_grid(density_sg).min()) < 0
    energy, potential_sg = NonLocalCorrelation(basis, KERNELS[name]).energy_and_potential(density_sg)
    leaf_sg, count = density_sg.clone().requires_grad_(), density_sg.shape[-1]
    slope_svg = 1j * basis.vector_gv[:count].T * leaf_sg[:, None]
    sigma_yR = contract(on_whole_grid(basis, slope_svg), 0)
    longest = float(basis.norm2_g.max().sqrt())
    density_sR = on_whole_grid(basis, leaf_sg)
    expected = plain.energy(density_sR, sigma_yR, basis.structure.lattice_cv, KERNELS[name], longest)
    assert float(energy) == pytest.approx(float(expected.detach()), rel=1e-12)
    (gradient_sg,) = torch.autograd.grad(expected, leaf_sg)
    found_sg = (gradient_sg / (basis.weight_g[:count] * basis.volume))[:, 1:]
    torch.testing.assert_close(found_sg, potential_sg[:, 1:], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", KERNELS)
def test_potential_is_the_derivative_of_the_energy(basis, name):
    correlation, spins = NonLocalCorrelation(basis, KERNELS[name]), spins_of(name)
    density_sg, change_sg = smooth(basis, spins, size=0.002), smooth(basis, spins, seed=1, size=0.002)
    step = 2e-5
    up, down = (correlation.energy_and_potential(density_sg + sign * step * change_sg)[0] for sign in (1, -1))
    slope = basis.inner(correlation.energy_and_potential(density_sg)[1], change_sg).sum()
    assert float((up - down) / (2 * step)) == pytest.approx(float(slope), rel=3e-6)


@pytest.mark.parametrize("name", KERNELS)
def test_strain_is_the_derivative_of_the_energy_at_fixed_coefficients(basis, name):
    correlation, density_sg = NonLocalCorrelation(basis, KERNELS[name]), smooth(basis, spins_of(name), size=0.002)
    lattice_cv = basis.lattice.vector_cv
    strain_vv = torch.zeros((3, 3), dtype=torch.float64, requires_grad=True)
    strained = basis.strained(lattice_cv @ (torch.eye(3, dtype=torch.float64) + strain_vv).T)
    (slope_vv,) = torch.autograd.grad(correlation.strained(density_sg, strained), strain_vv)
    for v, w in ((0, 0), (1, 2), (2, 2)):
        energies = []
        for sign in (1, -1):
            bent_vv = np.eye(3)
            bent_vv[v, w] += sign * 1e-4
            other = basis.strained(torch.tensor(basis.structure.lattice_cv @ bent_vv.T))
            energies.append(float(NonLocalCorrelation(other, KERNELS[name]).energy_and_potential(density_sg)[0]))
        assert (energies[0] - energies[1]) / 2e-4 == pytest.approx(float(slope_vv[v, w]), rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("name", ["first", "second"])
def test_the_uniform_gas_has_no_non_local_correlation(basis, name):
    density_sg = torch.zeros((1, basis.density_count), dtype=torch.complex128)
    density_sg[0, 0] = 0.03
    energy, potential_sg = NonLocalCorrelation(basis, KERNELS[name]).energy_and_potential(density_sg)
    assert abs(float(energy)) < 1e-9 and float(potential_sg.abs().max()) < 1e-8


@pytest.mark.parametrize("b", [6.3, 10.0])
def test_rvv10_gives_the_uniform_gas_minus_what_it_leaves_out(basis, b):
    """-beta per electron, beta = (3/b²)^(3/4)/32, which the functional adds as a constant."""
    density_sg = torch.zeros((1, basis.density_count), dtype=torch.complex128)
    density_sg[0, 0] = 0.03
    energy, potential_sg = NonLocalCorrelation(basis, NonLocal("rVV10", b=b)).energy_and_potential(density_sg)
    beta = (3 / b**2) ** 0.75 / 32
    assert float(energy) == pytest.approx(-beta * 0.03 * float(basis.volume), rel=1e-3)
    assert float(potential_sg[0, 0].real) == pytest.approx(-beta, rel=1e-2)


def test_parts_of_waves_as_they_stand_give_the_same(basis):
    """As on a GPU, where each part holds waves of many lengths."""
    density_sg, strain = smooth(basis, 1, size=0.002), torch.tensor(np.diag([1.0, 1.001, 1.0]))
    one, other = (NonLocalCorrelation(basis, KERNELS["first"]) for _ in range(2))
    other._as_they_stand = True
    energy, potential_sg = one.energy_and_potential(density_sg)
    again, again_sg = other.energy_and_potential(density_sg)
    assert float(again) == pytest.approx(float(energy), rel=1e-13)
    torch.testing.assert_close(again_sg, potential_sg, rtol=1e-11, atol=1e-14)
    strained = basis.strained(basis.lattice.vector_cv @ strain)
    expected = float(one.strained(density_sg, strained))
    assert float(other.strained(density_sg, strained)) == pytest.approx(expected, rel=1e-13)


def test_equal_spins_have_the_energy_and_potential_of_their_sum(basis):
    density_sg = smooth(basis, 1, size=0.002)
    one, one_sg = NonLocalCorrelation(basis, KERNELS["first"]).energy_and_potential(density_sg)
    both_sg = torch.cat([density_sg, density_sg]) / 2
    two, two_sg = NonLocalCorrelation(basis, KERNELS["spins"]).energy_and_potential(both_sg)
    assert float(two) == pytest.approx(float(one), rel=1e-12)
    torch.testing.assert_close(two_sg, one_sg.expand(2, -1), rtol=1e-9, atol=1e-12)


def test_splines_of_the_nodes_sum_to_one_and_are_one_at_their_own():
    nodes = Nodes.of(MESHES["vdW-DF"], torch.device("cpu"))
    q_x = torch.cat([nodes.node_u, torch.linspace(1e-5, 5.0, 200, dtype=torch.float64)])
    placed = nodes.placed(q_x)
    value_ux = torch.stack([nodes.value(u, *placed) for u in range(len(nodes.node_u))])
    torch.testing.assert_close(value_ux.sum(0), torch.ones_like(q_x), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(value_ux[:, :20], torch.eye(20, dtype=torch.float64), rtol=0.0, atol=1e-12)
    value_x, slope_x = nodes.value_and_slope(7, *placed)
    torch.testing.assert_close(value_x, value_ux[7], rtol=0.0, atol=1e-14)
    step_x = nodes.value(7, *nodes.placed(q_x[30:] + 1e-6)) - nodes.value(7, *nodes.placed(q_x[30:] - 1e-6))
    torch.testing.assert_close(slope_x[30:], step_x / 2e-6, rtol=1e-5, atol=1e-6)
