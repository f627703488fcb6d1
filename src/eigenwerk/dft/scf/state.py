"""Everything that defines where a self-consistent calculation stands, in one value."""

from dataclasses import dataclass

import torch

from eigenwerk.dft.density import Density
from eigenwerk.dft.energies import Energies
from eigenwerk.dft.occupations import Occupations


@dataclass(frozen=True)
class ScfStep:
    """What one self-consistency step reports; energies in hartree.

    residual: norm of the density residual in electrons; applications: Hamiltonian applications to
    single orbitals; orbital_residual: largest |H ψ - ε S ψ| of the occupied bands; solver: its short
    name; precision: of the orbitals' improvement, "double" or "single".
    """

    step: int
    energies: Energies
    change: float
    band_change: float
    residual: float
    orbital_residual: float
    moment: float | None
    applications: int
    seconds: float
    events: tuple[str, ...] = ()
    solver: str = "DAV"
    precision: str = "double"


@dataclass(frozen=True)
class State:
    """A ground state, converged or not.

    density: the one the Hamiltonian of the orbitals was made from; coeff_sknG: orbitals of this k-group on this rank's
    plane waves; eig_skn (hartree), occupations: of all k-points, in host memory; energies; history: all steps;
    converged, status: how it ended.
    """

    density: Density
    coeff_sknG: torch.Tensor
    eig_skn: torch.Tensor
    occupations: Occupations
    energies: Energies
    history: tuple[ScfStep, ...]
    converged: bool
    status: str

    @property
    def events(self) -> tuple[str, ...]:
        """What had to be done on the way, in words, each with its step."""
        return tuple(f"step {record.step}: {event}" for record in self.history for event in record.events)
