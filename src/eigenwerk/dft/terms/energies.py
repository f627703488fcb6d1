"""The energy of a state, its parts and its zeros."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch

from eigenwerk.dft.density.density import Density
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.terms.potential import Potential


@dataclass(frozen=True)
class Energies:
    """Energies of one self-consistency step, hartree.

    band: Σ w g f ε; double_counting: what the band energy counts twice, subtracted; terms: energies of
    the density by name; entropy: -TS; reference: sum of the energies of the data sets' reference atoms.
    free, internal, extrapolated are relative to the reference, `absolute_free` is not.
    """

    band: float
    double_counting: float
    terms: Mapping[str, float]
    entropy: float
    extrapolation: float
    reference: float

    @property
    def absolute_free(self) -> float:
        """All-electron (frozen-core) free energy."""
        return self.band - self.double_counting + sum(self.terms.values()) + self.entropy

    @property
    def free(self) -> float:
        """Free energy F = E - TS relative to the atoms of the data sets."""
        return self.absolute_free - self.reference

    @property
    def internal(self) -> float:
        """E = F + TS, relative."""
        return self.free - self.entropy

    @property
    def extrapolated(self) -> float:
        """Estimate of the energy at zero smearing width, relative."""
        return self.free + self.extrapolation

    def with_orbital_term(self, name: str, energy: float, counted: float) -> "Energies":
        """With a term of the orbitals as it is for them, in place of a tangent at others.

        counted: what the band energy holds of it, where it has been taken to hold twice the term.
        """
        more = counted - 2 * self.terms[name]
        return replace(self, terms={**self.terms, name: energy}, double_counting=self.double_counting + more)


def harris_energies(
    atoms: PawAtoms, density: Density, potential: Potential, band: float, entropy: float, extrapolation: float
) -> Energies:
    """Harris-Foulkes energy: bands of the potential made from `density`, all other terms at `density`.

    F = Σ w g f ε - Σ_s ∫ ṽ_s n_s - ΔH·D + Σ_terms E - TS,  second-order in the difference between input and output
    density; what is counted twice is the product of the density with the derivatives by its fields, and what rows of
    terms give for the orbitals that they were made of.
    Source: Harris, Phys. Rev. B 31, 1770 (1985); Foulkes and Haydock, Phys. Rev. B 39, 12520 (1989).
    """
    counted = potential.derivative.inner(density, atoms.basis)
    *energies, double_counting = torch.cat([potential.energy_e, counted[None]]).tolist()
    terms = potential.named(energies)
    double_counting += potential.rows_counted
    return Energies(band, double_counting, terms, entropy, extrapolation, energy_of_atoms(atoms))


def energy_of_atoms(atoms: PawAtoms) -> float:
    """Σ_a energies of the data sets' reference atoms, hartree (`reference_atoms`)."""
    return sum(s.count * s.setup.reference for s in atoms.layout.species)


def band_energy(eig_skn: torch.Tensor, filling_skn: torch.Tensor) -> float:
    """Σ w g f ε, hartree; filling = w_k g f."""
    return float((eig_skn * filling_skn).sum())
