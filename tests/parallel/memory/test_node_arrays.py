"""Tables in common: one rank makes them, all see the same memory, and none can change that of another."""

import os
from pathlib import Path

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.parallel.memory import node_arrays
from eigenwerk.parallel.memory.node_arrays import once_per_node
from eigenwerk.parallel.serial import ALONE


def tables(made=None):
    if made is not None:
        made.append(os.getpid())
    table = np.arange(100_000, dtype=np.int32).reshape(100, 1000)
    return {"numbers": table[:, ::2], "none": np.zeros((0, 3)), "signs": np.ones(3, np.int8), "again": table}


def equal(found):
    pairs = [(found[name], array) for name, array in tables().items()]
    return all(np.array_equal(one, other) and one.dtype == other.dtype for one, other in pairs)


def in_common(world, before=""):
    made = []
    if before == "no such memory":
        saved = os.memfd_create
        del os.memfd_create
    elif before == "closed to one" and world.rank == 1:
        saved, node_arrays._seen = node_arrays._seen, lambda told: None
    try:
        found = once_per_node(world, lambda: tables(made))
        right = equal(found)
        world.barrier()
        found["signs"][0] = world.rank + 5  # own pages only
        world.barrier()
        mapped = "memfd:eigenwerk" in Path("/proc/self/maps").read_text()
        return right, len(made), mapped, int(found["signs"][0])
    finally:
        if before == "no such memory":
            os.memfd_create = saved
        elif before == "closed to one" and world.rank == 1:
            node_arrays._seen = saved


@pytest.mark.ranks
@pytest.mark.parametrize(("transport", "size"), [("gloo", 3), ("mpi", 2)])
def test_one_rank_makes_what_all_have(ranks, transport, size):
    right, made, mapped, written = zip(*ranks(size, transport).run(in_common), strict=True)
    assert all(right) and sum(made) == 1 and all(mapped)
    assert written == tuple(range(5, 5 + size))


@pytest.mark.ranks
def test_without_such_memory_every_rank_makes_its_own(ranks):
    right, made, *_ = zip(*ranks(3).run(in_common, "no such memory"), strict=True)
    assert all(right) and made == (1, 1, 1)


@pytest.mark.ranks
def test_a_rank_that_cannot_look_into_others_makes_its_own(ranks):
    right, made, *_ = zip(*ranks(3).run(in_common, "closed to one"), strict=True)
    assert all(right) and made == (1, 1, 0)


def refused(world):
    def make():
        raise InputError("no such table")

    try:
        once_per_node(world, make)
    except InputError as error:
        return str(error)


@pytest.mark.ranks
def test_an_error_is_everybodys(ranks):
    assert set(ranks(3).run(refused)) == {"no such table"}


def test_one_rank_has_what_it_makes():
    made = []
    assert equal(once_per_node(ALONE, lambda: tables(made))) and len(made) == 1
