"""What atoms lose where the density is cut off at 1.5 G_cut."""

import pytest

from eigenwerk.io.density_cutoffs import density_loss_eV


def test_losses_fall_with_the_cutoff_and_end():
    losses = [density_loss_eV("O", cutoff) for cutoff in (100, 200, 300, 410, 520, 650, 1500)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == losses[1] > 0.2
    assert losses[-1] == 0.0


def test_between_measured_cutoffs_the_logarithm_is_a_line():
    low, middle, high = (density_loss_eV("F", cutoff) for cutoff in (400, 425, 450))
    assert middle == pytest.approx((low * high) ** 0.5)


def test_unknown_elements_have_no_loss():
    assert density_loss_eV("Xx", 400.0) is None
