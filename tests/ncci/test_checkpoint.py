"""A solver that was killed continues from its folder with the same bits."""

import pytest
import torch

from eigenwerk.errors import InputError
from eigenwerk.linalg.lanczos import LanczosPlan, lanczos
from eigenwerk.linalg.lobpcg import LobpcgPlan, lobpcg
from eigenwerk.linalg.symmetric import SymmetricMatrix, hashed_noise
from eigenwerk.ncci.checkpoint import Checkpoint

CPU = torch.device("cpu")


class Killed(Exception):
    pass


def operator(size=120):
    a = torch.randn((size, size), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return SymmetricMatrix(a + a.T)


def starts(count, dtype):
    return torch.cat([hashed_noise(0, 120, seed, like=torch.zeros(1, dtype=dtype)) for seed in range(count)])


@pytest.mark.parametrize("stop", [2, 11, 30])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_lanczos_continues(tmp_path, stop, dtype):
    plan = LanczosPlan(wanted=3, products=80, fixed=True, space=16)
    whole = lanczos(operator(), starts(2, dtype), plan)
    checkpoint = Checkpoint(tmp_path / "c", {"title": "a"})

    def watch(state):
        checkpoint.save(state)
        if state.steps == stop:
            raise Killed

    with pytest.raises(Killed):
        lanczos(operator(), starts(2, dtype), plan, watch=watch)
    state = Checkpoint(tmp_path / "c", {"title": "a"}).load(CPU)
    assert state.steps == stop
    again = lanczos(operator(), None, plan, resume=state)
    assert torch.equal(again.eig_kn, whole.eig_kn) and torch.equal(again.vectors_knx, whole.vectors_knx)
    assert len(list((tmp_path / "c").glob("vector-*"))) == state.filled + state.pending


def test_lobpcg_continues(tmp_path):
    plan = LobpcgPlan(wanted=3, products=200)
    checkpoint = Checkpoint(tmp_path / "c", {"title": "a"})
    whole = lobpcg(operator(), starts(4, torch.float64), plan, watch=lambda s: s.steps == 9 and checkpoint.save(s))
    again = lobpcg(operator(), None, plan, resume=checkpoint.load(CPU))
    assert torch.equal(again.eig_kn, whole.eig_kn)


def test_a_checkpoint_of_another_case_is_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", {"Nmax": 4})
    assert checkpoint.load(CPU) is None
    lobpcg(operator(), starts(4, torch.float64), LobpcgPlan(wanted=3, products=50), watch=checkpoint.save)
    with pytest.raises(InputError, match=r"Nmax = 4; this one has 6\. .*--output"):
        Checkpoint(tmp_path / "c", {"Nmax": 6}).load(CPU)
    checkpoint.remove()
    assert not (tmp_path / "c").exists()


def test_vectors_of_a_run_that_ended_while_writing_are_not_taken(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", {"title": "a"})
    plan = LanczosPlan(wanted=3, products=20, fixed=True)
    lanczos(operator(), starts(1, torch.float64), plan, watch=checkpoint.save)
    (tmp_path / "c" / "state.h5").unlink()
    assert checkpoint.load(CPU) is None
    assert not list((tmp_path / "c").glob("vector-*"))
