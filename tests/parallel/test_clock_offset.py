"""Clocks of several machines are put on that of rank 0; on one machine nothing is asked."""

import threading
import time
from queue import Queue

import pytest
import torch

from eigenwerk.parallel import clock_offset as module
from eigenwerk.parallel.clock_offset import clock_offset
from eigenwerk.parallel.serial import SerialCommunicator

CPU = torch.device("cpu")
SHIFTS = (0.0, 1234.5, -77.25)
"""How far the clock of each rank is ahead."""


class Mailboxes:
    """What threads that play ranks send to each other."""

    def __init__(self, size):
        self.size, self.box = size, {(a, b): Queue() for a in range(size) for b in range(size)}


class ThreadRank(SerialCommunicator):
    """As much of a communicator as is needed here, for one thread of several."""

    def __init__(self, mailboxes, rank):
        super().__init__()
        self.mailboxes, self.rank, self.size = mailboxes, rank, mailboxes.size
        self.messages = 0

    def send(self, array_x, to):
        self.messages += 1
        self.mailboxes.box[self.rank, to].put(array_x.clone())

    def receive(self, like_x, source):
        return self.mailboxes.box[source, self.rank].get(timeout=60)

    def all_gather(self, array_x):
        for rank in range(self.size):
            self.mailboxes.box[self.rank, rank].put(array_x)
        return torch.cat([self.receive(array_x, rank) for rank in range(self.size)])

    def any(self, flag):
        return bool(self.all_gather(torch.tensor([flag])).any())


def offsets(monkeypatch, machines):
    """The offset that each rank finds, and how many messages it sent."""
    here, real, mailboxes, found = threading.local(), time.perf_counter, Mailboxes(len(machines)), {}
    monkeypatch.setattr(module.time, "perf_counter", lambda: real() + getattr(here, "shift", 0.0))
    monkeypatch.setattr(module, "machine_name", lambda: here.machine)

    def play(rank):
        here.shift, here.machine = SHIFTS[rank], machines[rank]
        comm = ThreadRank(mailboxes, rank)
        found[rank] = (clock_offset(comm, CPU), comm.messages)

    threads = [threading.Thread(target=play, args=(rank,)) for rank in range(len(machines))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return [found[rank] for rank in range(len(machines))]


def test_offset_takes_each_clock_to_that_of_rank_0(monkeypatch):
    found = offsets(monkeypatch, ["a", "b", "c"])
    assert [offset for offset, _ in found] == pytest.approx([-shift for shift in SHIFTS], abs=0.5)


def test_one_machine_has_one_clock_and_sends_nothing(monkeypatch):
    assert offsets(monkeypatch, ["a", "a", "a"]) == [(0.0, 0)] * 3


def test_one_rank_needs_no_offset():
    assert clock_offset(SerialCommunicator(), CPU) == 0.0
