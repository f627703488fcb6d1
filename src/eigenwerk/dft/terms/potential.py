"""The effective potential of a density: what the orbitals feel, and the energy it comes from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch

from eigenwerk.dft.density.fields import Fields
from eigenwerk.dft.density.kinds.occupancy import OCCUPANCY
from eigenwerk.dft.terms.term import Charges, LowRank
from eigenwerk.functionals.functional import DENSITY


@dataclass(frozen=True)
class Potential:
    """The derivative of the energy by each field of a density, and the energies that depend on the density alone.

    charges: the density, in the forms that its terms needed; derivative: without the fields that it carries and no term
    depends on; names, energy_e: energies in hartree, each as often as
    terms give to it, on the device so that nothing waits for them; rows: what terms add to H in another form;
    rows_counted: what these give to the energies of the bands, hartree, for the orbitals that they were made of;
    constants: energies that no density changes, by name.
    """

    charges: Charges
    derivative: Fields
    names: tuple[str, ...]
    energy_e: torch.Tensor
    rows: LowRank | None = None
    rows_counted: float = 0.0
    constants: Mapping[str, Callable[[], float]] = field(default_factory=dict)

    @property
    def vt_sg(self) -> torch.Tensor:
        """Effective potential ṽ on the density sphere, hartree."""
        return self.derivative.value[DENSITY]

    @property
    def dH_sx(self) -> torch.Tensor:
        """One-centre ΔH_ij in flat order, hartree."""
        return self.derivative.value[OCCUPANCY]

    @cached_property
    def terms(self) -> Mapping[str, float]:
        """Energies in hartree by name."""
        return self.named(self.energy_e.tolist())

    def named(self, energy_e: Sequence[float]) -> dict[str, float]:
        """Sums of energies with one name, and those that were not asked for before."""
        total = dict.fromkeys(self.names, 0.0)
        for name, energy in zip(self.names, energy_e, strict=True):
            total[name] += energy
        return total | {name: energy() for name, energy in self.constants.items()}

    @property
    def energy(self) -> float:
        """Sum of the terms, hartree."""
        return sum(self.terms.values())
