"""The clock of a CUDA device for `Trace`: events in the current stream, used again and again."""

import torch

from eigenwerk.record.trace import Trace


class CudaClock:
    """Marks are CUDA events of the stream that is current when they are made; making one costs a few microseconds."""

    def __init__(self, device: torch.device):
        """device: whose streams are marked.  Waits until it is idle, so that the first mark stands for this moment."""
        self._device = device
        self._free: list[torch.cuda.Event] = []
        torch.cuda.synchronize(device)

    def mark(self) -> torch.cuda.Event:
        """An event behind the work queued so far in the current stream."""
        event = self._free.pop() if self._free else torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def seconds(self, began: torch.cuda.Event, ended: torch.cuda.Event) -> float:
        """Seconds between two marks, to half a microsecond; waits until the device has passed both.

        Negative if they stand the other way round, which not every driver says by itself.
        """
        began.synchronize()
        ended.synchronize()
        forward = began.elapsed_time(ended)
        return 1e-3 * (forward if forward > 0 else -ended.elapsed_time(began))

    def release(self, mark: torch.cuda.Event) -> None:
        """Keep an event for another mark."""
        self._free.append(mark)


def record_device(trace: Trace, device: torch.device) -> None:
    """Let a trace record the times of a device too, if that has a clock of its own; harmless when repeated."""
    if device.type == "cuda":
        trace.attach(CudaClock(device))
