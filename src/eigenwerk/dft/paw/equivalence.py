"""Atoms that symmetry makes equal: one-centre terms are computed for one of each kind.

For a density with the symmetry of the group, D(o a) = M_o D(a) M_oᵀ, and every function of the
occupancies that does not depend on orientation, such as ∂E/∂D, moves from atom to atom the same way.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eigenwerk.dft.crystal.rotations import axial, real_harmonics_rotation
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.spin.form import Spin
from eigenwerk.parallel.runtime import Runtime


@dataclass(frozen=True)
class EquivalentAtoms:
    """Equivalence of one species' atoms.

    first_r: (r,) one atom of each kind, as an index into the species' atoms; count_r: how many are equal
    to it; kind_a: (a,) which kind an atom is of; rotation_aij: M of an operation that moves first_r to a;
    axial_avv, flip_a: what that operation does to axial vectors, and whether it turns time around.
    """

    first_r: torch.Tensor
    count_r: torch.Tensor
    kind_a: torch.Tensor
    rotation_aij: torch.Tensor
    axial_avv: torch.Tensor
    flip_a: torch.Tensor

    @cached_property
    def flips(self) -> bool:
        """Whether any operation turns time around."""
        return bool(self.flip_a.any())

    def spread(self, block_srij: torch.Tensor, spin: Spin) -> torch.Tensor:
        """From one atom of each kind to all atoms; (s, r, i, i) -> (s, a, i, i)."""
        block_saij = block_srij.index_select(1, self.kind_a)
        block_saij = spin.rotated(block_saij, self.axial_avv, self.flip_a if self.flips else False)
        return self.rotation_aij @ block_saij @ self.rotation_aij.mT


def equivalent_atoms(symmetry: Symmetry, atom_a: np.ndarray, l_j: tuple[int, ...], runtime: Runtime) -> EquivalentAtoms:
    """Orbits of the atoms `atom_a` of one species with radial channels l_j."""
    first_r: list[int] = []
    count_r: list[int] = []
    kind_a, operation_a = np.full(len(atom_a), -1), np.zeros(len(atom_a), dtype=np.int64)
    place_a = np.zeros(symmetry.atom_map_oa.shape[1], dtype=np.int64)
    place_a[atom_a] = np.arange(len(atom_a))
    for a, atom in enumerate(atom_a):
        if kind_a[a] >= 0:
            continue
        target_x, operation_x = np.unique(symmetry.atom_map_oa[:, atom], return_index=True)
        image_x = place_a[target_x]
        kind_a[image_x], operation_a[image_x] = len(first_r), operation_x
        first_r.append(a)
        count_r.append(len(image_x))
    # a supercell has few different rotations and many atoms
    _, first_x, which_a = np.unique(symmetry.rotation_occ[operation_a], axis=0, return_index=True, return_inverse=True)
    rotation_xvv = symmetry.rotation_ovv[operation_a[first_x]]
    rotation_aij = projector_rotation(rotation_xvv, l_j)[which_a.reshape(-1)]
    return EquivalentAtoms(
        runtime.index(first_r), runtime.tensor(count_r), runtime.index(kind_a), runtime.tensor(rotation_aij),
        runtime.tensor(axial(symmetry.rotation_ovv[operation_a])),
        runtime.tensor(symmetry.spin_flip_o[operation_a], torch.bool),
    )


def projector_rotation(rotation_vv: np.ndarray, l_j: tuple[int, ...]) -> np.ndarray:
    """M of all projectors of a species, Y_i(R x) = Σ_j M_ij Y_j(x): block diagonal over channels; (..., i, i)."""
    size = sum(2 * l + 1 for l in l_j)
    of_l = {l: real_harmonics_rotation(l, rotation_vv) for l in set(l_j)}
    rotation_ij, start = np.zeros((*rotation_vv.shape[:-2], size, size)), 0
    for l in l_j:
        block = slice(start, start + 2 * l + 1)
        rotation_ij[..., block, block] = of_l[l]
        start = block.stop
    return rotation_ij
