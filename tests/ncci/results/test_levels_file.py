"""levels.h5 comes back as it was written; one that somebody edited is used, or refused with the place."""

import itertools
import random

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.hdf5.hdf5_state import read_state, write_state
from eigenwerk.ncci.results.levels import Levels
from eigenwerk.ncci.results.levels_file import read_levels, read_vectors, write_levels

ABOUT = {
    "nucleus": "6Li", "Z": 3, "N": 3, "interaction": "JISP16", "parity": 1, "twice_M": 2, "hw": 20.0, "Nmax": 2,
    "title": "6Li",
}  # fmt: skip
STRANGE = (None, -1, 1e300, "word", [], {}, np.zeros(0), np.zeros((3, 3)), np.array(["a"]), float("nan"))


@pytest.fixture
def path(tmp_path):
    levels = Levels(
        ABOUT, 4, 10, np.array([-31.0, -28.0]), np.array([1e-6, np.inf]), True, np.array([1.0, 3.0]),
        np.array([0.0, np.nan]), {"T2": np.zeros(2), "N": np.zeros((2, 5))}, {"M1": np.full((2, 2), np.nan)},
        {"p": np.zeros((6, 3), dtype=np.int64)}, {"products": 7},
    )  # fmt: skip
    write_levels(tmp_path / "levels.h5", levels, np.eye(4)[:2])
    return tmp_path / "levels.h5"


def test_levels_come_back(path):
    levels = read_levels(path)
    assert levels.about == ABOUT and levels.energy_n.tolist() == [-31.0, -28.0] and levels.solver == {"products": 7}
    assert read_vectors(path.parent).shape == (2, 4)


@pytest.mark.parametrize("count", [6, pytest.param(24, marks=pytest.mark.slow)])
def test_what_somebody_edited_is_an_input_error(path, count):
    tree, refused = read_state(path), 0
    places = [(name,) for name in tree] + [("about", name) for name in ABOUT]
    for place, value in random.Random(1).sample(list(itertools.product(places, STRANGE)), count):
        edited = {**tree, "about": dict(tree["about"])}
        (edited if len(place) == 1 else edited[place[0]])[place[-1]] = value
        try:
            write_state(path.with_name("edited.h5"), edited, "0.2.0")
            read_vectors(path.with_name("edited.h5"))
            assert read_levels(path.with_name("edited.h5")).label(0) in ("1+", "1-")
        except InputError:
            refused += 1
    assert refused > count / 2


@pytest.mark.slow
def test_what_somebody_took_away_is_named(path):
    tree = read_state(path)
    for name in tree:
        write_state(path.with_name("edited.h5"), {key: part for key, part in tree.items() if key != name}, "0.2.0")
        try:
            read_levels(path.with_name("edited.h5"))
        except InputError as error:
            assert name in str(error) or name == "kind"
        else:
            assert name in ("smaller", "vectors")
