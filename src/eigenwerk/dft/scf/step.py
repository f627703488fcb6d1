"""What a step of self-consistency begins with, and what it finds."""

from dataclasses import dataclass
from functools import cached_property

import torch

from eigenwerk.dft.energies import Energies
from eigenwerk.dft.scf.bands import Bands
from eigenwerk.dft.scf.solvers import Method
from eigenwerk.dft.scf.state import wanted_bands
from eigenwerk.dft.single_precision import SingleTables
from eigenwerk.dft.spectrum.occupations import Occupations


@dataclass(frozen=True, eq=False)
class Orbitals:
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
    method: Method
    tolerance: float
    single: SingleTables | None
    events: tuple[str, ...]

    @cached_property
    def orbitals(self) -> Orbitals:
        """Where the next step begins."""
        return Orbitals(self.bands.coeff_sknG, wanted_bands(self.filled.occ_skn), self.bands.proj_sknI)
