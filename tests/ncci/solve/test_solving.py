"""When ranks save what the solver has: in time, and without asking each other in every step."""

import pytest

from eigenwerk.ncci.solve import solving
from eigenwerk.parallel.serial import SerialCommunicator


class Clock:
    """Time that passes by steps."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


class Asking(SerialCommunicator):
    """Counts how often ranks ask each other."""

    asked = 0

    def max(self, array_x):
        self.asked += 1
        return array_x


class Kept:
    """Remembers when it saved."""

    def __init__(self, clock):
        self.clock, self.times = clock, []

    def save(self, state):
        self.times.append(self.clock.now)


@pytest.mark.parametrize(
    ("seconds", "minutes", "steps", "most"), [(0.01, 1.0, 20000, 0.01), (30.0, 10.0, 100, 0.75), (0.5, 0.0, 20, 1.0)]
)
def test_checkpoints_are_in_time_and_seldom_asked_for(monkeypatch, seconds, minutes, steps, most):
    clock = Clock()
    monkeypatch.setattr(solving, "time", clock)
    world, kept = Asking(), Kept(clock)
    watch = solving._Watch(1, minutes, kept, None, world)
    for _ in range(steps):
        clock.now += seconds
        watch(None)
    between = [late - early for early, late in zip([0.0, *kept.times], kept.times, strict=False)]
    assert len(between) >= 0.9 * steps * seconds / max(60 * minutes, seconds)
    assert all(60 * minutes <= gap + 1e-9 and gap <= max(66 * minutes, 60 * minutes + seconds) for gap in between)
    assert world.asked <= most * steps


def test_steps_that_become_slow_are_noticed(monkeypatch):
    """As where a restart, or a machine that others use, takes longer than all steps before."""
    clock = Clock()
    monkeypatch.setattr(solving, "time", clock)
    watch = solving._Watch(1, 1.0, kept := Kept(clock), None, Asking())
    for step in range(3000):
        clock.now += 0.01 if step < 1000 else 1.0
        watch(None)
        if kept.times:
            break
    assert kept.times and clock.now < 300


def test_no_checkpoint_is_asked_for_where_it_never_comes(monkeypatch):
    monkeypatch.setattr(solving, "time", clock := Clock())
    watch = solving._Watch(1, float("inf"), kept := Kept(clock), None, world := Asking())
    for _ in range(1000):
        clock.now += 1.0
        watch(None)
    assert not kept.times and world.asked < 5
