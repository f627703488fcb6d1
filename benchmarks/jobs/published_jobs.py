"""Writes folders of published inputs that are not copied here: CeO2-108 and AUSURF112.

    python benchmarks/jobs/published_jobs.py ../shared/reference/jobs build/jobs

The folder `ceo2_108` is taken as it is.  `ausurf112` is an input of Quantum ESPRESSO: 25 Ry give the published 95 400
plane waves with any data set; cold smearing of 0.05 Ry becomes Methfessel-Paxton of first order with the same width.
"""

import argparse
import re
import shutil
from pathlib import Path

from ase import Atoms
from ase.io import write
from ase.units import Bohr

RYDBERG_EV = 13.605693

AUSURF_INCAR = f"""SYSTEM = Au112 surface, the community benchmark of Quantum ESPRESSO
GGA    = PE
ENCUT  = {25 * RYDBERG_EV:.3f}   ! 25 Ry: 95 400 plane waves
PREC   = Normal
NBANDS = 800
ISMEAR = 1
SIGMA  = {0.05 * RYDBERG_EV:.3f}   ! 0.05 Ry
EDIFF  = 1E-5
LWAVE  = .FALSE.   ! the original keeps nothing on disk either
"""
KPOINTS = "Gamma\n0\nGamma\n1 1 1\n0 0 0\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    shutil.copytree(options.source / "ceo2_108", options.target / "ceo2_108", dirs_exist_ok=True)
    gold = options.target / "ausurf112"
    gold.mkdir(parents=True, exist_ok=True)
    cell_c, position_ac = read_espresso((options.source / "ausurf112" / "ausurf.in").read_text())
    atoms = Atoms(f"Au{len(position_ac)}", positions=position_ac, cell=cell_c, pbc=True)
    write(gold / "POSCAR", atoms, format="vasp", direct=True)
    (gold / "INCAR").write_text(AUSURF_INCAR)
    (gold / "KPOINTS").write_text(KPOINTS)


def read_espresso(text: str) -> tuple[list[float], list[list[float]]]:
    """Edges of the orthorhombic cell (ibrav 8) and positions, angstrom; ASE reads only inputs with ibrav 0."""
    a, b, c = (float(re.search(rf"celldm\({number}\) *= *([\d.]+)", text)[1]) for number in (1, 2, 3))
    rows = text.split("ATOMIC_POSITIONS (angstrom)")[1].splitlines()
    found = [[float(word) for word in row.split()[1:4]] for row in rows if row.startswith("AU")]
    return [a * Bohr, a * b * Bohr, a * c * Bohr], found


if __name__ == "__main__":
    main()
