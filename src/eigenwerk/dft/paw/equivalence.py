"""Atoms that symmetry makes equal: one-centre terms are computed for one of each kind.

For a density with the symmetry of the group, D(o a) = M_o D(a) M_oᵀ, and every function of the
occupancies that does not depend on orientation, such as ∂E/∂D, moves from atom to atom the same way.
"""

from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.dft.rotations import real_harmonics_rotation
from eigenwerk.dft.symmetry import Symmetry
from eigenwerk.parallel.runtime import Runtime


@dataclass(frozen=True)
class EquivalentAtoms:
    """Equivalence of one species' atoms.

    first_r: (r,) one atom of each kind, as an index into the species' atoms; count_r: how many are equal
    to it; kind_a: (a,) which kind an atom is of; rotation_aij: M of an operation that moves first_r to a;
    flip_a: whether that operation exchanges the spins.
    """

    first_r: torch.Tensor
    count_r: torch.Tensor
    kind_a: torch.Tensor
    rotation_aij: torch.Tensor
    flip_a: torch.Tensor

    def spread(self, block_srij: torch.Tensor) -> torch.Tensor:
        """From one atom of each kind to all atoms; (s, r, i, i) -> (s, a, i, i)."""
        block_saij = block_srij[:, self.kind_a]
        block_saij = torch.where(self.flip_a[:, None, None], block_saij.flip(0), block_saij)
        return self.rotation_aij @ block_saij @ self.rotation_aij.mT


def equivalent_atoms(symmetry: Symmetry, atom_a: np.ndarray, l_j: tuple[int, ...], runtime: Runtime) -> EquivalentAtoms:
    """Orbits of the atoms `atom_a` of one species with radial channels l_j."""
    first_r: list[int] = []
    count_r: list[int] = []
    kind_a, operation_a = np.full(len(atom_a), -1), np.zeros(len(atom_a), dtype=np.int64)
    local = {int(atom): a for a, atom in enumerate(atom_a)}
    for a, atom in enumerate(atom_a):
        if kind_a[a] >= 0:
            continue
        for o, target in enumerate(symmetry.atom_map_oa[:, atom]):
            image = local[int(target)]
            if kind_a[image] < 0:
                kind_a[image], operation_a[image] = len(first_r), o
        first_r.append(a)
        count_r.append(int((kind_a == kind_a[a]).sum()))
    rotation_ovv = symmetry.rotation_ovv
    rotation_aij = np.array([projector_rotation(rotation_ovv[o], l_j) for o in operation_a])
    return EquivalentAtoms(
        runtime.index(first_r), runtime.tensor(count_r), runtime.index(kind_a), runtime.tensor(rotation_aij),
        runtime.tensor(symmetry.spin_flip_o[operation_a], torch.bool),
    )


def projector_rotation(rotation_vv: np.ndarray, l_j: tuple[int, ...]) -> np.ndarray:
    """M of all projectors of a species, Y_i(R x) = Σ_j M_ij Y_j(x): block diagonal over channels; (i, i)."""
    size = sum(2 * l + 1 for l in l_j)
    rotation_ij, start = np.zeros((size, size)), 0
    for l in l_j:
        block = slice(start, start + 2 * l + 1)
        rotation_ij[block, block] = real_harmonics_rotation(l, rotation_vv)
        start = block.stop
    return rotation_ij
