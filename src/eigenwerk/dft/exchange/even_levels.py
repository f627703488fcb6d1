"""Levels that symmetry holds together share their electrons evenly before exchange is made of their orbitals.

V_x[γ] has the symmetry of the crystal if γ at each point has that of the point's group, and only then is Tr V[γ] γ'
that of V[γ'] γ.  Of a threefold level with two electrons it has it if each orbital holds 2/3.  Orbitals that are found
to 1e-6 eV hold shares that differ by 1e-6 eV over the width of the smearing; exchange of the orbital that holds more
lies lower by eV times the difference, and from operator to operator the split grows until whole electrons are in some
of the orbitals: of a symmetric crystal there is then an operator that is not.  So levels that are as close as
degenerate ones come out have the mean of their occupations.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.spectrum.occupations import Occupations
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


def turned_points(kpoints: KPoints) -> list[int]:
    """Numbers of the points that an operation of the crystal, with or without time reversal, leaves where they are,
    though not all others: levels may be degenerate there."""
    symmetry, found = kpoints.symmetry, []
    turns_o = (symmetry.rotation_occ != np.eye(3)).any((1, 2)) & ~symmetry.spin_flip_o
    turn_xcc = symmetry.reciprocal_occ[turns_o]
    if symmetry.time_reversal:
        turn_xcc = np.concatenate([turn_xcc, -turn_xcc])
    turn_xcc = turn_xcc[(turn_xcc != np.eye(3)).any((1, 2))]  # inversion and time reversal leave all of them
    for k, point_c in enumerate(kpoints.point_kc):
        moved_xc = turn_xcc @ point_c - point_c
        if (np.abs(moved_xc - np.rint(moved_xc)) < 1e-6).all(1).any():
            found.append(k)
    return found


def evened(filled: Occupations, eig_skn: torch.Tensor, points: Sequence[int], apart: float) -> Occupations:
    """The same electrons, evenly among levels of a spin and one of these points that are less than `apart` from each
    other; eig_skn: in any order, hartree, as `apart`."""
    occ_skn, level_skn = filled.occ_skn.clone(), eig_skn.cpu().numpy()
    for s, k in np.ndindex(len(level_skn), len(points)):
        occ_n, order_n = occ_skn[s, points[k]], np.argsort(level_skn[s, points[k]])
        level_n, first = level_skn[s, points[k]][order_n], 0
        while first < len(level_n):
            stop = int(np.searchsorted(level_n, level_n[first] + apart))
            together = torch.from_numpy(order_n[first:stop])
            occ_n[together] = occ_n[together].mean()
            first = stop
    return replace(filled, occ_skn=occ_skn)
