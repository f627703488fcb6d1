"""Settings say what they are where they stand: their tags, their defaults, the steps that make them, their words."""

from dataclasses import fields

import pytest

from eigenwerk.dft.inputs.builder import STEPS
from eigenwerk.dft.settings.declared import setting, setting_rows
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.io.vasp.tags.table import TAGS
from eigenwerk.units import HARTREE_EV

OF_NO_TAG = {"exchange_range"}
"""What follows from other input alone."""


def test_every_setting_names_tags_that_are_honoured():
    for one in fields(Parameters):
        for name in one.metadata["tag"].split(", ") if one.name not in OF_NO_TAG else ():
            family = [tag for tag in TAGS if tag.startswith(name.rstrip("*"))] if name.endswith("*") else [name]
            assert any(TAGS[tag].status == "honoured" for tag in family), (one.name, name)


def test_every_setting_is_made_by_one_step():
    made = [name for step in STEPS for name in step.makes]
    assert {one.name: made.count(one.name) for one in fields(Parameters)} == {one.name: 1 for one in fields(Parameters)}


def test_defaults_are_those_of_the_tags():
    plain = Parameters(1.0, 8.0, 8)
    assert plain.ismear == TAGS["ISMEAR"].default and plain.min_steps == TAGS["NELMIN"].default
    assert plain.width * HARTREE_EV == pytest.approx(TAGS["SIGMA"].default)
    assert setting("EDIFF", reads=float, default=3.0).default == 3.0


def test_words_are_there_only_where_there_is_something_to_say():
    assert list(setting_rows(Parameters(1.0, 8.0, 8))) == []
    assert list(setting_rows(Parameters(1.0, 8.0, 8, hubbard={"Ni": (2, 0.1)}))) == [
        ("+U", "Ni d: U - J = 2.72114 eV (Dudarev)")
    ]
