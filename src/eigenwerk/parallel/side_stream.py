"""Transfers beside kernels: on a GPU in a stream of their own, elsewhere in the one and only line of work.

    beside = SideStream(device)
    ready = beside.mark()                                   # the inputs of the transfer are queued
    kernel()                                                # more work, which the transfer need not wait for
    handle = beside.start(lambda: comm.start_broadcast(x), ready)
    x = beside.wait(handle)                                 # for work that is queued from now on
"""

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any, TypeVar

import torch

from eigenwerk.parallel.communicator import Handle

Result = TypeVar("Result")


class SideStream:
    """The stream for transfers of one device."""

    def __init__(self, device: torch.device):
        self._stream = side_stream(device) if device.type == "cuda" else None

    def mark(self) -> torch.cuda.Event | None:
        """The end of the work queued so far, for `start`."""
        if self._stream is None:
            return None
        return torch.cuda.current_stream(self._stream.device).record_event()

    def start(self, start: Callable[[], Handle[Result]], after: torch.cuda.Event | None = None) -> Handle[Result]:
        """What `start` begins, as soon as the work before the mark is done; None: all work queued so far.

        Nothing may be queued inside that has to wait for later work: it would wait for that of the side only.
        """
        if self._stream is not None and after is not None:
            self._stream.wait_event(after)
        elif self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
        with self._beside():
            return start()

    def wait(self, handle: Handle[Result]) -> Result:
        """The result, for work queued from now on."""
        with self._beside():
            result = handle.wait()
        if self._stream is not None:
            current = torch.cuda.current_stream(self._stream.device)
            current.wait_stream(self._stream)
            _mark(result, current)
        return result

    def _beside(self) -> Any:
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)


@cache
def side_stream(device: torch.device) -> torch.cuda.Stream:
    """The stream for transfers of a GPU, which goes before queued kernels; always the same one."""
    return torch.cuda.Stream(device, priority=-1)


def _mark(result: object, stream: torch.cuda.Stream) -> None:
    """The stream uses these tensors, so their memory must not go elsewhere before it has done so."""
    if isinstance(result, torch.Tensor):
        result.record_stream(stream)
    elif isinstance(result, list | tuple):
        for part in result:
            _mark(part, stream)
