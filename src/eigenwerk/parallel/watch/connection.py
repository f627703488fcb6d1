"""Messages between watchdogs: JSON, one a line, over connections that notice when the other end is gone.

Each message carries an HMAC-SHA256 of the run's key, the direction, two random numbers that the ends exchange when they
meet, the number of the message and its text, so nobody without the key can say, repeat or change one.  Nothing is made
of the bytes of a stranger: lines are bounded, and read as JSON only if their HMAC is right.

The system itself keeps the connection alive: a process that dies closes it at once, and a machine that is lost
answers no probe for SILENCE seconds.  A process that is only busy or suspended is never taken for dead.
"""

import hmac
import json
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

Message = dict[str, Any]

PROBE_EVERY, PROBES = 2, 6
"""Seconds between probes of a quiet connection, and how many may stay unanswered."""

SILENCE = PROBE_EVERY * (PROBES + 1)
"""Seconds after which a machine that does not answer counts as lost."""

LONGEST, LONGEST_OF_STRANGERS = 2**21, 4096
"""Bytes of a line; the longest holds the places of all ranks, or the words of an error."""

LONGEST_WORDS = 100_000
"""Characters of one text in a message; what is longer loses its middle."""

GREETING = b"eigenwerk "
"""What each end says first, with its random number."""

DIED, LOST = "has died without a word: it was killed, or crashed", "cannot be reached any more: its machine is lost"
STRANGE = "says what is no message of this run: somebody else speaks at its end, or the network damages data"


class Stranger(ConnectionError):
    """The other end does not know the key of the run."""


class WatchConnection:
    """One connection; server: whether this is the end that was called."""

    def __init__(self, connection: socket.socket, key: bytes, server: bool):
        self.socket = connection
        self._key, self._own, self._other = key, secrets.token_hex(16).encode(), b""
        self._directions = (b"down", b"up") if server else (b"up", b"down")
        self._sent = self._received = 0
        self._rest = b""
        self._sending = threading.Lock()
        _watch_over(connection)
        self._put(GREETING + self._own)

    def fileno(self) -> int:
        """For select."""
        return self.socket.fileno()

    def greet(self) -> "WatchConnection":
        """Wait for the random number of the other end, without which nothing can be said to it; the connection."""
        while not self._other:
            for _ in self.receive():
                raise Stranger(STRANGE)
        return self

    def send(self, message: Message) -> None:
        """Send; that the other end is gone is noticed when receiving, so it is no error here."""
        with self._sending:
            text = json.dumps({name: _shortened(value) for name, value in message.items()}).encode()
            mark = self._mark(self._directions[0], self._own, self._other, self._sent, text)
            self._sent += 1
            self._put(mark + b" " + text)

    def receive(self) -> Iterator[Message]:
        """The messages that have come; ConnectionError with words about the reason when the other end is gone.

        Stranger, a ConnectionError, for bytes that are no message of this run.
        """
        try:
            data = self.socket.recv(65536)
        except TimeoutError:
            raise ConnectionError(LOST) from None
        except OSError as error:
            raise ConnectionError(LOST if "route" in str(error) else DIED) from None
        if not data:
            raise ConnectionError(DIED)
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > (LONGEST if self._received else LONGEST_OF_STRANGERS):
            raise Stranger(STRANGE)
        for line in whole:
            if self._other:
                yield self._message(line)
            else:
                self._hear_greeting(line)

    def close(self) -> None:
        """Hang up."""
        self.socket.close()

    def _put(self, line: bytes) -> None:
        with suppress(OSError):
            self.socket.sendall(line + b"\n")

    def _hear_greeting(self, line: bytes) -> None:
        self._other = line.removeprefix(GREETING)
        if not line.startswith(GREETING) or len(self._other) != len(self._own):
            raise Stranger(STRANGE)

    def _message(self, line: bytes) -> Message:
        """The text of a line whose HMAC is right; Stranger for any other line."""
        mark, _, text = line.partition(b" ")
        wanted = self._mark(self._directions[1], self._other, self._own, self._received, text)
        if not hmac.compare_digest(mark, wanted):
            raise Stranger(STRANGE)
        self._received += 1
        message: Message = json.loads(text)
        return message

    def _mark(self, direction: bytes, sender: bytes, receiver: bytes, number: int, text: bytes) -> bytes:
        content = b" ".join((direction, sender, receiver, str(number).encode(), text))
        return hmac.new(self._key, content, "sha256").hexdigest().encode()


def _shortened(value: object) -> object:
    """A text without its middle if it is very long; everything else as it is."""
    if not isinstance(value, str) or len(value) <= LONGEST_WORDS:
        return value
    return f"{value[: LONGEST_WORDS // 2]}\n...\n{value[-LONGEST_WORDS // 2 :]}"


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
