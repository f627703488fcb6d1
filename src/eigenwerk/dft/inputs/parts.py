"""The parts of a described calculation, as far as its input allows to make them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from eigenwerk.dft.basis.grids import GridSizes
from eigenwerk.dft.basis.plane_waves import PlaneWaveCounts
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.inputs.steps.bands import BandRequest
from eigenwerk.dft.inputs.steps.motion import MotionRequest
from eigenwerk.dft.plan.job_size import JobSize
from eigenwerk.dft.plan.memory import MemoryEstimate
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.io.vasp.input.poscar import Poscar


@dataclass(frozen=True, eq=False)
class InputParts:
    """The parts of a calculation; None where the input does not allow to make them.

    structure: in bohr, exactly symmetric under the operations found within SYMPREC (poscar has it as given);
    symmetry: of the structure, also that of kpoints; size: what the cost depends on; memory: of one process on a
    processor; requested: which bands are wanted besides;
    images: of a path, both end points among them.
    """

    poscar: Poscar | None = None
    structure: Structure | None = None
    symmetry: Symmetry | None = None
    kpoints: KPoints | None = None
    parameters: Parameters | None = None
    grids: GridSizes | None = None
    waves: PlaneWaveCounts | None = None
    size: JobSize | None = None
    memory: MemoryEstimate | None = None
    requested: BandRequest | None = None
    motion: MotionRequest | None = None
    keeps_orbitals: bool = True
    images: tuple[Poscar, ...] = ()

    @staticmethod
    def of(known: Mapping[str, Any]) -> "InputParts":
        """Of all that is known, by the names of the fields."""
        return InputParts(**{field.name: known[field.name] for field in fields(InputParts) if field.name in known})
