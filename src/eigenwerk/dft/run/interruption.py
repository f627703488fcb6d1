"""Ctrl-C and termination: stretches that must not be cut, and the exception of a run that was stopped."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from eigenwerk.dft.run.report import RunResult

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)


class RunInterrupted(KeyboardInterrupt):
    """A run was stopped by KeyboardInterrupt; `result` describes the last finished step, None if there was none.

    What was written is marked as interrupted, and a run with ISTART = 1 goes on from it.
    """

    def __init__(self, result: RunResult | None):
        super().__init__("interrupted before the first step was finished" if result is None else result.status)
        self.result = result


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals that Python handles and that arrive inside are delivered at the end; only in the main thread.

    So a Ctrl-C cannot leave half of the files of an old and half of a new step.  Signals with the system's own
    action (SIGTERM, if nobody asked Python to handle it) still end the process; single files stay whole even then.
    """
    late: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        late.append((number, frame))

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: handler for number in SIGNALS if callable(handler := signal.getsignal(number))}
    try:
        for wanted in handlers:
            signal.signal(wanted, note)
        yield
    finally:
        for wanted, handler in handlers.items():
            signal.signal(wanted, handler)
    if late:
        number, frame = late[0]
        handlers[signal.Signals(number)](number, frame)
