"""A picture of the atoms in their cell: seen from afar, with bonds between neighbours, moments as arrows."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenwerk.io.vasp.elements import ELEMENTS, SYMBOLS
from eigenwerk.lattice_reduction import heights
from eigenwerk.perf.pictures import DARK, PALETTE, QUIET

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RADII = (
    *(0.31, 0.28, 1.28, 0.96, 0.84, 0.76, 0.71, 0.66, 0.57, 0.58, 1.66, 1.41, 1.21, 1.11, 1.07, 1.05, 1.02, 1.06),
    *(2.03, 1.76, 1.70, 1.60, 1.53, 1.39, 1.39, 1.32, 1.26, 1.24, 1.32, 1.22, 1.22, 1.20, 1.19, 1.20, 1.20, 1.16),
    *(2.20, 1.95, 1.90, 1.75, 1.64, 1.54, 1.47, 1.46, 1.42, 1.39, 1.45, 1.44, 1.42, 1.39, 1.39, 1.38, 1.39, 1.40),
    *(2.44, 2.15, 2.07, 2.04, 2.03, 2.01, 1.99, 1.98, 1.98, 1.96, 1.94, 1.92, 1.92, 1.89, 1.90, 1.87, 1.87),
    *(1.75, 1.70, 1.62, 1.51, 1.44, 1.41, 1.36, 1.36, 1.32, 1.45, 1.46, 1.48, 1.40, 1.50, 1.50),
    *(2.60, 2.21, 2.15, 2.06, 2.00, 1.96, 1.90, 1.87, 1.80, 1.69),
)
"""Covalent radii in Å, hydrogen to curium: Cordero et al., Dalton Trans. 2008, 2832."""

SHOWN, BOND = 0.45, 1.15
"""Radius of a drawn atom and longest bond, in covalent radii."""

BONDING = frozenset("H B C N O F Si P S Cl Ge As Se Br Sb Te I".split())
"""Bonds are drawn where at least one of both is such an element: those of metals are no sticks."""

MOST_BONDED = 400
"""Bonds are not sought among more atoms."""

EDGE = 0.02
"""Atoms this near to a face of the cell (fractional) are drawn on the opposite one as well."""

WIDE = 4.5
"""Layers in a vacuum are repeated until they are as wide (Å)."""

LONE, MARGIN = 4.0, 1.0
"""A box with so much empty space (Å) on all sides holds a molecule, which is shown without it but for a margin."""

NAME_AWAY = 0.25
"""Space (Å) between an atom and the name of an axis."""

LAYERED = 6.0
"""Empty space (Å) that makes layers of a crystal."""

MAGNETIC = 0.1
"""Moments from this on have arrows."""


def radius(symbol: str) -> float:
    """Covalent radius, Å; that of curium beyond it, and of what is no element."""
    return RADII[min(SYMBOLS.index(symbol), len(RADII) - 1)] if symbol in ELEMENTS else RADII[-1]


def structure_figure(
    lattice_cv: np.ndarray, scaled_ac: np.ndarray, symbols: Sequence[str], title: str,
    moment_a: np.ndarray | None = None,
) -> "Figure":  # fmt: skip
    """The third lattice vector points upwards.  Raises ImportError if matplotlib is missing."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 5.0), dpi=130, layout="constrained")
    axes = figure.subplots()
    view_vx = _view(lattice_cv)
    molecule = _is_molecule(lattice_cv, scaled_ac)
    place_av, number_a = _images(lattice_cv, scaled_ac, molecule)
    seen_ax = place_av @ view_vx
    elements = list(dict.fromkeys(symbols))
    colour = {symbol: PALETTE[number % len(PALETTE)] for number, symbol in enumerate(elements)}
    if not molecule:
        _cell(axes, lattice_cv, view_vx, SHOWN * max(map(radius, symbols)) + NAME_AWAY)
    for one, two in _bonds(place_av, [symbols[a] for a in number_a]):
        middle = 0.5 * (seen_ax[one] + seen_ax[two])
        for end, a in ((one, number_a[one]), (two, number_a[two])):
            axes.plot(
                [seen_ax[end][0], middle[0]], [seen_ax[end][1], middle[1]], color=colour[symbols[a]], linewidth=3.2,
                solid_capstyle="butt", zorder=10 + min(seen_ax[one][2], seen_ax[two][2]),
            )  # fmt: skip
    for seen, a in zip(seen_ax, number_a, strict=True):
        _ball(axes, seen, SHOWN * radius(symbols[a]), colour[symbols[a]], None if moment_a is None else moment_a[a])
    for symbol in elements:
        axes.plot([], [], "o", color=colour[symbol], markeredgecolor=DARK, label=symbol)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9, frameon=False)
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.autoscale_view()
    axes.margins(0.06)
    if molecule:
        axes.set_xlim(seen_ax[:, 0].min() - MARGIN, seen_ax[:, 0].max() + MARGIN)
        axes.set_ylim(seen_ax[:, 1].min() - MARGIN, seen_ax[:, 1].max() + MARGIN)
    return figure


def _view(lattice_cv: np.ndarray) -> np.ndarray:
    """Right, up and towards the eye as columns: somewhat from above and from the side, c upwards."""
    up_v = lattice_cv[2] / np.linalg.norm(lattice_cv[2])
    across_v = np.cross(up_v, lattice_cv[0])
    across_v /= np.linalg.norm(across_v)
    first_v = np.cross(across_v, up_v)
    turn, tilt = np.radians(24.0), np.radians(14.0)
    right_v = np.cos(turn) * first_v + np.sin(turn) * across_v
    eye_v = np.cross(right_v, up_v)
    eye_v = np.cos(tilt) * eye_v + np.sin(tilt) * up_v
    return np.stack([right_v, np.cross(eye_v, right_v), eye_v], axis=1)


def _is_molecule(lattice_cv: np.ndarray, scaled_ac: np.ndarray) -> bool:
    height_c = heights(lattice_cv)
    return all(_gap(scaled_ac[:, c] % 1.0)[1] * height_c[c] > LONE for c in range(3))


def _gap(s_a: np.ndarray) -> tuple[float, float]:
    """Where the widest empty part of an axis ends, and its width."""
    ordered_a = np.sort(s_a)
    gap_a = np.diff(np.append(ordered_a, ordered_a[0] + 1.0))
    place = int(gap_a.argmax())
    return float(ordered_a[(place + 1) % len(ordered_a)]), float(gap_a[place])


def _images(lattice_cv: np.ndarray, scaled_ac: np.ndarray, molecule: bool) -> tuple[np.ndarray, list[int]]:
    """Places of all atoms that are drawn, and which each is: a molecule in one piece, of a crystal both ends, layers in
    a vacuum several times."""
    if molecule:
        start_c = np.array([_gap(scaled_ac[:, c] % 1.0)[0] for c in range(3)])
        return ((scaled_ac - start_c + 1e-6) % 1.0) @ lattice_cv, list(range(len(scaled_ac)))
    places, numbers, repeat_c = [], [], _repeats(lattice_cv, scaled_ac)
    for a, scaled_c in enumerate((scaled_ac + EDGE) % 1.0 - EDGE):
        for shift_c in product(*(range(n + (s < EDGE)) for n, s in zip(repeat_c, scaled_c, strict=True))):
            places.append((scaled_c + shift_c) @ lattice_cv)
            numbers.append(a)
    return np.array(places), numbers


def _repeats(lattice_cv: np.ndarray, scaled_ac: np.ndarray) -> list[int]:
    """How often the cell is drawn along each axis."""
    height_c = heights(lattice_cv)
    empty_c = [_gap(scaled_ac[:, c] % 1.0)[1] * height_c[c] > LAYERED for c in range(3)]
    if sum(empty_c) != 1:
        return [1, 1, 1]
    length_c = np.linalg.norm(lattice_cv, axis=1)
    return [1 if empty else int(np.ceil(WIDE / length)) for empty, length in zip(empty_c, length_c, strict=True)]


def _bonds(place_av: np.ndarray, symbols: Sequence[str]) -> list[tuple[int, int]]:
    if len(place_av) > MOST_BONDED:
        return []
    radius_a = np.array([radius(symbol) for symbol in symbols])
    away_aa = np.linalg.norm(place_av[:, None] - place_av, axis=-1)
    near_aa = away_aa < BOND * (radius_a[:, None] + radius_a)
    bonding_a = np.array([symbol in BONDING for symbol in symbols])
    near_aa &= bonding_a[:, None] | bonding_a
    return [(int(one), int(two)) for one, two in np.argwhere(np.triu(near_aa, 1))]


def _cell(axes: Any, lattice_cv: np.ndarray, view_vx: np.ndarray, away: float) -> None:
    """Edges, and names of the axes so far (Å) beyond their ends that no atom covers them."""
    for corner in product((0, 1), repeat=3):
        for c in range(3):
            if corner[c] == 0:
                ends_xx = np.array([corner, np.array(corner) + np.eye(3)[c]]) @ lattice_cv @ view_vx
                axes.plot(ends_xx[:, 0], ends_xx[:, 1], color=QUIET, linewidth=0.8, zorder=ends_xx[:, 2].mean())
    for c, name in enumerate("abc"):
        seen_x = (lattice_cv[c] @ view_vx)[:2]
        x, y = seen_x * (1 + away / max(float(np.linalg.norm(seen_x)), away))
        axes.annotate(name, (x, y), fontsize=9, color=QUIET, style="italic", ha="center", va="center")
        axes.update_datalim([(x, y)])


def _ball(axes: Any, seen: np.ndarray, size: float, colour: str, moment: float | None) -> None:
    from matplotlib.patches import Circle

    x, y, depth = (float(value) for value in seen)
    axes.add_patch(Circle((x, y), size, facecolor=colour, edgecolor=DARK, linewidth=0.8, zorder=10 + depth))
    shine = Circle((x - 0.3 * size, y + 0.3 * size), 0.28 * size, facecolor="white", alpha=0.55, zorder=10.01 + depth)
    axes.add_patch(shine)
    if moment is not None and abs(moment) > MAGNETIC:
        length = 2.4 * size * (1 if moment > 0 else -1)
        axes.annotate(
            "", (x, y + length / 2), (x, y - length / 2), zorder=2000,
            arrowprops={"arrowstyle": "-|>", "color": DARK, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
