"""The grid of pair densities: the smallest one that holds their sphere of waves around every q, and orbitals on it.

PRECFOCK says how many times larger the sphere is than that of the orbitals (`PAIR_FACTOR`); the grid of the orbitals
themselves, by PREC, may be finer or coarser.  Products of two orbitals reach to twice their sphere: what lies beyond
the grid is folded back into it, small as the ends of orbitals are.

Charges stand at the points of the grid, and 1e-5 of them is seen otherwise on other points (pair_shape.py).  So that
descriptions of one crystal have one set of points, the grid has the symmetry of the crystal whether that is used or
not, and of lattice vectors that are longer than they must be it does not take notice where N x N x N points do: these
are the same points in whatever vectors of a lattice.  Cells repeated along their vectors repeat the points.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigenwerk.dft.basis.grids import PAIR_FACTOR, smallest_grid, sphere_radius
from eigenwerk.dft.basis.orbital_fft import FilledGrid
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.basis.wave_form import SphereMap
from eigenwerk.dft.crystal.inversion import turns
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry, equivalent_axes, find_symmetry, translation_denominators
from eigenwerk.lattice_reduction import reduced
from eigenwerk.units import BOHR_ANGSTROM

SAME_PLACE = 1e-5 / BOHR_ANGSTROM
"""How far atoms may be off the symmetry of the grid, bohr."""

ALL = 2
"""Operations of a crystal (ISYM)."""


@dataclass(frozen=True, eq=False)
class PairGrid:
    """wave: radius of the sphere, bohr⁻¹; size_c: points; shift_c: against the origin of the cell, fractional."""

    wave: float
    size_c: tuple[int, int, int]
    shift_c: np.ndarray

    @staticmethod
    def of(basis: PlaneWaveBasis, precision: str) -> "PairGrid":
        """For the orbitals of a basis; precision: of `PAIR_FACTOR`."""
        wave, inversion = pair_wave(basis, precision), basis.inversion
        structure = replace(basis.structure, lattice_cv=basis.sphere_cv)
        crystal = find_symmetry(structure, SAME_PLACE, ALL)
        times_c = repetitions(crystal)
        once = [_once(one, times_c) for one in (basis.kpoints.symmetry, crystal)]
        first, second, third = times_c * _size(replace(structure, lattice_cv=once[1].lattice_cv), wave, once)
        size_c = int(first), int(second), int(third)
        return PairGrid(wave, size_c, np.zeros(3) if inversion is None else inversion.grid_shift(size_c))

    @property
    def points(self) -> int:
        """Points of the grid."""
        return int(np.prod(self.size_c))

    def at(self, basis: PlaneWaveBasis) -> "PairGrid":
        """The same for the orbitals of other points, which may be real by inversion or not."""
        shift_c = np.zeros(3) if basis.inversion is None else basis.inversion.grid_shift(self.size_c)
        return replace(self, shift_c=shift_c)

    def sphere_map(self, basis: PlaneWaveBasis) -> SphereMap:
        """Where the waves of whole spheres lie on this grid."""
        before, runtime = basis.sphere_map, basis.runtime
        index_kWc = _waves(before.index_kW.cpu().numpy(), before.grid.size_c)
        flat_kW = np.ravel_multi_index(tuple(np.moveaxis(index_kWc % np.array(self.size_c), -1, 0)), self.size_c)
        true_kW = np.zeros(flat_kW.shape, dtype=bool)
        for k, count in enumerate(basis.count_k):
            for first in range(0, flat_kW.shape[1], before.waves):  # partners stand behind
                true_kW[k, first : first + count] = True
            # padding must not stand where a wave does
            unused_x = np.setdiff1d(np.arange(self.points), flat_kW[k, true_kW[k]])
            flat_kW[k, ~true_kW[k]] = np.resize(unused_x[: before.waves], int((~true_kW[k]).sum()))
        turn_kW = None
        if basis.inversion is not None:
            rest_c = basis.inversion.off_grid(self.size_c)
            if rest_c.any():
                wave_kWc = index_kWc + basis.point_kc[:, None]
                turn_kW = runtime.tensor(turns(wave_kWc, -rest_c), runtime.complex)
        filled = FilledGrid.by(flat_kW[true_kW], self.size_c)
        return SphereMap(filled, runtime.index(flat_kW), before.scale_kW, before.inversion, turn_kW)


def repetitions(symmetry: Symmetry) -> np.ndarray:
    """How often a cell repeats a primitive one along each of its vectors; (c,), ones if it is no such repetition."""
    pure_o = (symmetry.rotation_occ == np.eye(3)).all((1, 2)) & ~symmetry.spin_flip_o
    shift_xc = np.round(symmetry.translation_oc[pure_o], 6)
    alone_cx = [np.delete(shift_xc, c, axis=1).any(1) == 0 for c in range(3)]
    times_c = np.array([int(along_x.sum()) for along_x in alone_cx])
    return times_c if np.prod(times_c) == len(shift_xc) else np.ones(3, dtype=int)


def _once(symmetry: Symmetry, times_c: np.ndarray) -> Symmetry:
    """The same operations with the vectors of the repeated cell."""
    ratio_cc = times_c[:, None] / times_c
    return replace(
        symmetry, rotation_occ=np.rint(symmetry.rotation_occ * ratio_cc).astype(int),
        translation_oc=symmetry.translation_oc * times_c % 1.0, lattice_cv=symmetry.lattice_cv / times_c[:, None],
    )  # fmt: skip


def _size(structure: Structure, wave: float, symmetries: Sequence[Symmetry]) -> tuple[int, int, int]:
    """Points that hold a sphere of waves and that all operations map onto each other."""
    multiple_c = np.lcm.reduce([translation_denominators(one) for one in symmetries])
    equal_axes = [tuple(group) for one in symmetries for group in equivalent_axes(one)]
    first, second, third = multiple_c.tolist()
    size_c = smallest_grid(structure, wave, (first, second, third), tuple(equal_axes))
    short = replace(structure, lattice_cv=reduced(structure.lattice_cv))
    common = int(np.lcm.reduce(multiple_c))
    alike_c = smallest_grid(short, wave, (common, common, common), ((0, 1, 2),))
    return alike_c if np.prod(alike_c) < np.prod(size_c) else size_c


def _waves(flat_kW: np.ndarray, size_c: tuple[int, int, int]) -> np.ndarray:
    """Integer waves of places on a grid; (k, W, 3)."""
    index_kWc = np.stack(np.unravel_index(flat_kW, size_c), -1)
    return index_kWc - np.array(size_c) * (2 * index_kWc >= np.array(size_c))


def pair_wave(basis: PlaneWaveBasis, precision: str) -> float:
    """Radius of the sphere of waves that pair densities are kept on, bohr⁻¹."""
    return PAIR_FACTOR[precision] * sphere_radius(basis.cutoff)

