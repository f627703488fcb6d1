"""The meeting point of all watchdogs, a thread of rank 0: the judge hears every rank there, and all hear the judge."""

import selectors
import socket
import threading
import time

from eigenwerk.parallel.watch.judge import Failure, Judge, ProcessPlace
from eigenwerk.parallel.watch.lines import Message, WatchLine

COMING = 120.0
"""Seconds within which all ranks have to call."""


class Hub:
    """Listens from the beginning, if there are other ranks; works after `start`.

    token: what only the ranks of this run know; local: whether all of them are on this machine.
    """

    def __init__(self, judge: Judge, token: str, local: bool):
        self.judge, self.token = judge, token
        self.listener = _listen(local) if judge.size > 1 else None
        self.lines: dict[int, WatchLine] = {}
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._closing = False
        self._told_stop, self._told_ending = False, ""
        self._thread = threading.Thread(target=self._work, name="watchdog hub", daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self.listener is not None
        return int(self.listener.getsockname()[1])

    def start(self) -> WatchLine:
        """Begin; the line of rank 0, which needs no network."""
        here, there = socket.socketpair()
        self._selector.register(there, selectors.EVENT_READ, WatchLine(there))
        self._began = time.monotonic()
        if self.listener is not None:
            self._selector.register(self.listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread.start()
        return WatchLine(here)

    def close(self) -> None:
        """Tell the ranks that nobody watches any more, and end."""
        self._closing = True
        self._wake.send(b".")
        self._thread.join(timeout=5.0)
        self._wake.close()

    def _work(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(self._patience()):
                if key.fileobj is self.listener and self.listener is not None:
                    self._answer_call(self.listener.accept()[0])
                elif isinstance(key.data, WatchLine):
                    self._hear(key.data)
            self._look_for_missing()
            self.judge.tick(time.monotonic())
            self._tell()
        self._tell_all({"closing": True})
        for line in self.lines.values():
            line.close()
        for end in (self._selector, self._woken, self.listener):
            if end is not None:
                end.close()

    def _patience(self) -> float | None:
        now = time.monotonic()
        times = [self.judge.next_due(now), None if self._all_came() else max(0.0, self._began + COMING - now)]
        return min((seconds for seconds in times if seconds is not None), default=None)

    def _all_came(self) -> bool:
        return len(self.lines) == self.judge.size

    def _look_for_missing(self) -> None:
        if not self._all_came() and time.monotonic() - self._began > COMING:
            missing = min(set(range(self.judge.size)) - set(self.lines))
            self.judge.lost(missing, f"did not come within {COMING:g} seconds")

    def _answer_call(self, connection: socket.socket) -> None:
        self._selector.register(connection, selectors.EVENT_READ, WatchLine(connection))

    def _hear(self, line: WatchLine) -> None:
        try:
            for message in line.receive():
                self._understand(line, message)
        except ConnectionError as reason:
            self._selector.unregister(line.connection)
            for rank in [rank for rank, other in self.lines.items() if other is line]:
                self.judge.lost(rank, str(reason))
            line.close()

    def _understand(self, line: WatchLine, message: Message) -> None:
        if message.get("token") != self.token:  # not one of ours
            return
        rank, what = message["rank"], message["what"]
        if what == "here":
            self._welcome(line, rank, ProcessPlace(**message["place"]))
        elif what == "signal":
            self.judge.signal(rank, message["number"], time.monotonic())
        elif what == "step_ended":
            self.judge.step_ended()
        elif what == "failed":
            words = message["text"], message["code"], message["second_hand"]
            self.judge.failed(Failure(rank, *words, time.monotonic()))
        elif what == "left":
            self.judge.left(rank)

    def _welcome(self, line: WatchLine, rank: int, place: ProcessPlace) -> None:
        self.lines[rank] = line
        self.judge.places[rank] = place
        line.send({"welcome": True})
        if self._all_came():
            places = [vars(self.judge.places[rank]) for rank in range(self.judge.size)]
            self._tell_all({"places": places})

    def _tell(self) -> None:
        """What the judge has decided since the last time."""
        judge = self.judge
        if judge.stop is not None and not self._told_stop:
            self._told_stop = True
            self._tell_all({"stopping": judge.stop, "text": judge.stop_words()})
        if judge.ending is not None and judge.ending.how != self._told_ending:
            self._told_ending = judge.ending.how
            self._tell_all({"ending": judge.ending.as_dict()})

    def _tell_all(self, message: Message) -> None:
        for line in self.lines.values():
            line.send(message)


def _listen(local: bool) -> socket.socket:
    if local:
        return socket.create_server(("127.0.0.1", 0), backlog=1024)
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=1024)
    return socket.create_server(("", 0), backlog=1024)
