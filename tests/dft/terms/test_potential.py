"""The effective potential is the derivative of the energy with respect to density and occupancies."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.density.density import Density
from eigenwerk.dft.spin.form import COLLINEAR

CASES = [
    ("si_bent", "PW92", 1), ("si_bent", "PE", 1), ("sic_bent", "PE", 1), ("fe_bent", "PW92", 2), ("fe_bent", "PE", 2),
]  # fmt: skip


def varied(density, waves=0.0, matrices=0.0):
    return Density.of(density.density_sg + waves, density.occupancy_sx + matrices, density.spin)


def energy(calc, density):
    return calc.builder(density).energy


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(map(str, case)))
def case(request, crystal, calculation, disturbed):
    name, functional, spins = request.param
    calc = calculation(crystal(name), functional=functional, spins=spins, cutoff_eV=120.0)
    density = disturbed(calc.atoms, spins, calc.parameters.electrons, size=0.004)
    assert smallest_density(calc, density) > 0, "the functional has a kink where the density changes sign"
    return calc, density, calc.builder(density)


def smallest_density(calc, density):
    smooth_sg = density.density_sg + calc.atoms.pseudo_core_g / density.spin.components
    return float(calc.basis.fine_map.to_grid(smooth_sg).min())


def random_change(calc, density, seed):
    """A smooth real change of the density, as coefficients of the half sphere, that keeps the charge."""
    draw = np.random.default_rng(seed)
    shape = density.density_sg.shape
    change_sg = torch.as_tensor(draw.normal(size=shape) + 1j * draw.normal(size=shape))
    change_sg = change_sg * torch.exp(-calc.basis.norm2_g[: shape[1]] / 6)
    change_sg[:, 0] = 0
    return change_sg * float(density.density_sg[:, 0].real.mean())


@pytest.mark.fast("sic_bent-*", "si_bent-*-1", "fe_bent-*-2-2")
@pytest.mark.parametrize("seed", [1, 2])
def test_local_potential_is_the_derivative_with_respect_to_the_density(case, seed):
    calc, density, potential = case
    change_sg = random_change(calc, density, seed)
    step = 1e-4
    up, down = (varied(density, waves=sign * step * change_sg) for sign in (1, -1))
    difference = (energy(calc, up) - energy(calc, down)) / (2 * step)
    slope = float(calc.basis.inner(potential.vt_sg, change_sg).sum())
    assert difference == pytest.approx(slope, rel=1e-5, abs=1e-8)


@pytest.mark.fast("sic_bent-*-1", "si_bent-*-2")
@pytest.mark.parametrize("seed", [1, 2])
def test_one_centre_hamiltonian_is_the_derivative_with_respect_to_occupancies(case, seed):
    """With the compensation charges, whose moments depend on D and which feel the Hartree potential of everything."""
    calc, density, potential = case
    draw = np.random.default_rng(seed)
    blocks = []
    for species in calc.atoms.layout.species:
        i = species.setup.projector_count
        change = torch.as_tensor(draw.normal(size=(density.spin.components, species.count, i, i)))
        blocks.append(change + change.mT)
    change_sx = calc.atoms.layout.flatten(blocks)
    step = 1e-6
    up, down = (varied(density, matrices=sign * step * change_sx) for sign in (1, -1))
    difference = (energy(calc, up) - energy(calc, down)) / (2 * step)
    slope = float((potential.dH_sx * change_sx).sum())
    assert difference == pytest.approx(slope, rel=1e-5)


def test_terms_add_up_and_every_one_counts(case):
    _, _, potential = case
    assert potential.energy == pytest.approx(sum(potential.terms.values()), rel=1e-14)
    assert set(potential.terms) == {"kinetic", "electrostatic", "zero", "xc"}
    assert all(value != 0 for value in potential.terms.values())


def test_equal_spins_feel_the_unpolarised_potential(crystal, calculation, disturbed):
    one = calculation(crystal("si_bent"), spins=1, cutoff_eV=120.0)
    density = disturbed(one.atoms, 1, 8.0, size=0.004)
    halves = Density.of(density.density_sg.expand(2, -1) / 2, density.occupancy_sx.expand(2, -1) / 2, COLLINEAR)
    single, pair = one.builder(density), one.builder(halves)
    assert pair.energy == pytest.approx(single.energy, rel=1e-12)
    for spin in range(2):
        np.testing.assert_allclose(pair.vt_sg[spin], single.vt_sg[0], atol=1e-8)
        np.testing.assert_allclose(pair.dH_sx[spin], single.dH_sx[0], atol=1e-6)


@pytest.mark.fast("si_bent-*", "sic_bent-*")
def test_the_last_two_potentials_are_kept_and_no_other(case):
    """Of input and output: forces and stress ask for both."""
    calc, density, _ = case
    first = calc.builder(density)
    other = varied(density, waves=density.density_sg * 0.001)
    assert calc.builder(other).energy != first.energy
    assert calc.builder(density) is first
    for factor in (0.002, 0.003):
        calc.builder(varied(density, waves=density.density_sg * factor))
    assert calc.builder(density) is not first
    assert calc.builder(density).energy == pytest.approx(first.energy, abs=1e-12)
