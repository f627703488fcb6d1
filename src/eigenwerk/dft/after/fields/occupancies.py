"""One-centre occupancies as CHGCAR holds them: coupled to the angular momenta of the density.

    D_Lq = Σ_ij Gaunt(L, L_i, L_j) D_ij,   q = (j1 <= j2): channels of i and j;  |l1 - l2| <= l <= l1 + l2 in steps of 2

These are all that densities, and with them energies, depend on.  Rows of Gaunt coefficients of one q are orthogonal, so
that D_ij = Σ_L Gaunt(L, L_i, L_j) D_Lq / Σ_ij Gaunt² is the way back.  LMAXMIX ends the list: without its largest l it
holds less than the atom (d shells need 4, f shells 6).
"""

import numpy as np
import torch

from eigenwerk.dft.inputs.fitting_files import LEAST_LMAXMIX
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.setup import Setup


def coupled_rows(setup: Setup, largest: int) -> np.ndarray:
    """Gaunt coefficients of the numbers of a file with LMAXMIX = largest; (x, i·i).

    Channel pairs in order, for each l from its lowest, m from -l to l.
    """
    largest = max(largest, LEAST_LMAXMIX)
    rows = []
    for q, (j1, j2) in enumerate(zip(*np.triu_indices(len(setup.l_j)), strict=True)):
        l1, l2 = setup.l_j[j1], setup.l_j[j2]
        for l in range(abs(l1 - l2), min(l1 + l2, largest) + 1, 2):
            rows.append(setup.expand_Lqx[l * l : (l + 1) ** 2, q])
    return np.concatenate(rows)


def highest(setup: Setup) -> int:
    """The LMAXMIX that leaves nothing out."""
    return 2 * max(setup.l_j)


def coupled(atoms: PawAtoms, occupancy_x: torch.Tensor, largest: int) -> tuple[np.ndarray, ...]:
    """The numbers of each atom for one spin component in flat order."""
    found: dict[int, np.ndarray] = {}
    for species in atoms.layout.species:
        block_aij = atoms.layout.blocks(occupancy_x, species).cpu().numpy()
        number_ax = block_aij.reshape(species.count, -1) @ coupled_rows(species.setup, largest).T
        found |= dict(zip(species.atom_a.tolist(), number_ax, strict=True))
    return tuple(found[a] for a in range(len(found)))


def uncoupled(atoms: PawAtoms, numbers: tuple[np.ndarray, ...], largest: int) -> torch.Tensor:
    """Inverse of `coupled`: D of all atoms in flat order, without what the numbers do not tell."""
    blocks = []
    for species in atoms.layout.species:
        row_xy, i = coupled_rows(species.setup, largest), species.setup.projector_count
        back_xy = row_xy / (row_xy**2).sum(1, keepdims=True)
        blocks.append(atoms.runtime.tensor(np.array([(numbers[a] @ back_xy).reshape(i, i) for a in species.atom_a])))
    return atoms.layout.flatten(blocks)
