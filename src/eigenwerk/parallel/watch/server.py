"""The server of all watchdogs, a thread of rank 0: the coordinator hears every rank there, and all ranks hear it."""

import selectors
import socket
import threading
import time

from eigenwerk.parallel.watch.connection import Message, WatchConnection
from eigenwerk.parallel.watch.coordinator import Coordinator, Failure, ProcessPlace

JOIN_LIMIT = 120.0
"""Seconds within which all ranks have to call."""


class WatchServer:
    """Listens from the beginning, if there are other ranks; works after `start`.

    token: what only the ranks of this run know; local: whether all of them are on this machine.
    """

    def __init__(self, coordinator: Coordinator, token: str, local: bool):
        self.coordinator, self.token = coordinator, token
        self.listener = _listen(local) if coordinator.size > 1 else None
        self.peers: dict[int, WatchConnection] = {}
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._closing = False
        self._told_stop, self._told_shutdown = False, ""
        self._thread = threading.Thread(target=self._work, name="watchdog server", daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self.listener is not None
        return int(self.listener.getsockname()[1])

    def start(self) -> WatchConnection:
        """Begin; the connection of rank 0, which needs no network."""
        here, there = socket.socketpair()
        self._selector.register(there, selectors.EVENT_READ, WatchConnection(there))
        self._began = time.monotonic()
        if self.listener is not None:
            self._selector.register(self.listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread.start()
        return WatchConnection(here)

    def close(self) -> None:
        """Tell the ranks that nobody watches any more, and end."""
        self._closing = True
        self._wake.send(b".")
        self._thread.join(timeout=5.0)
        self._wake.close()

    def _work(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(self._timeout()):
                if key.fileobj is self.listener and self.listener is not None:
                    self._accept(self.listener.accept()[0])
                elif isinstance(key.data, WatchConnection):
                    self._receive(key.data)
            self._check_missing()
            self.coordinator.tick(time.monotonic())
            self._tell()
        self._broadcast({"closing": True})
        for peer in self.peers.values():
            peer.close()
        for end in (self._selector, self._woken, self.listener):
            if end is not None:
                end.close()

    def _timeout(self) -> float | None:
        now = time.monotonic()
        times = [self.coordinator.next_due(now), None if self._complete() else max(0.0, self._began + JOIN_LIMIT - now)]
        return min((seconds for seconds in times if seconds is not None), default=None)

    def _complete(self) -> bool:
        return len(self.peers) == self.coordinator.size

    def _check_missing(self) -> None:
        if not self._complete() and time.monotonic() - self._began > JOIN_LIMIT:
            missing = min(set(range(self.coordinator.size)) - set(self.peers))
            self.coordinator.lost(missing, f"did not come within {JOIN_LIMIT:g} seconds")

    def _accept(self, connection: socket.socket) -> None:
        self._selector.register(connection, selectors.EVENT_READ, WatchConnection(connection))

    def _receive(self, peer: WatchConnection) -> None:
        try:
            for message in peer.receive():
                self._handle(peer, message)
        except ConnectionError as reason:
            self._selector.unregister(peer.socket)
            for rank in [rank for rank, other in self.peers.items() if other is peer]:
                self.coordinator.lost(rank, str(reason))
            peer.close()

    def _handle(self, peer: WatchConnection, message: Message) -> None:
        if message.get("token") != self.token:  # not one of ours
            return
        rank, what = message["rank"], message["what"]
        if what == "here":
            self._register(peer, rank, ProcessPlace(**message["place"]))
        elif what == "signal":
            self.coordinator.signal(rank, message["number"], time.monotonic())
        elif what == "step_ended":
            self.coordinator.step_ended()
        elif what == "failed":
            words = message["text"], message["code"], message["secondary"]
            self.coordinator.failed(Failure(rank, *words, time.monotonic()))
        elif what == "left":
            self.coordinator.left(rank)

    def _register(self, peer: WatchConnection, rank: int, place: ProcessPlace) -> None:
        self.peers[rank] = peer
        self.coordinator.places[rank] = place
        peer.send({"welcome": True})
        if self._complete():
            places = [vars(self.coordinator.places[rank]) for rank in range(self.coordinator.size)]
            self._broadcast({"places": places})

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


def _listen(local: bool) -> socket.socket:
    if local:
        return socket.create_server(("127.0.0.1", 0), backlog=1024)
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=1024)
    return socket.create_server(("", 0), backlog=1024)
