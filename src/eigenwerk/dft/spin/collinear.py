"""Two spin channels along one axis: n_↑ and n_↓, each of orbitals of its own."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch

from eigenwerk.dft.spin.unpolarised import scalar_matrices, scalar_squares


@final
@dataclass(frozen=True)
class Collinear:
    """The densities of two channels, with the verbs and numbers of `Unpolarised`."""

    words: ClassVar[str] = "two spin channels"
    components: ClassVar[int] = 2
    channels: ClassVar[int] = 2
    degeneracy: ClassVar[int] = 1
    orbital_components: ClassVar[int] = 1
    sums: ClassVar[int] = 2
    polarised: ClassVar[bool] = True

    def squares(self, psi_tR: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """Σ_t |ψ|² in two parts, (R, y)."""
        return scalar_squares(psi_tR, dtype)

    def density(self, sum_Ry: torch.Tensor) -> torch.Tensor:
        """Their sum, (R): the density of the channel."""
        return sum_Ry.sum(1)

    def matrices(self, proj_ani: torch.Tensor, weighted_ani: torch.Tensor) -> torch.Tensor:
        """Re Σ_n f P_i P_j* of the channel, (a, i, i)."""
        return scalar_matrices(proj_ani, weighted_ani)

    def times(self, field_x: torch.Tensor, psi_x: torch.Tensor) -> torch.Tensor:
        """v ψ of the channel, in the place of ψ."""
        return psi_x.mul_(field_x)

    def total(self, value_sx: torch.Tensor) -> torch.Tensor:
        """n_↑ + n_↓."""
        return value_sx.sum(0)

    def of_total(self, value_x: torch.Tensor) -> torch.Tensor:
        """Half for each."""
        return (value_x / 2).expand(2, *value_x.shape)

    def magnetisation(self, value_sx: torch.Tensor) -> torch.Tensor:
        """n_↑ - n_↓."""
        return value_sx[0] - value_sx[1]

    def moment(self, electrons_s: torch.Tensor) -> float:
        """N_↑ - N_↓, with its sign."""
        return float(self.magnetisation(electrons_s))

    def by_components(self, slope_x: torch.Tensor) -> torch.Tensor:
        """Both feel the same."""
        return slope_x.expand(2, *slope_x.shape)

    def by_total(self, slope_sx: torch.Tensor) -> torch.Tensor:
        """(v_↑ + v_↓) / 2."""
        return slope_sx.mean(0)

    def by_magnetisation(self, slope_sx: torch.Tensor) -> torch.Tensor:
        """(v_↑ - v_↓) / 2."""
        return 0.5 * self.magnetisation(slope_sx)

    def separated(self, value_sx: torch.Tensor) -> torch.Tensor:
        """n and m."""
        return torch.stack([value_sx[0] + value_sx[1], value_sx[0] - value_sx[1]])

    def joined(self, value_sx: torch.Tensor) -> torch.Tensor:
        """(n + m) / 2 and (n - m) / 2."""
        return self.separated(value_sx) / 2

    def rotated(self, value_sox: torch.Tensor, axial_ovv: torch.Tensor, flips: bool | torch.Tensor) -> torch.Tensor:
        """The axis is none of the crystal's: the channels change places where moments turn around, and no more."""
        if isinstance(flips, bool):
            return value_sox.flip(0) if flips else value_sox
        flips_ox = flips.reshape(-1, *(1,) * (value_sox.dim() - 2))
        return torch.where(flips_ox, value_sox.flip(0), value_sox)

    def axis(self, value_sx: torch.Tensor) -> torch.Tensor | None:
        """The same at every point."""
        return None

    def local(self, value_sx: torch.Tensor, axis_vx: torch.Tensor | None) -> torch.Tensor:
        """n_↑ and n_↓ as they are."""
        return value_sx

    def back(self, slope_cx: torch.Tensor, axis_vx: torch.Tensor | None) -> torch.Tensor:
        """v_↑ and v_↓ as they are."""
        return slope_cx
