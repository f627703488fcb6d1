"""Non-local correlation of the smooth density with smooth cores, ñ + ñ_c.

It has no one-centre part: as in other PAW codes, what lacks inside spheres is left out of a correlation of distances.
Equations: docs/equations/non_local.md.
"""

from typing import ClassVar, Self

import torch

from eigenwerk.dft.non_local.correlation import NonLocalCorrelation
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.terms.term import Charges, Contribution, Scene, Term
from eigenwerk.functionals.non_local import NonLocal


class NonLocalTerm(Term):
    """The term of the total density, or of spin densities."""

    words: ClassVar = {"non-local": "non-local correlation of the smooth density"}
    needs = frozenset({"density"})

    @classmethod
    def of(cls, scene: Scene) -> Self | None:
        """With LUSE_VDW."""
        non_local = scene.parameters.non_local
        return None if non_local is None else cls(scene.atoms, non_local)

    def __init__(self, atoms: PawAtoms, non_local: NonLocal):
        self.runtime, self.spin_resolved = atoms.runtime, non_local.spin_resolved
        self.correlation = NonLocalCorrelation(atoms.basis, non_local)

    def __call__(self, charges: Charges) -> Contribution:
        """Energy "non-local" and its potential."""
        with self.runtime.trace.span("non-local correlation"):
            energy, potential_sg = self.correlation.energy_and_potential(self._density(charges))
        potential = potential_sg if self.spin_resolved else potential_sg[0]
        return Contribution(("non-local",), energy[None], {"density": potential})

    def strained(self, charges: Charges, atoms: PawAtoms) -> torch.Tensor:
        """E in the other cell."""
        return self.correlation.strained(self._density(charges), atoms.basis)

    def _density(self, charges: Charges) -> torch.Tensor:
        return charges.smooth_sg if self.spin_resolved else charges.total_g[None]
