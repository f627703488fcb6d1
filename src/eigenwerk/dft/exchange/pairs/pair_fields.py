"""What pairs are made of, and what is made of them: waves, targets, sources with what comes back, derivatives."""

from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.dft.exchange.kernels.pair_loops import PairTable
from eigenwerk.dft.exchange.pairs.pair_charges import PairCharges


@dataclass(frozen=True)
class PairWaves:
    """Plane waves q+G of pair densities and what depends on them.

    wave_Gc, vector_Gv: q+G of the sphere, fractional and in bohr⁻¹, place_G on the grid; kernel_R: v(q+G) over volume
    and number of points, on the grid, zero outside of the sphere; phase_S: of compensation charges.
    """

    wave_Gc: np.ndarray
    vector_Gv: torch.Tensor
    place_G: torch.Tensor
    kernel_R: torch.Tensor
    phase_S: torch.Tensor | None

    @property
    def nbytes(self) -> int:
        """Memory."""
        tables = (self.vector_Gv, self.place_G, self.kernel_R, self.phase_S)
        return self.wave_Gc.nbytes + sum(0 if table is None else table.nbytes for table in tables)


@dataclass(frozen=True)
class Targets:
    """Orbitals that V_x is applied to, and what it makes of them: tR on the grid, tI coefficients of projectors."""

    u_tR: torch.Tensor
    proj_tI: torch.Tensor
    out_tR: torch.Tensor
    out_tI: torch.Tensor

    @staticmethod
    def of(fields: "PairFields", kind: torch.dtype) -> "Targets":
        """With nothing made of them yet; kind: of the results."""
        out_tR, out_tI = (torch.zeros_like(one, dtype=kind) for one in (fields.u_tR, fields.proj_tI))
        return Targets(fields.u_tR, fields.proj_tI, out_tR, out_tI)

    def some(self, t: slice) -> "Targets":
        """Some of them; what is added to their results is added to these."""
        return Targets(self.u_tR[t], self.proj_tI[t], self.out_tR[t], self.out_tI[t])


@dataclass(frozen=True)
class PairFields:
    """Orbitals as in `Targets`."""

    u_tR: torch.Tensor
    proj_tI: torch.Tensor

    def some(self, t: slice) -> "PairFields":
        """Some of them."""
        return PairFields(self.u_tR[t], self.proj_tI[t])

    def times(self, factor: float) -> "PairFields":
        """All times a factor."""
        return self if factor == 1 else PairFields(self.u_tR * factor, self.proj_tI * factor)


@dataclass(frozen=True)
class Mirror:
    """What conjugate potentials V*_nm make of sources: nR on the grid, nI coefficients of projectors."""

    out_nR: torch.Tensor
    out_nI: torch.Tensor

    def some(self, n: slice) -> "Mirror":
        """Of some sources."""
        return Mirror(self.out_nR[n], self.out_nI[n])

    def plus(self, other: "Mirror") -> None:
        """Add others."""
        self.out_nR.add_(other.out_nR)
        self.out_nI.add_(other.out_nI)


@dataclass(frozen=True)
class PairDerivatives:
    """Of pairs, with weights f_t w_n: square_qR = Σ |Ω N ρ|² of each wave vector; slope_y = Re Σ Q* V at the points of
    spheres (`PairCharges.add_table_slopes`)."""

    square_qR: torch.Tensor
    slope_y: torch.Tensor

    @staticmethod
    def nothing(charges: PairCharges, table: PairTable, like: torch.Tensor) -> "PairDerivatives":
        """Of no pair."""
        return PairDerivatives(like.new_zeros(table.kernel_qR.shape), charges.no_table_slopes())

    def plus(self, other: "PairDerivatives") -> "PairDerivatives":
        """Of both."""
        return PairDerivatives(self.square_qR.add_(other.square_qR), self.slope_y.add_(other.slope_y))
