"""Pulay's method in the metric of exchange: a linear map of a quadratic form converges in as many steps as it has
dimensions."""

import numpy as np
import pytest

from eigenwerk.dft.exchange.extrapolation import OperatorHistory
from eigenwerk.parallel.memory.block_sizes import EXCHANGE_OPERATORS


def iterate(count, steps, factor=0.9):
    """γ -> A γ + b with V = -K: largest residual after each step."""
    draw = np.random.default_rng(1)
    kernel = -np.diag(np.linspace(1.0, 3.0, count))
    a_xx, b_x = np.diag(np.linspace(-0.3, factor, count)), draw.normal(size=count)
    history, gammas, shares, residuals = OperatorHistory(), [], None, []
    here_x = draw.normal(size=count)
    for _ in range(steps):
        if shares is None:
            found_x = here_x
        else:
            used = gammas[-len(history.rows) :]
            here_x = sum(share * one for share, one in zip(shares, used, strict=True))
            assert history.energy(shares) == pytest.approx(0.5 * here_x @ kernel @ here_x)
            found_x = a_xx @ here_x + b_x
            residuals.append(float(np.abs(found_x - here_x).max()))
        kept = gammas[-len(history.rows) :] if history.rows else []
        history.add(None, [float(one @ kernel @ found_x) for one in [*kept, found_x]], shares)
        gammas.append(found_x)
        shares = history.next_input()
    return residuals


def test_two_dimensions_take_three_steps_and_no_noise_comes_after():
    residuals = iterate(2, 7)
    assert residuals[3] < 1e-9 * residuals[0]
    assert max(residuals[3:]) < 1e-9 * residuals[0]


def test_many_dimensions_converge_faster_than_the_map_and_beyond_the_longest_history():
    residuals = iterate(12, 3 * EXCHANGE_OPERATORS)
    assert residuals[-1] < 1e-3 * 0.9 ** len(residuals) * residuals[0]
