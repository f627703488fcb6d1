"""What goes in as tags and comes out as records and text."""

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.motion.mover import drive
from eigenwerk.motion.vibrations.record import vibration_record
from eigenwerk.motion.vibrations.text import summary
from eigenwerk.motion.vibrations.vasp_tags import vibration_settings_of_tags
from eigenwerk.motion.vibrations.vibrations import VibrationSettings, vibrations
from pair_crystals import LennardJones, Springs, diamond, hcp, operations_of, repeated


def found(surface, **settings):
    """The mover at its end."""
    atoms = len(surface.start.scaled_ac)
    operations = operations_of(surface.start, ["Si"] * atoms)
    mover = vibrations(VibrationSettings(**settings), surface.start, np.full(atoms, 28.085), None, operations)
    assert vibration_record(mover) is None
    drive(mover, surface)
    return mover


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({"ibrion": 6}, VibrationSettings()),
        ({"ibrion": 5, "nfree": 4, "potim": 0.02}, VibrationSettings(0.02, 4, symmetry=False)),
        ({"ibrion": 6, "isif": 3}, VibrationSettings(strains=True)),
    ],
)
def test_tags_have_the_meaning_of_vasp(tags, expected):
    assert vibration_settings_of_tags(**tags) == (expected, ())


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ({"ibrion": 6, "potim": 0.5}, "too large for finite differences: atoms move by 0.015 Å"),
        ({"ibrion": 6, "nfree": 1}, "forward differences"),
        ({"ibrion": 5, "isif": 3}, "elastic constants come with IBRION = 6"),
    ],
)
def test_what_a_user_should_know_is_said(tags, words):
    settings, notes = vibration_settings_of_tags(**tags)
    assert (
        words in notes[0][1]
        and notes[0][0] in ("POTIM", "NFREE", "ISIF")
        and settings.displacement == 0.015
        and not settings.strains
    )


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ({"ibrion": 7}, "IBRION = 7: linear response .* is not available. Set IBRION = 5"),
        ({"ibrion": 8}, "IBRION = 8: linear response .* is not available. Set IBRION = 6"),
        ({"ibrion": 6, "nfree": 3}, "NFREE = 3"),
        ({"ibrion": 6, "potim": -0.1}, "POTIM = -0.1"),
    ],
)
def test_what_is_not_available_is_refused_by_name(tags, words):
    with pytest.raises(InputError, match=words):
        vibration_settings_of_tags(**tags)


def test_record_is_in_units_of_files():
    mover = found(LennardJones(hcp(2.5, 1.6), 4.0), strains=True)
    record = vibration_record(mover)
    assert np.allclose(record.elastic.total_jj, 10 * mover.result.elastic.total_jj)
    assert record.displacement == 0.015 and (record.thz_n == mover.result.modes.thz_n).all()
    assert (record.masses_a == 28.085).all()


def test_summary_is_short_and_says_what_matters():
    mover = found(Springs(diamond(5.43), 2.5), strains=True)
    text = summary(mover.result)
    assert "        1-3      9.3905     313.23     38.836" in text and "acoustic before the sum rule: " in text
    assert "bulk modulus" in text and "xx" in text and "imaginary" not in text.replace("(negative: imaginary)", "")
    large = summary(found(Springs(repeated(hcp(2.5, 1.6), (3, 3, 2)), 2.7)).result)
    assert max(map(len, (text + large).splitlines())) <= 90 and len(large.splitlines()) < 50


def test_unstable_modes_and_crystals_are_named():
    mover = found(LennardJones(diamond(5.43), 4.2, size=2.2), strains=True)
    assert mover.result.elastic.lowest < 0 and mover.result.elastic.moduli is None
    assert "elastically unstable" in summary(mover.result)
