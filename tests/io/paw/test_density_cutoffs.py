"""What atoms lose where the grid does not hold all of their density."""

import json
from importlib.resources import files

import pytest

from eigenwerk.io.paw.paw_library import density_loss_eV

TABLE = files("eigenwerk.io.paw") / "density_cutoffs.json"


def test_losses_fall_with_the_cutoff_and_end():
    losses = [density_loss_eV("F", cutoff) for cutoff in (100, 200, 250, 300, 350, 400, 1500)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == losses[1] > 5e-3 > 1e-3 > losses[-2]
    assert losses[-1] == 0.0


def test_no_element_loses_a_millielectronvolt_at_400_eV():
    elements = json.loads(TABLE.read_text())["elements"]
    assert len(elements) == 83
    assert all(density_loss_eV(element, cutoff) < 1e-3 for element in elements for cutoff in (400, 520))


def test_between_measured_cutoffs_the_logarithm_is_a_line():
    low, middle, high = (density_loss_eV("F", cutoff) for cutoff in (250, 275, 300))
    assert middle == pytest.approx((low * high) ** 0.5)


def test_unknown_elements_have_no_loss():
    assert density_loss_eV("Xx", 400.0) is None
