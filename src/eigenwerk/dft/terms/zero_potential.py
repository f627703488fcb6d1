"""The zero potential v̄ of the data sets: local, inside the spheres, free to choose there.

E = ∫ v̄ (ñ + ñ_c);  its one-centre twin takes the same out of the all-electron energy.
"""

from typing import ClassVar, Self

import torch

from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.terms.term import Charges, Contribution, Scene, Term, spherical_forces
from eigenwerk.functionals.functional import DENSITY


class ZeroPotential(Term):
    """The term of all atoms."""

    words: ClassVar = {"zero": "of the zero potential on the smooth density"}
    needs = frozenset({DENSITY})

    @classmethod
    def of(cls, scene: Scene) -> Self:
        """There always is one."""
        return cls(scene.atoms)

    def __init__(self, atoms: PawAtoms):
        self.atoms = atoms

    def __call__(self, charges: Charges) -> Contribution:
        """Energy "zero" and v̄ on the density sphere."""
        field_g = self.atoms.zero_potential_g
        energy = self.atoms.basis.inner(field_g, charges.total_g)
        return Contribution(("zero",), energy[None], {DENSITY: field_g})

    def strained(self, charges: Charges, atoms: PawAtoms) -> torch.Tensor:
        """E in the other cell."""
        return atoms.basis.inner(atoms.zero_potential_g, charges.total_g)

    def forces(self, charges: Charges) -> torch.Tensor:
        """Of v̄ on the smooth density, -∫ (ñ + ñ_c) ∂v̄/∂R_a."""
        return spherical_forces(self.atoms, lambda setup: setup.dataset.zero_potential_g, charges.total_g)
