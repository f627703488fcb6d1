"""The Hamiltonian in single precision, for steps of self-consistency that need no more: half the bytes.

docs/equations/precision.md.
"""

from copy import copy
from dataclasses import dataclass, replace

import torch

from eigenwerk.dft.basis.wave_form import SphereMap
from eigenwerk.dft.hamiltonian import Hamiltonian
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.real_space import RealSpaceProjectors

LOWER = {torch.float64: torch.float32, torch.complex128: torch.complex64}


def lowered(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers in single precision; integers as they are."""
    return tensor.to(LOWER.get(tensor.dtype, tensor.dtype))


@dataclass(frozen=True)
class SingleTables:
    """What belongs to basis and atoms, in single precision: projectors (k, I, G), the map of spheres to the grid, and
    projectors in real space, if they are used."""

    projector_kIG: torch.Tensor
    sphere_map: SphereMap
    real_space: RealSpaceProjectors | None

    @staticmethod
    def of(atoms: PawAtoms) -> "SingleTables":
        """Copies of the tables in double precision."""
        found = atoms.basis.sphere_map
        scale_kW, turn_kW = (None if x_kW is None else lowered(x_kW) for x_kW in (found.scale_kW, found.turn_kW))
        sphere_map = replace(found, scale_kW=scale_kW, turn_kW=turn_kW)
        real_space = None if atoms.real_space is None else _lowered_spheres(atoms.real_space)
        return SingleTables(lowered(atoms.projector_kIG), sphere_map, real_space)

    def hamiltonian(self, twin: Hamiltonian) -> Hamiltonian:
        """H and S of all k-points for orbitals in single precision.

        Not split: <x|A|x> and <P x|D P x> are several times their sum, which single precision would feel.
        """
        made = copy(twin)
        made.splits = False
        made.projector_kIG, made.sphere_map, made.real_space = self.projector_kIG, self.sphere_map, self.real_space
        made.kinetic_kG, made.mask_kG, made.local_R = map(lowered, (twin.kinetic_kG, twin.mask_kG, twin.local_R))
        dtype = self.projector_kIG.dtype
        made.energy_II, made.overlap_II = twin.energy_II.to(dtype), twin.overlap_II.to(dtype)
        return made


def _lowered_spheres(found: RealSpaceProjectors) -> RealSpaceProjectors:
    phase_kS = None if found.phase_kS is None else lowered(found.phase_kS)
    parts = tuple(replace(part, table_aPi=lowered(part.table_aPi)) for part in found.parts)
    return replace(found, phase_kS=phase_kS, parts=parts)
