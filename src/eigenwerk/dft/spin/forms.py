"""What spin makes of orbitals, densities and one-centre occupancies.

Densities come as channels, n_↑ and n_↓, which is how orbitals give them and functionals take them; mixing and reports
want the total and the magnetisation.  Both are real combinations of each other, so the same verbs serve densities,
occupancies and, with the dual factor, potentials.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class SpinForm:
    """One way to treat spin.

    densities: components s of a density; channels: sets of orbitals that are solved apart; degeneracy: electrons in a
    full orbital; real_occupancies: whether one-centre occupancies are real (else Hermitian).
    """

    words: str
    densities: int
    channels: int
    degeneracy: int
    real_occupancies: bool = True

    @property
    def polarised(self) -> bool:
        """Whether there is a magnetisation."""
        return self.densities > 1

    def unpolarised(self, value_x: torch.Tensor) -> torch.Tensor:
        """The components of a density without magnetisation, a core's for example; (s, x)."""
        return (value_x / self.densities).expand(self.densities, *value_x.shape)

    def total(self, value_sx: torch.Tensor) -> torch.Tensor:
        """Total and magnetisation of channels, (x, ...)."""
        return torch.stack([value_sx[0] + value_sx[1], value_sx[0] - value_sx[1]]) if self.polarised else value_sx

    def channels_of(self, value_xx: torch.Tensor) -> torch.Tensor:
        """Inverse of `total`."""
        return self.total(value_xx) / 2 if self.polarised else value_xx

    def magnetisation(self, value_sx: torch.Tensor) -> torch.Tensor:
        """The magnetisation alone; zero without."""
        return value_sx[0] - value_sx[1] if self.polarised else torch.zeros_like(value_sx[0])

    def moment(self, electrons_s: torch.Tensor) -> float:
        """The moment that electrons of each component make, Bohr magnetons."""
        return float(self.magnetisation(electrons_s))

    def reversed(self, value_sx: torch.Tensor) -> torch.Tensor:
        """With all moments turned around, as time reversal does."""
        return value_sx.flip(0) if self.polarised else value_sx


UNPOLARISED = SpinForm("no spin", 1, 1, 2)
COLLINEAR = SpinForm("two spin channels", 2, 2, 1)

FORMS = {form.densities: form for form in (UNPOLARISED, COLLINEAR)}
"""By the number of components of a density; ISPIN of those that it can ask for."""
