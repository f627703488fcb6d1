"""Write src/eigenwerk/io/paw/cutoffs.json: recommended plane-wave cutoffs of all gpaw-data sets.

The rule (docs/formats/paw_xml.md): for the free reference atom in its frozen potential (`atom_model`),
  total(E)      = Σ_j f_j [ε_j(E) - ε_j(∞)],   the error of the band energy with waves up to the cutoff E,
  difference(E) = total(E) of the atom in a confining potential ½ω²r² minus total(E) of the free one,
and a cutoff is the lowest multiple of 10 eV from which on both stay below the limits of its level; beside them stand
those from which on difference(E) alone stays below 10, 5 and 1 meV, by which errors are told.

Usage: python tools/make_cutoffs.py     (about two minutes; rewrites the whole file)
"""

import json
import sys
from pathlib import Path

import numpy as np
from atom_model import Channel, channels, eigenvalues
from numpy.typing import NDArray

from eigenwerk.io.paw.paw_library import KNOWN_ERRORS, DatasetEntry, list_datasets
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.units import HARTREE_EV

FUNCTIONALS = ("PBE", "LDA", "RPBE", "revPBE")
LEVELS = {"minimum_eV": (0.100, 0.010, 150), "recommended_eV": (0.030, 0.002, 200)}
"""Limits in eV per atom on the total error and on the error of differences, and the least cutoff in eV."""
CONFINEMENT = 0.2
"""ω in hartree: raises the energy of a light atom by some eV, about as much as cohesion does."""
LIMIT = 3000.0
"""Cutoff in eV that stands for infinity."""
OUTPUT = Path(__file__).parents[1] / "src/eigenwerk/io/paw/cutoffs.json"


def errors(parts: list[Channel], cutoff_x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Error of the band energy in eV, one for each cutoff in eV."""

    def band(cutoff: float) -> float:
        return sum(float(np.dot(part.occupations, eigenvalues(part, cutoff / HARTREE_EV))) for part in parts)

    return (np.array([band(cutoff) for cutoff in cutoff_x]) - band(LIMIT)) * HARTREE_EV


def cutoffs(entry: DatasetEntry) -> dict[str, int | list[int]]:
    """The cutoff of each level for one data set, and those of `KNOWN_ERRORS`, in eV."""
    data = read_paw_xml(entry.file)
    q_max = np.sqrt(2 * LIMIT / HARTREE_EV)
    cutoff_x = np.arange(100.0, 2001.0, 25.0)
    total_x = errors(channels(data, q_max), cutoff_x)
    difference_x = errors(channels(data, q_max, CONFINEMENT), cutoff_x) - total_x
    levels: dict[str, int | list[int]] = {
        level: max(least, _reached(cutoff_x, total_x, limit), _reached(cutoff_x, difference_x, difference_limit))
        for level, (limit, difference_limit, least) in LEVELS.items()
    }
    return levels | {"differences_eV": [_reached(cutoff_x, difference_x, limit) for limit in KNOWN_ERRORS]}


def _reached(cutoff_x: NDArray[np.float64], error_x: NDArray[np.float64], limit: float) -> int:
    """The multiple of 10 eV from which on |error| < limit; between cutoffs log|error| is linear."""
    size_x = np.where(np.isfinite(error_x), np.abs(error_x), 1e3)
    above = np.flatnonzero(size_x >= limit)
    if above.size == 0:
        return int(cutoff_x[0])
    last = int(above[-1])
    if last + 1 == cutoff_x.size:
        raise RuntimeError(f"not converged to {limit} eV at {cutoff_x[-1]} eV")
    low, high = np.log(size_x[last]), np.log(size_x[last + 1])
    cutoff = cutoff_x[last] + (cutoff_x[last + 1] - cutoff_x[last]) * (low - np.log(limit)) / (low - high)
    return int(10 * np.ceil(cutoff / 10 - 1e-9))


def main() -> None:
    rows = []
    for functional in FUNCTIONALS:
        for entry in list_datasets(functional):
            data = read_paw_xml(entry.file)
            rows.append({"name": data.name, "sha256": data.sha256, **cutoffs(entry)})
            print(rows[-1]["name"], rows[-1]["minimum_eV"], rows[-1]["recommended_eV"], file=sys.stderr)
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    OUTPUT.write_text(f'{{"made_by": "tools/make_cutoffs.py", "datasets": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
