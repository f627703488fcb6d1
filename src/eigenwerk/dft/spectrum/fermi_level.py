"""One Fermi level for two spin channels that have levels of their own (no torch here)."""

from collections.abc import Sequence

import numpy as np


def common_level(eig_skn: np.ndarray, occ_skn: np.ndarray, fermi_s: Sequence[float]) -> float | None:
    """The level between filled and empty states of both channels, None where there is none.

    With a moment that is held (NUPDOWN) each channel has a level of its own, by which its states are filled.  Where the
    highest filled state of both lies below the lowest empty one of both, any value between separates them, and it is
    the middle, as in an insulator; else one channel holds electrons above empty states of the other: a state that would
    change its moment if it could.  States filled by half and more count as filled.

    eig_skn: (s, k, n), occ_skn: 0 to 1; fermi_s: of each channel, in the unit of eig_skn.
    """
    if max(fermi_s) == min(fermi_s):
        return fermi_s[0]
    filled_skn = np.asarray(occ_skn) > 0.5
    eig_skn = np.asarray(eig_skn)
    if filled_skn.all() or not filled_skn.any():
        return max(fermi_s)
    top, bottom = float(eig_skn[filled_skn].max()), float(eig_skn[~filled_skn].min())
    return 0.5 * (top + bottom) if top < bottom else None
