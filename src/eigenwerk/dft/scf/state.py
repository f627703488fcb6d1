"""Everything that defines where a self-consistent calculation stands, in one value."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.density.density import Density
from eigenwerk.dft.exchange.memory import ExchangeMemory
from eigenwerk.dft.filling.occupations import Occupations
from eigenwerk.dft.hamiltonian.single_precision import SingleTables
from eigenwerk.dft.scf.bands import Bands
from eigenwerk.dft.scf.mixing.mixing import Memory
from eigenwerk.dft.scf.solvers import BandSolver
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.dft.terms.energies import Energies
from eigenwerk.io.paw.dataset import PawDataset


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

    def telling(self, *words: str) -> "ScfStep":
        """The same with more events; those without words are left out."""
        return replace(self, events=(*self.events, *filter(None, words)))


@dataclass(frozen=True, eq=False)
class System:
    """What a state is a state of: the structure and k-points of its basis, parameters, and PAW data by element."""

    basis: PlaneWaveBasis
    parameters: Parameters
    datasets: Mapping[str, PawDataset]

    @property
    def structure(self) -> Structure:
        """Cell, atoms and starting moments."""
        return self.basis.structure


@dataclass(frozen=True)
class Progress:
    """What the next step depends on besides its density and orbitals.

    steps: done in all, those of earlier runs included; residual: of the density, electrons; free, band: energies of the
    last step, hartree; solver, precision: states of the choices; mixer: its memory.
    """

    steps: int
    residual: float
    free: float
    band: float
    solver: Mapping[str, Any]
    precision: Mapping[str, Any]
    mixer: Memory

    def __getstate__(self) -> dict[str, Any]:
        """Results travel to other processes (pickle), where the memory is what it is now."""
        return {**vars(self), "mixer": partial(_kept, self.mixer())}


def _kept(memory: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return memory


@dataclass(frozen=True)
class StartingPoint:
    """Where a loop begins: a density, orbitals (s, k, n, G) if there are any, and notes on how they were obtained.

    wanted_skn: 1 for the bands that matter; progress: of the same calculation, which goes on as if never interrupted;
    learned: memory of a mixer that has served a like system; occ_skn: occupations of the orbitals, 0 to 1, of all
    k-points, where they are known; exchange: where exact exchange stands in a calculation that goes on;
    semilocal: whether the orbitals are of a functional without exact exchange; frozen_steps: with this density, None
    for as many as parameters ask for.
    """

    density: Density
    coeff_sknG: torch.Tensor | None = None
    wanted_skn: torch.Tensor | None = None
    progress: Progress | None = None
    notes: tuple[str, ...] = ()
    learned: Memory | None = None
    occ_skn: torch.Tensor | None = None
    exchange: ExchangeMemory | None = None
    semilocal: bool = False
    frozen_steps: int | None = None


@dataclass(frozen=True, repr=False)
class State:
    """A ground state, converged or not, and all that is needed to go on from it.

    density: the one the Hamiltonian of the orbitals was made from; output: that of the orbitals; following: the next
    one; coeff_sknG: orbitals of this k-group on this rank's plane waves; eig_skn (hartree), occupations: of all
    k-points, in host memory; energies; history: the steps of this run; converged, status: how it ended; exchange: where
    exact exchange stands, until nothing of it is needed.
    """

    system: System
    density: Density
    output: Density
    following: Density
    coeff_sknG: torch.Tensor
    eig_skn: torch.Tensor
    occupations: Occupations
    energies: Energies
    history: tuple[ScfStep, ...]
    converged: bool
    status: str
    progress: Progress
    exchange: ExchangeMemory | None = None

    def __repr__(self) -> str:
        return f"<state of {len(self.structure.symbols)} atoms: {self.status}>"

    @property
    def structure(self) -> Structure:
        """Cell, atoms and starting moments."""
        return self.system.structure

    @property
    def moment(self) -> float | None:
        """Of the cell, Bohr magnetons; None without spin.  That of the step which found this state: where another start
        was tried and left, it is not the last one."""
        own = (step for step in reversed(self.history) if step.energies.free == self.energies.free)
        return next(own, self.history[-1]).moment

    @property
    def filling_skn(self) -> torch.Tensor:
        """w_k g f: electrons of each orbital, in host memory."""
        return self.system.basis.filling(self.occupations.occ_skn)

    @property
    def events(self) -> tuple[str, ...]:
        """What had to be done on the way, in words, each with its step."""
        return tuple(f"step {record.step}: {event}" for record in self.history for event in record.events)


def wanted_bands(occ_skn: torch.Tensor) -> torch.Tensor:
    """1 for bands that matter (occupied at any k-point, and one more), 0 for the empty rest."""
    used_n = (occ_skn.abs() > 1e-6).any(0).any(0)
    last = int(torch.nonzero(used_n).max()) + 1
    wanted_skn = torch.zeros_like(occ_skn)
    wanted_skn[..., : last + 1] = 1.0
    return wanted_skn


@dataclass(frozen=True, eq=False)
class StartOrbitals:
    """What a step begins with besides its density.

    coeff_sknG: None where there are none yet; wanted_skn: see `StartingPoint`; proj_sknI: projections, if they were
    kept.
    """

    coeff_sknG: torch.Tensor | None
    wanted_skn: torch.Tensor | None
    proj_sknI: torch.Tensor | None = None


@dataclass(frozen=True, eq=False)
class Solved:
    """What a step finds in the potential of its density.

    filling_skn: w_k g f, in host memory; method, tolerance, single: how orbitals were improved, how well, and the
    tables of single precision, None in double; events: in words.
    """

    bands: Bands
    filled: Occupations
    filling_skn: torch.Tensor
    energies: Energies
    method: BandSolver
    tolerance: float
    single: SingleTables | None
    events: tuple[str, ...]

    @cached_property
    def orbitals(self) -> StartOrbitals:
        """Where the next step begins."""
        return StartOrbitals(self.bands.coeff_sknG, wanted_bands(self.filled.occ_skn), self.bands.proj_sknI)
