"""One fit to all Nmax and hbar-omega: exact where energies are what it says, and error bars that hold what is known."""

import numpy as np
import pytest

from eigenwerk.ncci.results.limits.extrapolation import around_minimum
from eigenwerk.ncci.results.limits.infrared import LevelPoint, infrared_length, together
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
    15: [(2, -14.744), (4, -21.6522), (6, -25.7062), (8, -28.2159), (10, -29.6998)],
    17.5: [(2, -16.4056), (4, -23.4331), (6, -27.1843), (8, -29.2255), (10, -30.3229)],
    20: [(2, -17.3355), (4, -24.4585), (6, -27.9204), (8, -29.6321), (10, -30.5096)],
    25: [(2, -17.3861), (4, -24.7317), (6, -27.9196), (8, -29.4689), (10, -30.2707)],
    30: [(2, -15.3514), (4, -23.175), (6, -26.6934), (8, -28.546), (10, -29.569)],
}
"""JISP16 with Coulomb: by hbar-omega Nmax, energy (MeV), point-proton radius (fm; not of 6Li); computed by this
program."""

HELIUM_CHIRAL = {
    20: [(4, -22.3616), (6, -24.7094), (8, -26.2168), (10, -27.0031)],
    24: [(4, -23.7728), (6, -25.8716), (8, -26.9554), (10, -27.3997), (12, -27.5335)],
    28: [(4, -24.5067), (6, -26.4877), (8, -27.2478), (10, -27.5001), (12, -27.564)],
    32: [(4, -24.7815), (6, -26.7246), (8, -27.3087), (10, -27.4942), (12, -27.5572)],
    36: [(4, -24.6981), (6, -26.6875), (8, -27.2478), (10, -27.4437)],
}
CHIRAL_TWO = (-17.0133, -18.4112, -19.0159, -19.0695, -18.6812)
"""Of these the energies at Nmax 2."""

LITHIUM_CHIRAL = {
    17: [(4, -16.3653), (6, -21.5283), (8, -24.9156), (10, -27.1608)],
    20: [(4, -17.6245), (6, -22.931), (8, -26.0741), (10, -27.9989)],
    24: [(4, -17.9661), (6, -23.5347), (8, -26.5253), (10, -28.2076)],
    28: [(4, -17.0796), (6, -23.0475), (8, -26.1466), (10, -27.8271)],
    32: [(4, -15.1582), (6, -21.7211), (8, -25.1756), (10, -27.0642)],
}
"""NNLOopt with Coulomb."""

TRITON_SOFT = {
    12.5: [(2, -6.4329), (4, -7.996), (6, -8.2649), (8, -8.3936)],
    15: [(2, -6.898), (4, -8.1491), (6, -8.3344), (8, -8.3997)],
    17.5: [(2, -7.0824), (4, -8.1071), (6, -8.3228), (8, -8.3799)],
    20: [(2, -7.0881), (4, -7.9768), (6, -8.2625), (8, -8.3452)],
    25: [(2, -6.7195), (4, -7.5987), (6, -8.0323), (8, -8.2245)],
}
"""Daejeon16; the limit is -8.442 MeV."""


def points_of(table, most=99):
    """Of a table, up to an Nmax."""
    rows = [(hw, *row) for hw, some in table.items() for row in some if row[0] <= most]
    return [LevelPoint(size, hw, energy, *(radius**2 for radius in more)) for hw, size, energy, *more in rows]


def curves_of(table, most=99):
    picked = {hw: [row for row in rows if row[0] <= most] for hw, rows in table.items()}
    return {hw: ([row[0] for row in rows], [row[1] for row in rows]) for hw, rows in picked.items()}


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
            points.append(LevelPoint(size, hw, energy, 2.0 * (1 - (0.3 * beta**3 + beta) * np.exp(-beta))))
    found = together(points, 4, 0)
    assert found.energy.energy == pytest.approx(-28.3, abs=2e-4) and found.decay == pytest.approx(0.8, abs=2e-3)
    assert found.radius.energy == pytest.approx(2**0.5, abs=2e-3)


@pytest.mark.fast("4He")
@pytest.mark.parametrize(
    ("table", "nucleons", "energy", "most", "radius"),
    [(HELIUM, 4, -28.299, 0.1, 1.436), (TRITON, 3, -8.370, 0.2, None), (TRITON_SOFT, 3, -8.442, 0.05, None)],
    ids=["4He", "3H", "3H by Daejeon16"],
)
def test_error_bars_hold_the_published_limits(table, nucleons, energy, most, radius):
    """P. Maris, J. P. Vary and A. M. Shirokov, Phys. Rev. C 79, 014308 (2009), and later work with JISP16."""
    found = together(points_of(table), nucleons, 0)
    assert abs(found.energy.energy - energy) <= found.energy.spread < most
    if radius is not None:
        assert abs(found.radius.energy - radius) <= found.radius.spread < 0.02


@pytest.mark.parametrize(
    ("table", "size", "energy", "most"),
    [
        (LITHIUM, 8, -31.49, 0.9),
        (LITHIUM, 10, -31.49, 0.5),
        (HELIUM, 8, -28.299, 0.25),
        (TRITON_SOFT, 8, -8.442, 0.08),
    ],
    ids=["6Li to 8", "6Li to 10", "4He", "3H by Daejeon16"],
)
def test_exponentials_around_the_minimum_hold_the_published_limits(table, size, energy, most):
    """6Li, 4He with JISP16: the same paper; 3H with Daejeon16: computed in larger spaces."""
    found = around_minimum(curves_of(table, size))
    assert abs(found.energy - energy) <= found.spread < most


def test_limits_of_smaller_spaces_hold_those_of_larger_ones():
    """4He with NNLOopt, Nmax to 8, 10 and 12: error bars shrink, and no energy lies below one."""
    first = {hw: [(2, energy), *rows] for (hw, rows), energy in zip(HELIUM_CHIRAL.items(), CHIRAL_TWO, strict=True)}
    small, middle, large = (around_minimum(curves_of(first, size)) for size in (8, 10, 12))
    assert 0.2 > small.spread > middle.spread > large.spread and large.spread < 0.05
    assert abs(small.energy - large.energy) < small.spread and abs(middle.energy - large.energy) < middle.spread
    assert large.energy == pytest.approx(-27.586, abs=2e-3)


def test_what_says_nothing_is_no_limit():
    """6Li up to Nmax 10 by the infrared fit: its wave function falls off too slowly for so small spaces."""
    assert "more than twice the last step" in together(points_of(LITHIUM), 6, 2)
    first = {hw: rows for hw, rows in curves_of(LITHIUM).items() if hw <= 20}
    assert "the lowest energy is at the end" in around_minimum(first)
    assert "it takes 4" in around_minimum(curves_of(LITHIUM, 6))


def test_lithium_6_by_nnlo_opt_is_as_published():
    """Nmax 10, hbar-omega 16.83 to 29 MeV: Phys. Rev. C 97, 034328 (2018), as tabulated by NuclearTalent/Bayes2019; a
    polynomial through these points."""
    published = np.polyfit(
        [16.83, 19.0, 21.31, 23.74, 26.3, 29.0], [-27.088, -27.803, -28.155, -28.215, -28.042, -27.668], 5
    )
    for hw in (17, 20, 24, 28):
        assert LITHIUM_CHIRAL[hw][-1][1] == pytest.approx(np.polyval(published, hw), abs=5e-3)
    found = around_minimum(curves_of(LITHIUM_CHIRAL))
    assert found.energy == pytest.approx(-30.37, abs=0.01) and 1.0 < found.spread < 1.2


def test_it_takes_several_nmax_and_hbar_omega():
    few = [point for point in points_of(HELIUM) if point.size > 4]
    assert "8 energies with 2 values of Nmax and 4 of hbar-omega; it takes 8, 3 and 2" in together(few, 4, 0)
    one = [point for point in points_of(HELIUM) if point.hw == 20]
    assert "4 energies" in together(one, 4, 0)
    rising = [LevelPoint(p.size, p.hw, -p.energy) for p in points_of(HELIUM)]
    assert isinstance(together(rising, 4, 0), str)
