"""Whether a state is one of an input: all that may differ, what each difference means, and how large it must be."""

from copy import deepcopy
from dataclasses import asdict, fields, replace

import numpy as np
import pytest

from eigenwerk.dft.crystal.kpoints import mesh_kpoints
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.settings.declared import Changes
from eigenwerk.dft.settings.dipole import DipoleCorrection
from eigenwerk.dft.settings.mixing import Mixing
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.dft.settings.same import SAME_CELL, SAME_PLACE, SAME_POINT, differences, other_settings, system_tree


@pytest.fixture
def tree(crystal):
    structure = replace(crystal("si"), magmom_a=np.array([1.0, -1.0]))
    kpoints = mesh_kpoints((2, 2, 2), (0.0, 0.0, 0.0), True, find_symmetry(structure, 1e-5, -1))
    return system_tree(structure, kpoints, Parameters(cutoff=10.0, electrons=8.0, bands=8), {"Si": {"md5": "a"}})


def moved(by):
    def change(tree):
        tree["structure"]["scaled_ac"] = tree["structure"]["scaled_ac"] + [[by, 0, 0], [0, 0, 0]]

    return change


def stretched(by):
    def change(tree):
        tree["structure"]["lattice_cv"] = tree["structure"]["lattice_cv"] + by * np.eye(3)

    return change


def given(part, name, value):
    def change(tree):
        tree[part][name] = value(tree[part][name])

    return change


DIFFERENT = {
    "cell": (stretched(2 * SAME_CELL), Changes.THE_ANSWER),
    "positions": (moved(SAME_PLACE), Changes.THE_ANSWER),  # of vectors several bohr long
    "k-points": (given("kpoints", "point_kc", lambda point_kc: point_kc + 2 * SAME_POINT), Changes.FILLING),
    "MAGMOM": (given("structure", "magmom_a", np.negative), Changes.THE_WAY),
    "PAW data": (given("setups", "Si", lambda old: {"md5": "b"}), Changes.THE_ANSWER),
    "LDAU of the species": (given("structure", "kinds", lambda old: ("Si", "Si 2")), Changes.THE_ANSWER),
    "atoms": (given("structure", "symbols", lambda old: ("Si", "Ge")), Changes.THE_ANSWER),
    "ENCUT": (given("parameters", "cutoff", lambda old: 11.0), Changes.THE_ANSWER),
    "AMIX, BMIX, IMIX, MAXMIX": (given("parameters", "mixing", lambda old: asdict(Mixing(amix=0.1))), Changes.THE_WAY),
    "NBANDS": (given("parameters", "bands", lambda old: 9), Changes.BANDS),
    "a smaller EDIFF": (given("parameters", "energy_tolerance", lambda old: old / 10), Changes.LESS),
}


def test_a_state_is_the_same_as_itself_and_as_one_with_the_digits_of_a_file(tree):
    now = deepcopy(tree)
    moved(1e-9)(now)
    stretched(1e-9)(now)
    assert differences(tree, now) == []


@pytest.mark.parametrize("words", DIFFERENT)
def test_each_difference_is_found_and_called_what_users_call_it(tree, words):
    change, changes = DIFFERENT[words]
    now = deepcopy(tree)
    change(now)
    assert [(one.words, one.changes) for one in differences(tree, now)] == [(words, changes)]


def test_what_makes_no_other_run_is_no_difference(tree):
    now = tree["parameters"] | {"energy_tolerance": 1.0, "max_steps": 3, "title": "other", "projection": None}
    before = tree["parameters"] | {"projection": {"radius": {"Si": 1.0}, "phases": False}}
    assert other_settings(before, now) == []


def test_a_group_of_settings_is_compared_by_value(tree):
    parameters = asdict(Parameters(1.0, 8.0, 8, dipole=DipoleCorrection((2,), (0.0, 0.0, 0.5), True)))
    assert other_settings(parameters, deepcopy(parameters)) == []
    other = parameters | {"dipole": parameters["dipole"] | {"force": 0.1}}
    assert [one.words for one in other_settings(parameters, other)] == ["IDIPOL, LDIPOL, DIPOL, EFIELD"]


def test_another_value_of_all_settings_but_those_of_the_way_makes_another_state():
    """What changes nothing is how a run is done: steps, blocks, solver, what is told."""
    silent = {one.name for one in fields(Parameters) if one.metadata["changes"] is Changes.NOTHING}
    assert silent == {
        "exchange_block", "exchange_single", "max_steps", "min_steps", "frozen_steps", "solver", "motion_time",
        "start_single", "correct_forces", "stress", "title",
    }  # fmt: skip


def test_a_setting_that_there_was_not_yet_had_its_default(tree):
    """States of older versions lack settings that came later."""
    now = tree["parameters"]
    old = {name: value for name, value in now.items() if name not in ("min_steps", "core_screened", "dispersion")}
    old["mixing"] = {name: value for name, value in now["mixing"].items() if name != "by_extent"}
    assert other_settings(old, now) == []
    other = now | {"core_screened": True, "mixing": now["mixing"] | {"by_extent": False}}
    assert {one.words for one in other_settings(old, other)} == {"CORE_EXCHANGE", "AMIX, BMIX, IMIX, MAXMIX"}
