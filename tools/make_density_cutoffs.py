"""What does an atom lose where PREC = Normal cuts its density off?  Makes src/eigenwerk/io/density_cutoffs.json.

    python tools/make_density_cutoffs.py [ELEMENT ...]

The density of orbitals with |G| <= G_cut reaches to 2 G_cut.  PREC = Accurate has all of it, PREC = Normal what lies
within 1.5 G_cut.  For every element of gpaw-data (PBE): an atom beside the points of the grid, in a cube of 5 Å,
without spin; the free energy by Normal minus that by Accurate, meV, for rising ENCUT until it stays below LEAST.
Elements whose atoms have several states a few meV apart (La) are left out by hand, and so are those that nobody has
measured yet: what is not in the table has Normal.
"""

import json
import sys
import warnings
from pathlib import Path

from ase import Atoms

from eigenwerk import dft
from eigenwerk.dft.api.run import InputWarning
from eigenwerk.io.paw_library import list_datasets

OUT = Path(__file__).resolve().parents[1] / "src/eigenwerk/io/density_cutoffs.json"
CUTOFFS = (200, 250, 300, 350, 400, 450, 520, 600, 700, 800, 900, 1000)
LEAST = 0.1
"""meV: where two cutoffs running lose less than this, higher ones lose nothing."""


def lost(element: str, cutoff: float) -> float | None:
    """meV by which the energy of an atom with PREC = Normal differs from that with PREC = Accurate; None if one of
    them has not converged."""
    atom = Atoms(element, cell=[5.0, 5.0, 5.0], pbc=True, positions=[(0.1, 0.2, 0.3)])
    settings = {"encut": cutoff, "ismear": 0, "sigma": 0.1, "ediff": 1e-5, "isif": 0}
    normal, accurate = (dft.run(atom, prec=word, **settings) for word in ("Normal", "Accurate"))
    if not (normal.converged and accurate.converged):
        return None
    return round(1e3 * (normal.free_energy_eV - accurate.free_energy_eV), 3)


def main() -> None:
    """Measures and writes."""
    warnings.simplefilter("ignore", InputWarning)
    known = json.loads(OUT.read_text())["elements"] if OUT.exists() else {}
    for element in sys.argv[1:] or sorted({entry.element for entry in list_datasets() if not entry.variant}):
        found: list[tuple[int, float]] = []
        for cutoff in CUTOFFS:
            error = lost(element, cutoff)
            if error is None:
                continue
            found.append((cutoff, error))
            if len(found) > 1 and all(abs(error) < LEAST for _, error in found[-2:]):
                break
        known[element] = found
        print(element, found, flush=True)
        rows = (f'  "{name}": {json.dumps(known[name])}' for name in sorted(known))
        OUT.write_text(
            '{\n"made_by": "tools/make_density_cutoffs.py",\n"elements": {\n' + ",\n".join(rows) + "\n}\n}\n"
        )


if __name__ == "__main__":
    main()
