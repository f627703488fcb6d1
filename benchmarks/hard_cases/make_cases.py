"""Writes the folders of the hard cases: INCAR, POSCAR, KPOINTS of each.

    python benchmarks/hard_cases/make_cases.py             # all of them, into build/hard_cases/inputs
    python benchmarks/hard_cases/make_cases.py --only nio_afm --into DIR

What the cases are stands in `cases.py` and `more_cases.py`, their structures in `crystals.py` and
`layered_crystals.py`.
"""

import sys
from dataclasses import replace
from pathlib import Path

from cases import COMMON, FIRST_CASES, Case
from more_cases import MORE_CASES

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from vasp_folders import BUILD, write_folder, write_wanted  # noqa: E402

CASES = FIRST_CASES + MORE_CASES
INPUTS = BUILD / "hard_cases" / "inputs"


def write_case(case: Case, into: Path) -> Path:
    """The three files of a case in a folder of its name."""
    title = f"{case.name}: {case.why}"
    tags = {"SYSTEM": title, **COMMON, **case.tags}
    return write_folder(into / case.name, replace(case.structure(), title=title), tags, case.mesh, "mesh with Gamma")


if __name__ == "__main__":
    write_wanted(__doc__, CASES, write_case, INPUTS)
