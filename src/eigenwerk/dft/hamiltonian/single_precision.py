"""The Hamiltonian in single precision, for steps of self-consistency that need no more: half the bytes.

docs/equations/precision.md.
"""

from dataclasses import dataclass, replace

import torch

from eigenwerk.dft.basis.wave_form import SphereMap
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.real_space import RealSpaceProjectors
from eigenwerk.dft.terms.term import LowRank

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
        """H and S of all orbitals, for orbitals in single precision.

        Not split: <x|A|x> and <P x|D P x> are several times their sum, which single precision would feel.
        """
        dtype, rows = self.projector_kIG.dtype, twin.rows
        return replace(
            twin, projector_kIG=self.projector_kIG, sphere_map=self.sphere_map, real_space=self.real_space,
            kinetic_kG=lowered(twin.kinetic_kG), mask_kG=lowered(twin.mask_kG), vt_sR=lowered(twin.vt_sR),
            others=tuple((kind, lowered(v_sR)) for kind, v_sR in twin.others),
            dH=twin.dH.to(dtype), dS=twin.dS.to(dtype), splits=False,
            rows=None if rows is None else LowRank(lowered(rows.row_skmG), lowered(rows.weight_smm)),
        )  # fmt: skip


def _lowered_spheres(found: RealSpaceProjectors) -> RealSpaceProjectors:
    phase_kS = None if found.phase_kS is None else lowered(found.phase_kS)
    parts = tuple(replace(part, table_aPi=lowered(part.table_aPi)) for part in found.parts)
    return replace(found, phase_kS=phase_kS, parts=parts)
