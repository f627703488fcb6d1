"""Numbers of the results: shapes that fit together, units of files, places in the document."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from eigenwerk.io.quantity import NO_VALUES, Inside, Quantity, Values, documents, number, numbers_of, plain

FORCES, MOMENTS = Quantity("forces_av", "eV/Å", 2.0, "av", {"forces": plain}), Quantity("moment_a", "μB", axes="a")
LEVEL = Quantity("level", "eV", entries={"work": lambda level, fermi_level: level - fermi_level, "level": plain})


def test_values_are_found_by_name_and_told_by_their_entries():
    values = Values({FORCES: np.ones((2, 3)), LEVEL: None}) | Values({LEVEL: 4.0})
    assert values.get("level") == 4.0 and values.get("moment_a") is None and NO_VALUES.get("level") is None
    assert documents(values.found, 1.5) == {"forces": [[1.0] * 3] * 2, "work": 2.5, "level": 4.0}
    assert documents({LEVEL: None}, 1.5) == {"work": None, "level": None}
    np.testing.assert_array_equal(FORCES.in_files(np.ones((2, 3))), np.full((2, 3), 2.0))
    assert FORCES.in_files(None) is None


def test_a_number_is_declared_at_its_field():
    @dataclass
    class Step:
        energy: float = field(metadata=number("eV", 27.2, energy_eV=plain))
        words: str = ""

    assert [(one.name, one.unit, one.factor, list(one.entries)) for one in numbers_of(Step)] == [
        ("energy", "eV", 27.2, ["energy_eV"])
    ]


@pytest.mark.parametrize("wrong", [np.ones(3), np.ones((2, 2)), np.ones((3, 3))])
def test_shapes_that_do_not_fit_are_refused(wrong):
    """Letters mean one length each, v three components."""
    with pytest.raises(ValueError, match=r"forces_av.*for the axes av"):
        Values({MOMENTS: np.ones(2), FORCES: wrong})


def test_an_attribute_inside_of_another():
    @dataclass(frozen=True)
    class Outer:
        inner: SimpleNamespace
        energy = Inside[float]("inner.last.energy")

    assert Outer(SimpleNamespace(last=SimpleNamespace(energy=-1.5))).energy == -1.5
    with pytest.raises(AttributeError):
        _ = Outer(SimpleNamespace()).energy
