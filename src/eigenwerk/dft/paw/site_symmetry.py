"""What the surroundings of an atom leave of the symmetry of a sphere: directions in which its density is the same.

The angular meshes have the symmetry of a cube along the Cartesian axes.  Of the rotations (and reflections) that keep
an atom in its place, those that the cube shares take points of the mesh to points; one of each set stands for all.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.paw.equivalence import projector_rotation
from eigenwerk.dft.paw.spherical import sphere_quadrature
from eigenwerk.parallel.runtime import Runtime

ON_AXES = 1e-10
"""How far a rotation may be from one of the cube."""


@dataclass(frozen=True)
class SiteSymmetry:
    """Rotations R about an atom that the density around it shares, a group.

    rotation_ovv: for column vectors; rotation_oij: M of the projectors, Y_i(R x) = Σ_j M_ij Y_j(x).
    """

    rotation_ovv: np.ndarray
    rotation_oij: torch.Tensor

    def directions(self, degree: int) -> tuple[torch.Tensor, torch.Tensor]:
        """One point of each set of equal ones of `sphere_quadrature`, with the weights of all."""
        point_xv, weight_x = sphere_quadrature(degree)
        points = point_xv.numpy()
        # the image of x under R is the point whose scalar product with R x is one
        image_ox = np.array([(points @ rotation_vv.T @ points.T).argmax(1) for rotation_vv in self.rotation_ovv])
        first_u, set_x = np.unique(image_ox.min(0), return_inverse=True)
        weight_u = np.bincount(set_x, weight_x.numpy())
        return point_xv[first_u], torch.from_numpy(weight_u)

    @cached_property
    def average_xx(self) -> torch.Tensor:
        """1/N Σ_R M D Mᵀ on flat blocks D, x = (i, i): the whole derivative, from that of one point of each set."""
        count, size = len(self.rotation_oij), self.rotation_oij.shape[-1] ** 2
        total_ijab = torch.einsum("oai,obj->ijab", self.rotation_oij, self.rotation_oij)
        return total_ijab.reshape(size, size) / count


def site_symmetry(symmetry: Symmetry, atoms: np.ndarray, l_j: tuple[int, ...], runtime: Runtime) -> SiteSymmetry:
    """Rotations that keep each of these atoms in its place, and the spins, and that the angular meshes share.

    atoms: indices into the structure; l_j: channels of their species.
    """
    in_place_o = (symmetry.atom_map_oa[:, atoms] == atoms).all(1) & ~symmetry.spin_flip_o
    rotation_ovv = symmetry.rotation_ovv[in_place_o]
    cubic_o = (np.abs(rotation_ovv - np.rint(rotation_ovv)) < ON_AXES).all((1, 2))
    rotation_ovv = np.rint(rotation_ovv[cubic_o])
    rotation_oij = projector_rotation(rotation_ovv, l_j)
    return SiteSymmetry(rotation_ovv, runtime.tensor(rotation_oij))
