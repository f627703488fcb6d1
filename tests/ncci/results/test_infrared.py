"""One fit to all Nmax and hbar-omega: exact where energies are what it says, and error bars that hold what is known."""

import numpy as np
import pytest

from eigenwerk.ncci.results.infrared import Point, infrared_length, together
from eigenwerk.units import HBAR_C_MEV_FM, NUCLEON_MASS_MEV

HELIUM = {
    15: [(2, -20.4304, 1.5463), (4, -24.7827, 1.5312), (6, -26.6874, 1.467), (8, -27.6289, 1.4512)],
    20: [(2, -23.6254, 1.4146), (4, -27.0495, 1.4414), (6, -27.8548, 1.4264), (8, -28.1698, 1.433)],
    25: [(2, -24.8388, 1.3547), (4, -27.6891, 1.4024), (6, -28.0816, 1.4149), (8, -28.2468, 1.4271)],
    30: [(2, -25.0308, 1.3138), (4, -27.6594, 1.3735), (6, -28.0609, 1.4017), (8, -28.2208, 1.418)],
}
TRITON = {
    15: [(2, -4.3562, 1.5638), (4, -6.8769, 1.6234), (6, -7.6215, 1.5862), (8, -8.0805, 1.6019)],
    20: [(2, -5.1582, 1.4519), (4, -7.4808, 1.5081), (6, -7.9585, 1.5277), (8, -8.224, 1.5587)],
    25: [(2, -5.2504, 1.377), (4, -7.4761, 1.4401), (6, -7.892, 1.4828), (8, -8.1503, 1.522)],
    30: [(2, -4.792, 1.3127), (4, -7.1248, 1.3876), (6, -7.6505, 1.441), (8, -7.9806, 1.4847)],
}
LITHIUM = {
    15: [(0, -7.6742, 2.0922), (2, -14.744, 2.0598), (4, -21.6522, 2.0951), (6, -25.7062, 2.1089)],
    20: [(2, -17.3355, 1.8692), (4, -24.4585, 1.9274), (6, -27.9204, 1.9822)],
    25: [(2, -17.3861, 1.7402), (4, -24.7317, 1.8191), (6, -27.9196, 1.8967)],
    30: [(4, -23.175, 1.7304), (6, -26.6934, 1.8188)],
}
"""JISP16 with Coulomb: by hbar-omega Nmax, energy (MeV), point-proton radius (fm); computed by this program."""


def points_of(table):
    return [Point(size, hw, energy, radius**2) for hw, rows in table.items() for size, energy, radius in rows]


def test_the_length_of_two_nucleons_is_the_published_one():
    """L_2 = sqrt(2 (N + 3/2 + 2)) b (More et al. 2013), better with every Nmax."""
    off = []
    for size in (4, 8, 16, 32):
        b = HBAR_C_MEV_FM / np.sqrt(NUCLEON_MASS_MEV * 20.0)
        off.append(abs(infrared_length(2, 0, size, 20.0) / (np.sqrt(2 * (size + 3.5)) * b) - 1))
    assert off == sorted(off, reverse=True) and off[-1] < 1e-3


def test_energies_of_the_form_have_their_limit_to_the_last_digit():
    points = []
    for hw in (15.0, 20.0, 25.0, 30.0):
        for size in (2, 4, 6, 8, 10):
            length = infrared_length(4, 0, size, hw)
            momentum = length * NUCLEON_MASS_MEV * hw / HBAR_C_MEV_FM**2
            energy = -28.3 + 4e3 * np.exp(-2 * 0.8 * length) + 5 * np.exp(-2 * momentum**2 / 1.5**2)
            beta = 1.6 * length
            points.append(Point(size, hw, energy, 2.0 * (1 - (0.3 * beta**3 + beta) * np.exp(-beta))))
    found = together(points, 4, 0)
    assert found.energy.energy == pytest.approx(-28.3, abs=2e-4) and found.decay == pytest.approx(0.8, abs=2e-3)
    assert found.radius.energy == pytest.approx(2**0.5, abs=2e-3)


@pytest.mark.parametrize(
    ("table", "nucleons", "quanta", "energy", "most", "radius"),
    [(HELIUM, 4, 0, -28.299, 0.1, 1.436), (TRITON, 3, 0, -8.370, 0.2, None), (LITHIUM, 6, 2, -31.49, None, None)],
    ids=["4He", "3H", "6Li"],
)
def test_error_bars_hold_the_published_limits(table, nucleons, quanta, energy, most, radius):
    """P. Maris, J. P. Vary and A. M. Shirokov, Phys. Rev. C 79, 014308 (2009), and later work with JISP16."""
    found = together(points_of(table), nucleons, quanta)
    assert abs(found.energy.energy - energy) <= found.energy.spread
    assert most is None or found.energy.spread < most
    if radius is not None:
        assert abs(found.radius.energy - radius) <= found.radius.spread < 0.02
    if most is None:  # Nmax 6 is far from the end: a wide error bar, and no word about radii
        assert found.radius is None and found.energy.spread > 3


def test_it_takes_several_nmax_and_hbar_omega():
    few = [point for point in points_of(HELIUM) if point.size > 4]
    assert "8 energies with 2 values of Nmax and 4 of hbar-omega; it takes 8, 3 and 2" in together(few, 4, 0)
    one = [point for point in points_of(HELIUM) if point.hw == 20]
    assert "4 energies" in together(one, 4, 0)
    rising = [Point(p.size, p.hw, -p.energy) for p in points_of(HELIUM)]
    assert isinstance(together(rising, 4, 0), str)
