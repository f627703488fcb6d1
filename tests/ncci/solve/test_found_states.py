"""A run that ends while it computes observables has its states and what it observed when it starts again."""

import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.hdf5.hdf5_state import read_state, write_state
from eigenwerk.ncci import stages
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.results.levels_file import read_levels
from eigenwerk.ncci.results.observation import Observation
from eigenwerk.ncci.run import run_case
from eigenwerk.ncci.solve.checkpoint import FOUND, OBSERVED
from warm_start import warm_run

KEYS = 'nucleus = "4He"\ninteraction = "JISP16"\nhw = 20\nNmax = 2\nstates = 2\n'
SOLVER = '[solver]\nbackend = "csb"\n'


LITHIUM = 'nucleus = "6Li"\ninteraction = "JISP16"\nhw = 20\nNmax = 0\nstates = 3\n'


def of(tmp_path, solver="", keys=KEYS):
    path = tmp_path / "case.toml"
    path.write_text(keys + SOLVER + solver)
    return read_cases(path)[0]


ALL = LITHIUM + 'observables = "all"\n'
PARTS = ["scalars", "occupations", "quanta", "densities", "one_body", "raised"]


class Counting:
    """`Observation.compute` that remembers the parts, and stops instead of one."""

    def __init__(self, stop_at=None):
        self.names, self.stop_at, self.compute = [], stop_at, Observation.compute

    def __get__(self, asked, kind):
        def compute(name, *about):
            if len(self.names) == self.stop_at:
                raise KeyboardInterrupt
            self.names.append(name)
            return self.compute(asked, name, *about)

        return compute


@pytest.fixture
def stopped(monkeypatch):
    """Runs a case that is stopped after so many parts of its observables."""

    def run_it(case, folder, parts=0):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Observation, "compute", Counting(parts))
            run_case(case, checkpoint=folder)

    return run_it


@pytest.fixture
def computed(monkeypatch):
    """The parts that a run computes from there on, its products, what it says, and its result."""

    def run_it(case, folder):
        with monkeypatch.context() as patch:
            patch.setattr(Observation, "compute", counting := Counting())
            return counting.names, *again(case, folder)

    return run_it


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run_case(of(tmp_path_factory.mktemp("whole"), keys=ALL))


def same(one, other):
    for name in ("energy_n", "residual_n", "j_n", "isospin_n"):
        assert np.array_equal(getattr(one.levels, name), getattr(other.levels, name))
    for kind in ("values", "transitions"):
        found, wanted = getattr(one.levels, kind), getattr(other.levels, kind)
        assert list(found) == list(wanted)
        assert all(np.array_equal(found[name], wanted[name], equal_nan=True) for name in wanted)
    assert np.array_equal(one.vectors_nb, other.vectors_nb)


def again(case, folder, **options):
    """Products that a run makes from there on, what it says, and its result."""
    steps, lines = [], []
    result = run_case(case, checkpoint=folder, report=steps.append, say=lines.append, **options)
    return len(steps), "\n".join(lines), result


@pytest.mark.slow
@pytest.mark.fast("lobpcg")
@pytest.mark.parametrize("method", ["lanczos", "lobpcg"])
def test_states_survive_a_stop_during_observables_to_the_last_bit(tmp_path, stopped, method):
    case = of(tmp_path, f'method = "{method}"\n')
    whole = run_case(case)
    stopped(case, tmp_path / "c")
    steps, words, result = again(case, tmp_path / "c")
    products = whole.levels.solver["products"]
    assert steps == 0 and f"continues  from {tmp_path / 'c'}, after {products} products" in words
    assert f"{products} products" in words and "found before the run was stopped" in words
    assert np.array_equal(result.vectors_nb, whole.vectors_nb) and result.levels.solver["products"] == products
    for name in ("energy_n", "residual_n", "j_n"):
        assert np.array_equal(getattr(result.levels, name), getattr(whole.levels, name))


@pytest.mark.slow
def test_a_run_that_asks_for_more_goes_on_with_the_solver(tmp_path, stopped):
    stopped(of(tmp_path, "tolerance = 1e-3\n"), tmp_path / "c")
    finer = of(tmp_path, "tolerance = 1e-9\n")
    steps, words, result = again(finer, tmp_path / "c")
    assert steps > 0 and "found before" not in words and result.levels.residual_n.max() < 1e-6


def test_states_of_another_case_are_refused(tmp_path, stopped):
    case = of(tmp_path)
    stopped(case, tmp_path / "c")
    with pytest.raises(InputError, match=r"a run with states = 2; this one has 1"):
        run_case(replace(case, states=1), checkpoint=tmp_path / "c")


@pytest.mark.slow
def test_damaged_states_are_refused_in_words(tmp_path, stopped):
    case = of(tmp_path)
    stopped(case, tmp_path / "c")
    path = tmp_path / "c" / FOUND
    tree = read_state(path)
    for change, words in (
        ({"vectors_nx": tree["found"]["vectors_nx"][:, :-1].copy()}, "components of 59"),
        ({"eig_n": np.array([np.nan, 1.0])}, "eig_n"),
        ({"notes": "word"}, "no list of words"),
    ):
        write_state(path, tree | {"found": tree["found"] | change}, "test")
        with pytest.raises(InputError, match=rf"found\.h5 is damaged: .*{words}.*begins anew"):
            run_case(case, checkpoint=tmp_path / "c")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"found\.h5"):
        run_case(case, checkpoint=tmp_path / "c")


@pytest.mark.fast("2")
@pytest.mark.parametrize("parts", range(len(PARTS)))
def test_each_part_of_the_observables_survives_a_stop_to_the_last_bit(tmp_path, stopped, computed, whole, parts):
    case = of(tmp_path, keys=ALL)
    stopped(case, tmp_path / "c", parts)
    names, steps, words, result = computed(case, tmp_path / "c")
    assert steps == 0 and names == PARTS[parts:]
    assert (f"observed   {PARTS[0]}" in words) == (parts > 0)
    same(result, whole)


def test_a_run_that_wants_more_observables_computes_those_alone(tmp_path, stopped, computed, whole):
    fewer = LITHIUM + 'observables = ["radii", "moments"]\n'
    stopped(of(tmp_path, keys=fewer), tmp_path / "c", 2)  # after radii and the matrices of moments
    names, _, _, result = computed(of(tmp_path, keys=ALL), tmp_path / "c")
    assert names == ["scalars", "occupations", "quanta", "densities", "raised"]
    same(result, whole)


@pytest.mark.slow
def test_states_that_were_taken_apart_survive_too(tmp_path, stopped, computed, monkeypatch):
    """Four of the six levels are mixtures; twelve states come of them."""
    keys = LITHIUM.replace("Nmax = 0\nstates = 3", "Nmax = 2\nstates = 6\nlawson = 0")
    case = of(tmp_path, keys=keys + 'observables = ["radii"]\n')
    wanted = run_case(case)
    stopped(case, tmp_path / "c", 1)  # <J^2> of the mixtures is there, that of the states not yet
    monkeypatch.setattr(stages, "separated", None)
    names, steps, _, result = computed(case, tmp_path / "c")
    assert steps == 0 and names == ["scalars"] and len(result.levels.energy_n) == len(wanted.levels.energy_n) == 12
    same(result, wanted)


@pytest.mark.slow
def test_a_killed_run_goes_on_with_the_observables_that_it_lacks(tmp_path):
    case = of(tmp_path, keys=ALL)
    command = ["ncci", "run", str(tmp_path / "case.toml"), "-o", str(tmp_path / "killed")]
    program = str(Path(__file__).parents[2] / "killed_in_step.py")
    assert warm_run([program, "observables", "0", "5", *command]).returncode == -signal.SIGKILL
    assert not (tmp_path / "killed" / "levels.h5").exists()
    ended = warm_run(["-m", "eigenwerk.cli.main", *command])
    levels, wanted = read_levels(tmp_path / "killed" / "levels.h5"), run_case(case).levels
    assert ended.returncode == 0 and "observed   scalars" in ended.stdout
    assert "found before the run was stopped" in ended.stdout and "  products " not in ended.stdout
    assert np.array_equal(levels.energy_n, wanted.energy_n)
    assert np.array_equal(levels.transitions["M1"], wanted.transitions["M1"], equal_nan=True)


@pytest.mark.slow
def test_damaged_observables_are_refused_in_words_and_those_of_other_states_not_taken(tmp_path, stopped, computed):
    case = of(tmp_path, keys=ALL)
    stopped(case, tmp_path / "c", 5)
    path = tmp_path / "c" / OBSERVED
    tree = read_state(path)
    for part, array in (("one_body", np.zeros(2)), ("scalars", np.zeros(4)), ("quanta", np.array(["a", "b"]))):
        name = next(iter(tree["parts"][part]))
        write_state(path, tree | {"parts": tree["parts"] | {part: {name: array}}}, "test")
        with pytest.raises(InputError, match=rf"observed\.h5 is damaged: /parts/{part}.*begins anew"):
            run_case(case, checkpoint=tmp_path / "c")
    write_state(path, tree | {"eig_n": tree["eig_n"] + 1e-9}, "test")
    assert computed(case, tmp_path / "c")[0] == PARTS
