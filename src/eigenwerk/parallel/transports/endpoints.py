"""Multi-endpoint sums: a large one is cut over several communicators of the same ranks, each driven by a thread.

    comm = EndpointCommunicator(gloo_world(...), count=4, threshold_bytes=2**20)

One communicator of a processor moves its data with one thread, which neither fills a fast network nor adds up as fast
as memory allows.  Several endpoints do.  After the endpoints of
Dinan et al., Int. J. High Perform. Comput. Appl. 28, 390 (2014).
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import torch

from eigenwerk.errors import InputError
from eigenwerk.parallel.process_grid import share
from eigenwerk.parallel.transports.layered import LayeredCommunicator
from eigenwerk.parallel.transports.pending import Operation, Pending
from eigenwerk.parallel.transports.transport import TransportCommunicator

COUNT = 4
"""Communicators of a sum, unless the caller says otherwise: 2.4 times as fast as one where each rank has 8 cores."""

THRESHOLD_BYTES = 2**21
"""Smallest array that is cut, unless the caller says otherwise: below it, threads cost more than they give."""


class EndpointCommunicator(LayeredCommunicator):
    """Another communicator whose sums and maxima of large arrays in host memory are cut over `count` copies of it.

    Smaller arrays, those on a GPU, and all other verbs are left to the communicator itself.  Making one is collective.
    Raises InputError if the transport may not be called from several threads, or for a count below 1.
    """

    def __init__(self, inner: TransportCommunicator, count: int = COUNT, threshold_bytes: int = THRESHOLD_BYTES):
        if count < 1:
            raise InputError(f"{count} endpoints for sums; at least 1 is needed.")
        if not inner.takes_threads:
            raise InputError(
                f"Sums over {count} endpoints need a transport that several threads may use at once, which "
                f"{inner.path.split(';')[0]} does not allow. Leave endpoints out, or use an MPI library with "
                "MPI_THREAD_MULTIPLE."
            )
        words = f"sums from {threshold_bytes} bytes on cut over {count} endpoints"
        super().__init__(inner, f"{inner.transport} x{count}", words)
        self._count, self._threshold_bytes = count, threshold_bytes
        self._endpoints = [inner._copy(f"endpoint {number}") for number in range(count)]
        # One thread per endpoint, not a pool for all: so all ranks use an endpoint in the same order.
        self._threads = [ThreadPoolExecutor(1, f"endpoint-{number}") for number in range(count)]

    def check_device(self, device: torch.device) -> None:
        """InputError where arrays of a GPU are added up on the GPU, and so would all stay whole."""
        if device.type != "cpu" and self._reduces_on(device):
            raise InputError(
                "--reductions endpoints cuts sums of arrays in host memory, but here those of GPUs are added up on the "
                "GPUs. Leave it out, or use --transport gloo."
            )

    def _rewrapped(self, inner: TransportCommunicator) -> TransportCommunicator:
        return EndpointCommunicator(inner, self._count, self._threshold_bytes)

    def _all_reduce_now(self, flat: torch.Tensor, operation: Operation) -> None:
        if self._stays_whole(flat):
            self._inner._all_reduce_now(flat, operation)
        else:
            self._all_reduce(flat, operation).wait()

    def _stays_whole(self, flat: torch.Tensor) -> bool:
        return flat.is_cuda or flat.numel() * flat.element_size() < self._threshold_bytes

    def _all_reduce(self, flat: torch.Tensor, operation: Operation) -> Pending:
        if self._stays_whole(flat):
            return self._inner._all_reduce(flat, operation)
        futures = []
        for number, (endpoint, thread) in enumerate(zip(self._endpoints, self._threads, strict=True)):
            part = flat[share(len(flat), self._count, number)]
            futures.append(thread.submit(_reduce, endpoint, part, operation))
        return _Futures(futures)

    def close(self) -> None:
        """Ends the threads and closes the endpoints."""
        for thread in self._threads:
            thread.shutdown()
        for endpoint in self._endpoints:
            endpoint.close()
        super().close()


def _reduce(endpoint: TransportCommunicator, part: torch.Tensor, operation: Operation) -> None:
    endpoint._all_reduce_now(part, operation)


class _Futures:
    """Parts of a sum in the hands of threads."""

    def __init__(self, futures: Sequence[Future[None]]):
        self._futures = futures

    def wait(self) -> None:
        """Waits for all; raises what any of them raised."""
        for future in self._futures:
            future.result()
