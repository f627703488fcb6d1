"""Turned control: a function that calls for values, as something that is asked which value it wants next.

The function runs in a thread that works only while the caller waits for it.
"""

import threading
from collections.abc import Callable
from typing import Any

Evaluate = Callable[[Any], Any]


class _Closed(BaseException):
    """Nobody answers any more; no Exception, so that the function does not take it for one of its own."""


class Pulled:
    """function(evaluate) calls evaluate(place) and returns when it is done.

        pulled = Pulled(search)
        while (place := pulled.wanted()) is not None:
            pulled.answer(f(place))
    """

    def __init__(self, function: Callable[[Evaluate], None]) -> None:
        self._function = function
        self._turn = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._place: Any = None
        self._answer: Any = None
        self._error: BaseException | None = None
        self._waiting = self._done = self._closed = False
        self._thread: threading.Thread | None = None

    def wanted(self) -> Any:
        """The place of the next value, the same until it is answered; None when the function has returned.

        Raises what the function raises.
        """
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._work, name="search", daemon=True)
            self._thread.start()
            self._back.acquire()
        if self._error is not None:
            raise self._error
        return self._place if self._waiting else None

    def answer(self, value: Any) -> None:
        """The value at the place that was wanted."""
        if not self._waiting:
            raise ValueError("nothing was asked for")
        self._answer, self._waiting = value, False
        self._turn.release()
        self._back.acquire()

    def close(self) -> None:
        """Let the function go, wherever it is."""
        self._closed = True
        if self._waiting:
            self._waiting = False
            self._turn.release()
            self._back.acquire()

    def _work(self) -> None:
        try:
            self._function(self._evaluate)
        except _Closed:
            pass
        except BaseException as error:
            self._error = error
        self._waiting = False
        self._back.release()

    def _evaluate(self, place: Any) -> Any:
        self._place, self._waiting = place, True
        self._back.release()
        self._turn.acquire()
        if self._closed:
            raise _Closed
        return self._answer
