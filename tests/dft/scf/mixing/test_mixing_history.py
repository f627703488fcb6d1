"""The least-squares fit and the metric of the mixing history."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from eigenwerk.dft.density.density import Density
from eigenwerk.dft.density.kinds.table import KINDS
from eigenwerk.dft.scf.mixing.mixing_history import FIRST_ROWS, History, Metric, MixingStep, least_squares
from eigenwerk.dft.spin.form import UNPOLARISED

WAVES = 3
PARTS = (KINDS["density"], 2 * WAVES), (KINDS["occupancy"], 1)


def metric(weight=0.5):
    norm2_g = torch.tensor([0.0, 1.0, 4.0], dtype=torch.float64)
    weight_g = torch.tensor([1.0, 2.0, 2.0], dtype=torch.float64)
    return Metric.make(norm2_g, weight_g, 3.0, 1.0, weight, PARTS, lambda tensor: tensor)


def vector(*wave_g, occupancy=0.0):
    """(x, y) of one channel."""
    wave_xg, occupancy_xm = torch.tensor([wave_g], dtype=torch.complex128), torch.tensor([[occupancy]]).double()
    return Density.of(wave_xg, occupancy_xm, UNPOLARISED).packed()


def random_steps(count, channels, seed=0):
    """Inputs and residuals as a mixer sees them one after the other."""
    draw = torch.Generator().manual_seed(seed)
    shape = (count, 2, channels, 2 * WAVES + 1)
    return [MixingStep(*pair_ixy) for pair_ixy in torch.randn(shape, generator=draw, dtype=torch.float64)]


def fed(history, steps):
    """What the last of these steps measured."""
    for last, here in zip([None, *steps], steps, strict=False):
        measured = history.add(here, last)
    return measured


def test_least_squares_ignores_collinear_changes():
    """Three changes of which the third repeats the first: finite coefficients, the right sum."""
    a = np.array([[1.0, 0, 0], [0.3, 2, 0], [1.0, 0, 0]])
    right = np.array([2.0, 1.0, 0])
    gamma = least_squares(a @ a.T, a @ right, 1e-8)
    assert np.abs(gamma).max() < 10
    np.testing.assert_allclose(gamma @ a, right, atol=1e-14)


def test_metric_weighs_long_waves_and_occupancies():
    """Volume 3; half-sphere weights 1, 2, 2; (g^2 + 19)/g^2 = 20, 23/4; twenty at g = 0; 0.5 per occupancy."""

    def square(weight_y, value_xy):
        return float(metric().products(value_xy[:, None], (weight_y * value_xy)[:, None]))

    weight_y = metric().weight_y
    squares = [square(weight_y, vector(*row)) for row in ((1, 0, 0), (0, 1j, 0), (0, 0, 1))]
    assert squares == pytest.approx([3 * 20, 3 * 2 * 20, 3 * 2 * 23 / 4])
    assert square(weight_y, vector(0, 0, 0, occupancy=2.0)) == pytest.approx(0.5 * 4)
    assert square(metric().flat_y, vector(1, 1j, 0, occupancy=2.0)) == pytest.approx(3 * (1 + 2) + 0.5 * 4)
    assert square(metric().electrons_y, vector(0, 1, 1j, occupancy=2.0)) == pytest.approx(3**2 * 4)


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("count", [3, 6, 2 * FIRST_ROWS])
def test_history_keeps_the_newest_changes_at_unit_length_with_their_products(count, channels):
    """Against all products made anew; the longest holds five changes, the most that came are eleven."""
    history, steps = History(metric(), longest=5), random_steps(count, channels)
    measured = fed(history, steps)
    pairs = list(pairwise(steps))[-5:]
    change_jxy = [after.input_xy - before.input_xy for before, after in pairs]
    response_jxy = [after.residual_xy - before.residual_xy for before, after in pairs]
    length_j = [float((metric().weight_y * r * r).sum()) ** 0.5 for r in response_jxy]
    assert len(history) == len(pairs) == min(count - 1, 5)
    unit_jxy = torch.stack([r / length for r, length in zip(response_jxy, length_j, strict=True)])
    gram_xjj = torch.einsum("ixy,jxy,y->xij", unit_jxy, unit_jxy, metric().weight_y)
    np.testing.assert_allclose(history.gram_xjj(channels), gram_xjj, atol=1e-13)
    here_xy = steps[-1].residual_xy
    right_xj = torch.einsum("jxy,xy,y->xj", unit_jxy, here_xy, metric().weight_y)
    np.testing.assert_allclose(measured.right_xj, right_xj, atol=1e-12)
    np.testing.assert_allclose(measured.square_x, (here_xy**2 * metric().weight_y).sum(1), atol=1e-12)
    gamma_xj = np.random.default_rng(1).normal(size=(channels, len(pairs)))
    raw_xj = torch.as_tensor(gamma_xj / np.array(length_j))
    expected_ixy = [-torch.einsum("xj,jxy->xy", raw_xj, torch.stack(value)) for value in (change_jxy, response_jxy)]
    np.testing.assert_allclose(history.combined(gamma_xj), torch.stack(expected_ixy), atol=1e-13)


def test_what_the_fit_leaves_of_a_residual_is_orthogonal_to_the_changes():
    history, steps = History(metric(), longest=5), random_steps(4, 2)
    measured = fed(history, steps)
    gamma_xj = history.coefficients(measured.right_xj, 1e-12)
    left_xy = history.combined(gamma_xj)[1] + steps[-1].residual_xy
    response_jxy = torch.stack([b.residual_xy - a.residual_xy for a, b in pairwise(steps)])
    along_jx = torch.einsum("jxy,xy,y->jx", response_jxy, left_xy, metric().weight_y)
    assert along_jx.sum(1).abs().max() < 1e-11
    assert left_xy.abs().max() > 1e-2


def test_a_change_without_effect_is_not_kept():
    history = History(metric(), longest=5)
    start = MixingStep(vector(1, 0, 0), vector(0, 1, 0))
    fed(history, [start, MixingStep(vector(0, 1, 0), start.residual_xy)])
    assert len(history) == 0


def test_a_new_residual_of_the_same_input_is_not_kept():
    history = History(metric(), longest=5)
    fed(history, [MixingStep(vector(1, 0, 0), vector(0, 1, 0)), MixingStep(vector(1, 0, 0), vector(0, 1, 1))])
    assert len(history) == 0
