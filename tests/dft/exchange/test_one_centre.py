"""Exchange inside the spheres: its derivative, the screened integrals by another quadrature, what is missing."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import erfc

from eigenwerk.dft.exchange.one_centre import OneCentreExchange, core_exchange, exchange_integrals
from eigenwerk.dft.exchange.pairs.pair_shape import PairShape
from eigenwerk.dft.paw.radial import integrate
from eigenwerk.dft.paw.setup import matching_radius
from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.errors import InputError

OMEGA = 1.0


@pytest.mark.parametrize(("spins", "core_screened"), [(1, False), (2, False), (2, True)])
def test_potential_is_the_derivative(calculation, crystal, disturbed, spins, core_screened):
    calc = calculation(crystal("o2"), spins=spins, cutoff_eV=120.0)
    builder = PotentialBuilder(calc.atoms, [OneCentreExchange(calc.atoms, 0.25, 0.11, core_screened=core_screened)])
    density, other = (disturbed(calc.atoms, spins, 12.0, seed=seed) for seed in (1, 2))
    change, step = other.map(torch.sub, density), 1e-3
    energies = [builder(density.map(lambda a, b, s=s: a + s * step * b, change)).energy for s in (1, -1)]
    slope = float(builder(density).derivative.inner(change, calc.basis))
    assert abs(slope) > 1e-6
    assert (energies[0] - energies[1]) / (2 * step) == pytest.approx(slope, rel=1e-7)


def test_one_spin_channel_is_two_of_half_the_electrons(calculation, crystal, disturbed):
    found = []
    for spins in (1, 2):
        calc = calculation(crystal("sic_bent"), spins=spins, cutoff_eV=120.0)
        occupancy_x = disturbed(calculation(crystal("sic_bent"), cutoff_eV=120.0).atoms, 1, 8.0).occupancy_sx[0]
        density = disturbed(calc.atoms, spins, 8.0)
        density.value["occupancy"][:] = occupancy_x / spins
        found.append(PotentialBuilder(calc.atoms, [OneCentreExchange(calc.atoms, 0.25, 0.0)])(density).terms)
    assert found[1] == pytest.approx(found[0], rel=1e-12)


def test_screened_integrals_of_s_waves_are_those_of_a_sum_over_shells(setup):
    """Between shells at r and s the angular average of erfc(ωd)/d is ∫ erfc(ωx) dx/(2rs) over |r-s|..r+s."""
    carbon = setup("C")
    pairs, grid = carbon.pairs, carbon.pairs.grid
    keep = slice(1, None, 2)
    r_g = grid.r_g[keep]

    def primitive(x):
        return x * erfc(OMEGA * x) - np.exp(-((OMEGA * x) ** 2)) / (OMEGA * np.sqrt(np.pi))

    above_gg, below_gg = np.add.outer(r_g, r_g), np.abs(np.subtract.outer(r_g, r_g))
    kernel_gg = (primitive(above_gg) - primitive(below_gg)) / (2 * np.multiply.outer(r_g, r_g))
    weight_g = 2 * grid.dr_g[keep] * r_g**2
    inside_g = grid.r_g <= matching_radius(carbon.dataset)
    moment = integrate(grid, pairs.ae_qg[0] - pairs.pseudo_qg[0])
    ae_g = (pairs.ae_qg[0] * inside_g)[keep] * weight_g
    shape = PairShape.of(carbon, 30.0)
    shape_g = shape.radial(0, grid.r_g)
    pseudo_g = (pairs.pseudo_qg[0] * inside_g + moment * shape_g)[keep] * weight_g
    expected = 0.5 * (ae_g @ kernel_gg @ ae_g - pseudo_g @ kernel_gg @ pseudo_g)
    size = carbon.projector_count
    assert carbon.l_j[0] == 0
    screened = exchange_integrals(carbon, OMEGA, shape).reshape((size,) * 4)[0, 0, 0, 0]
    plain = exchange_integrals(carbon, 0.0, shape).reshape((size,) * 4)[0, 0, 0, 0]
    assert screened == pytest.approx(expected, rel=1e-2)
    assert abs(plain - screened) > 0.1 * abs(plain)


def test_data_sets_without_exchange_of_the_core_are_named(setup):
    silicon = setup("Si")
    assert core_exchange(silicon) == pytest.approx(-19.113287)
    empty = replace(silicon, dataset=replace(silicon.dataset, core_core_exchange=None))
    with pytest.raises(InputError, match=r"Si does not hold the exact exchange of the core.*LHFCALC"):
        core_exchange(empty)
