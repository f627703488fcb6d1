"""The least-squares fit and the metric of the mixing history."""

import math

import pytest
import torch

from eigenwerk.dft.scf.mixing_history import History, Metric, Mixed, Step, least_squares


def metric(weight=0.5):
    norm2_g = torch.tensor([0.0, 1.0, 4.0], dtype=torch.float64)
    weight_g = torch.tensor([1.0, 2.0, 2.0], dtype=torch.float64)
    return Metric.make(norm2_g, weight_g, 3.0, 1.0, weight, lambda tensor: tensor)


def vector(*wave_g, occupancy=0.0):
    return Mixed(torch.tensor([wave_g], dtype=torch.complex128), torch.tensor([[occupancy]], dtype=torch.float64))


def test_least_squares_ignores_collinear_changes():
    """Three changes of which the third repeats the first: finite coefficients, the right sum."""
    a = torch.tensor([[1.0, 0, 0], [0.3, 2, 0], [1.0, 0, 0]], dtype=torch.float64)
    right = torch.tensor([2.0, 1.0, 0], dtype=torch.float64)
    gamma = least_squares((a @ a.T)[None], (a @ right)[None], 1e-8)[0]
    assert gamma.abs().max() < 10
    torch.testing.assert_close(gamma @ a, right)


def test_metric_weighs_long_waves_and_occupancies():
    """Volume 3; half-sphere weights 1, 2, 2; (g^2 + 19)/g^2 = 20, 23/4; twenty at g = 0; 0.5 per occupancy."""
    lengths = [metric().length(vector(*row)) ** 2 for row in ((1, 0, 0), (0, 1j, 0), (0, 0, 1))]
    assert lengths == pytest.approx([3 * 20, 3 * 2 * 20, 3 * 2 * 23 / 4])
    assert metric().length(vector(0, 0, 0, occupancy=2.0)) ** 2 == pytest.approx(0.5 * 4)
    assert metric().electrons(vector(0, 1, 1j)) == pytest.approx(3 * math.sqrt(4))


def test_history_keeps_the_newest_changes_at_unit_length_with_their_products():
    history = History(metric(), longest=2)
    for row in ((0, 1, 0), (0, 1, 1), (0, 0, 2j), (0, 3, 1j)):
        history.add(Step(vector(*row), vector(*row)))
    assert len(history.steps) == 2
    for step in history.steps:
        assert metric().length(step.residual) == pytest.approx(1.0)
    expected_jj = [
        [float(metric().inner_xj([a.residual], b.residual)) for a in history.steps] for b in history.steps
    ]
    torch.testing.assert_close(history.gram_xjj[0], torch.tensor(expected_jj, dtype=torch.float64))


def test_a_change_without_effect_is_not_kept():
    history = History(metric(), longest=5)
    history.add(Step(vector(0, 1, 0), vector(0, 0, 0)))
    assert history.steps == []
