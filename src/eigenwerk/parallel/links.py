"""How the transfers of a communicator share a GPU with kernels; the only transport with a choice is NCCL.  No torch."""

from dataclasses import dataclass

LEAST_BLOCKS, MOST_BLOCKS = 1, 32
"""Thread blocks (CTAs) that NCCL takes for a transfer.  Source: NVIDIA NCCL user guide, ncclConfig_t."""


@dataclass(frozen=True)
class Links:
    """high_priority: whether transfers go before kernels that are queued at the same time.  thread_blocks: with how
    many NCCL moves data, no fewer and no more; None for its own choice."""

    high_priority: bool = True
    thread_blocks: int | None = None


USUAL = Links()
