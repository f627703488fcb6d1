"""How a run of several ranks ends: one place that hears everything and decides for all (no sockets, no torch here).

Ranks report signals they got, failures and finished steps; the connection reports ranks that are gone.  The first thing
that ends the run decides, the same for everybody:

    step     a stop was asked for, and all ranks have finished the step: they save and end as usual
    rescue   a stop was asked for, and the step takes too long, or the time of the run is over: threads beside the
             computation save the last one
    failed   a rank met an error: the others end with it
    lost     a rank died without a word

A failure or loss may still follow a `step`, while the ranks are saving.

At the start ranks come and go at times of their own, so an error that all of them meet there, of the input for example,
is met at different times.  Ranks therefore say which stages of the start are behind them: who is behind the stage in
which another rank failed will not meet its error any more, and who is not yet there is waited for.
"""

import signal
from dataclasses import asdict, dataclass, field
from typing import Any

GRACE = 5.0
"""Seconds that the present step gets after a signal: schedulers kill for good 10 to 30 seconds after SIGTERM."""

SECONDARY_WAIT = 3.0
"""Seconds that a failed connection waits as a reason: the rank at its other end may be the true one."""

SAME_TIME = 0.5
"""Seconds within which all ranks meet an error that does not belong to one of them, once they work together."""

FIRST_READS, PREPARES, JOINS, AT_WORK = range(4)
"""Stages of the start of a rank: the first one reads for all; each prepares; they join; they work together."""

START_TIME = 10.0
"""Seconds that a failure in a stage that all ranks go through waits for those that are not behind it."""

FAILED = 1
"""Exit code of ranks that end because another died."""

OUT_OF_TIME = 3
"""Exit code of a run whose time is over: it has not converged."""

NO_STEP = "Interrupted before the first step was finished; nothing has been written."
"""What is said of a run that was stopped too early, with one rank or several."""


@dataclass(frozen=True)
class ProcessPlace:
    """Where a rank runs: name of the machine, number of the process."""

    host: str = "?"
    pid: int = 0


@dataclass(frozen=True)
class Shutdown:
    """The decision: how (see above), words for the user, exit code, the rank it is about, the signal."""

    how: str
    text: str = ""
    code: int = 0
    rank: int = -1
    number: int = 0

    def as_dict(self) -> dict[str, Any]:
        """As it travels."""
        return asdict(self)


@dataclass(frozen=True)
class Failure:
    """An error of one rank, in words; secondary: perhaps only the echo of another rank's end; stage: where it was."""

    rank: int
    text: str
    code: int
    secondary: bool
    when: float
    stage: int = AT_WORK


@dataclass
class Coordinator:
    """Hears and decides.  Times are seconds of any clock that only goes forward.

    steps: finished so far; stop: the signal that asks to stop, None without one, stop_rank: who got it first; until:
    when the time of the run is over, None if it has no end; stages: of the ranks that have come.
    """

    size: int
    grace: float = GRACE
    steps: int = 0
    stop: int | None = None
    stop_rank: int = -1
    shutdown: Shutdown | None = None
    places: dict[int, ProcessPlace] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    asked: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)
    stages: dict[int, int] = field(default_factory=dict)
    deadline: float = 0.0
    until: float | None = None

    def signal(self, rank: int, number: int, now: float) -> None:
        """A rank got a signal.  The second one that the same rank gets does not wait for the step."""
        if self.stop is None:
            self.stop, self.stop_rank = number, rank
            self.deadline = now + (self.grace if self.steps else 0.0)
        elif rank in self.asked:
            self.deadline = now
        self.asked.add(rank)

    def step_ended(self) -> None:
        """All ranks have finished a step and know that a stop was asked for."""
        if self.shutdown is None and self.stop is not None:
            self.shutdown = Shutdown("step", code=128 + self.stop, rank=self.stop_rank, number=self.stop)

    def reached(self, rank: int, stage: int) -> None:
        """A rank has come to a stage of the start."""
        self.stages[rank] = stage

    def failed(self, failure: Failure) -> None:
        """A rank met an error."""
        self.failures.append(failure)

    def lost(self, rank: int, why: str) -> None:
        """The connection to a rank has ended.  An error that was told before is the reason of it, or came first."""
        if rank not in self.gone and self._undecided():
            told = [failure for failure in self.failures if not failure.secondary]
            if told:
                self._decide(told)
            else:
                self.shutdown = Shutdown("lost", f"{self.name(rank)} {why}.", FAILED, rank)
        self.gone.add(rank)

    def left(self, rank: int) -> None:
        """A rank has done its work."""
        self.gone.add(rank)

    def tick(self, now: float) -> None:
        """Decide what becomes due with time."""
        if self._undecided():
            self._weigh(now)
        if self.shutdown is None and self.stop is not None and now >= self.deadline:
            self.shutdown = Shutdown("rescue", code=128 + self.stop, rank=self.stop_rank, number=self.stop)
        if self.shutdown is None and self.until is not None and now >= self.until:
            self.shutdown = Shutdown("rescue", code=OUT_OF_TIME)

    def next_due(self, now: float) -> float | None:
        """Seconds until `tick` has something to do; None: nothing is planned."""
        times = [self._due(failure) for failure in self._weighty()] if self._undecided() else []
        if self.shutdown is None and self.stop is not None:
            times.append(self.deadline)
        if self.shutdown is None and self.until is not None:
            times.append(self.until)
        return max(0.0, min(times) - now) if times else None

    def name(self, rank: int) -> str:
        """A rank with its place, as the user can find it."""
        place = self.places.get(rank, ProcessPlace())
        return f"Rank {rank} ({place.host}, process {place.pid})"

    def stop_words(self) -> str:
        """What a stop means for the user."""
        name = signal.Signals(self.stop or signal.SIGINT).name
        return f"{name}: stopping after this step, or in {self.grace:g} seconds" if self.steps else f"{name}: stopping"

    def _undecided(self) -> bool:
        return self.shutdown is None or self.shutdown.how == "step"

    def _weighty(self) -> list[Failure]:
        """Failures that may be the reason: broken connections only as long as nothing else is known."""
        return [failure for failure in self.failures if not failure.secondary] or self.failures

    def _due(self, failure: Failure) -> float:
        """When it is time to decide by a failure: at once when all ranks have met it, when no other can meet it any
        more, or when they have been waited for."""
        if failure.secondary:
            return failure.when + SECONDARY_WAIT
        if len(self._having(failure)) == self.size:
            return failure.when
        if failure.stage in (PREPARES, JOINS):
            settled = {other.rank for other in self.failures} | self.gone
            settled |= {rank for rank, stage in self.stages.items() if stage > failure.stage}
            return failure.when + (SAME_TIME if len(settled) == self.size else START_TIME)
        return failure.when + SAME_TIME

    def _having(self, failure: Failure) -> set[int]:
        """The ranks that have met the same error."""
        return {other.rank for other in self.failures if other.text == failure.text}

    def _weigh(self, now: float) -> None:
        due = [failure for failure in self._weighty() if now >= self._due(failure)]
        if due:
            self._decide(due)

    def _decide(self, failures: list[Failure]) -> None:
        """Take the first failure; one that all ranks have met is nobody's."""
        first = min(failures, key=lambda failure: failure.when)
        common = len(self._having(first)) == self.size
        text = first.text if common else f"{self.name(first.rank)}: {first.text}"
        self.shutdown = Shutdown("failed", text, first.code, first.rank)
