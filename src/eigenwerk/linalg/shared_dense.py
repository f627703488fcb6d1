"""Small dense problems that the ranks of a group have in common: each rank solves some, all get the answers."""

from __future__ import annotations

import torch

from eigenwerk.linalg.dense import DenseEigh, dense_eigh
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.process_grid import share
from eigenwerk.record.trace import Trace


class SharedEigh:
    """A `DenseEigh` for matrices that every rank of a group holds: problems are dealt out, answers gathered.

    So ranks agree on every bit of the eigenvectors, which they must: in a degenerate level rounding errors decide
    which vectors come out, and each rank turns its own components with them.
    """

    def __init__(self, comm: Communicator, trace: Trace, eigh: DenseEigh = dense_eigh):
        self.comm, self.trace, self.eigh = comm, trace, eigh

    def __call__(self, h_kmm: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(ascending eigenvalues (k, m), columns (k, m, m))."""
        with self.trace.span("dense eigenproblems"):
            return self._solved(h_kmm)

    def _solved(self, h_kmm: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self.comm.size == 1:
            return self.eigh(h_kmm)
        own = share(len(h_kmm), self.comm.size, self.comm.rank)
        eig_km, columns_kmm = h_kmm.real.new_zeros((0, h_kmm.shape[-1])), h_kmm.new_zeros((0, *h_kmm.shape[1:]))
        if own.stop > own.start:
            eig_km, columns_kmm = self.eigh(h_kmm[own])
        # in one call: the row of eigenvalues above their columns
        both_kmm = self.comm.all_gather(torch.cat([eig_km.unsqueeze(1).to(columns_kmm.dtype), columns_kmm], 1))
        return both_kmm[:, 0].real.contiguous(), both_kmm[:, 1:].contiguous()
