"""Cells whose vibrations and elastic constants are compared; the cells of vibrations hold q = 0, 1/2 and 1 of Γ-X."""

import copy
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "accuracy" / "oracle"))
from cases import COLD, DIAMOND, ORIGIN, ROCKSALT, box, case, fcc

SI, MGO, AL = 5.4755, 4.2552, 4.0420
"""Lattice constants in angstrom at rest (benchmarks/accuracy/eos)."""

WARM = {"name": "fermi-dirac", "width": 0.2}
"""A width with which 8000 k-points are enough for the shear of aluminium: 2744 and a narrower one have it unstable."""

MASSES = {"Si": 28.085, "Mg": 24.305, "O": 15.999, "Al": 26.981538}


def row_of_four(a, second):
    """Four formula units behind each other along [001], 2 a long; second: from the first atom, in (a/√2, a/√2, a)."""
    positions = [[0.5 * (n % 2), 0.5 * (n % 2), n / 4] for n in range(4)]
    pairs = [[position, [position[0] + second[0], position[1] + second[1], position[2] + second[2] / 2]]
             for position in positions]  # fmt: skip
    firsts, seconds = zip(*pairs, strict=True)
    return box(a / 2**0.5, a / 2**0.5, 2 * a), [*firsts, *seconds]


def supercell(symbols, a, second, **other):
    """A case whose atoms of one kind stand together."""
    cell, positions = row_of_four(a, second)
    return case([symbols[0]] * 4 + [symbols[1]] * 4, cell, positions, **other)


VIBRATIONS = {
    "si_modes": supercell(["Si", "Si"], SI, [0.5, 0.0, 0.25], k=(4, 4, 1), bands=20, ecut=350, occupations=COLD),
    "mgo_modes": supercell(["Mg", "O"], MGO, [0.5, 0.5, 0.0], k=(4, 4, 1), bands=36, ecut=450, occupations=COLD),
}
ELASTIC = {
    "si_elastic": case(["Si", "Si"], fcc(SI), DIAMOND, (8, 8, 8), 8, ecut=450),
    "mgo_elastic": case(["Mg", "O"], fcc(MGO), ROCKSALT, (6, 6, 6), 12, ecut=1000),
    "al_elastic": case(["Al"], fcc(AL), ORIGIN, (20, 20, 20), 6, ecut=400, occupations=WARM, wanted=3),
}
CELLS = VIBRATIONS | ELASTIC
STEP = 0.01
"""Displacement in angstrom, and strain; central differences."""


def moved(name, lattice_cv, scaled_ac):
    """The case with its atoms elsewhere."""
    other = copy.deepcopy(CELLS[name])
    other["structure"]["cell_A"] = [list(row) for row in lattice_cv]
    other["structure"]["scaled_positions"] = [list(row) for row in scaled_ac]
    return other
