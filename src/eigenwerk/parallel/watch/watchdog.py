"""The watchdog of a rank: a thread beside the computation that knows how the run ends, even when the computation hangs.

    watchdog = Watchdog(store, rank, size, secret=secret, tell=print)    # Watchdog(tell=print) for one rank alone
    with watchdog:
        ...
        if watchdog.step_finished(world.any):    # at the end of every step: None, or the signal that stops all ranks
            ...

It does not use the communicators of the computation.  Every rank is connected to the server in rank 0, where a
coordinator decides for all; who does not know the secret of the run can say nothing there.  When the decision is not to
go on, the watchdog ends its process, wherever the computation is: words for the user, buffers written out, `os._exit`.
No array is freed by hand: the end of the process frees GPUs.
"""

import hmac
import json
import os
import secrets
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import NoReturn, Protocol

from eigenwerk.errors import EigenwerkError
from eigenwerk.parallel.watch.connection import Message, WatchConnection
from eigenwerk.parallel.watch.coordinator import AT_WORK, FAILED, GRACE, NO_STEP, Coordinator, ProcessPlace, Shutdown
from eigenwerk.parallel.watch.server import WatchServer

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that ask to stop."""

RESCUE_LIMIT = 20.0
"""Seconds that saving beside the computation may take."""

WORDS_LIMIT = 2.0
"""Seconds that writing words out may take; a reader may have stopped reading."""

LINGER = 10.0
"""Seconds that rank 0 waits at most for the others to have heard how the run ends, before it ends itself."""

CONNECT_LIMIT = 10.0
"""Seconds for a connection to the server."""

KEY = "eigenwerk/watchdog"

LOOPBACK = "127.0.0.1"

NOT_SAVED = "Interrupted within a step; the last finished step could not be saved"


class Store(Protocol):
    """What is needed of a store of torch.distributed."""

    def set(self, key: str, value: str, /) -> None:
        """Publish."""

    def get(self, key: str, /) -> bytes:
        """Wait for a value."""


class Watchdog:
    """One for each rank, from the meeting of the ranks to the end of the computation; collective to make.

    store: None for one rank alone; secret: what all ranks know and nobody else (`launch/secret`).  rescue: saves the
    last finished step and gives words about it, called on all ranks at the same time, in the watchdog's thread, while
    the computation may be anywhere.  tell: how rank 0 says that and how a stop was asked for; errors go to stderr, said
    by rank 0 or, if that is dead, by another one.  cleanup: done before the watchdog ends the process, quickly.  local:
    whether all ranks are on this machine; address: the name under which the ranks of other machines know that of rank
    0, if there is one.  told_by_parent: whether somebody else tells the user about dead ranks.  grace: seconds that a
    step gets after a signal.  until: when the run is to be over whatever it does, by `time.monotonic`.  last: what
    comes after the computation is short, and signals are ignored from then on.

    stop: the signal that asks to stop, None without one; steps: finished steps.
    """

    def __init__(
        self,
        store: Store | None = None,
        rank: int = 0,
        size: int = 1,
        rescue: Callable[[], str] | None = None,
        *,
        secret: bytes = b"",
        tell: Callable[[str], None] | None = None,
        cleanup: Callable[[], None] | None = None,
        local: bool = True,
        address: str | None = None,
        told_by_parent: bool = False,
        grace: float = GRACE,
        until: float | None = None,
        last: bool = False,
    ):
        self.rank, self.size, self.rescue = rank, size, rescue
        self.tell, self.cleanup = tell or to_stderr, cleanup
        self.told_by_parent, self.last = told_by_parent, last
        self.stop: int | None = None
        self.steps = 0
        self._stage = AT_WORK
        self.places: list[ProcessPlace] = []
        self._server: WatchServer | None = None
        if rank != 0:
            assert store is not None, "only one rank alone needs no store"
            self._connection = _connect(store, secret)
        else:
            nonce, addresses = secrets.token_hex(), [LOOPBACK] if local else own_addresses(address)
            key = _key(secret or secrets.token_bytes(32), nonce)
            self._server = WatchServer(Coordinator(size, grace, until=until), key, addresses)
            if store is not None:
                _publish(self._server, store, nonce)
            self._connection = self._server.start()
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        self._agreed = threading.Event()
        self._closing = False
        self._handlers: dict[int, object] = {}
        self._thread = threading.Thread(target=self._work, name="watchdog", daemon=True)
        self._say("here", place=vars(ProcessPlace(socket.gethostname(), os.getpid())))

    # -- for the main thread ----------------------------------------------------------------------------------

    def __enter__(self) -> "Watchdog":
        """Begin, and take over signals; in the main thread."""
        # The system writes a signal's number to the socket at once, even while the main thread is inside a library.
        self._wakeup_before = signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, _nothing)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End of the computation on this rank, good or bad; `fail` before, if the other ranks cannot go on."""
        self._closing = True
        self._say("left")
        with suppress(OSError):
            self._wake.send(b"\0")
        self._thread.join(timeout=CONNECT_LIMIT)
        if self._server is not None:
            self._server.close()
        signal.set_wakeup_fd(self._wakeup_before)
        for number, handler in self._handlers.items():
            signal.signal(number, signal.SIG_IGN if self.last else handler)  # type: ignore[arg-type]
        for end in (self._wake, self._woken, self._connection):
            end.close()

    def step_finished(self, any_rank: Callable[[bool], bool] = bool) -> int | None:
        """The signal for which all ranks stop now, or None; collective.  any_rank: `Communicator.any` of all ranks."""
        self.steps += 1
        if self._server is not None:
            self._server.coordinator.steps = self.steps
        if not any_rank(self.stop is not None):
            return None
        self._say("step_ended")
        self._agreed.wait()  # if the step was not quick enough, the watchdog ends the process meanwhile
        return self.stop

    def reached(self, stage: int) -> None:
        """To be called at the start, where there are several ranks: the stage that begins now (see `coordinator`)."""
        self._stage = stage
        self._say("stage", stage=stage)

    def fail(self, text: str, code: int, secondary: bool = False) -> NoReturn:
        """Tell all ranks why this one cannot go on, and end with them.

        secondary: a broken connection, which may be only the echo of another rank's end.
        """
        self._say("failed", text=text, code=code, secondary=secondary, stage=self._stage)
        self._thread.join(timeout=RESCUE_LIMIT + 2 * CONNECT_LIMIT)
        to_stderr(f"Rank {self.rank}: {text}")  # the watchdog would have ended the process before
        leave(code)

    # -- the thread -------------------------------------------------------------------------------------------

    def _say(self, what: str, **more: object) -> None:
        self._connection.send({"rank": self.rank, "what": what, **more})

    def _work(self) -> None:
        try:
            self._watch()
        except Exception as error:  # signals would be lost from now on
            words = f"The watchdog of rank {self.rank} has failed ({type(error).__name__}: {error}). Please report it."
            self._end(Shutdown("failed", words, FAILED, self.rank))

    def _watch(self) -> None:
        while not self._closing:
            ready, _, _ = select.select([self._connection.fileno(), self._woken.fileno()], [], [])
            if self._woken.fileno() in ready:
                self._tell_signals()
            if self._connection.fileno() in ready and not self._closing:
                self._listen()

    def _tell_signals(self) -> None:
        for number in self._woken.recv(4096):
            if number in self._handlers:
                self._say("signal", number=number)

    def _listen(self) -> None:
        try:
            for message in self._connection.receive():
                self._handle(message)
        except ConnectionError as reason:
            place = self.places[0] if self.places else ProcessPlace()
            words = f"Rank 0 ({place.host}, process {place.pid}) {reason}."
            self._end(Shutdown("lost", words, FAILED, rank=0))

    def _handle(self, message: Message) -> None:
        if "places" in message:
            self.places = [ProcessPlace(**place) for place in message["places"]]
        elif "stopping" in message:
            self.stop = message["stopping"]
            if self.rank == 0:
                _within(WORDS_LIMIT, lambda: self.tell(message["text"]))
        elif "shutdown" in message:
            self._shut_down(Shutdown(**message["shutdown"]))
        elif "closing" in message:
            self._closing = True

    def _shut_down(self, shutdown: Shutdown) -> None:
        if shutdown.how == "step":
            self.stop = shutdown.number
            self._agreed.set()
        elif shutdown.how == "rescue":
            self._end(Shutdown("rescue", self._save(), shutdown.code, shutdown.rank, shutdown.number))
        else:
            self._end(shutdown)

    def _save(self) -> str:
        """Save the last finished step, if there is one; words about it."""
        rescue, said = self.rescue, [""]
        if rescue is None:  # it comes with the first step
            return NO_STEP if self.steps == 0 else f"{NOT_SAVED}: there is no way to."
        problem = _within(RESCUE_LIMIT, lambda: said.append(rescue()))
        return said[-1] if problem is None else f"{NOT_SAVED}: {problem}."

    def _end(self, shutdown: Shutdown) -> NoReturn:
        self._say("heard")
        if self.cleanup is not None:
            _within(WORDS_LIMIT, self.cleanup)
        if self._speaks(shutdown):
            tell = self.tell if shutdown.how == "rescue" else to_stderr
            _within(WORDS_LIMIT, lambda: tell(shutdown.text))
        if self.rank != 0:
            self._wait_for_rank_0(RESCUE_LIMIT if shutdown.how == "rescue" else 2 * WORDS_LIMIT)
        elif self._server is not None:
            self._server.linger(LINGER)
        leave(shutdown.code)

    def _wait_for_rank_0(self, seconds: float) -> None:
        """Until it has left: starters kill all ranks when the first one leaves, and rank 0 may still speak or write."""
        limit = time.monotonic() + seconds
        with suppress(OSError):
            while time.monotonic() < limit:
                ready, _, _ = select.select([self._connection.fileno()], [], [], max(0.0, limit - time.monotonic()))
                for message in self._connection.receive() if ready else ():
                    if "closing" in message:
                        return

    def _speaks(self, shutdown: Shutdown) -> bool:
        """Rank 0 speaks; if it is dead, the first rank of every machine, because they cannot agree on one."""
        if shutdown.how == "lost" and self.told_by_parent:
            return False
        if self.rank == 0 or not self.places or shutdown.rank != 0 or shutdown.how != "lost":
            return self.rank == 0
        here = [rank for rank, place in enumerate(self.places) if place.host == self.places[self.rank].host and rank]
        return here[0] == self.rank


def leave(code: int) -> NoReturn:
    """End this process at once, whatever its other threads do, with what it has said written out."""
    _within(WORDS_LIMIT, _flush)
    os._exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()


def _within(seconds: float, work: Callable[[], object]) -> str | None:
    """Do something in a thread of its own, for some time at most; None, or why it did not work."""
    problems = [f"it took longer than {seconds:g} seconds"]

    def attempt() -> None:
        try:
            work()
            problems.clear()
        except BaseException as error:
            problems[:] = [f"{type(error).__name__}: {error}"]

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(timeout=seconds)
    return problems[0] if problems else None


def to_stderr(text: str) -> None:
    """Errors of a run."""
    print(text, file=sys.stderr, flush=True)


def _nothing(number: int, frame: FrameType | None) -> None:
    """The watchdog reads the signal from its socket."""


def _key(secret: bytes, nonce: str) -> bytes:
    """The key of one run."""
    return hmac.digest(secret, nonce.encode(), "sha256")


def _seal(key: bytes, place: str) -> str:
    """Shows that a rank of this run has published a place."""
    return hmac.new(key, b"place " + place.encode(), "sha256").hexdigest()


def _publish(server: WatchServer, store: Store, nonce: str) -> None:
    """Tell the others where the server is."""
    place = json.dumps({"places": server.places, "name": socket.gethostname()})
    store.set(KEY, json.dumps([nonce, place, _seal(server.key, place)]))


def own_addresses(name: str | None) -> list[str]:
    """Numeric addresses by which other machines may reach this one: what the name that they use stands for, and what
    leads outside; and the loopback, for ranks of this machine."""
    found = []
    for wanted in (name, socket.getfqdn(), socket.gethostname()):
        with suppress(OSError, UnicodeError):
            found += [str(entry[4][0]) for entry in socket.getaddrinfo(wanted, None, type=socket.SOCK_STREAM)]
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing; the system chooses the interface that leads outside
        found.append(probe.getsockname()[0])
    outside = [one for one in found if not one.startswith(("127.", "0.", "::1", "fe80:"))]
    return list(dict.fromkeys([*outside, LOOPBACK]))


def _connect(store: Store, secret: bytes) -> WatchConnection:
    """A connection to the server.  EigenwerkError if there is none."""
    nonce, text, seal = json.loads(store.get(KEY))
    key = _key(secret, nonce)
    if not hmac.compare_digest(seal, _seal(key, text)):
        raise EigenwerkError(
            "The ranks do not share a secret, so they could not know each other from strangers. It lies in the home of "
            "the user, which has to be the same on all machines; else set EIGENWERK_SECRET to one random text for all "
            "ranks."
        )
    server = json.loads(text)
    for host, port in server["places"]:
        with suppress(OSError):
            connection = socket.create_connection((host, port), timeout=CONNECT_LIMIT)
            opened = WatchConnection(connection, key, server=False).greet()
            connection.settimeout(None)
            return opened
    places = ", ".join(f"{host} port {port}" for host, port in server["places"])
    raise EigenwerkError(
        f"Rank 0 on {server['name']} cannot be reached at {places}. Ranks on several machines need connections between "
        "any ports; ask who runs the cluster about firewalls."
    )
