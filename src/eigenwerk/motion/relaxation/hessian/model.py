"""A model of the second derivatives of the energy by atoms and strain, from internal coordinates.

H = Σ_x c(kind x) k_x (∂q_x/∂z)(∂q_x/∂z)ᵀ + floor.  They know of the strain, so that elastic constants and the coupling
of atoms and cell come with them.  The factors c, one of each kind of coordinate, are 1 at first and then learnt from
the changes of the gradient that were seen.
"""

from dataclasses import dataclass

import numpy as np

from eigenwerk.motion.relaxation.chart import Chart
from eigenwerk.motion.relaxation.hessian.internal import Coordinates, Rows, internal_coordinates
from eigenwerk.motion.relaxation.hessian.products import HessianProducts

FLOOR = 0.4
"""eV/Å², added for each atom: no direction is flat."""

STRAIN_FLOOR = 2.0
"""eV for each atom, of strains."""

PRIOR_WIDTH = 0.85
"""Of the logarithm of a factor, before anything was learnt."""


@dataclass(frozen=True, eq=False)
class ModelHessian:
    """The model at one arrangement; kinds: of its coordinates, in order; floor_z: the diagonal floor."""

    rows: list[Rows]
    kinds: np.ndarray
    floor_z: np.ndarray

    @property
    def atoms(self) -> int:
        """Their number."""
        return (len(self.floor_z) - 6) // 3

    def matrix(self, factor_k: np.ndarray) -> np.ndarray:
        """H (z, z); factor_k: of each kind and, last, of the floor."""
        size = len(self.floor_z)
        found = np.diag(self.floor_z * factor_k[-1])
        for rows in self.rows:
            found += rows.squares(size, factor_k[np.searchsorted(self.kinds, rows.kind_x)])
        return found

    def products_with(self, factor_k: np.ndarray) -> HessianProducts:
        """H as products; factor_k: of each kind and, last, of the floor."""
        weights = [rows.stiffness_x * factor_k[np.searchsorted(self.kinds, rows.kind_x)] for rows in self.rows]
        return HessianProducts(self.rows, weights, self.floor_z * factor_k[-1])

    def products(self, s: np.ndarray) -> np.ndarray:
        """H s by kinds, (k + 1, z), with factors 1; the last is the floor's."""
        size = len(self.floor_z)
        found = np.zeros((len(self.kinds) + 1, size))
        for rows in self.rows:
            along = rows.stiffness_x * (rows.value_xy * s[rows.index_xy]).sum(axis=1)
            where = np.searchsorted(self.kinds, rows.kind_x)[:, None] * size + rows.index_xy
            found[:-1] += np.bincount(
                where.ravel(), (rows.value_xy * along[:, None]).ravel(), minlength=len(self.kinds) * size
            ).reshape(len(self.kinds), size)
        found[-1] = self.floor_z * s
        return found


def model_hessian(chart: Chart, z: np.ndarray, scaled_ac: np.ndarray, symbols: tuple[str, ...]) -> ModelHessian:
    """The model at z; scaled_ac: positions there.  Raises ValueError for a cell without room."""
    deform = chart.deformation(z)
    lattice = chart.lattice_cv @ deform
    coordinates = internal_coordinates(lattice, scaled_ac, symbols)
    changes = np.linalg.solve(deform, chart.deformation_changes(z))
    rows = [_rows(part, deform, changes, len(symbols)) for part in coordinates]
    kinds = np.unique(np.concatenate([part.kind_x for part in rows])) if rows else np.zeros(0, int)
    atoms = len(symbols)
    floor = np.concatenate([np.full(3 * atoms, FLOOR), np.full(6, STRAIN_FLOOR * atoms)])
    return ModelHessian(rows, kinds, floor)


def _rows(part: Coordinates, deform: np.ndarray, changes_mvw: np.ndarray, size: int) -> Rows:
    """Chain rule: a place is X F, so that it moves by dX F, and by the strain as (place) F⁻¹ dF."""
    count, atoms = part.atom_xt.shape
    ions = (part.slope_xtv @ deform.T).reshape(count, 3 * atoms)
    relative = part.place_xtv - part.place_xtv[:, :1]
    strain = np.einsum("xtv,mvw,xtw->xm", relative, changes_mvw, part.slope_xtv)
    index = (3 * part.atom_xt[:, :, None] + np.arange(3)).reshape(count, 3 * atoms)
    return Rows(
        np.concatenate([index, np.broadcast_to(3 * size + np.arange(6), (count, 6))], axis=1),
        np.concatenate([ions, strain], axis=1), part.stiffness_x, part.kind_x,
    )  # fmt: skip


def confined(matrix: np.ndarray, floor_z: np.ndarray, chart: Chart) -> np.ndarray:
    """A matrix on what may change, a diagonal one elsewhere."""
    floor = np.diag(floor_z)
    return chart.project(chart.project(matrix - floor).T) + floor
