"""Arrangements as vectors: displacements of the atoms and a strain, with what of them may change.

A vector z of 3a + 6 numbers stands for the lattice h = h₀ exp(η) with a symmetric η, so that the cell never turns, and
for the positions x exp(η): x (three numbers for each atom, Å) are positions in the lattice h₀ of the start.  The last
six numbers are η in the basis of symmetric matrices that is orthonormal by Tr AB.

With F = exp(η), forces f and the stress σ (E changes by V Σ σ_ij ε_ij): ∂E/∂x = -f F; dE = Σ G_ij dF_ij with
G = V F⁻¹ σ; dF = Φ∘dη in the eigenbasis of η, Φ_ij = (e^λi - e^λj) / (λi - λj) (Daleckii and Krein).
ASE's FrechetCellFilter describes cells in the same way.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
from eigenwerk.motion.surface import Arrangement, SurfacePoint

_HALF = np.sqrt(0.5)
STRAIN_BASIS = np.zeros((6, 3, 3))
"""Symmetric matrices, orthonormal by Tr AB: xx, yy, zz, yz, xz, xy."""
for _m, (_i, _j) in enumerate(((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))):
    STRAIN_BASIS[_m, _i, _j] = STRAIN_BASIS[_m, _j, _i] = 1.0 if _i == _j else _HALF

ISIF = {0: (True, ""), 1: (True, ""), 2: (True, ""), 3: (True, "all"), 4: (True, "shape"), 5: (False, "shape"),
        6: (False, "all"), 7: (False, "volume"), 8: (True, "volume")}  # fmt: skip
"""ISIF -> whether ions move, and what of the cell does."""


def free_strains(cell: str, lattice_free: tuple[bool, bool, bool]) -> np.ndarray:
    """Orthonormal strains (m, 6) that may change.

    cell: "" none, "all", "shape" at constant volume, "volume" at constant shape; lattice_free: LATTICE_CONSTRAINTS;
    where the entry of a Cartesian direction is False, all strains that have to do with it stay zero.
    """
    free = np.array([lattice_free[i] and lattice_free[j] for i, j in ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))])
    allowed = np.eye(6)[free] if cell else np.zeros((0, 6))
    even = np.where(free, np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), 0.0)
    if cell == "volume":
        return even[None] / np.linalg.norm(even) if even.any() else np.zeros((0, 6))
    if cell == "shape" and even.any():
        even = even / np.linalg.norm(even)
        projector = allowed.T @ allowed - np.outer(even, even)
        values, vectors = np.linalg.eigh(projector)
        return np.ascontiguousarray(vectors[:, values > 0.5].T)
    return allowed


def followed_strains(settings: RelaxationSettings) -> np.ndarray:
    """The same as matrices, (m, 3, 3), orthonormal by Tr AB: the strains that a cell may follow."""
    return np.tensordot(free_strains(ISIF[settings.isif][1], settings.lattice_free), STRAIN_BASIS, 1)


def of_ions(vector_av: np.ndarray) -> np.ndarray:
    """z of what belongs to atoms, (a, 3): places, displacements or forces, without a strain."""
    return np.concatenate([vector_av.ravel(), np.zeros(6)])


def ions_of(z: np.ndarray) -> np.ndarray:
    """The part of z that belongs to atoms, (a, 3)."""
    return z[:-6].reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class Chart:
    """The map between arrangements and vectors, and what may change.

    lattice_cv: of the start, h₀; free_ac: which direct coordinates move; strain_mz: see `free_strains`;
    translations: whether the sum of all forces means nothing, so that the atoms' centre stays.
    """

    lattice_cv: np.ndarray
    free_ac: np.ndarray
    strain_mz: np.ndarray
    translations: bool = True

    @property
    def atoms(self) -> int:
        return len(self.free_ac)

    @cached_property
    def _atom_projector(self) -> np.ndarray | None:
        """(a, 3, 3): on the span of the lattice vectors along which each atom is free; None where all are."""
        if self.free_ac.all():
            return None
        projectors = np.zeros((self.atoms, 3, 3))
        for pattern in np.unique(self.free_ac, axis=0):
            if pattern.any():
                basis, _ = np.linalg.qr(self.lattice_cv[pattern].T)
                projectors[(self.free_ac == pattern).all(axis=1)] = basis @ basis.T
        return projectors

    @cached_property
    def _shifts(self) -> np.ndarray:
        """Orthonormal directions (t, 3) along which all atoms may move together without a change of the energy."""
        axes = self.lattice_cv[self.free_ac.all(axis=0)]
        if not self.translations or not len(axes):
            return np.zeros((0, 3))
        basis, _ = np.linalg.qr(axes.T)
        return basis.T

    def project(self, z: np.ndarray) -> np.ndarray:
        """Vectors (..., 3a + 6) without what may not change."""
        ions = z[..., :-6].reshape(*z.shape[:-1], self.atoms, 3)
        if self._atom_projector is not None:
            ions = np.einsum("...av,avw->...aw", ions, self._atom_projector)
        if len(self._shifts) == 3:
            ions = ions - ions.mean(axis=-2, keepdims=True)
        for shift in self._shifts if len(self._shifts) < 3 else ():
            ions = ions - (ions @ shift).mean(axis=-1)[..., None, None] * shift
        strain = (z[..., -6:] @ self.strain_mz.T) @ self.strain_mz
        return np.concatenate([ions.reshape(*z.shape[:-1], -1), strain], axis=-1)

    def project_ions(self, vector_av: np.ndarray) -> np.ndarray:
        """Displacements or forces without what may not change; (a, 3)."""
        return ions_of(self.project(of_ions(vector_av)))

    def deformation(self, z: np.ndarray) -> np.ndarray:
        """F = exp(η)."""
        values, vectors = np.linalg.eigh(np.einsum("m,mij->ij", z[-6:], STRAIN_BASIS))
        return (vectors * np.exp(values)) @ vectors.T

    def deformation_changes(self, z: np.ndarray) -> np.ndarray:
        """dF/dη_m, (6, 3, 3)."""
        values, vectors = np.linalg.eigh(np.einsum("m,mij->ij", z[-6:], STRAIN_BASIS))
        half = (values[:, None] - values[None]) / 2
        ratio = np.where(np.abs(half) < 1e-5, 1 + half**2 / 6, np.sinh(half) / np.where(half == 0, 1, half))
        phi = np.exp((values[:, None] + values[None]) / 2) * ratio
        inside = np.einsum("ki,mkl,lj->mij", vectors, STRAIN_BASIS, vectors) * phi
        return np.einsum("ik,mkl,jl->mij", vectors, inside, vectors)

    def vector(self, arrangement: Arrangement) -> np.ndarray:
        """z of an arrangement whose lattice is h₀ strained; used for the start, where η = 0."""
        return of_ions(arrangement.scaled_ac @ self.lattice_cv)

    def arrangement(
        self, z: np.ndarray, scaled_ac: np.ndarray, origin: np.ndarray, force_error: float | None = None
    ) -> Arrangement:
        """Of z; scaled_ac: the start's, whose vector is origin, so that what does not move stays to the last bit."""
        moved = ions_of(z - origin) @ np.linalg.inv(self.lattice_cv)
        moved = np.where(self.free_ac, moved, 0.0)
        lattice = self.lattice_cv @ self.deformation(z) if z[-6:].any() else self.lattice_cv
        return Arrangement(lattice, scaled_ac + moved, force_error)

    def gradient(self, z: np.ndarray, point: SurfacePoint, pressure: float = 0.0) -> np.ndarray:
        """∂(E + pV)/∂z of what may change; pressure: eV/Å³."""
        deform = self.deformation(z)
        ions = -(point.forces_av @ deform.T).ravel()
        strain = np.zeros(6)
        if len(self.strain_mz):
            assert point.stress_vv is not None
            stress = point.stress_vv + pressure * np.eye(3)
            inner = point.arrangement.volume * np.linalg.solve(deform, stress)
            strain = np.einsum("ij,mij->m", inner, self.deformation_changes(z))
        return self.project(np.concatenate([ions, strain]))

    def largest_stress(self, stress_vv: np.ndarray) -> float:
        """The largest component of what the cell may follow of a stress."""
        parts = self.strain_mz @ np.einsum("ij,mij->m", stress_vv, STRAIN_BASIS)
        return float(np.abs(np.einsum("x,xm,mij->ij", parts, self.strain_mz, STRAIN_BASIS)).max(initial=0.0))
