"""The order of calls and kernels in a product, as schemes want it."""

import pytest
import torch

from eigenwerk.ncci.ranks.four_steps import FourSteps, RowGroup, group_for
from eigenwerk.ncci.ranks.scheme import scheme_named
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.parallel.links import Links
from eigenwerk.parallel.serial import SerialCommunicator
from eigenwerk.record.trace import Trace


class Logged(SerialCommunicator):
    """Stands in for two ranks of which the other has zeros: writes down what is called."""

    size = 2

    def __init__(self, name, log):
        super().__init__(name)
        self.log, self.transport = log, "logged"

    def _logged(self, verb, result):
        self.log.append(f"{verb} {self.name}")
        comm = self

        class Later:
            def wait(self):
                comm.log.append(f"{verb} {comm.name} arrived")
                return result

        return Later()

    def start_all_gather(self, array_x, lengths=None):
        return self._logged("all_gather", torch.cat([array_x, torch.zeros_like(array_x)]))

    def start_broadcast(self, array_x, root=0):
        return self._logged("broadcast", array_x)

    def start_reduce(self, array_x, root=0):
        return self._logged("reduce", array_x)

    def start_reduce_scatter(self, array_px):
        return self._logged("reduce_scatter", array_px[0])

    def barrier(self):
        self.log.append(f"barrier {self.name}")


def product(name, monkeypatch, device="cuda"):
    """What happens in a product by a scheme; tensors are on the processor, the device only decides the order."""
    log = []

    class OneLine:
        def mark(self):
            log.append("mark")
            return "ready"

        def start(self, start, after=None):
            log.append(f"side waits for {after}")
            return start()

        def wait(self, handle):
            return handle.wait()

    monkeypatch.setattr("eigenwerk.ncci.ranks.four_steps.SideStream", lambda device: OneLine())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device=None: log.append("device done"))
    row = RowGroup(Logged("row", log), 3, slice(0, 3))
    home = Segments(4, Logged("column", log))
    steps = FourSteps(home, torch.device(device), Trace(), row, scheme_named(name))

    def first():
        log.append("kernel 1")
        return x_nb.clone(), torch.ones(1, 3, dtype=x_nb.dtype)

    def second():
        log.append("kernel 2")
        y_nb.mul_(2)

    x_nb = steps.gather(torch.tensor([[1.0, 2.0]]))
    (y_nb, sum_nb), other_nb = steps.broadcast_under(first, x_nb)
    assert torch.equal(other_nb, x_nb[:, :3])
    steps.reduce_under(second, sum_nb, y_nb)
    assert steps.scatter(y_nb).tolist() == [[3.0, 5.0]]
    return log


def around(call, kernel, first):
    start, end = ["side waits for ready", f"{call} row"], [f"{call} row arrived"]
    return ["mark", *([kernel, *start] if first else [*start, kernel]), *end]


def column(call, *before):
    return [*before, f"{call} column", f"{call} column arrived"]


@pytest.mark.parametrize(("name", "first"), [("nccl:1", False), ("mpi", True), ("auto", True)])
def test_without_more_synchronisation_than_data_need(name, first, monkeypatch):
    two, three = around("broadcast", "kernel 1", first), around("reduce", "kernel 2", first)
    assert product(name, monkeypatch) == [*column("all_gather"), *two, *three, *column("reduce_scatter")]


@pytest.mark.parametrize(("name", "first"), [("nccl:2", False), ("nccl:3", True), ("nccl:4:2", True)])
def test_ranks_meet_and_devices_finish_before_each_call_but_not_between_a_kernel_and_its_call(name, first, monkeypatch):
    calm = ["barrier row", "device done"]
    two, three = around("broadcast", "kernel 1", first), around("reduce", "kernel 2", first)
    ends = [column(call, "barrier column", "device done") for call in ("all_gather", "reduce_scatter")]
    assert product(name, monkeypatch) == [*ends[0], *calm, *two, *calm, *three, *ends[1]]


def test_on_a_processor_calls_begin_before_the_kernels(monkeypatch):
    two, three = around("broadcast", "kernel 1", False), around("reduce", "kernel 2", False)
    assert product("gloo", monkeypatch, "cpu") == [*column("all_gather"), *two, *three, *column("reduce_scatter")]


def test_communicators_of_rows_and_columns_get_the_links_of_the_scheme():
    asked = []

    class World(SerialCommunicator):
        def split(self, color, key=0, name="", links=None):
            asked.append((name, links))
            return super().split(color, key, name)

    for name in ("column", "row"):
        group_for(scheme_named("nccl:4:16:2"), World(), 0, 0, name)
    assert asked == [("column", Links(True, 2)), ("row", Links(True, 16))]
