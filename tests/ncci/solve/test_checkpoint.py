"""A solver that was killed continues from its folder with the same bits."""

import itertools
import random

import numpy as np
import pytest
import torch

from eigenwerk.errors import InputError
from eigenwerk.io.hdf5.hdf5_state import read_state, write_state
from eigenwerk.linalg.bands.davidson import davidson
from eigenwerk.linalg.lanczos import LanczosPlan, lanczos
from eigenwerk.ncci.solve.checkpoint import Checkpoint
from standard_matrix import StandardMatrix, starts

CPU = torch.device("cpu")


class Killed(Exception):
    pass


def operator(size=120):
    a = torch.randn((size, size), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return StandardMatrix(a + a.T)


@pytest.mark.fast("dtype1-2", "dtype0-11")
@pytest.mark.parametrize("stop", [2, 11, 30])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_lanczos_continues(tmp_path, stop, dtype):
    plan = LanczosPlan(wanted=3, products=80, fixed=True, space=16)
    whole = lanczos(operator(), starts(2, 120, dtype), plan)
    checkpoint = Checkpoint(tmp_path / "c", {"title": "a"})

    def watch(state):
        checkpoint.save(state)
        if state.steps == stop:
            raise Killed

    with pytest.raises(Killed):
        lanczos(operator(), starts(2, 120, dtype), plan, watch=watch)
    state = Checkpoint(tmp_path / "c", {"title": "a"}).load(operator(), CPU)
    assert state.steps == stop
    again = lanczos(operator(), None, plan, resume=state)
    assert torch.equal(again.eig_kn, whole.eig_kn) and torch.equal(again.vectors_knx, whole.vectors_knx)
    assert len(list((tmp_path / "c").glob("vector-*"))) == state.filled + state.pending


@pytest.mark.fast("5-dtype1-2", "3-dtype2-9", "3-dtype0-0")
@pytest.mark.parametrize("stop", [0, 1, 2, 9])
@pytest.mark.parametrize(("max_space", "dtype"), [(3, torch.float64), (5, torch.float64), (3, torch.float32)])
def test_davidson_continues(tmp_path, stop, max_space, dtype):
    """From before the first restart and from between two."""
    checkpoint = Checkpoint(tmp_path / "c", {"title": "a"})
    asked = {"expansions": 30, "tolerance": 1e-4, "max_space": max_space}
    whole = davidson(
        operator(), starts(4, 120, dtype), watch=lambda s: s.iterations == stop and checkpoint.save(s), **asked
    )
    again = davidson(operator(), None, resume=checkpoint.load(operator(), CPU), **asked)
    assert whole.iterations > 9 and again.applications == whole.applications
    for name in ("eig_kn", "vectors_knx", "residual_kn"):
        assert torch.equal(getattr(again, name), getattr(whole, name))


def test_a_checkpoint_of_another_case_is_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", {"Nmax": 4})
    assert checkpoint.load(operator(), CPU) is None
    davidson(operator(), starts(4, 120), expansions=3, watch=checkpoint.save)
    with pytest.raises(InputError, match=r"Nmax = 4; this one has 6\. .*--output"):
        Checkpoint(tmp_path / "c", {"Nmax": 6}).load(operator(), CPU)
    checkpoint.remove()
    assert not (tmp_path / "c").exists()


def test_a_checkpoint_of_another_version_is_refused(tmp_path):
    (tmp_path / "c").mkdir()
    write_state(tmp_path / "c" / "state.h5", {"about": {}, "lobpcg": {}}, "0.0")
    with pytest.raises(InputError, match="another version"):
        Checkpoint(tmp_path / "c", {}).load(operator(), CPU)


def _made_older(folder):
    """What versions wrote that did not ask for missed levels."""
    tree = read_state(folder / "state.h5")
    small = {name: part for name, part in tree["lanczos"].items() if name not in ("past_xm", "origin", "sure")}
    write_state(folder / "state.h5", tree | {"lanczos": small}, "0.0")


@pytest.mark.parametrize("stop", [1, 5])
def test_a_checkpoint_of_an_older_version_is_continued_to_the_same_bits(tmp_path, stop):
    plan = LanczosPlan(wanted=2, space=100, unseen=3e-5)
    whole = lanczos(operator(), starts(2, 120), plan)
    checkpoint = Checkpoint(tmp_path / "c", {"title": "a"})
    lanczos(operator(), starts(2, 120), plan, watch=lambda state: state.steps == stop and checkpoint.save(state))
    _made_older(tmp_path / "c")
    again = lanczos(operator(), None, plan, resume=checkpoint.load(operator(), CPU))
    assert again.applications == whole.applications > 4 * stop
    assert torch.equal(again.eig_kn, whole.eig_kn) and torch.equal(again.vectors_knx, whole.vectors_knx)


@pytest.mark.slow
def test_one_that_had_restarted_is_refused_as_what_it_is(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", {"title": "a"})
    plan = LanczosPlan(wanted=3, products=60, fixed=True, space=16)
    lanczos(operator(), starts(2, 120), plan, watch=checkpoint.save)
    restarts = checkpoint.load(operator(), CPU).restarts
    assert restarts > 0
    _made_older(tmp_path / "c")
    with pytest.raises(InputError, match=rf"older version of eigenwerk, after {restarts} thick restarts") as found:
        checkpoint.load(operator(), CPU)
    assert "damaged" not in str(found.value) and "remove the folder" in str(found.value)


def test_vectors_of_a_run_that_ended_while_writing_are_not_taken(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", {"title": "a"})
    plan = LanczosPlan(wanted=3, products=20, fixed=True)
    lanczos(operator(), starts(1, 120), plan, watch=checkpoint.save)
    (tmp_path / "c" / "state.h5").unlink()
    assert checkpoint.load(operator(), CPU) is None
    assert not list((tmp_path / "c").glob("vector-*"))


def _lanczos(folder):
    checkpoint = Checkpoint(folder, {"title": "a"})
    lanczos(operator(), starts(2, 120), LanczosPlan(wanted=3, products=20, fixed=True), watch=checkpoint.save)
    return checkpoint


def _davidson(folder):
    checkpoint = Checkpoint(folder, {"title": "a"})
    davidson(operator(), starts(4, 120), expansions=5, watch=checkpoint.save)
    return checkpoint


def test_a_vector_that_was_changed_is_found(tmp_path):
    checkpoint = _lanczos(tmp_path / "c")
    path = sorted((tmp_path / "c").glob("vector-*"))[3]
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"{path.name} does not fit its checksum\. Remove the folder"):
        checkpoint.load(operator(), CPU)
    path.write_bytes(data[:100])
    with pytest.raises(InputError, match=rf"{path.name} cannot be read"):
        checkpoint.load(operator(), CPU)
    path.unlink()
    with pytest.raises(InputError, match=rf"{path.name} is missing"):
        checkpoint.load(operator(), CPU)


STRANGE = (None, -1, 1e300, float("nan"), "word", [], {}, np.zeros(0), np.zeros((2, 2)), np.array(["a"]), 2**40)


@pytest.mark.slow
@pytest.mark.fast("_lanczos")
@pytest.mark.parametrize("make", [_lanczos, _davidson])
def test_edits_with_checksums_that_fit_are_input_errors(tmp_path, make):
    """Parts of `state.h5`, replaced or removed: the solver goes on, or says what is wrong."""
    checkpoint = make(tmp_path / "c")
    path = tmp_path / "c" / "state.h5"
    tree, refused = read_state(path), 0
    group = "lanczos" if make is _lanczos else "davidson"
    places = [(group,), ("about",), *((name,) for name in ("names", "rows") if name in tree)]
    places += [(group, name) for name in tree[group]]
    kept = {file.name: file.read_bytes() for file in (tmp_path / "c").iterdir()}
    for place, value in random.Random(2).sample(list(itertools.product(places, (*STRANGE, "removed"))), 20):
        for name, data in kept.items():
            (tmp_path / "c" / name).write_bytes(data)
        edited = read_state(path)
        holder = edited if len(place) == 1 else edited[place[0]]
        holder[place[-1]] = value
        if isinstance(value, str) and value == "removed":
            del holder[place[-1]]
        write_state(path, edited, "0.2.0")
        try:
            state = checkpoint.load(operator(), CPU)
            if make is _lanczos:
                lanczos(operator(), None, LanczosPlan(wanted=3, products=24, fixed=True), resume=state)
            else:
                davidson(operator(), None, resume=state, expansions=7)
        except InputError:
            refused += 1
    assert refused > 12


def test_the_layout_is_kept_for_as_many_ranks_and_does_not_have_to_fit(tmp_path):
    notes = {"layout": "triangle", "ranks": 1}
    checkpoint = Checkpoint(tmp_path / "c", {"title": "a"}, notes=notes)
    assert checkpoint.layout() is None
    plan = LanczosPlan(wanted=3, products=20, fixed=True, space=16)
    lanczos(operator(), starts(2, 120), plan, watch=checkpoint.save)
    other = Checkpoint(tmp_path / "c", {"title": "a"}, notes={"layout": "dealt", "ranks": 1})
    assert other.layout() == "triangle" and other.load(operator(), CPU) is not None
    tree = read_state(tmp_path / "c" / "state.h5")
    for changed in ({"ranks": 3}, {"layout": "ring"}, {"layout": None}):
        write_state(tmp_path / "c" / "state.h5", tree | {"about": tree["about"] | changed}, "test")
        assert other.layout() is None


def test_a_checkpoint_that_was_cut_off_is_told_in_words_of_nuclei(tmp_path):
    checkpoint = _davidson(tmp_path / "c")
    path = tmp_path / "c" / "state.h5"
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(InputError, match="remove its folder; the run then begins anew") as found:
        checkpoint.load(operator(), CPU)
    assert "ISTART" not in str(found.value)
