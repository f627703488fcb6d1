"""Named fields: packed and unpacked to the same bits, inner products, one message for all of them."""

import pytest
import torch

from eigenwerk.dft.density.density import Density
from eigenwerk.dft.spin.form import COLLINEAR


@pytest.fixture
def density():
    draw = torch.Generator().manual_seed(3)
    wave_sg = torch.randn((2, 7), generator=draw, dtype=torch.complex128)
    return Density.of(wave_sg, torch.randn((2, 5), generator=draw, dtype=torch.float64), COLLINEAR)


def same(one, other):
    return all(torch.equal(value, other.value[name]) for name, value in one.value.items())


def test_packed_fields_unpack_to_the_same_bits(density):
    again = density.unpacked(density.packed())
    assert same(density, again) and isinstance(again, Density)
    assert sum(size for _, size in density.parts) == density.packed().shape[1]


def test_hermitian_occupancies_keep_their_imaginary_parts(density):
    twin = Density.of(density.density_sg, density.occupancy_sx * (1 + 2j), COLLINEAR)
    assert same(twin, twin.unpacked(twin.packed()))


def test_map_takes_the_same_field_of_others(density):
    double = density.map(torch.add, density)
    assert same(double, density.times(2.0))


def test_components_are_scaled_one_by_one(density):
    scaled = density.times(torch.tensor([2.0, 3.0]).double())
    assert torch.equal(scaled.density_sg[1], 3 * density.density_sg[1])
    assert torch.equal(scaled.occupancy_sx[0], 2 * density.occupancy_sx[0])


def test_inner_product_is_the_derivative_of_a_linear_energy(crystal, calculation):
    """d/dh E[n + h n'] of E = <v|n> is <v|n'>; waves with their volume and both of ±g."""
    calc = calculation(crystal("si_bent"))
    density = calc.starting_density()
    potential = density.map(lambda value: 0.3 * value + 0.1)
    other = density.times(0.5)
    more = density.map(torch.add, other)
    difference = potential.inner(more, calc.basis) - potential.inner(density, calc.basis)
    assert float(difference) == pytest.approx(float(potential.inner(other, calc.basis)), rel=1e-12)
    by_hand = calc.basis.inner(potential.density_sg, other.density_sg).sum()
    by_hand = by_hand + (potential.occupancy_sx * other.occupancy_sx).sum()
    assert float(potential.inner(other, calc.basis)) == pytest.approx(float(by_hand), rel=1e-14)
