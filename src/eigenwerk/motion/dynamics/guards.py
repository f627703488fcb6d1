"""When a trajectory is at its end before its time: atoms that meet, steps that are too long, cells that collapse."""

import numpy as np

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
    heights_c = 1 / np.linalg.norm(np.linalg.inv(lattice_cv), axis=0)
    axis = int(np.argmax(heights_c))
    order_a = np.argsort(folded_ac[:, axis], kind="stable")
    sorted_ac = folded_ac[order_a]
    best: tuple[float, int, int] | None = None
    for shift in range(1, len(order_a)):
        apart_ac = np.roll(sorted_ac, -shift, axis=0) - sorted_ac
        if (np.mod(apart_ac[:, axis], 1.0) * heights_c[axis]).min() > within:
            break
        apart_av = (apart_ac - np.round(apart_ac)) @ lattice_cv
        distance_a = np.sqrt((apart_av**2).sum(1))
        a = int(np.argmin(distance_a))
        if distance_a[a] < (within if best is None else best[0]):
            b = (a + shift) % len(order_a)
            best = float(distance_a[a]), int(order_a[a]), int(order_a[b])
    return best


def trouble(before: Arrangement, after: Arrangement, start_volume: float, closest: float, longest: float) -> str | None:
    """Why the next arrangement is not to be computed, one sentence; None if nothing speaks against it.

    longest: Å, the step of one atom beyond the motion of the cell.
    """
    if not (np.isfinite(after.scaled_ac).all() and np.isfinite(after.lattice_cv).all()):
        return "The atoms have left all bounds: their positions are no numbers any more."
    if after.lattice_cv is not before.lattice_cv:
        share = float(np.linalg.det(after.lattice_cv)) / float(np.linalg.det(before.lattice_cv)) * before.volume
        strain = np.abs(np.linalg.solve(before.lattice_cv, after.lattice_cv) - np.eye(3)).max()
        if not SMALLEST_VOLUME <= share / start_volume <= LARGEST_VOLUME:
            what = "collapses" if share < start_volume else "flies apart"
            return (
                f"The cell {what}: {after.volume:.1f} Å³ after {start_volume:.1f} Å³ at the start. "
                "Look at the pressure and at the settings of the cell."
            )
        if strain > LARGEST_STRAIN:
            return (
                f"The cell would change by {100 * strain:.0f} % in one step. "
                "Give it a larger mass or a longer time, or take shorter steps."
            )
    move_a = np.linalg.norm((after.scaled_ac - before.scaled_ac) @ after.lattice_cv, axis=1)
    a = int(np.argmax(move_a))
    if move_a[a] > longest:
        return (
            f"Atom {a + 1} would move {move_a[a]:.2f} Å in one step, more than {longest:g} Å: "
            "the step is too long, or the start too far from equilibrium."
        )
    if pair := nearest_pair(after, closest):
        distance, a, b = pair
        return (
            f"Atoms {a + 1} and {b + 1} meet: {distance:.2f} Å apart in the next step, nearer than {closest:g} Å. "
            "Look at the start, at the temperature and at the step."
        )
    return None
