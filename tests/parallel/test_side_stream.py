"""A transfer waits for its own inputs only, and what is queued after `wait` waits for the transfer."""

import pytest
import torch

from eigenwerk.parallel.communicator import Ready
from eigenwerk.parallel.side_stream import SideStream


class Queue:
    """Stands in for a stream: what it does, in order, each with what was done before it could begin."""

    def __init__(self, device, name, queues):
        self.device, self.name, self.queues, self.known = device, name, queues, frozenset()

    def add(self, work):
        self.known = self.known | {work}

    def record_event(self):
        return self.known

    def wait_event(self, event):
        self.known = self.known | event

    def wait_stream(self, other):
        self.wait_event(other.known)

    def __enter__(self):
        self.queues.insert(0, self)

    def __exit__(self, *error):
        self.queues.remove(self)


@pytest.fixture
def queues(monkeypatch):
    """The current queue first; the last one is that of kernels, the side has its own."""
    device, found = torch.device("cuda", 0), []
    found.append(Queue(device, "kernels", found))
    side = Queue(device, "side", found)
    monkeypatch.setattr("eigenwerk.parallel.side_stream.side_stream", lambda device: side)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: found[0])
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: stream)
    return found


def begin(queues):
    """A call of a communicator: it begins after what its queue knows."""
    queues[0].add("transfer")
    return Ready((queues[0].name, queues[0].known))


def test_a_transfer_beside_a_kernel_that_was_queued_first_waits_for_its_inputs_only(queues):
    beside = SideStream(torch.device("cuda", 0))
    queues[-1].add("inputs")
    ready = beside.mark()
    queues[-1].add("kernel")
    handle = beside.start(lambda: begin(queues), ready)
    assert "transfer" not in queues[-1].known
    assert beside.wait(handle) == ("side", {"inputs", "transfer"})
    assert queues[-1].known == {"inputs", "kernel", "transfer"} and len(queues) == 1


def test_without_a_mark_it_waits_for_all_that_is_queued(queues):
    beside = SideStream(torch.device("cuda", 0))
    queues[-1].add("kernel")
    assert beside.wait(beside.start(lambda: begin(queues))) == ("side", {"kernel", "transfer"})


def test_on_a_processor_there_is_one_line_of_work():
    beside, log = SideStream(torch.device("cpu")), []
    assert beside.mark() is None
    handle = beside.start(lambda: Ready(log.append("began")))
    assert log == ["began"] and beside.wait(handle) is None


@pytest.mark.gpu
def test_a_transfer_overtakes_a_long_kernel():
    """By events of the device: the copy begins before the products that were queued first are done."""
    device = torch.device("cuda", torch.cuda.current_device())
    beside = SideStream(device)
    big, small = torch.ones(8192, 8192, device=device), torch.arange(1000.0, device=device)
    torch.cuda.synchronize()
    ready = beside.mark()
    for _ in range(20):
        big = big @ big * 1e-4
    kernels = torch.cuda.current_stream(device).record_event()

    def start():
        copy = small.clone()
        arrived.record(torch.cuda.current_stream(device))
        return Ready(copy)

    arrived = torch.cuda.Event()
    handle = beside.start(start, ready)
    arrived.synchronize()
    assert not kernels.query()
    found = beside.wait(handle)
    torch.cuda.synchronize()
    assert found.tolist() == list(range(1000))
