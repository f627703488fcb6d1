"""One Fermi level for two spin channels that have levels of their own (no torch here)."""

from collections.abc import Sequence

import numpy as np

IN_PART = 0.05
"""A state that holds more, and less by as much than it could, is filled in part."""

SAME = 1e-4
"""hartree: levels of two channels that differ by less are the same, as far as self-consistency goes."""


def common_level(eig_skn: np.ndarray, occ_skn: np.ndarray, fermi_s: Sequence[float]) -> float | None:
    """The level between filled and empty states of both channels, None where there is none.

    With a moment that is held (NUPDOWN) each channel has a level of its own, by which its states are filled.  Where the
    highest filled state of both lies below the lowest empty one of both, any value between separates them, and it is
    the middle, as in an insulator; where states of one channel are filled in part, its own level has to do.  Else one
    channel holds electrons above empty states of the other, and would change its moment if it could.

    eig_skn: (s, k, n) hartree, occ_skn: 0 to 1; fermi_s: of each channel, hartree.
    """
    if max(fermi_s) == min(fermi_s):
        return fermi_s[0]
    eig_skn, occ_skn = np.asarray(eig_skn), np.asarray(occ_skn)
    full_skn, empty_skn = occ_skn >= 1.0 - IN_PART, occ_skn <= IN_PART
    top = float(eig_skn[full_skn].max(initial=-np.inf))
    bottom = float(eig_skn[empty_skn].min(initial=np.inf))
    partly_skn = ~(full_skn | empty_skn)
    own = [level for level, partly_kn in zip(fermi_s, partly_skn, strict=True) if partly_kn.any()]
    if not own and np.isfinite(top) and np.isfinite(bottom):
        own = [top, bottom]
    elif len(own) == 2 and abs(own[0] - own[1]) > SAME:
        return None
    level = sum(own) / len(own) if own else max(fermi_s)
    return level if top < level < bottom else None
