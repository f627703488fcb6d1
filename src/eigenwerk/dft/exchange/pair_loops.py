"""Loops over the points of the grid for pair densities: the plain ones, of PyTorch's operations.

Pairs x = (n, t) of sources n and targets t, n first.  `pair_loops_native` and `pair_loops_cuda` are the same as
compiled loops of a processor and kernels of a GPU.
"""

import torch

from eigenwerk.dft.exchange.pair_charges import PairCharges


class PairLoops:
    """Pair densities, products with the interaction, what potentials make of orbitals, integrals with charges."""

    def form(
        self, u_nR: torch.Tensor, u_tR: torch.Tensor, charge_xA: torch.Tensor, charges: PairCharges,
        phase_S: torch.Tensor | None,
    ) -> torch.Tensor:  # fmt: skip
        """u_n* u_t + Σ_A Q_A g_A; (x, R)."""
        grid_xR = (u_nR.conj()[:, None] * u_tR).flatten(0, 1)
        charges.add(grid_xR, charge_xA, phase_S)
        return grid_xR

    def multiply(self, grid_xR: torch.Tensor, kernel_R: torch.Tensor) -> None:
        """Every grid times the interaction."""
        grid_xR *= kernel_R

    def integrals(
        self, field_xR: torch.Tensor, charges: PairCharges, phase_S: torch.Tensor | None, scale: float
    ) -> torch.Tensor:
        """scale Σ_R g_A V; (x, A)."""
        return charges.integrals(field_xR, phase_S).mul_(scale)

    def accumulate(
        self, field_xR: torch.Tensor, u_nR: torch.Tensor, weight_n: torch.Tensor, out_tR: torch.Tensor
    ) -> None:
        """out_t += Σ_n w_n u_n V_nt; out in double precision."""
        field_ntR = field_xR.view(len(u_nR), -1, field_xR.shape[1])
        for u_R, weight, field_tR in zip(u_nR, weight_n.tolist(), field_ntR, strict=True):
            out_tR += field_tR * (weight * u_R)
