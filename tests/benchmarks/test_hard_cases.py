"""The hard cases: folders as they were measured, inputs that run, counts that are read rightly from the records."""

import json
import runpy
import sys
from itertools import accumulate
from types import SimpleNamespace

import pytest

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.run import run_folder

MODULES = ("crystals", "layered_crystals", "cases", "more_cases", "table", "ways", "make_cases", "entries")


@pytest.fixture(scope="module")
def folder(repository):
    return repository / "benchmarks" / "hard_cases"


@pytest.fixture(scope="module")
def script(folder):
    sys.path.insert(0, str(folder))
    try:
        yield runpy.run_path(str(folder / "make_cases.py"))
    finally:
        sys.path.remove(str(folder))
        for name in MODULES:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def table(folder):
    return runpy.run_path(str(folder / "table.py"))


@pytest.fixture(scope="module")
def made(script, tmp_path_factory):
    """The folder of all cases."""
    into = tmp_path_factory.mktemp("hard_cases")
    for case in script["CASES"]:
        script["write_case"](case, into)
    return into


def test_the_script_makes_the_folders_that_were_measured(script, made, check_made):
    assert len(script["CASES"]) >= 111
    check_made("hard_cases", made)


def test_names_are_folders_of_their_own(script):
    names = [case.name for case in script["CASES"]]
    assert len(set(names)) == len(names) and all(name.isidentifier() for name in names)


@pytest.mark.slow
def test_cases_are_free_of_errors_and_tune_nothing(script, made):
    mixing = {"AMIX", "BMIX", "AMIX_MAG", "BMIX_MAG", "AMIN", "MAXMIX", "IMIX"}
    tuned = {"ALGO", "IALGO", "NELM", "NELMDL", "NUPDOWN", *mixing}
    for case in script["CASES"]:
        inputs = read_inputs(made / case.name)
        assert [str(problem) for problem in inputs.errors] == []
        assert not tuned & set(inputs.incar.values)


def test_magnets_are_tried_in_ten_ways_with_the_same_physics(script, folder):
    """Other ways differ from the case in mixing, solver and start alone."""
    ways = runpy.run_path(str(folder / "ways.py"))
    way_of_going = {"AMIX", "AMIX_MAG", "AMIN", "BMIX", "IMIX", "MAXMIX", "ALGO", "NELM", "MAGMOM", "ISTART"}
    for case in script["CASES"]:
        first, *others = (way for way in ways["ways"](case) if way.name != ways["OTHER_ORDER"])
        assert first.name == ways["DEFAULT"] and not first.tags and len(others) == 9
        assert all(set(way.tags) <= way_of_going for way in others)


@pytest.fixture(scope="module")
def strategies(script, folder):
    """Needs the modules that `script` makes reachable."""
    return runpy.run_path(str(folder / "strategies.py"))


def test_an_end_is_measured_from_the_best_converged_way_of_the_same_order(strategies):
    entry = {"atoms": 4, "ways": {
        "default": {"converged": True, "energy": -10.0}, "small": {"converged": True, "energy": -10.02},
        "no_history": {"converged": False, "energy": -12.0}, "other_order": {"converged": True, "energy": -10.1},
    }}  # fmt: skip
    assert strategies["above"](entry, "default") == pytest.approx(5.0)
    assert strategies["above"](entry, "default", other_order=True) == pytest.approx(25.0)
    assert strategies["above"](entry, "small") == 0.0
    assert strategies["above"](entry, "no_history") is None


def test_a_way_is_run_once_and_again_only_when_asked(strategies, tmp_path, monkeypatch):
    done = []

    def one(case, way, limit):
        done.append((case.name, way.name))
        return {"converged": True, "status": "", "energy": -1.0, "steps": 9, "moment": None, "applications": 7,
                "cpu_seconds": 1.0}  # fmt: skip

    case = next(case for case in strategies["CASES"] if case.name == "h_bn")
    monkeypatch.setitem(strategies["run"].__globals__, "one", one)
    options = {"json": tmp_path / "found.json", "ways": None, "jobs": 2, "limit": 9.0, "stop_after": 99.0, "source": ""}
    for again, runs in ((False, 10), (False, 10), (True, 20)):
        strategies["run"](SimpleNamespace(**options, again=again), [case])
        assert len(done) == runs
    page = strategies["markdown"](json.loads(options["json"].read_text()), {})
    assert "1 of 1 converge, in 9 steps" in page and "| h_bn | 2 | 9 |" in page


def record(energies, converged=True, per_step=10):
    """A run with these free energies."""
    counts = [*accumulate([per_step] * len(energies))]
    return {"converged": converged, "energy": energies[-1], "energies": energies, "applications": counts}


def test_applications_count_until_the_energy_stays_within_the_error(table):
    passing_by = record([-1.0, -2.0, -1.5, -1.99995, -2.0])
    assert table["settled"](passing_by) == 4
    assert table["applications"](passing_by) == 40
    assert table["applications"](record([-2.0])) == 10


def test_a_run_that_does_not_converge_needs_more_than_any_other(table):
    good, lost = record([-1.0, -2.0]), record([-2.0], converged=False)
    assert table["applications"](lost) is None
    assert table["fewer"](good, lost) and not table["fewer"](lost, good) and not table["fewer"](lost, lost)
    assert not table["fewer"](record([-1.0, -2.0], per_step=11), good)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "moment", "energy"),
    [("fe_moment_zero", 2.35, -8.8133), ("ni_atom", 2.0, -2.4893), ("feal", 0.754, -13.1553)],
)
def test_a_hard_case_converges_to_its_lowest_known_state(made, tmp_path, name, moment, energy):
    found = run_folder(made / name, tmp_path, threads=1)
    assert found.converged  # within the steps that NELM allows where nobody sets it
    assert found.moment == pytest.approx(moment, abs=0.01)
    assert found.free_energy == pytest.approx(energy, abs=2e-3)
