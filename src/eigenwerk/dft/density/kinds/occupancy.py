"""One-centre occupancies D_s,ij = Σ_k w_k Σ_n g f_skn <p̃_i|ψ̃><ψ̃|p̃_j>, of all atoms in flat order.

They are real where spins are collinear: the rest vanishes by time reversal.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch

from eigenwerk.dft.basis.blocks import on_k_blocks
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.density.kinds.kind import FieldKind, FilledOrbitals, filled_bands
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.one_centre import projections
from eigenwerk.parallel.process_grid import share

OCCUPANCY = "occupancy"


class Occupancy(FieldKind):
    """Its derivative is ΔH, which acts between projectors, that of all such fields together."""

    name: ClassVar = OCCUPANCY
    waves: ClassVar = False

    def of_orbitals(self, orbitals: FilledOrbitals) -> torch.Tensor:
        """(s, x)."""
        atoms, coeff_sknG, proj_sknI = orbitals.atoms, orbitals.coeff_sknG, orbitals.proj_sknI
        runtime, bands = atoms.runtime, filled_bands(orbitals.filling_skn)
        there_skn = orbitals.filling_skn.to(coeff_sknG.device)
        own_n = share(bands, runtime.bands.size, runtime.bands.rank)

        def occupancies(spin: int, k: slice) -> torch.Tensor:
            if proj_sknI is not None:
                proj_knI = proj_sknI[spin, k, :bands]
            else:
                proj_knI = runtime.bands.sum(projections(coeff_sknG[spin, k, :bands], orbitals.projector_kIG[k]))
            return band_occupancies(atoms, proj_knI[:, own_n].to(atoms.basis.form.dtype), there_skn[spin, k, own_n])

        parts_s = on_k_blocks(atoms.basis, len(coeff_sknG), coeff_sknG.shape[2], occupancies)
        # every channel gives one component of the density, or several
        return runtime.world.sum(torch.stack([torch.stack(parts).sum(0) for parts in parts_s]).flatten(0, -2))

    def of_atoms(
        self, atoms: PawAtoms, occupancies: Sequence[np.ndarray], place: Structure | None = None
    ) -> torch.Tensor:
        """Diagonal, f_j / (2l+1)."""
        blocks = []
        for species, occupancy_saj in zip(atoms.layout.species, occupancies, strict=True):
            setup = species.setup
            degeneracy_j = 2 * np.array(setup.l_j) + 1
            diagonal_sai = (occupancy_saj / degeneracy_j)[:, :, setup.j_i]
            blocks.append(torch.diag_embed(atoms.runtime.tensor(diagonal_sai)))
        return atoms.layout.flatten(blocks)


FIELD = Occupancy()


def band_occupancies(atoms: PawAtoms, proj_knI: torch.Tensor, filling_kn: torch.Tensor) -> torch.Tensor:
    """Σ filling P_i P_j* of a block of k-points, in flat order; (x,), or of all that a channel gives, (z, x)."""
    blocks = []
    for species in atoms.layout.species:
        columns_ai = atoms.layout.columns(species, proj_knI.device)
        proj_ani = proj_knI[..., columns_ai].movedim(2, 0).flatten(1, 2)
        blocks.append(atoms.basis.spin.matrices(proj_ani, proj_ani * filling_kn.flatten()[:, None]))
    return atoms.layout.flatten(blocks)
