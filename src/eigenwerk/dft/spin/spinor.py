"""Orbitals with two components at each point, ψ = (ψ_α, ψ_β): the density is n = ψ†ψ and m = ψ†σψ, a vector.

Its derivative is a potential v and a field B, which act as v + B·σ.  A density turns as an axial vector does while
orbitals turn by a matrix of SU(2); functionals see it along the direction that m has at each point.
Source: U. von Barth and L. Hedin, J. Phys. C 5, 1629 (1972); J. Kübler, K.-H. Höck, J. Sticht and A. R. Williams,
J. Phys. F 18, 469 (1988).
"""

from dataclasses import dataclass
from typing import ClassVar, final

import torch

LEAST_MOMENT = 1e-30
"""Magnetisation (bohr⁻³) that has no direction."""


@final
@dataclass(frozen=True)
class Spinor:
    """The density n and the magnetisation m_x, m_y, m_z, with the verbs and numbers of `Unpolarised`.

    There is one channel, which gives all four components, (z, ...); orbitals have their two first, (c, ...).
    """

    words: ClassVar[str] = "spinors"
    components: ClassVar[int] = 4
    channels: ClassVar[int] = 1
    degeneracy: ClassVar[int] = 1
    orbital_components: ClassVar[int] = 2
    sums: ClassVar[int] = 4
    polarised: ClassVar[bool] = True

    def squares(self, psi_tR: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """Σ_t of |ψ_α|², |ψ_β|² and both parts of ψ_α* ψ_β, (R, y); psi_tR: (c, t, R)."""
        alpha_tR, beta_tR = psi_tR
        mixed_R2 = torch.view_as_real(alpha_tR.conj() * beta_tR).sum(0, dtype=dtype)
        own = [torch.view_as_real(part_tR).square().sum((0, -1), dtype=dtype) for part_tR in (alpha_tR, beta_tR)]
        return torch.stack([*own, *mixed_R2.unbind(-1)], -1)

    def density(self, sum_Ry: torch.Tensor) -> torch.Tensor:
        """n and m of these sums; (z, R)."""
        alpha_R, beta_R, real_R, imaginary_R = sum_Ry.unbind(-1)
        return torch.stack([alpha_R + beta_R, 2 * real_R, 2 * imaginary_R, alpha_R - beta_R])

    def matrices(self, proj_ani: torch.Tensor, weighted_ani: torch.Tensor) -> torch.Tensor:
        """Σ_n f P_i† (1, σ) P_j, Hermitian; (z, a, i, i), of (c, a, n, i).

        As without spin the conjugate one is the second: D_ij = Σ f P_i P_j*.
        """
        aa, ab, ba, bb = (w.mT @ p.conj() for w in weighted_ani for p in proj_ani)
        return torch.stack([aa + bb, ab + ba, 1j * (ab - ba), aa - bb])

    def times(self, field_x: torch.Tensor, psi_x: torch.Tensor) -> torch.Tensor:
        """(v + B·σ) ψ: field_x is (z, x), psi_x (c, x)."""
        v_x, bx_x, by_x, bz_x = field_x
        alpha_x, beta_x = psi_x
        across_x = torch.complex(bx_x, by_x)
        return torch.stack([(v_x + bz_x) * alpha_x + across_x.conj() * beta_x,
                            across_x * alpha_x + (v_x - bz_x) * beta_x])  # fmt: skip

    def total(self, value_sx: torch.Tensor) -> torch.Tensor:
        """n."""
        return value_sx[0]

    def of_total(self, value_x: torch.Tensor) -> torch.Tensor:
        """n and no m."""
        return torch.stack([value_x, *[torch.zeros_like(value_x)] * 3])

    def magnetisation(self, value_sx: torch.Tensor) -> torch.Tensor:
        """m, (v, x)."""
        return value_sx[1:]

    def moment(self, electrons_s: torch.Tensor) -> float:
        """The length of the moment."""
        return float(torch.linalg.vector_norm(electrons_s[1:]))

    def by_components(self, slope_x: torch.Tensor) -> torch.Tensor:
        """v and no B."""
        return self.of_total(slope_x)

    def by_total(self, slope_sx: torch.Tensor) -> torch.Tensor:
        """v."""
        return slope_sx[0]

    def by_magnetisation(self, slope_sx: torch.Tensor) -> torch.Tensor:
        """B, (v, x)."""
        return slope_sx[1:]

    def separated(self, value_sx: torch.Tensor) -> torch.Tensor:
        """n and m already."""
        return value_sx

    def joined(self, value_sx: torch.Tensor) -> torch.Tensor:
        """As it is."""
        return value_sx

    def rotated(self, value_sox: torch.Tensor, axial_ovv: torch.Tensor, flips: bool | torch.Tensor) -> torch.Tensor:
        """m turns with the crystal, and is reversed where time is."""
        sign_o = 1 - 2 * torch.as_tensor(flips, device=axial_ovv.device).to(axial_ovv.dtype).expand(len(axial_ovv))
        turn_ovv = (axial_ovv * sign_o[:, None, None]).to(value_sox.dtype)
        return torch.cat([value_sox[:1], torch.einsum("ovw,wo...->vo...", turn_ovv, value_sox[1:])])

    def axis(self, value_sx: torch.Tensor) -> torch.Tensor | None:
        """m / |m|; zero where there is none."""
        moment_vx = value_sx[1:]
        return moment_vx / torch.linalg.vector_norm(moment_vx, dim=0).clamp_min(LEAST_MOMENT)

    def local(self, value_sx: torch.Tensor, axis_vx: torch.Tensor | None) -> torch.Tensor:
        """(n + e·m) / 2 and (n - e·m) / 2 along an axis e, which is that of the density also for its gradients."""
        assert axis_vx is not None
        along_x = torch.einsum("v...,v...->...", axis_vx, value_sx[1:])
        return torch.stack([value_sx[0] + along_x, value_sx[0] - along_x]) / 2

    def back(self, slope_cx: torch.Tensor, axis_vx: torch.Tensor | None) -> torch.Tensor:
        """v = (v_↑ + v_↓) / 2 and B = e (v_↑ - v_↓) / 2."""
        assert axis_vx is not None
        up_x, down_x = slope_cx
        return torch.cat([(up_x + down_x)[None] / 2, axis_vx * ((up_x - down_x) / 2)])
