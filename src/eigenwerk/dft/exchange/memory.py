"""What the self-consistency of exact exchange depends on besides the orbitals, as one value that never changes."""

from dataclasses import dataclass, replace

import numpy as np

from eigenwerk.dft.terms.term import LowRank


@dataclass(frozen=True, eq=False)
class ExchangeMemory:
    """Where exact exchange stands in a run.

    rows: of the operator in use, None while the functional is still the semilocal one; energy: E_x[γ₀], hartree;
    applications: how often orbitals were given; excess: what each operator has changed, hartree; expected: the same of
    the one in use, known where it was measured.  kept, inputs,
    overlap_jj: the operators of earlier orbitals (extrapolation.py); share_j: how the one in use was made of them, None
    if they are forgotten.  doubled: whether pairs have changed to double precision.
    """

    rows: LowRank | None = None
    energy: float = 0.0
    applications: int = 0
    excess: tuple[float, ...] = ()
    expected: float | None = None
    kept: tuple[LowRank, ...] = ()
    inputs: tuple[np.ndarray | None, ...] = ()
    overlap_jj: np.ndarray | None = None
    share_j: np.ndarray | None = None
    shift: float | None = None
    semilocal: float | None = None
    started_a: np.ndarray | None = None
    field_a: np.ndarray | None = None
    doubled: bool = False

    @property
    def in_use_is_last(self) -> bool:
        """Whether the operator in use is the last one kept."""
        return bool(self.kept) and self.rows is self.kept[-1]

    @property
    def bytes(self) -> int:
        """Of all rows on this rank."""
        rows = [*self.kept, *([] if self.rows is None or self.in_use_is_last else [self.rows])]
        return sum(one.row_skmG.nbytes for one in rows)

    def of_one_operator(self) -> "ExchangeMemory":
        """With the operator in use and nothing of those before."""
        return replace(self, kept=(), inputs=(), overlap_jj=None, share_j=None)
