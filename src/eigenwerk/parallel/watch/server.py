"""The server of all watchdogs, a thread of rank 0: the coordinator hears every rank there, and all ranks hear it.

Anybody may call its port.  Who cannot show within a while that he knows the key of the run is hung up on.
"""

import selectors
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from eigenwerk.parallel.watch.connection import DIED, Message, WatchConnection
from eigenwerk.parallel.watch.coordinator import FAILED, Coordinator, Failure, ProcessPlace, Shutdown

JOIN_LIMIT = 120.0
"""Seconds within which all ranks have to call."""

GREETING_LIMIT = 20.0
"""Seconds that a caller gets to say which rank he is."""

MORE_CALLERS = 64
"""So many callers beyond the number of ranks may be waited for at a time; then the first of them is hung up on."""


class WatchServer:
    """Listens from the beginning, if there are other ranks; works after `start`.

    key: what only the ranks of this run know; addresses: of this machine, where the other ranks can call.
    """

    def __init__(self, coordinator: Coordinator, key: bytes, addresses: Sequence[str]):
        self.coordinator, self.key = coordinator, key
        self.listeners = _listen(addresses) if coordinator.size > 1 else []
        self.peers: dict[int, WatchConnection] = {}
        self._callers: dict[WatchConnection, float] = {}
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._closing = False
        self._told_stop, self._told_shutdown = False, ""
        self._heard: set[int] = set()
        self._all_heard = threading.Event()
        self._thread = threading.Thread(target=self._work, name="watchdog server", daemon=True)

    @property
    def places(self) -> list[tuple[str, int]]:
        """Addresses and ports where it listens."""
        return [listener.getsockname()[:2] for listener in self.listeners]

    def start(self) -> WatchConnection:
        """Begin; the connection of rank 0, which needs no network."""
        here, there = socket.socketpair()
        self._accept(there)
        self._began = time.monotonic()
        for listener in self.listeners:
            self._selector.register(listener, selectors.EVENT_READ, listener)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread.start()
        return WatchConnection(here, self.key, server=False).greet()

    def linger(self, seconds: float) -> None:
        """Wait until every rank that is not gone has heard how the run ends, those that come only now too.

        Who left before would take that along: a rank that speaks into a closed connection loses what it has not read
        yet, and one that finds nobody knows no reason.
        """
        if self.coordinator.shutdown is not None:
            self._all_heard.wait(seconds)

    def close(self) -> None:
        """Tell the ranks that nobody watches any more, and end."""
        self._closing = True
        with suppress(OSError):  # it may have seen that already, and be gone
            self._wake.send(b".")
        self._thread.join(timeout=5.0)
        self._wake.close()

    def _work(self) -> None:
        try:
            while not self._closing:
                self._work_once()
        except Exception as error:  # without a server nobody could stop the run any more
            words = f"The watchdog of the run has failed ({type(error).__name__}: {error}). Please report it."
            self.coordinator.shutdown = Shutdown("failed", words, FAILED, 0)
            self._tell()
        self._all_heard.set()
        self._broadcast({"closing": True})
        for connection in (*self.peers.values(), *self._callers):
            connection.close()
        for end in (self._woken, *self.listeners):
            end.close()
        self._selector.close()

    def _work_once(self) -> None:
        for key, _ in self._selector.select(self._timeout()):
            if isinstance(key.data, socket.socket):
                with suppress(OSError):  # a caller that has gone again; too many open files
                    self._accept(key.data.accept()[0])
            elif isinstance(key.data, WatchConnection):
                self._receive(key.data)
        self._hang_up_on_strangers()
        self._check_missing()
        self.coordinator.tick(time.monotonic())
        self._tell()
        if len(self._heard | self.coordinator.gone) == self.coordinator.size:
            self._all_heard.set()

    def _timeout(self) -> float | None:
        now = time.monotonic()
        times = [self.coordinator.next_due(now), None if self._complete() else max(0.0, self._began + JOIN_LIMIT - now)]
        times += [max(0.0, called + GREETING_LIMIT - now) for called in self._callers.values()]
        return min((seconds for seconds in times if seconds is not None), default=None)

    def _complete(self) -> bool:
        return len(self.peers) == self.coordinator.size

    def _check_missing(self) -> None:
        if not self._complete() and time.monotonic() - self._began > JOIN_LIMIT:
            missing = min(set(range(self.coordinator.size)) - set(self.peers))
            self.coordinator.lost(missing, f"did not come within {JOIN_LIMIT:g} seconds")

    def _accept(self, connection: socket.socket) -> None:
        caller = WatchConnection(connection, self.key, server=True)
        self._selector.register(connection, selectors.EVENT_READ, caller)
        self._callers[caller] = time.monotonic()

    def _hang_up_on_strangers(self) -> None:
        late = [one for one, called in self._callers.items() if time.monotonic() - called > GREETING_LIMIT]
        many = max(0, len(self._callers) - self.coordinator.size - MORE_CALLERS)
        for caller in {*late, *list(self._callers)[:many]}:
            self._hang_up(caller, DIED)

    def _receive(self, peer: WatchConnection) -> None:
        try:
            for message in peer.receive():
                self._handle(peer, message)
        except ConnectionError as reason:
            self._hang_up(peer, str(reason))

    def _hang_up(self, peer: WatchConnection, reason: str) -> None:
        self._selector.unregister(peer.socket)
        self._callers.pop(peer, None)
        for rank in [rank for rank, other in self.peers.items() if other is peer]:
            self.coordinator.lost(rank, reason)
        peer.close()

    def _handle(self, peer: WatchConnection, message: Message) -> None:
        rank, what = message["rank"], message["what"]
        if what == "here":
            self._register(peer, rank, ProcessPlace(**message["place"]))
        elif what == "signal":
            self.coordinator.signal(rank, message["number"], time.monotonic())
        elif what == "step_ended":
            self.coordinator.step_ended()
        elif what == "failed":
            words, stage = (message["text"], message["code"], message["secondary"]), message["stage"]
            self.coordinator.failed(Failure(rank, *words, time.monotonic(), stage))
        elif what == "stage":
            self.coordinator.reached(rank, message["stage"])
        elif what == "heard":
            self._heard.add(rank)
        elif what == "left":
            self.coordinator.left(rank)

    def _register(self, peer: WatchConnection, rank: int, place: ProcessPlace) -> None:
        self.peers[rank] = peer
        self._callers.pop(peer, None)
        self.coordinator.places[rank] = place
        peer.send({"welcome": True})
        if self._complete():
            places = [vars(self.coordinator.places[rank]) for rank in range(self.coordinator.size)]
            self._broadcast({"places": places})
        if self.coordinator.shutdown is not None:
            peer.send({"shutdown": self.coordinator.shutdown.as_dict()})

    def _tell(self) -> None:
        """What the coordinator has decided since the last time."""
        coordinator = self.coordinator
        if coordinator.stop is not None and not self._told_stop:
            self._told_stop = True
            self._broadcast({"stopping": coordinator.stop, "text": coordinator.stop_words()})
        if coordinator.shutdown is not None and coordinator.shutdown.how != self._told_shutdown:
            self._told_shutdown = coordinator.shutdown.how
            self._broadcast({"shutdown": coordinator.shutdown.as_dict()})

    def _broadcast(self, message: Message) -> None:
        for peer in self.peers.values():
            peer.send(message)


def _listen(addresses: Sequence[str]) -> list[socket.socket]:
    """A socket at each of the addresses that belong to this machine, all others left out."""
    found = []
    for address in dict.fromkeys(addresses):
        with suppress(OSError):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            found.append(socket.create_server((address, 0), family=family, backlog=1024))
    return found
