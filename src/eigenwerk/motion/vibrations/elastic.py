"""Elastic constants from stresses and forces of strained cells.

C_ij = ∂σ_i/∂ε_j at fixed lattice coordinates (clamped ions), Λ_av,j = ∂F_av/∂ε_j (internal strain); ions that follow
give C - Λᵀ Φ⁻¹ Λ / V.  Strains: ε_xx ε_yy ε_zz γ_yz γ_zx γ_xy, with γ = 2 ε (Voigt).
Source: X. Wu, D. Vanderbilt, D. R. Hamann, Phys. Rev. B 72, 035105 (2005); averages: R. Hill, Proc. Phys. Soc. A 65,
349 (1952).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from eigenwerk.motion.vibrations.directions import response
from eigenwerk.motion.vibrations.force_constants import ForceConstants
from eigenwerk.motion.vibrations.operations import Operations
from eigenwerk.units import EV_PER_ANGSTROM3_GPA

PAIRS = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))
"""Axes of the six strains."""

SOFT = 1e-6
"""Part of the largest eigenvalue of the force constants below which one costs no energy."""

_ROOTS = np.sqrt([1, 1, 1, 2, 2, 2])
"""By which shears are multiplied, so that rotations act on six components by orthogonal matrices."""


@dataclass(frozen=True)
class Moduli:
    """Of a polycrystal, GPa; poisson is a number.  Means of the bounds of Voigt and Reuss (Hill)."""

    bulk_voigt: float
    bulk_reuss: float
    shear_voigt: float
    shear_reuss: float

    @property
    def bulk(self) -> float:
        """K."""
        return (self.bulk_voigt + self.bulk_reuss) / 2

    @property
    def shear(self) -> float:
        """G."""
        return (self.shear_voigt + self.shear_reuss) / 2

    @property
    def young(self) -> float:
        """9 K G / (3 K + G)."""
        return 9 * self.bulk * self.shear / (3 * self.bulk + self.shear)

    @property
    def poisson(self) -> float:
        """(3 K - 2 G) / 2 (3 K + G)."""
        return (3 * self.bulk - 2 * self.shear) / 2 / (3 * self.bulk + self.shear)


@dataclass(frozen=True, eq=False)
class Elastic:
    """Elastic constants, (6, 6), GPa, in Voigt's order.

    measured_jj: clamped ions, ∂σ_i/∂ε_j as the stresses gave it, with the symmetry of the crystal; clamped_jj: its
    symmetric part.  ionic_jj: what the relaxation of the ions adds.  internal_strain_avj: ∂F/∂ε, (a, 3, 6), eV/Å,
    zero for coordinates that are not free.
    """

    measured_jj: np.ndarray
    clamped_jj: np.ndarray
    ionic_jj: np.ndarray
    internal_strain_avj: np.ndarray

    @property
    def total_jj(self) -> np.ndarray:
        """With ions that follow the strain."""
        return self.clamped_jj + self.ionic_jj

    @property
    def lowest(self) -> float:
        """Lowest eigenvalue of the tensor, GPa; the crystal is unstable if it is not positive."""
        return float(np.linalg.eigvalsh(self.total_jj * np.outer(_ROOTS, _ROOTS))[0])

    @property
    def moduli(self) -> Moduli | None:
        """Of a polycrystal; None if the crystal is unstable."""
        if self.lowest <= 0:
            return None
        stiff_jj, soft_jj = self.total_jj, np.linalg.inv(self.total_jj)
        (diagonal, mixed, shears), (soft, soft_mixed, soft_shears) = _sums(stiff_jj), _sums(soft_jj)
        return Moduli(
            (diagonal + 2 * mixed) / 9,
            1 / (soft + 2 * soft_mixed),
            (diagonal - mixed + 3 * shears) / 15,
            15 / (4 * (soft - soft_mixed) + 3 * soft_shears),
        )


def _sums(matrix_jj: np.ndarray) -> tuple[float, float, float]:
    """xx + yy + zz; xx,yy + yy,zz + zz,xx; the diagonal of shears."""
    normal_jj = matrix_jj[:3, :3]
    return float(np.trace(normal_jj)), float(np.triu(normal_jj, 1).sum()), float(np.trace(matrix_jj[3:, 3:]))


def strain_vv(number: int) -> np.ndarray:
    """The symmetric matrix of a strain of one."""
    v, w = PAIRS[number]
    unit_vv = np.zeros((3, 3))
    unit_vv[v, w] += 0.5
    unit_vv[w, v] += 0.5
    return unit_vv


def six(tensor_vv: np.ndarray) -> np.ndarray:
    """A symmetric matrix (..., 3, 3) as six components (..., 6) with the same scalar products."""
    both_vv = (tensor_vv + np.swapaxes(tensor_vv, -1, -2)) / 2
    return np.stack([both_vv[..., v, w] for v, w in PAIRS], axis=-1) * _ROOTS


def strain_actions(rotation_ovv: np.ndarray) -> np.ndarray:
    """Matrices (o, 6, 6) by which rotations act on `six`."""
    unit_jvv = np.array([strain_vv(j) for j in range(6)]) * _ROOTS[:, None, None]
    turned_ojvv = np.einsum("ovx,jxy,owy->ojvw", rotation_ovv, unit_jvv, rotation_ovv)
    return np.swapaxes(six(turned_ojvv), -1, -2)


@dataclass(frozen=True, eq=False)
class MeasuredStrain:
    """∂σ/∂ε, (3, 3), eV/Å³, and ∂F/∂ε, (a, 3), eV/Å, by one of the six strains."""

    number: int
    stress_vv: np.ndarray
    forces_av: np.ndarray


def elastic(
    strains: Iterable[MeasuredStrain], operations: Operations, lattice_cv: np.ndarray, constants: ForceConstants
) -> Elastic:
    """All elastic constants from the answers to independent strains.

    operations: those of the crystal that keep the free coordinates.
    """
    rotation_ovv = operations.cartesian(lattice_cv)
    action_ojj = strain_actions(rotation_ovv)
    directions, answers = [], []
    for strain in strains:
        for o, map_a in enumerate(operations.atom_map_oa):
            turned_av = np.empty_like(strain.forces_av)
            turned_av[map_a] = strain.forces_av @ rotation_ovv[o].T
            directions.append(action_ojj[o] @ six(strain_vv(strain.number)))
            answers.append(np.concatenate([action_ojj[o] @ six(strain.stress_vv), turned_av.ravel()]))
    answer_jz = response(np.array(directions), np.array(answers)) / _ROOTS[:, None]
    measured_jj = (answer_jz[:, :6] / _ROOTS).T * EV_PER_ANGSTROM3_GPA
    internal_avj = np.moveaxis(answer_jz[:, 6:].reshape(6, -1, 3), 0, -1) * constants.free_av[:, :, None]
    volume = abs(np.linalg.det(lattice_cv))
    ionic_jj = _ionic(internal_avj[constants.free_av], constants) / volume * EV_PER_ANGSTROM3_GPA
    return Elastic(measured_jj, (measured_jj + measured_jj.T) / 2, ionic_jj, internal_avj)


def _ionic(internal_xj: np.ndarray, constants: ForceConstants) -> np.ndarray:
    """-Λᵀ Φ⁻¹ Λ, eV, without directions that cost no energy, such as translations."""
    soft_xx = np.linalg.pinv(constants.matrix_xx, rcond=SOFT, hermitian=True)
    ionic_jj: np.ndarray = -internal_xj.T @ soft_xx @ internal_xj
    return (ionic_jj + ionic_jj.T) / 2
