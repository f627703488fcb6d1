"""A run that ends while it computes observables has its states when it starts again."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.hdf5.hdf5_state import read_state, write_state
from eigenwerk.ncci import run
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.run import run_case
from eigenwerk.ncci.solve.checkpoint import FOUND

KEYS = 'nucleus = "4He"\ninteraction = "JISP16"\nhw = 20\nNmax = 2\nstates = 2\n[solver]\nbackend = "csb"\n'


def of(tmp_path, more=""):
    path = tmp_path / "case.toml"
    path.write_text(KEYS + more)
    return read_cases(path)[0]


@pytest.fixture
def stopped(monkeypatch):
    """Runs a case that is stopped when its observables begin."""

    def stop(*about):
        raise KeyboardInterrupt

    def run_it(case, folder, **options):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(run, "observe", stop)
            run_case(case, checkpoint=folder, **options)

    return run_it


def again(case, folder, **options):
    """Products that a run makes from there on, what it says, and its result."""
    steps, lines = [], []
    result = run_case(case, checkpoint=folder, report=steps.append, say=lines.append, **options)
    return len(steps), "\n".join(lines), result


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
