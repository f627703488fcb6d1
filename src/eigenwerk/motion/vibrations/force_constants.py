"""Second derivatives of the energy by the coordinates that are free.

Φ(av, bw) = -∂F_bw / ∂u_av.  Measured rows are completed by symmetry; then Φ = Φᵀ, and, where every atom is free along
w, the sum rule Σ_b Φ(av, bw) = 0 of translations.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from eigenwerk.motion.vibrations.directions import response
from eigenwerk.motion.vibrations.operations import Operations


@dataclass(frozen=True, eq=False)
class ForceConstants:
    """Force constants of the free coordinates, eV/Å²; x counts those, atoms slow, Cartesian axes fast.

    free_av: (a, 3) of bool.  matrix_xx: symmetric, with the sum rule of translations imposed.  measured_xx: as the
    forces gave them, row by row.  asymmetry: largest |Φ - Φᵀ| of these; sum_rule: largest |Σ_b Φ(av, bw)|.
    translation_yx: (y, x) orthonormal, the translations along axes in which every atom is free.
    """

    free_av: np.ndarray
    matrix_xx: np.ndarray
    measured_xx: np.ndarray
    asymmetry: float
    sum_rule: float
    translation_yx: np.ndarray

    @property
    def symmetric_xx(self) -> np.ndarray:
        """Without the sum rule."""
        return (self.measured_xx + self.measured_xx.T) / 2


@dataclass(frozen=True, eq=False)
class MeasuredRow:
    """-∂F/∂u, (a, 3), eV/Å², for an atom that moves along a Cartesian axis."""

    atom: int
    axis: int
    row_av: np.ndarray


def force_constants(
    rows: Iterable[MeasuredRow], operations: Operations, lattice_cv: np.ndarray, free_av: np.ndarray
) -> ForceConstants:
    """All force constants from the rows of independent displacements.

    operations: those that keep the free coordinates; rows of one atom for each of its orbits.
    """
    rotation_ovv, atoms = operations.cartesian(lattice_cv), len(free_av)
    full_avbw = np.zeros((atoms, 3, atoms, 3))
    measured: dict[int, list[MeasuredRow]] = {}
    for row in rows:
        measured.setdefault(row.atom, []).append(row)
    for atom, its_rows in measured.items():
        full_avbw[atom] = _site_response(its_rows, operations, rotation_ovv, free_av[atom])
        image_o = operations.atom_map_oa[:, atom]
        for image in np.unique(image_o):
            o = int(np.flatnonzero(image_o == image)[0])
            turned_vbw = np.einsum("vx,xby,wy->vbw", rotation_ovv[o], full_avbw[atom], rotation_ovv[o])
            full_avbw[image][:, operations.atom_map_oa[o]] = turned_vbw
    free = free_av.ravel()
    measured_xx = full_avbw.reshape(3 * atoms, 3 * atoms)[np.ix_(free, free)]
    return _imposed(measured_xx, free_av)


def _site_response(
    rows: list[MeasuredRow], operations: Operations, rotation_ovv: np.ndarray, free_v: np.ndarray
) -> np.ndarray:
    """Rows of one atom along x, y, z, (3, a, 3), zero along axes that are not free, with the symmetry of its site."""
    site_o = np.flatnonzero(operations.atom_map_oa[:, rows[0].atom] == rows[0].atom)
    directions, answers = [], []
    for row in rows:
        for o in site_o:
            turned_av = np.empty_like(row.row_av)
            turned_av[operations.atom_map_oa[o]] = row.row_av @ rotation_ovv[o].T
            directions.append(rotation_ovv[o][:, row.axis])
            answers.append(turned_av.ravel())
    result_vx = np.zeros((3, rows[0].row_av.size))
    result_vx[free_v] = response(np.array(directions)[:, free_v], np.array(answers))
    return result_vx.reshape(3, -1, 3)


def _imposed(measured_xx: np.ndarray, free_av: np.ndarray) -> ForceConstants:
    """The nearest matrix that is symmetric and obeys the sum rule: P (Φ + Φᵀ)/2 P, P without the translations."""
    axis_x = np.nonzero(free_av)[1]
    translations = [(axis_x == v) / np.sqrt(len(free_av)) for v in range(3) if free_av[:, v].all()]
    translation_yx = np.array(translations).reshape(-1, len(axis_x))
    projector_xx = np.eye(len(axis_x)) - translation_yx.T @ translation_yx
    matrix_xx = projector_xx @ (measured_xx + measured_xx.T) @ projector_xx / 2
    sums_xy = measured_xx @ translation_yx.T * np.sqrt(len(free_av))
    return ForceConstants(
        free_av,
        (matrix_xx + matrix_xx.T) / 2,
        measured_xx,
        float(np.abs(measured_xx - measured_xx.T).max()),
        float(np.abs(sums_xy).max(initial=0.0)),
        translation_yx,
    )
