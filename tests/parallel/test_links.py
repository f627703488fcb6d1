"""What a communicator asks of NCCL, and that groups of ranks may ask for something else than all of them."""

from types import SimpleNamespace

import pytest
import torch
from torch.distributed import HashStore

from eigenwerk.errors import InputError
from eigenwerk.parallel.links import USUAL, Links
from eigenwerk.parallel.transports.torch_distributed import GroupOptions, nccl_world


@pytest.fixture
def asked(monkeypatch):
    """The options of every group of a stand-in for NCCL."""
    found = []

    class Group:
        def __init__(self, store, rank, size, options):
            found.append(options)

        def eager_connect_single_device(self, device):
            pass

        @staticmethod
        def Options(**words):
            return SimpleNamespace(**words, config=SimpleNamespace(min_ctas=None, max_ctas=None))

    monkeypatch.setattr(torch.distributed, "ProcessGroupNCCL", Group, raising=False)
    return found


@pytest.mark.parametrize("links", [USUAL, Links(False, 4), Links(True, 32)])
def test_thread_blocks_are_neither_more_nor_fewer_and_priority_is_that_of_the_links(asked, links):
    GroupOptions(device=torch.device("cuda", 0), interface="lo", links=links).open(HashStore(), 0, 1)
    (options,) = asked
    assert options.is_high_priority_stream == links.high_priority
    assert (options.config.min_ctas, options.config.max_ctas) == (links.thread_blocks, links.thread_blocks)


@pytest.mark.gpu
@pytest.mark.parametrize("count", [0, 33])
def test_thread_blocks_that_nccl_does_not_take(count):
    with pytest.raises(InputError, match=f"{count} thread blocks for NCCL; it takes 1 to 32"):
        nccl_world(0, 1, HashStore(), torch.device("cuda", 0), thread_blocks=count)


def split_with_links(world):
    """Ranks of one colour, by whatever transport: it may have no choice."""
    group = world.split(world.rank % 2, world.rank, "column", Links(False, 4))
    return group.name, group.size, group.sum(torch.ones(3)).tolist()


@pytest.mark.ranks
@pytest.mark.parametrize("size, transport", [(3, "gloo"), (2, "mpi"), pytest.param(3, "mpi", marks=pytest.mark.slow)])
def test_transports_without_a_choice_split_all_the_same(ranks, size, transport):
    sizes = (2, 1, 2) if size == 3 else (1, 1)
    assert ranks(size, transport).run(split_with_links) == [("column", size, [size] * 3) for size in sizes]
