"""What a test costs: seconds of a processor of its own, of its processes and of those that serve it.

`make test` stays short only if every test does, so a test that is not marked slow has a budget.  It is counted in
seconds of a processor, which other programs change less than those of the clock, in units of this machine: beside a
test that looks dear, a piece of known work is timed.  conftest.py lists tests above the budget after the last one.
Only those above FAILS_AT budgets fail: a busy core with half of its caches makes three seconds of one, never twenty.
"""

import os
import time
from contextlib import contextmanager
from pathlib import Path

BUDGET = 1.0
"""Seconds of a processor for a test that is not slow, on the machine that REFERENCE was measured on."""

SHARED_BUDGET = 3.0
"""The same for what several tests share: fixtures, and what stands in `with shared()`."""

FAILS_AT = 20
"""So many budgets are a failure; between one and this many, a line at the end of the tests."""

REFERENCE = 0.016
"""Seconds that `known_work` takes on an idle core of a Xeon of 2.5 GHz with Python 3.11."""

SHORT = 0.3
"""Seconds of the clock within which nothing dear can happen; the other processes are not asked then."""

TICK = os.sysconf("SC_CLK_TCK")

_shared = 0.0


def own_seconds():
    """Seconds of a processor up to now of this process and of those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def spent():
    """Seconds of a processor up to now: of this process, of those that it has started, and of theirs."""
    return own_seconds() + below(os.getpid())


def below(number):
    """Seconds of the processes below one that still run, and of those that they have waited for."""
    total = 0.0
    try:
        for task in os.listdir(f"/proc/{number}/task"):
            for child in Path(f"/proc/{number}/task/{task}/children").read_text().split():
                numbers = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:15]
                total += sum(map(int, numbers)) / TICK + below(child)
    except OSError:  # it has ended, or there is no /proc
        pass
    return total


@contextmanager
def shared():
    """What several tests have from here, though the first of them makes it, is not counted as its own."""
    global _shared
    before, already = spent(), _shared
    try:
        yield
    finally:
        _shared = already + spent() - before


class Meter:
    """Seconds of a processor since it was made, without what is shared."""

    def __init__(self):
        self._begin, self._shared, self._clock = spent(), _shared, time.monotonic()

    def read(self):
        """Those of other processes count from SHORT seconds on."""
        if time.monotonic() - self._clock < SHORT:
            return 0.0
        return spent() - self._begin - (_shared - self._shared)


def known_work():
    """Seconds of a processor for a little of what tests do: loops of Python, small arrays, a larger matrix product."""
    import numpy as np

    matrix = np.linspace(0, 1, 160 * 160).reshape(160, 160)
    begin = time.process_time()
    total = 0.0
    for number in range(16000):
        total += sum(divmod(number, 7)) * 0.5
        if number % 20 == 0:
            total += float(np.exp(-matrix[number % 160]).sum())
    for _ in range(32):
        total += float((matrix @ matrix)[0, 0])
    return time.process_time() - begin


def slowness(times=3):
    """How many times slower than REFERENCE this machine is now; the slowest of some tries, and at least 1."""
    return max(1.0, *(known_work() / REFERENCE for _ in range(times)))


def judge(seconds, budget):
    """(cost in units of the budget's machine, why it is a failure or None)."""
    if seconds <= budget or (cost := seconds / slowness()) <= budget:
        return min(seconds, budget), None
    if cost <= FAILS_AT * budget:
        return cost, None
    return cost, (
        f"this test takes {cost:.1f} s of a processor, and has a budget of {budget:g} s. Make what it computes smaller "
        "(fewer plane waves, points, steps), use what other tests have made (a fixture of the module), split it, or "
        "mark what is left @pytest.mark.slow, so that `make test-all` runs it."
    )
