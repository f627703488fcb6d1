"""Dispersion corrections as a term: an energy of the positions alone, once for each arrangement (`dft/dispersion`)."""

from concurrent.futures import Future
from typing import ClassVar, Self

import torch

from eigenwerk.dft.dispersion.background import begun
from eigenwerk.dft.dispersion.correction import DispersionCorrection
from eigenwerk.dft.dispersion.position_energy import PositionEnergy
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.terms.term import Charges, Contribution, Scene, Term

NAME = "dispersion"


class Dispersion(Term):
    """The correction of one arrangement.

    A thread begins with it when the term is made; who needs the number waits, which the first step does with its sum
    of energies, behind its bands.
    """

    words: ClassVar = {NAME: "of the dispersion correction (IVDW)"}
    needs = frozenset()

    @classmethod
    def of(cls, scene: Scene) -> Self | None:
        """With IVDW."""
        return cls(scene.atoms, scene.parameters.dispersion) if scene.parameters.dispersion else None

    def __init__(self, atoms: PawAtoms, given: DispersionCorrection):
        self.atoms = atoms
        self._begun: Future[PositionEnergy] = begun(given, atoms.basis.structure, torch.get_num_threads())

    @property
    def found(self) -> PositionEnergy:
        """Energy and derivatives; waits until they are there."""
        return self._begun.result()

    def __call__(self, charges: Charges) -> Contribution:
        """Energy "dispersion", when it is asked for."""
        nothing_e = charges.density.occupancy_sx.real.new_zeros(0)
        return Contribution((), nothing_e, constants={NAME: lambda: self.found.energy})

    def strained(self, charges: Charges, atoms: PawAtoms) -> torch.Tensor | None:
        """Its tangent, Σ ∂E/∂ε ε."""
        virial_vv = torch.as_tensor(self.found.virial_vv)
        strained_cv, lattice_cv = atoms.basis.lattice.vector_cv, self.atoms.basis.lattice.vector_cv
        return (virial_vv * torch.linalg.solve(lattice_cv, strained_cv)).sum()

    def forces(self, charges: Charges) -> torch.Tensor | None:
        """All of them."""
        return -torch.as_tensor(self.found.gradient_av).to(charges.density.occupancy_sx.device)
