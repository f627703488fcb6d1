"""Messages between watchdogs: JSON, one a line, over connections that notice when the other end is gone.

The system itself keeps the connection alive: a process that dies closes it at once, and a machine that is lost
answers no probe for SILENCE seconds.  A process that is only busy or suspended is never taken for dead.
"""

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

Message = dict[str, Any]

PROBE_EVERY, PROBES = 2, 6
"""Seconds between probes of a quiet connection, and how many may stay unanswered."""

SILENCE = PROBE_EVERY * (PROBES + 1)
"""Seconds after which a machine that does not answer counts as lost."""

DIED, LOST = "has died without a word: it was killed, or crashed", "cannot be reached any more: its machine is lost"


class WatchConnection:
    """One connection."""

    def __init__(self, connection: socket.socket):
        self.socket = connection
        self._rest = b""
        self._sending = threading.Lock()
        _watch_over(connection)

    def fileno(self) -> int:
        """For select."""
        return self.socket.fileno()

    def send(self, message: Message) -> None:
        """Send; that the other end is gone is noticed when receiving, so it is no error here."""
        try:
            with self._sending:
                self.socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass

    def receive(self) -> Iterator[Message]:
        """The messages that have come; ConnectionError with words about the reason when the other end is gone."""
        try:
            data = self.socket.recv(65536)
        except TimeoutError:
            raise ConnectionError(LOST) from None
        except OSError as error:
            raise ConnectionError(LOST if "route" in str(error) else DIED) from None
        if not data:
            raise ConnectionError(DIED)
        *whole, self._rest = (self._rest + data).split(b"\n")
        for text in whole:
            message = _message(text)
            if message is not None:
                yield message

    def close(self) -> None:
        """Hang up."""
        self.socket.close()


def _message(text: bytes) -> Message | None:
    """None for what is none of ours: anybody may call an open port."""
    try:
        message = json.loads(text)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _watch_over(connection: socket.socket) -> None:
    """Let the system probe a quiet connection, and give up one whose data are not acknowledged."""
    if connection.family == socket.AF_UNIX:  # within this process
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", PROBE_EVERY), ("TCP_KEEPINTVL", PROBE_EVERY), ("TCP_KEEPCNT", PROBES),
        ("TCP_USER_TIMEOUT", 1000 * SILENCE),
    ):  # fmt: skip
        if hasattr(socket, name):  # all of them on Linux
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
