"""Densities with their true shape near the nuclei, on the density grid: AECCAR0, AECCAR1 and AECCAR2.

    n(r) = ñ(r) + Σ_a Σ_Lq D_Lq [φ_j1 φ_j2 - φ̃_j1 φ̃_j2](|r - R_a|) Y_L      (valence; within the matching radius)
    n_c(r) = Σ_a n_c(|r - R_a|) Y_00                                      (core)

The values are those at the points.  No grid follows the peak at a nucleus, so their sum would miss charge; within half
the matching radius of an atom values are multiplied by 1 + c (1 - r²/r_h²)², with the c that gives what the integral of
its terms is.  Values stay positive, and what is missing stays in the atom that it belongs to.
"""

from math import pi, sqrt

import numpy as np
import torch

from eigenwerk.dft.density.density import Density, superposed_atoms
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.radial import integrate, interpolate
from eigenwerk.dft.paw.real_space import sphere_points
from eigenwerk.dft.paw.setup import matching_radius
from eigenwerk.dft.paw.spherical import solid_harmonics
from eigenwerk.dft.spin.form import UNPOLARISED
from eigenwerk.io.paw.radial_grid import RadialGrid

CORE_LEFT = 1e-9
"""Core electrons beyond the radius within which an atom's core is put on the grid."""

Places = tuple[tuple[np.ndarray, ...], np.ndarray]
"""Indices of points of the grid near an atom, and where they are from it, (x, 3) in bohr."""


def valence_density(density: Density, atoms: PawAtoms) -> np.ndarray:
    """n(R) of a density, summed over spins, times the volume of the cell; (R, R, R)."""
    basis, volume = atoms.basis, float(atoms.basis.volume)
    value_R = basis.fine_map.to_grid(density.spin.total(density.density_sg)).cpu().numpy() * volume
    occupancy_x = density.spin.total(density.occupancy_sx)
    for species in atoms.layout.species:
        setup = species.setup
        overlap_ij = setup.overlap_ij
        blocks_aij = atoms.layout.blocks(occupancy_x, species).cpu().numpy()
        radius = matching_radius(setup.dataset)
        for a, block_ij in zip(species.atom_a, blocks_aij, strict=True):
            places = _places(atoms, a, radius)
            value_Lg = np.einsum("Lqx,x,qg->Lg", setup.expand_Lqx, block_ij.ravel(),
                                 setup.pairs.ae_qg - setup.pairs.pseudo_qg, optimize=True)  # fmt: skip
            part_x = _at_points(setup.pairs.grid, value_Lg, places[1]) * volume
            _add(value_R, places, part_x, float((overlap_ij * block_ij).sum()), radius)
    return value_R


def proto_valence_density(atoms: PawAtoms) -> np.ndarray:
    """The same of the superposed atoms."""
    return valence_density(superposed_atoms(atoms, UNPOLARISED), atoms)


def core_density(atoms: PawAtoms) -> np.ndarray:
    """n_c(R) times the volume of the cell; (R, R, R)."""
    value_R = np.zeros(atoms.basis.grids.fine)
    for species in atoms.layout.species:
        data = species.setup.dataset
        inside_g = sqrt(4 * pi) * np.cumsum(data.ae_core_density_g * data.grid.r_g**2 * data.grid.dr_g)
        electrons = sqrt(4 * pi) * float(integrate(data.grid, data.ae_core_density_g))
        if electrons < CORE_LEFT:
            continue
        radius = float(data.grid.r_g[np.searchsorted(inside_g, inside_g[-1] - CORE_LEFT)])
        for a in species.atom_a:
            places = _places(atoms, a, radius)
            part_x = _at_points(data.grid, data.ae_core_density_g[None], places[1]) * float(atoms.basis.volume)
            _add(value_R, places, part_x, electrons, matching_radius(data))
    return value_R


def _places(atoms: PawAtoms, a: int, radius: float) -> Places:
    """The points within a radius of an atom."""
    structure, size_c = atoms.basis.structure, atoms.basis.grids.fine
    point_xc = sphere_points(structure, size_c, structure.scaled_ac[a], radius)
    offset_xv = (point_xc / np.array(size_c) - structure.scaled_ac[a]) @ structure.lattice_cv
    return tuple((point_xc % np.array(size_c)).T), offset_xv


def _at_points(grid: RadialGrid, value_Lg: np.ndarray, offset_xv: np.ndarray) -> np.ndarray:
    """Σ_L f_L(r) Y_L."""
    distance_x = np.linalg.norm(offset_xv, axis=1)
    unit_xv = offset_xv / np.maximum(distance_x, 1e-12)[:, None]
    lmax = round(sqrt(len(value_Lg))) - 1
    harmonic_xL = solid_harmonics(lmax, torch.as_tensor(unit_xv)).numpy()
    used_L = np.flatnonzero(np.abs(value_Lg).max(axis=1) > 0)
    return (interpolate(grid, value_Lg[used_L], distance_x) * harmonic_xL[:, used_L].T).sum(axis=0)


def _add(value_R: np.ndarray, places: Places, part_x: np.ndarray, charge: float, radius: float) -> None:
    """Add values near an atom, whose mean over all points is to be a charge.

    A small sphere may hold the same point more than once, in a cell that is smaller than the sphere.
    """
    index, offset_xv = places
    np.add.at(value_R, index, part_x)
    missing = charge * value_R.size - part_x.sum()
    shape_x = np.clip(1 - (offset_xv**2).sum(axis=1) / (radius / 2) ** 2, 0, None) ** 2
    inner = shape_x > 0
    index, weight_x = tuple(i[inner] for i in index), shape_x[inner]
    whole_x = weight_x * np.clip(value_R[index], 0, None)
    if whole_x.sum() > 0:
        np.add.at(value_R, index, whole_x * (missing / whole_x.sum()))
