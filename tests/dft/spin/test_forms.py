"""Spin forms: totals and channels, cores without magnetisation, time reversal."""

import pytest
import torch

from eigenwerk.dft.spin.forms import COLLINEAR, FORMS, UNPOLARISED


@pytest.fixture(params=FORMS.values(), ids=lambda form: form.words)
def form(request):
    return request.param


@pytest.fixture
def value(form):
    draw = torch.Generator().manual_seed(1)
    return torch.randn((form.densities, 5), generator=draw, dtype=torch.float64)


def test_totals_turn_back_into_channels(form, value):
    torch.testing.assert_close(form.channels_of(form.total(value)), value, atol=1e-15, rtol=0)


def test_total_is_the_sum_of_channels_and_magnetisation_their_difference(form, value):
    torch.testing.assert_close(form.total(value)[0], value.sum(0))
    assert torch.equal(form.magnetisation(value), value[0] - value[1] if form.polarised else 0 * value[0])


def test_a_core_has_no_magnetisation(form, value):
    core = form.unpolarised(value[0])
    assert torch.equal(core.sum(0), value[0]) and not form.magnetisation(core).any()


def test_time_reversal_turns_moments_around_and_keeps_the_charge(form, value):
    again = form.reversed(value)
    assert torch.equal(form.magnetisation(again), -form.magnetisation(value))
    torch.testing.assert_close(form.total(again)[0], form.total(value)[0])


def test_orbitals_hold_two_electrons_between_them_in_every_form():
    assert (UNPOLARISED.degeneracy, COLLINEAR.degeneracy) == (2, 1)
    assert all(form.degeneracy * form.channels == 2 for form in FORMS.values())
