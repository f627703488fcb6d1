"""Crystals of atoms that act on each other in pairs: energies, forces and stresses by formulas, and their symmetry."""

import warnings
from dataclasses import dataclass
from itertools import product

import numpy as np
import spglib

from eigenwerk.motion.surface import Arrangement, SurfacePoint
from eigenwerk.motion.vibrations.operations import Operations


def operations_of(start, symbols):
    """All operations that spglib finds."""
    kinds = [sorted(set(symbols)).index(symbol) for symbol in symbols]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = spglib.get_symmetry_dataset((start.lattice_cv, start.scaled_ac, kinds), symprec=1e-5)
    maps = []
    for rotation_cc, shift_c in zip(found.rotations, found.translations, strict=True):
        offset_aac = start.scaled_ac[None] - (start.scaled_ac @ rotation_cc.T + shift_c)[:, None]
        distance_aa = np.abs(offset_aac - np.rint(offset_aac)).sum(axis=2)
        maps.append(distance_aa.argmin(axis=1))
    return Operations.of(found.rotations, np.array(maps))


def pairs_within(start, distance):
    """(a, b, shift): atoms and lattice vectors to neighbours nearer than a distance, both ways."""
    found = []
    position_av = start.position_av
    for shift_c in product(range(-4, 5), repeat=3):
        offset_aav = position_av[None] + np.array(shift_c) @ start.lattice_cv - position_av[:, None]
        length_aa = np.linalg.norm(offset_aav, axis=2)
        found += [
            (a, b, shift_c) for a, b in zip(*np.nonzero((length_aa > 1e-6) & (length_aa < distance)), strict=True)
        ]
    first_x, second_x, shift_xc = (np.array(column) for column in zip(*found, strict=True))
    return first_x, second_x, shift_xc


@dataclass
class LennardJones:
    """4 ε ((σ/r)¹² - (σ/r)⁶) between the neighbours of the start, which stay the neighbours."""

    start: Arrangement
    cutoff: float
    depth: float = 0.5
    size: float = 2.3
    stress: bool = True

    def __post_init__(self):
        self.pairs = pairs_within(self.start, self.cutoff)

    def slopes(self, r):
        """The pair energy and its first two derivatives."""
        x = (self.size / r) ** 6
        return (
            4 * self.depth * (x**2 - x),
            4 * self.depth * (-12 * x**2 + 6 * x) / r,
            4 * self.depth * (156 * x**2 - 42 * x) / r**2,
        )

    def __call__(self, arrangement):
        first_x, second_x, shift_xc = self.pairs
        place_av = arrangement.position_av
        offset_xv = place_av[second_x] + shift_xc @ arrangement.lattice_cv - place_av[first_x]
        r_x = np.linalg.norm(offset_xv, axis=1)
        energy_x, slope_x, _ = self.slopes(r_x)
        pull_xv = (slope_x / r_x)[:, None] * offset_xv
        forces_av = np.zeros_like(place_av)
        np.add.at(forces_av, first_x, pull_xv)
        stress_vv = pull_xv.T @ offset_xv / 2 / arrangement.volume
        return SurfacePoint(arrangement, energy_x.sum() / 2, forces_av, stress_vv if self.stress else None)


@dataclass
class Springs:
    """Springs between neighbours that are at rest at the start, to second order: F, σ are linear in u and strain."""

    start: Arrangement
    cutoff: float
    stiffness: float = 3.0
    sideways: float = 0.4

    def __post_init__(self):
        self.pairs = pairs_within(self.start, self.cutoff)
        first_x, second_x, shift_xc = self.pairs
        place_av = self.start.position_av
        self.offset_xv = place_av[second_x] + shift_xc @ self.start.lattice_cv - place_av[first_x]
        unit_xv = self.offset_xv / np.linalg.norm(self.offset_xv, axis=1)[:, None]
        along_xvv = unit_xv[:, :, None] * unit_xv[:, None, :]
        self.spring_xvv = self.stiffness * along_xvv + self.sideways * (np.eye(3) - along_xvv)

    def __call__(self, arrangement):
        first_x, second_x, _ = self.pairs
        strain_vv = np.linalg.inv(self.start.lattice_cv) @ arrangement.lattice_cv - np.eye(3)
        moved_av = (arrangement.scaled_ac - self.start.scaled_ac) @ self.start.lattice_cv
        change_xv = moved_av[second_x] - moved_av[first_x] + self.offset_xv @ strain_vv
        pull_xv = np.einsum("xvw,xw->xv", self.spring_xvv, change_xv)
        forces_av = np.zeros_like(moved_av)
        np.add.at(forces_av, first_x, pull_xv)
        stress_vv = pull_xv.T @ self.offset_xv / 2 / self.start.volume
        energy = np.einsum("xv,xv->", pull_xv, change_xv) / 4
        return SurfacePoint(arrangement, energy, forces_av, (stress_vv + stress_vv.T) / 2)


def fcc(a):
    """One atom."""
    return Arrangement(a / 2 * np.array([[0.0, 1, 1], [1, 0, 1], [1, 1, 0]]), np.zeros((1, 3)))


def diamond(a):
    """Two atoms."""
    return Arrangement(fcc(a).lattice_cv, np.array([[0.0, 0, 0], [0.25, 0.25, 0.25]]))


def hcp(a, ratio):
    """Two atoms."""
    lattice_cv = a * np.array([[1, 0, 0], [-0.5, 3**0.5 / 2, 0], [0, 0, ratio]])
    return Arrangement(lattice_cv, np.array([[1 / 3, 2 / 3, 0.25], [2 / 3, 1 / 3, 0.75]]))


def repeated(start, counts):
    """A supercell."""
    shifts = np.array(list(product(*map(range, counts))))
    scaled_ac = (start.scaled_ac[:, None] + shifts[None]).reshape(-1, 3) / counts
    return Arrangement(start.lattice_cv * np.array(counts)[:, None], scaled_ac)
