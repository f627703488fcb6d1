"""What does an atom lose where PREC = Normal folds its density back?  Makes src/eigenwerk/io/paw/density_cutoffs.json.

    python tools/make_density_cutoffs.py [--processes N] [--out FILE] [ELEMENT ...]

The density of orbitals with |G| <= G_cut reaches to 2 G_cut.  The grid of PREC = Accurate holds all of it, that of
Normal 1.75 G_cut and its corners.  For every element of gpaw-data (PBE): an atom beside the points of the grid, in a
cube of some 5 Å whose grid holds no more than it must, without spin; the free energy by Normal, which goes on from the
state of Accurate, minus that by Accurate, meV, for rising ENCUT until it stays below LEAST.  Atoms with open f shells
have many states a few meV apart and are smeared out more.  Cutoffs where one of the two does not converge are left out.
"""

import argparse
import json
import warnings
from math import pi
from multiprocessing import get_context
from pathlib import Path

from ase import Atoms

from eigenwerk import dft
from eigenwerk.dft.basis.grids import PRECISION_FACTOR, sphere_radius
from eigenwerk.dft.runs.api.run import InputWarning, NotConverged
from eigenwerk.io.paw.paw_library import list_datasets
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

OUT = Path(__file__).resolve().parents[1] / "src/eigenwerk/io/paw/density_cutoffs.json"
CUTOFFS = (200, 250, 300, 350, 400, 450, 520, 600, 700, 800, 900, 1000)
EDGE = 5.0
FRIENDLY = (16, 18, 20, 24, 28, 30, 32, 36, 40, 42, 48, 50, 54, 56, 60, 64)
LEAST = 0.1
"""meV: where two cutoffs running lose less than this, higher ones lose nothing."""
SMEARED = {"La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu"}


def cube(cutoff: float) -> float:
    """The edge, Å, nearest to EDGE where a wave more along each axis would ask for a larger grid of Normal."""
    wave = PRECISION_FACTOR["Normal"] * sphere_radius(cutoff / HARTREE_EV) / (2 * pi * BOHR_ANGSTROM)
    edges = [(1 - 1e-6) * points / 2 / wave for points in FRIENDLY]
    return min(edges, key=lambda edge: abs(edge - EDGE))


def lost(element: str, cutoff: float) -> float | None:
    """meV by which the energy of an atom with PREC = Normal differs from that with PREC = Accurate; None if one of
    them has not converged."""
    atom = Atoms(element, cell=[cube(cutoff)] * 3, pbc=True, positions=[(0.1, 0.2, 0.3)])
    settings = {"encut": cutoff, "ismear": 0, "sigma": 0.5 if element in SMEARED else 0.1, "ediff": 1e-5, "isif": 0}
    accurate = dft.run(atom, prec="Accurate", device="cpu", **settings)
    normal = dft.run(atom, prec="Normal", start=accurate, device="cpu", **settings) if accurate.converged else accurate
    return round(1e3 * (normal.free_energy_eV - accurate.free_energy_eV), 3) if normal.converged else None


def losses(element: str) -> tuple[str, list[tuple[int, float]]]:
    """The row of an element."""
    warnings.simplefilter("ignore", InputWarning)
    warnings.simplefilter("ignore", NotConverged)
    found: list[tuple[int, float]] = []
    for cutoff in CUTOFFS:
        error = lost(element, cutoff)
        if error is None:
            continue
        found.append((cutoff, error))
        if len(found) > 1 and all(abs(error) < LEAST for _, error in found[-2:]):
            break
    return element, found


def main() -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("elements", nargs="*", metavar="ELEMENT")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    known = json.loads(OUT.read_text())["elements"] if options.elements else {}
    elements = options.elements or sorted({entry.element for entry in list_datasets() if not entry.variant})
    with get_context("spawn").Pool(options.processes, maxtasksperchild=8) as pool:
        for element, found in pool.imap_unordered(losses, elements):
            known[element] = found
            print(element, found, flush=True)
            rows = (f'  "{name}": {json.dumps(known[name])}' for name in sorted(known))
            options.out.write_text(
                '{\n"made_by": "tools/make_density_cutoffs.py",\n"elements": {\n' + ",\n".join(rows) + "\n}\n}\n"
            )


if __name__ == "__main__":
    main()
