"""Independent pieces of work for the threads of one process.

PyTorch's own threads split each operation, which is worth it for long arrays only; pieces that need many short
operations each, such as blocks of k-points, are done side by side instead, every one by a single thread.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import torch

from eigenwerk.record.trace import mute_thread

Piece = TypeVar("Piece")
Result = TypeVar("Result")


HOST_THREADS = 4
"""PyTorch's threads beside a GPU, at most: there the processor has tables and short arrays to work on, and to wake the
threads of 64 cores for those costs more than the work (occupations of 3000 states: 200 ms instead of 2)."""


@contextmanager
def intraop_threads(wanted: int | None, device: torch.device) -> Iterator[None]:
    """PyTorch's number of threads, for a while; None: as it is, but at most `HOST_THREADS` beside a GPU."""
    before = torch.get_num_threads()
    torch.set_num_threads(wanted or (before if device.type == "cpu" else min(before, HOST_THREADS)))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def threads_for(device: torch.device) -> int:
    """How many threads may work side by side: those of PyTorch on a processor, one where a GPU does the work."""
    return torch.get_num_threads() if device.type == "cpu" else 1


def each(work: Callable[[Piece], Result], pieces: Iterable[Piece], threads: int) -> list[Result]:
    """[work(piece) for piece in pieces] by so many threads (`threads_for`), the caller among them.

    Pieces are begun in their order by whoever is free.  The spans of the caller's pieces enter the trace, those of
    others do not.  work must not communicate, and its answer must not depend on the thread.  Where pieces are fewer
    than threads, libraries split the operations of each among the rest.  An error is raised after the pieces begun
    have ended; others are left.
    """
    todo = list(pieces)
    workers = min(threads, len(todo))
    if workers < 2:
        return [work(piece) for piece in todo]
    waiting = iter(enumerate(todo))  # one step of it is one operation of the interpreter: threads may share it
    found: dict[int, Result] = {}

    def work_off() -> None:
        torch.set_num_threads(threads // workers)
        try:
            for index, piece in waiting:
                found[index] = work(piece)
        except BaseException:
            for _ in waiting:  # nobody begins another piece
                pass
            raise

    before = torch.get_num_threads()
    others = [_pool(workers - 1).submit(work_off) for _ in range(workers - 1)]
    try:
        work_off()
    finally:
        errors = [other.exception() for other in others]
        torch.set_num_threads(before)
    for error in filter(None, errors):
        raise error
    return [found[index] for index in range(len(todo))]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """The other threads; kept, since libraries set up much for each new one."""
    return ThreadPoolExecutor(threads, "eigenwerk", initializer=mute_thread)
