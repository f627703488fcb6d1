"""Loops over the points of the grid for pair densities: the plain ones, of PyTorch's operations.

Pairs x = (n, t) of sources n and targets t, n first; q_n is the place of n's wave vector in tables of several.
`pair_loops_native` and `pair_loops_cuda` are the same as compiled loops of a processor and kernels of a GPU.
"""

from dataclasses import dataclass

import torch

from eigenwerk.dft.exchange.pairs.pair_charges import PairCharges


@dataclass(frozen=True, eq=False)
class PairTable:
    """Of several wave vectors: kernel_qR = v(q+G) over volume and number of points, on the grid, zero outside of the
    sphere; phase_qS of compensation charges, None if all are zero."""

    kernel_qR: torch.Tensor
    phase_qS: torch.Tensor | None

    @property
    def nbytes(self) -> int:
        """Memory."""
        return self.kernel_qR.nbytes + (0 if self.phase_qS is None else self.phase_qS.nbytes)


class PairLoops:
    """Pair densities, products with the interaction, what potentials make of orbitals, integrals with charges."""

    def form(
        self, u_nR: torch.Tensor, u_tR: torch.Tensor, charge_xA: torch.Tensor, charges: PairCharges,
        phase_qS: torch.Tensor | None, q_n: torch.Tensor,
    ) -> torch.Tensor:  # fmt: skip
        """u_n* u_t + Σ_A Q_A g_A; (x, R)."""
        grid_xR = (u_nR.conj()[:, None] * u_tR).flatten(0, 1)
        charges.add(grid_xR, charge_xA, _of_pairs(phase_qS, q_n, len(grid_xR)))
        return grid_xR

    def multiply(self, grid_xR: torch.Tensor, kernel_qR: torch.Tensor, q_n: torch.Tensor) -> None:
        """Every grid times the interaction."""
        grid_xR.view(len(q_n), -1, grid_xR.shape[1]).mul_(kernel_qR[q_n][:, None])

    def integrals(
        self, field_xR: torch.Tensor, charges: PairCharges, phase_qS: torch.Tensor | None, q_n: torch.Tensor,
        scale: float,
    ) -> torch.Tensor:  # fmt: skip
        """scale Σ_R g_A V; (x, A)."""
        return charges.integrals(field_xR, _of_pairs(phase_qS, q_n, len(field_xR))).mul_(scale)

    def accumulate(
        self, field_xR: torch.Tensor, u_nR: torch.Tensor, weight_n: torch.Tensor, out_tR: torch.Tensor
    ) -> None:
        """out_t += Σ_n w_n u_n V_nt; out in double precision."""
        field_ntR = field_xR.view(len(u_nR), -1, field_xR.shape[1])
        for u_R, weight, field_tR in zip(u_nR, weight_n.tolist(), field_ntR, strict=True):
            out_tR += field_tR * (weight * u_R)

    def mirror(self, field_xR: torch.Tensor, u_tR: torch.Tensor, out_nR: torch.Tensor) -> None:
        """out_n += Σ_t u_t V*_nt; out in double precision."""
        field_ntR = field_xR.view(-1, len(u_tR), field_xR.shape[1])
        for out_R, field_tR in zip(out_nR, field_ntR, strict=True):
            out_R += (u_tR * field_tR.conj()).sum(0)

    def add_squares(
        self, density_xR: torch.Tensor, weight_x: torch.Tensor, q_n: torch.Tensor, out_qR: torch.Tensor
    ) -> None:
        """out_q += Σ_x weight |ρ|² of the pairs of each wave vector; out and weights in double precision."""
        place_qn = q_n == torch.arange(len(out_qR), device=q_n.device)[:, None]
        weight_qx = (place_qn[:, :, None] * weight_x.view(len(q_n), -1)).flatten(1)
        out_qR += weight_qx @ torch.view_as_real(density_xR).to(torch.float64).square().sum(-1)

    def add_table_slopes(
        self, field_xR: torch.Tensor, charge_xA: torch.Tensor, charges: PairCharges, phase_qS: torch.Tensor | None,
        q_n: torch.Tensor, slope_y: torch.Tensor,
    ) -> None:  # fmt: skip
        """slope += Re Σ_x Q*_xA exp(iq·r) V_x at the points of spheres (`PairCharges`)."""
        charges.add_table_slopes(field_xR, charge_xA, _of_pairs(phase_qS, q_n, len(field_xR)), slope_y)


def _of_pairs(phase_qS: torch.Tensor | None, q_n: torch.Tensor, pairs: int) -> torch.Tensor | None:
    """Phases of every pair, (x, S), or of all, (1, S)."""
    if phase_qS is None or len(phase_qS) == 1:
        return phase_qS
    return phase_qS[q_n].repeat_interleave(pairs // len(q_n), 0)
