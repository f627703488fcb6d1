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

APART = 1e-4 / HARTREE_EV
"""Levels that belong together are less far apart, from the lowest to the highest (measured in iron: 4e-5 eV in the
first steps, 2e-6 eV later)."""


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


def evened(filled: Occupations, eig_skn: torch.Tensor, points: Sequence[int]) -> Occupations:
    """The same electrons, evenly among levels of a spin and one of these points that are less than APART from each
    other; eig_skn: hartree, in any order."""
    occ_skn, level_skn = filled.occ_skn.clone(), eig_skn.cpu().numpy()
    for s, k in np.ndindex(len(level_skn), len(points)):
        occ_n, order_n = occ_skn[s, points[k]], np.argsort(level_skn[s, points[k]])
        level_n, first = level_skn[s, points[k]][order_n], 0
        while first < len(level_n):
            stop = int(np.searchsorted(level_n, level_n[first] + APART))
            together = torch.from_numpy(order_n[first:stop])
            occ_n[together] = occ_n[together].mean()
            first = stop
    return replace(filled, occ_skn=occ_skn)
