"""Transfers on their way, as transports know them: what a handle waits for."""

from collections.abc import Callable, Sequence
from threading import Thread
from typing import Literal, Protocol

import torch

Operation = Literal["sum", "max"]


class Pending(Protocol):
    """A transfer on its way, as a transport knows it."""

    def wait(self) -> object:
        """Returns when it is complete (on a device: for the work queued from now on)."""
        ...


class PendingAll:
    """Several transfers waited for as one."""

    def __init__(self, parts: Sequence[Pending]):
        self._parts = parts

    def wait(self) -> None:
        """Waits for each."""
        for part in self._parts:
            part.wait()


class DeferredTransfer:
    """A transfer that takes place where it is waited for, because waiting is the faster way."""

    def __init__(self, transfer: Callable[[], None]):
        self._transfer = transfer

    def wait(self) -> None:
        """All of it."""
        self._transfer()


class FinishedTransfer:
    """A transfer that took place at once."""

    def wait(self) -> None:
        """Nothing to wait for."""


class WatchedTransfer:
    """A transfer that a thread of its own waits for, from the start on, and says when it is complete."""

    def __init__(self, pending: Pending, told: Callable[[], None]):
        self._pending, self._told = pending, told
        self._error: BaseException | None = None
        self._thread = Thread(target=self._watch, name="eigenwerk transfer", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        try:
            # MPI would ask without a pause and take the core from the work
            getattr(self._pending, "wait_calmly", self._pending.wait)()
        except BaseException as error:
            self._error = error
        else:
            self._told()

    def wait(self) -> None:
        """Waits for the thread; its error is raised here."""
        self._thread.join()
        if self._error is not None:
            raise self._error


class PendingReduction:
    """Parts of all ranks on their way, to be reduced in the order of ranks."""

    def __init__(self, pending: Pending, parts_px: torch.Tensor, out: torch.Tensor, operation: Operation):
        self._pending, self._parts_px, self._out, self._operation = pending, parts_px, out, operation

    def wait(self) -> None:
        """Waits and reduces."""
        self._pending.wait()
        if self._out.numel():
            reduce_rows(self._parts_px.view(-1, self._out.numel()), self._operation, self._out)


def operation_of(array_x: torch.Tensor) -> Operation:
    """How numbers of this type are added up: bools by "or"."""
    return "max" if array_x.dtype == torch.bool else "sum"


def reduce_rows(parts_px: torch.Tensor, operation: Operation, out: torch.Tensor) -> None:
    """Row 0 + row 1 + ... (or the largest), in this order, into `out`."""
    out.copy_(parts_px[0])
    for part_x in parts_px[1:]:
        torch.maximum(out, part_x, out=out) if operation == "max" else out.add_(part_x)
