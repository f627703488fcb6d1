"""Calls of a communicator on their way into the trace, and the handles that carry their results."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import torch

from eigenwerk.parallel.transports.pending import Pending
from eigenwerk.record.trace import Trace

Result = TypeVar("Result")


class TracedCall:
    """One call of a verb.  Its seconds are those in which it held the caller up: while it started, and in `wait`.

    on_device: whether a queue of the device waits rather than the host; then its clock counts as well.  Of a call that
    is watched the trace also learns for how long its data were on their way: on a device that is what its clock counts.
    """

    def __init__(
        self,
        trace: Trace,
        names: tuple[str, str, str],
        bytes: int,
        peers: Sequence[tuple[int, int]] = (),
        on_device: bool = False,
    ):
        self._trace, self._names, self._bytes, self._peers = trace, names, bytes, peers
        self.on_device, self._began, self._seconds = on_device, None, 0.0
        self._watched = False
        self._travel: float | None = None
        self._ended: Any = None
        self._entered = self._resumed = time.perf_counter()

    def watch(self) -> None:
        """From now on its data are on their way."""
        self._watched = True
        if self.on_device:
            self._began, self._travel = self._trace.mark(), 0.0  # its clock knows

    def arrive(self) -> None:
        """They have arrived: of a transfer in host memory now, from any thread; on a device where the current queue,
        which waits for the transfer, comes to this place."""
        if self.on_device:
            self._ended = self._trace.mark()
        else:
            self._travel = time.perf_counter() - self._entered

    def pause(self) -> None:
        """The transfer is on its way, the caller goes on."""
        self._seconds += time.perf_counter() - self._resumed

    def resume(self) -> None:
        """The caller waits."""
        self._resumed = time.perf_counter()
        if not self._watched:
            self._began = self._trace.mark() if self.on_device else None

    def end(self) -> None:
        """The result is there: write the call down."""
        self.pause()
        self._trace.traffic(
            *self._names, self._bytes, self._seconds, self._entered, self._peers, self._began, self._travel, self._ended
        )


class Transfer(Generic[Result]):
    """The handle of a transfer: waits for it once, then puts the result into its form.

    used: the memory that travels, kept until the end.  On a device, wait on the stream that started; `pipeline` shows
    how other streams get the result.
    """

    def __init__(self, call: TracedCall, pending: Pending, finish: Callable[[], Result], used: Sequence[torch.Tensor]):
        self._call, self._pending, self._used = call, pending, used
        self._finish: Callable[[], Result] | None = finish
        call.pause()

    def wait(self) -> Result:
        """The result; the same one when asked again."""
        if self._finish is not None:
            self._call.resume()
            self._pending.wait()
            self._result = self._finish()
            self._finish, self._used = None, ()
            self._call.end()
        return self._result
