"""Exchange with the core: that of data sets where nothing is screened, nothing where all is, and what lies between."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import erf

from eigenwerk.dft.atom.core_exchange import core_exchange, disagreement, screened_core_exchange
from eigenwerk.dft.atom.core_orbitals import core_orbitals
from eigenwerk.errors import InputError
from eigenwerk.io.paw.paw_library import choose_dataset
from eigenwerk.io.paw.paw_xml import read_paw_xml

ELEMENTS = {
    # share of √(X_ii X_jj); Ce is of a later generator with another scheme
    "C": 1e-6, "O": 1e-6, "Mg": 1e-6, "Si": 1e-6, "Ga": 1e-6, "As": 1e-6, "Zn": 1e-6, "Ti": 1e-6, "Ni": 1e-6,
    "Hf": 1e-6, "Pb": 1e-6, "Ce": 1e-4,
}  # fmt: skip


@pytest.mark.parametrize("symbol", ELEMENTS)
def test_recomputed_exchange_of_one_over_r_is_that_of_the_data_set(dataset, symbol):
    data = dataset(symbol)
    found_jj = core_exchange(data, core_orbitals(data))
    assert disagreement(data.exact_exchange_jj, found_jj).max() < ELEMENTS[symbol]


@pytest.mark.slow
@pytest.mark.parametrize("symbol", ["Si", pytest.param("Zn", marks=pytest.mark.slow)])
def test_screening_takes_away_little_by_little_all_of_it(dataset, symbol):
    data = dataset(symbol)
    bare_jj, before = data.exact_exchange_jj, 0.0
    assert np.abs(screened_core_exchange(data, 1e-3) - bare_jj).max() < 1e-6 * np.abs(bare_jj).max()
    for omega in (0.05, 0.11, 0.5, 2.0):
        left_jj = screened_core_exchange(data, omega)
        taken = np.linalg.eigvalsh(bare_jj - left_jj)
        assert taken.min() > -1e-9  # erf(ωr)/r is a positive interaction, and so is what is left
        assert np.linalg.eigvalsh(left_jj).min() > 0
        assert taken.max() > before
        before = taken.max()
    # a contact interaction of weight π/ω² in the end
    fourth, last = (np.abs(screened_core_exchange(data, omega)).max() for omega in (10.0, 20.0))
    assert last < 0.06 * np.abs(bare_jj).max()
    assert last < 0.4 * fourth


@pytest.mark.parametrize("l", [0, 1])
def test_long_ranged_exchange_is_that_of_a_sum_over_shells_and_angles(dataset, l):
    """With 1s alone X_jj is ∫∫ of both pairs at r and s with the average of P_l(x) erf(ωd)/d, d² = r² + s² - 2rsx."""
    data, omega = dataset("C"), 0.7
    (shell,) = core_orbitals(data)
    grid, same_j = data.grid, [j for j, state in enumerate(data.states) if state.l == l]
    r_g = grid.r_g[1:]
    node_x, weight_x = np.polynomial.legendre.leggauss(40)
    square_gg, product_gg = np.add.outer(r_g**2, r_g**2), np.multiply.outer(r_g, r_g)
    kernel_gg = np.zeros_like(square_gg)
    for x, weight in zip(node_x, weight_x, strict=True):
        distance_gg = np.sqrt(square_gg - 2 * product_gg * x)
        kernel_gg += 0.5 * weight * x**l * erf(omega * distance_gg) / distance_gg
    pair_jg = (data.ae_partial_wave_jg[same_j] * shell.u_g)[:, 1:] * (r_g * grid.dr_g[1:])
    expected_jj = pair_jg @ kernel_gg @ pair_jg.T
    found_jj = core_exchange(data, (shell,), omega)[np.ix_(same_j, same_j)]
    np.testing.assert_allclose(found_jj, expected_jj, rtol=1e-4, atol=1e-9)


def test_without_a_core_there_is_nothing_to_screen(dataset):
    assert not screened_core_exchange(dataset("H"), 0.11).any()


def test_a_data_set_without_exchange_with_a_shell_is_refused_with_its_name():
    """The sets of Au, Pt.10, Ir.9, Ta.5 and W.6 in gpaw-data have that with their 4f electrons left out."""
    gold = read_paw_xml(choose_dataset("Au", "PBE"))
    expected = r"Au-d1 and Au-d1 with 1/r, that of the data set 0.57924: 17 % off, 0.02 % are .* Without 4f they agree"
    with pytest.raises(InputError, match=expected):
        screened_core_exchange(gold, 0.11)


def test_another_matrix_than_that_of_the_core_is_refused(dataset):
    silicon = dataset("Si")
    changed = replace(silicon, exact_exchange_jj=1.001 * silicon.exact_exchange_jj)
    with pytest.raises(InputError, match=r"Si with its core \(1s 2s 2p\).*0.1 % off.*SETUPS\), or remove CORE_EXCH"):
        screened_core_exchange(changed, 0.11)
