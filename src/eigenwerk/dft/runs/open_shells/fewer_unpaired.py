"""States with fewer unpaired electrons than a start from the default moments has led to.

One Bohr magneton on each atom is more than s and p electrons of many atoms want: Si8 with one electron more than its
bonds hold begins with 8 and keeps 7 of them, 0.04 eV above the state with one.  From small moments those that are
wanted grow by themselves: the same silicon with two electrons more comes to 8 Bohr magnetons either way.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from eigenwerk.dft.runs.open_shells.broken_symmetry import CARRIES
from eigenwerk.dft.settings.dataset import open_shell_moment
from eigenwerk.io.paw.dataset import PawDataset

SMALL = 0.1
"""Bohr magnetons of each atom to begin with."""

UNPAIRED, UNPAIRED_MOLECULE = 0.5, 2.5
"""More Bohr magnetons than the number of electrons asks for: the triplets of molecules are Hund's, and remain."""


def least_moment(electrons: float) -> float:
    """The smallest moment of so many electrons in whole levels: 1 of an odd number, 0 of an even one."""
    odd = electrons % 2.0
    return min(odd, 2.0 - odd)


def small_moments(
    symbols: Sequence[str], datasets: Mapping[str, PawDataset], electrons: float, moment: float, moment_a: np.ndarray,
    isolated: bool,
) -> np.ndarray | None:  # fmt: skip
    """Moments to begin with once more, (a,) Bohr magnetons; None where there are no more than electrons ask for, in
    atoms, and where d or f shells carry moments, which they want.

    moment, moment_a: of the cell and its atoms in the state found; isolated: whether they are a molecule.
    """
    open_a = np.array([open_shell_moment([one for one in datasets[symbol].states if one.l >= 2]) for symbol in symbols])
    allowed = least_moment(electrons) + (UNPAIRED_MOLECULE if isolated else UNPAIRED)
    if abs(moment) <= allowed or (isolated and len(symbols) == 1) or (np.abs(moment_a[open_a > 0]) > CARRIES).any():
        return None
    return np.full(len(symbols), SMALL)
