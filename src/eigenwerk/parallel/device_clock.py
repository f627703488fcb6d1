"""The clock of a CUDA device for `Trace`: events in the current stream, used again and again."""

import torch


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
        """Seconds between two marks, to half a microsecond; waits until the device has passed both."""
        began.synchronize()
        ended.synchronize()
        return began.elapsed_time(ended) * 1e-3

    def release(self, mark: torch.cuda.Event) -> None:
        """Keep an event for another mark."""
        self._free.append(mark)
