"""No spin: one density, of orbitals that two electrons share."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch


def scalar_squares(psi_tR: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Σ_t |ψ|², of real and imaginary parts side by side: the fewest passes over memory; (R, 2)."""
    return torch.view_as_real(psi_tR).square_().sum(0, dtype=dtype)


def scalar_matrices(proj_ani: torch.Tensor, weighted_ani: torch.Tensor) -> torch.Tensor:
    """Re Σ_n f P_i P_j*: of collinear spins the real part is what is left when time reversal has its say."""
    return (weighted_ani.mT @ proj_ani.conj()).real


@final
@dataclass(frozen=True)
class Unpolarised:
    """The density of all electrons.

    components: of a density; channels: sets of orbitals that are solved apart; degeneracy: electrons in a full orbital;
    orbital_components: numbers of an orbital at a point, with an axis c of their own, the first, where there are two;
    sums: numbers at a point that add up over orbitals to the density of a channel; polarised: whether there is a
    magnetisation.
    """

    words: ClassVar[str] = "no spin"
    components: ClassVar[int] = 1
    channels: ClassVar[int] = 1
    degeneracy: ClassVar[int] = 2
    orbital_components: ClassVar[int] = 1
    sums: ClassVar[int] = 2
    polarised: ClassVar[bool] = False

    def squares(self, psi_tR: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """What adds up over some orbitals of a channel at points, (R, y), in numbers of that type; uses them up."""
        return scalar_squares(psi_tR, dtype)

    def density(self, sum_Ry: torch.Tensor) -> torch.Tensor:
        """The density of a channel, of sums of `squares`; (R)."""
        return sum_Ry.sum(1)

    def matrices(self, proj_ani: torch.Tensor, weighted_ani: torch.Tensor) -> torch.Tensor:
        """Σ_n f P_i P_j* of orbitals of a channel, of P and f P; (a, i, i)."""
        return scalar_matrices(proj_ani, weighted_ani)

    def times(self, field_x: torch.Tensor, psi_x: torch.Tensor) -> torch.Tensor:
        """The potential of a channel times orbitals, which are used up."""
        return psi_x.mul_(field_x)

    def total(self, value_sx: torch.Tensor) -> torch.Tensor:
        """The density of all electrons; (x)."""
        return value_sx[0]

    def of_total(self, value_x: torch.Tensor) -> torch.Tensor:
        """The components of a density without magnetisation, a core's for example; (s, x)."""
        return value_x[None]

    def magnetisation(self, value_sx: torch.Tensor) -> torch.Tensor:
        """The magnetisation alone, which is zero; (x)."""
        return torch.zeros_like(value_sx[0])

    def moment(self, electrons_s: torch.Tensor) -> float:
        """The moment that electrons of each component make, Bohr magnetons."""
        return 0.0

    def by_components(self, slope_x: torch.Tensor) -> torch.Tensor:
        """The derivative by the components, of that by the total; (s, x)."""
        return slope_x[None]

    def by_total(self, slope_sx: torch.Tensor) -> torch.Tensor:
        """The derivative by the total at one magnetisation, of that by the components; (x)."""
        return slope_sx[0]

    def by_magnetisation(self, slope_sx: torch.Tensor) -> torch.Tensor:
        """The derivative by the magnetisation at one total, of that by the components; (x)."""
        return torch.zeros_like(slope_sx[0])

    def separated(self, value_sx: torch.Tensor) -> torch.Tensor:
        """Total and magnetisation, in which densities are mixed and reported; (s, x)."""
        return value_sx

    def joined(self, value_sx: torch.Tensor) -> torch.Tensor:
        """Inverse of `separated`."""
        return value_sx

    def rotated(self, value_sox: torch.Tensor, axial_ovv: torch.Tensor, flips: bool | torch.Tensor) -> torch.Tensor:
        """The components after operations o of a crystal, each on values of its own.

        axial_ovv: what each does to an axial vector, det(R) R; flips: whether all, or which, turn time around as well.
        """
        return value_sox

    def axis(self, value_sx: torch.Tensor) -> torch.Tensor | None:
        """The direction of the magnetisation at every point, (v, x); None where it needs no looking for."""
        return None

    def local(self, value_sx: torch.Tensor, axis_vx: torch.Tensor | None) -> torch.Tensor:
        """The channels of a density along the axis, as functionals take them; (c, x)."""
        return value_sx

    def back(self, slope_cx: torch.Tensor, axis_vx: torch.Tensor | None) -> torch.Tensor:
        """The derivative by the components, of that by the channels along the axis; (s, x)."""
        return slope_cx
