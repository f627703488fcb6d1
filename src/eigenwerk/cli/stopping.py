"""Ctrl-C, SIGTERM and SIGHUP during a run: finish the present step if it is short, save, and leave."""

import signal
from collections.abc import Callable
from types import FrameType, TracebackType

GRACE = 5
"""Seconds that the present step gets to finish: schedulers kill for good 10 to 30 seconds after SIGTERM."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequests:
    """While open, the first signal asks to stop after the present step; a second one, or GRACE seconds, stop at once.

    Stopping is a KeyboardInterrupt.  `number` is the first signal's, None without one; exit codes are 128 + number.
    A signal that was ignored before (SIGHUP under nohup) stays ignored.
    """

    def __init__(self, say: Callable[[str], None]):
        self.say = say
        self.number: int | None = None
        self.steps = 0

    def __enter__(self) -> "StopRequests":
        wanted = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._request) for number in wanted}
        self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        signal.alarm(0)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def step_finished(self) -> None:
        """To be called after every step; raises KeyboardInterrupt if a stop was asked for."""
        self.steps += 1
        if self.number is not None:
            self._stop(self.number, None)

    def _request(self, number: int, frame: FrameType | None) -> None:
        if self.number is not None or self.steps == 0:
            self.number = self.number or number
            self._stop(number, frame)
        self.number = number
        signal.alarm(GRACE)
        self.say(f"{signal.Signals(number).name}: stopping after this step, or in {GRACE} seconds")

    def _stop(self, number: int, frame: FrameType | None) -> None:
        signal.alarm(0)
        raise KeyboardInterrupt
