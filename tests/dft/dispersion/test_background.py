"""A correction is computed once for an arrangement, in a thread, and its failure is told where it is asked for."""

from dataclasses import replace

import pytest

from eigenwerk.dft.dispersion import background
from eigenwerk.dft.dispersion.correction import D2


def test_the_same_arrangement_is_computed_once(correction, bent, monkeypatch):
    calls = []
    real = background.position_energy
    monkeypatch.setattr(background, "position_energy", lambda *given: calls.append(1) or real(*given))
    given = correction(D2, radius=7.0)
    first, again = (background.begun(given, bent).result() for _ in range(2))
    assert first is again and len(calls) == 1
    assert background.begun(correction(D2, radius=7.5), bent).result().energy != first.energy
    moved = replace(bent, scaled_ac=bent.scaled_ac * 1.01)
    background.begun(given, moved).result()
    assert len(calls) == 3


def test_few_are_kept(correction, bent):
    given = correction(D2, radius=4.0)
    for number in range(background.KEPT + 5):
        background.begun(given, replace(bent, scaled_ac=bent.scaled_ac * (1 + number / 1000))).result()
    assert len(background._found) <= background.KEPT


def test_a_failure_is_raised_in_the_run(correction, bent):
    with pytest.raises(KeyError, match="Si"):
        background.begun(replace(correction(D2), coefficients={"C": (1.0, 1.0)}), bent).result()
