"""Back end `csb` on one rank: half of H in compressed sparse blocks; the product with H and H^T in one pass.

Rows and columns are cut into runs of 2^bits states; a block (row run, column run) holds the nonzeros below the diagonal
that fall into it, ordered by row, then column.  The diagonal is a vector of its own.
"""

import time
from dataclasses import dataclass, field

import torch

from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.diagonal import diagonal
from eigenwerk.ncci.stored.csb_build import build_blocks
from eigenwerk.ncci.stored.csb_entries import Entries
from eigenwerk.ncci.stored.csb_part import CsbPart, bits_for


@dataclass(frozen=True, eq=False)
class CsbHamiltonian:
    """H on a many-body basis, stored.

    below: what is below the diagonal; diagonal_b: (b,).  seconds: what building took: "jumps", "count", "fill".
    """

    below: CsbPart
    diagonal_b: torch.Tensor
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def dimension(self) -> int:
        """Number of states."""
        return len(self.diagonal_b)

    @property
    def dtype(self) -> torch.dtype:
        """Number type of the stored elements."""
        return self.diagonal_b.dtype

    @property
    def device(self) -> torch.device:
        """Where they lie."""
        return self.diagonal_b.device

    @property
    def nonzeros(self) -> int:
        """Of the half matrix with its diagonal, MFDn's numnonzero."""
        return self.below.nonzeros + self.dimension

    @property
    def bytes(self) -> int:
        """Memory of the matrix."""
        stored = self.below.blocks
        return stored.value_z.nbytes + stored.row_z.nbytes + stored.column_z.nbytes + self.diagonal_b.nbytes

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x for every row, (n, b)."""
        y_nb = self.diagonal_b * x_nb
        self.below.add(x_nb, x_nb, y_nb, y_nb)
        return y_nb


def csb_hamiltonian(
    basis: ManyBodyBasis,
    pairs: BasisPairs,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
    bits: int | None = None,
) -> CsbHamiltonian:
    """Builds the stored operator: a pass that counts the nonzeros of every block, and one that fills them in."""
    begin = time.perf_counter()
    entries = Entries(basis, pairs, dtype, device)
    jumps = time.perf_counter() - begin
    blocks = build_blocks(entries, bits or bits_for(entries.device))
    below, diagonal_b = CsbPart(entries.shape, blocks), diagonal(basis, pairs, device).to(dtype)
    return CsbHamiltonian(below, diagonal_b, {"jumps": jumps, **blocks.seconds})
