"""One rank alone obeys the rules of every communicator."""

import pytest
import torch

from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.serial import SerialCommunicator


@pytest.fixture
def alone():
    return SerialCommunicator()


def test_it_is_rank_zero_of_one(alone):
    assert isinstance(alone, Communicator)
    assert (alone.rank, alone.size) == (0, 1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128, torch.int64])
@pytest.mark.parametrize("verb", ["sum", "broadcast", "gather"])
def test_verbs_give_back_the_array_without_a_copy(alone, verb, dtype):
    array_x = torch.arange(6).reshape(2, 3).to(dtype)
    result_x = getattr(alone, verb)(array_x)
    assert result_x.data_ptr() == array_x.data_ptr()
    assert torch.equal(result_x, torch.arange(6).reshape(2, 3).to(dtype))


def test_maximum_and_decisions(alone):
    assert alone.max(torch.tensor(3.5)).item() == 3.5
    assert [alone.all(True), alone.all(False), alone.any(True), alone.any(False)] == [True, False, True, False]


def test_exchange_returns_own_block(alone):
    block = torch.ones(2)
    assert alone.exchange([block])[0] is block


def test_split_is_one_rank_again_and_barrier_returns(alone):
    part = alone.split(color=7, key=3)
    part.barrier()
    assert (part.rank, part.size) == (0, 1)


def test_ranks_that_do_not_exist_are_refused(alone):
    with pytest.raises(ValueError, match="rank 2"):
        alone.broadcast(torch.ones(1), root=2)
    with pytest.raises(ValueError, match="2 arrays"):
        alone.exchange([torch.ones(1), torch.ones(1)])


def test_a_communicator_without_all_verbs_cannot_be_made():
    class Half(SerialCommunicator):
        pass

    class Missing(Communicator):
        rank, size = 0, 1

    Half()
    with pytest.raises(TypeError, match="abstract"):
        Missing()
