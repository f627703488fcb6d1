"""Levels that symmetry holds together share their electrons evenly before exchange is made of their orbitals.

V_x[γ] has the symmetry of the crystal if γ at each point has that of the point's group, and only then is Tr V[γ] γ'
that of V[γ'] γ.  Of a threefold level with two electrons it has it if each orbital holds 2/3.  Orbitals that are found
to 1e-6 eV hold shares that differ by 1e-6 eV over the width of the smearing; exchange of the orbital that holds more
lies lower by eV times the difference, and from operator to operator the split grows until whole electrons are in some
of the orbitals: of a symmetric crystal there is then an operator that is not.  So levels that are as close as
degenerate ones come out have the mean of their occupations.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import torch

from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.stars import stars_of
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry, without_spin_flips
from eigenwerk.dft.exchange.pairs.pair_grid import ALL, SAME_PLACE
from eigenwerk.dft.filling.occupations import Occupations
from eigenwerk.units import HARTREE_EV

SCALE, LEAST = 0.1 / HARTREE_EV, 1e-5 / HARTREE_EV
"""Levels are as close as degenerate ones come out where they lie, from the lowest to the highest, within the root of
SCALE times the energy tolerance of the density, or within LEAST.  Splits of levels are of first order in what energies
are of second order in (measured: 3e-4 to 2e-3 eV in cobalt with a tolerance of 1e-3 eV, 4e-5 eV in iron).  Two levels
so far apart by accident cost no more than SCALE / 8 widths of the smearing, 0.25 for 0.05 eV, of the tolerance, times
the weight of their point."""


def closeness(tolerance: float) -> float:
    """How close levels are that belong together; both hartree."""
    return max((SCALE * tolerance) ** 0.5, LEAST)


def together(kpoints: KPoints, structure: Structure) -> list[np.ndarray]:
    """Numbers of points whose levels operations of the crystal hold together: those of a star, and single ones that an
    operation other than inversion leaves where they are (with or without time reversal).

    The operations are those in use; of a mesh or list without any (ISYM = 0) those that the structure has all the same,
    or its exchange would break a symmetry that rounding alone decides about.  Orbitals of one point alone, of molecules
    mostly, are free to do so.
    """
    symmetry = kpoints.symmetry
    if symmetry.order == 1:
        if len(kpoints.point_kc) == 1:
            return []
        symmetry = find_symmetry(structure, SAME_PLACE, ALL)
    symmetry = without_spin_flips(symmetry)
    turn_xcc = symmetry.reciprocal_occ
    if symmetry.time_reversal:
        turn_xcc = np.concatenate([turn_xcc, -turn_xcc])
    unlike = [(turn_xcc != sign * np.eye(3)).any((1, 2)) for sign in (1, -1)]  # inversion makes no levels degenerate
    turn_xcc = turn_xcc[np.logical_and(*unlike)]
    stars = defaultdict[tuple[int, ...], list[int]](list)
    for k, star in enumerate(stars_of(kpoints.point_kc, symmetry)):
        stars[min(map(tuple, star.integer_xc.tolist()))].append(k)
    found = []
    for points in stars.values():
        moved_xc = (turn_xcc - np.eye(3)) @ kpoints.point_kc[points[0]]
        if len(points) > 1 or (np.abs(moved_xc - np.rint(moved_xc)) < 1e-6).all(1).any():
            found.append(np.array(points))
    return found


def evened(
    filled: Occupations, eig_skn: torch.Tensor, weight_k: torch.Tensor, groups: Sequence[np.ndarray], apart: float
) -> Occupations:
    """The same electrons, evenly among levels of a spin and one of these groups of points that are less than `apart`
    from each other; eig_skn: in any order, hartree, as `apart`."""
    occ_skn, level_skn = filled.occ_skn.numpy(force=True).copy(), eig_skn.numpy(force=True)
    for s, points in product(range(len(level_skn)), groups):
        order_x = np.argsort(level_skn[s, points], axis=None)
        level_x, occ_x = level_skn[s, points].ravel()[order_x], occ_skn[s, points].ravel()
        weight_x = np.repeat(weight_k.numpy(force=True)[points], level_skn.shape[2])
        if not weight_x.all():  # points of bands alone hold no electrons
            weight_x = np.ones_like(weight_x)
        first = 0
        while first < len(level_x):
            stop = int(np.searchsorted(level_x, level_x[first] + apart))
            x = order_x[first:stop]
            occ_x[x] = np.average(occ_x[x], weights=weight_x[x])
            first = stop
        occ_skn[s, points] = occ_x.reshape(len(points), -1)
    return replace(filled, occ_skn=torch.from_numpy(occ_skn).to(filled.occ_skn.device))
