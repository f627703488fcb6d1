"""When a trajectory is at its end before its time: atoms that meet, steps that are too long, cells that collapse."""

import numpy as np

from eigenwerk.lattice_reduction import heights
from eigenwerk.motion.surface import Arrangement

SMALLEST_VOLUME, LARGEST_VOLUME = 0.3, 3.0
"""Of a cell that moves, in volumes of the start: beyond them basis and k-points of the run fit no more."""

LARGEST_STRAIN = 0.1
"""Of the cell in one step."""


def nearest_pair(arrangement: Arrangement, within: float) -> tuple[float, int, int] | None:
    """The shortest distance between two atoms, Å, and their numbers from 0; None if there is none below `within`.

    Atoms are sorted along one lattice vector, so that few pairs are looked at.  Distances are those of the nearest
    images if the cell is thicker than 2 `within`.
    """
    lattice_cv = arrangement.lattice_cv
    folded_ac = arrangement.scaled_ac - np.floor(arrangement.scaled_ac)
    heights_c = heights(lattice_cv)
    axis = int(np.argmax(heights_c))
    order_a = np.argsort(folded_ac[:, axis], kind="stable")
    sorted_ac = folded_ac[order_a]
    count, along_a = len(order_a), sorted_ac[:, axis]
    # of atom a those that follow it within the distance along this vector, those behind the boundary among them
    ends_a = np.searchsorted(np.concatenate([along_a, along_a + 1]), along_a + within / heights_c[axis], side="right")
    most = min(int((ends_a - np.arange(count)).max()) - 1, count - 1)
    if most < 1:
        return None
    next_ax = (np.arange(count)[:, None] + np.arange(1, most + 1)) % count
    apart_axc = sorted_ac[next_ax] - sorted_ac[:, None]
    apart_axv = (apart_axc - np.round(apart_axc)) @ lattice_cv
    square_ax = np.einsum("axv,axv->ax", apart_axv, apart_axv)
    a, x = divmod(int(np.argmin(square_ax)), most)
    distance = float(np.sqrt(square_ax[a, x]))
    return (distance, int(order_a[a]), int(order_a[next_ax[a, x]])) if distance < within else None


def trouble(before: Arrangement, after: Arrangement, start_volume: float, closest: float, longest: float) -> str | None:
    """Why the next arrangement is not to be computed, one sentence; None if nothing speaks against it.

    longest: Å, the step of one atom beyond the motion of the cell.
    """
    if not (np.isfinite(after.scaled_ac).all() and np.isfinite(after.lattice_cv).all()):
        return "the atoms have left all bounds: their positions are no numbers any more"
    if after.lattice_cv is not before.lattice_cv:
        share = float(np.linalg.det(after.lattice_cv)) / float(np.linalg.det(before.lattice_cv)) * before.volume
        strain = np.abs(np.linalg.solve(before.lattice_cv, after.lattice_cv) - np.eye(3)).max()
        if not SMALLEST_VOLUME <= share / start_volume <= LARGEST_VOLUME:
            what = "collapses" if share < start_volume else "flies apart"
            return (
                f"the cell {what}: {after.volume:.1f} Å³ after {start_volume:.1f} Å³ at the start; "
                "look at the pressure and at the settings of the cell"
            )
        if strain > LARGEST_STRAIN:
            return (
                f"the cell would change by {100 * strain:.0f} % in one step; "
                "give it a larger mass or a longer time, or take shorter steps"
            )
    move_a = np.linalg.norm((after.scaled_ac - before.scaled_ac) @ after.lattice_cv, axis=1)
    a = int(np.argmax(move_a))
    if move_a[a] > longest:
        return (
            f"atom {a + 1} would move {move_a[a]:.2f} Å in one step, more than {longest:g} Å: "
            "the step is too long, or the start too far from equilibrium"
        )
    if pair := nearest_pair(after, closest):
        distance, a, b = pair
        return (
            f"atoms {a + 1} and {b + 1} meet: {distance:.2f} Å apart, nearer than {closest:g} Å; "
            "look at the start, at the temperature and at the step"
        )
    return None
