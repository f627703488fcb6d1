"""Symmetry operations as a mover takes them: integers, without the crystal they were found for."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class Operations:
    """A group of operations x -> W x + t of the start, the identity first.

    rotation_occ: (o, 3, 3) integers, W on columns of lattice coordinates.  atom_map_oa: (o, a), the atom onto which
    each atom is moved.  number_o: by which number whoever gave them knows each, as in `Arrangement.operation_x`.
    """

    rotation_occ: np.ndarray
    atom_map_oa: np.ndarray
    number_o: np.ndarray

    @classmethod
    def of(cls, rotation_occ: np.ndarray, atom_map_oa: np.ndarray) -> "Operations":
        """All of them, numbered as they come."""
        return cls(np.asarray(rotation_occ), np.asarray(atom_map_oa), np.arange(len(rotation_occ)))

    @classmethod
    def identity(cls, atoms: int) -> "Operations":
        """No symmetry."""
        return cls.of(np.eye(3, dtype=int)[None], np.arange(atoms)[None])

    def only(self, keep_o: np.ndarray) -> "Operations":
        """Those with True."""
        return replace(
            self,
            rotation_occ=self.rotation_occ[keep_o],
            atom_map_oa=self.atom_map_oa[keep_o],
            number_o=self.number_o[keep_o],
        )

    def cartesian(self, lattice_cv: np.ndarray) -> np.ndarray:
        """R = A^T W A^-T for columns, (o, 3, 3); the nearest orthogonal ones if the lattice is almost symmetric."""
        left_ovv, _, right_ovv = np.linalg.svd(lattice_cv.T @ self.rotation_occ @ np.linalg.inv(lattice_cv.T))
        rotation_ovv: np.ndarray = left_ovv @ right_ovv
        return rotation_ovv

    def keeping(self, free_av: np.ndarray, lattice_cv: np.ndarray) -> "Operations":
        """Those that take free Cartesian coordinates into free ones, (a, 3) of bool."""
        rotation_ovv = self.cartesian(lattice_cv)
        mask_avv = np.einsum("av,vw->avw", free_av.astype(float), np.eye(3))
        keep = [
            np.allclose(rotation_vv @ mask_avv @ rotation_vv.T, mask_avv[map_a], atol=1e-3)
            for rotation_vv, map_a in zip(rotation_ovv, self.atom_map_oa, strict=True)
        ]
        return self.only(np.array(keep))
