"""What atoms lose where the grid does not hold the whole density of orbitals (PREC = Normal), from a table.

The table: density_cutoffs.json, made by tools/make_density_cutoffs.py, which says how it was measured.
"""

import json
from functools import cache
from itertools import pairwise
from math import exp, log
from pathlib import Path

_FILE = Path(__file__).with_name("density_cutoffs.json")

_NOTHING = 1e-6
"""eV: smaller losses have no logarithm worth having."""


def density_loss_eV(element: str, cutoff_eV: float) -> float | None:
    """By how much the energy of a free atom changes on a grid that holds 1.75 G_cut; None for unknown elements.

    Its logarithm is a straight line between measured cutoffs; below the first of them the loss is that of the first,
    above the last one it is nothing.
    """
    known = _table().get(element)
    if known is None:
        return None
    if cutoff_eV <= known[0][0]:
        return known[0][1]
    for (low, there), (high, beyond) in pairwise(known):
        if low <= cutoff_eV < high:
            first, last = (log(max(loss, _NOTHING)) for loss in (there, beyond))
            return exp(first + (last - first) * (cutoff_eV - low) / (high - low))
    return 0.0


@cache
def _table() -> dict[str, list[tuple[float, float]]]:
    rows = json.loads(_FILE.read_text())["elements"]
    return {element: [(cutoff, 1e-3 * abs(loss)) for cutoff, loss in row] for element, row in rows.items()}
