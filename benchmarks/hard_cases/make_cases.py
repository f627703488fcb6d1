"""Writes the folders of the hard cases: INCAR, POSCAR, KPOINTS of each.

    python benchmarks/hard_cases/make_cases.py             # all of them, into inputs/ beside this file
    python benchmarks/hard_cases/make_cases.py --only nio_afm --into DIR
"""

import argparse
from dataclasses import replace
from pathlib import Path

from cases import CASES, COMMON, Case

from eigenwerk.io.vasp.poscar import write_poscar

INPUTS = Path(__file__).resolve().parent / "inputs"


def write_case(case: Case, into: Path) -> Path:
    """The three files of a case in a folder of its name."""
    folder = into / case.name
    folder.mkdir(parents=True, exist_ok=True)
    title = f"{case.name}: {case.why}"
    write_poscar(folder / "POSCAR", replace(case.structure(), title=title))
    tags = {"SYSTEM": title, **COMMON, **case.tags}
    (folder / "INCAR").write_text("".join(f"{tag:<7}= {value}\n" for tag, value in tags.items()), encoding="utf-8")
    mesh = " ".join(map(str, case.mesh))
    (folder / "KPOINTS").write_text(f"mesh with Gamma\n0\nGamma\n{mesh}\n", encoding="utf-8")
    return folder


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", metavar="NAME", help="names of cases")
    parser.add_argument("--into", type=Path, default=INPUTS, metavar="DIR", help="where the folders go")
    wanted = parser.parse_args()
    unknown = set(wanted.only or ()) - {case.name for case in CASES}
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(case.name for case in CASES)}")
    for case in CASES:
        if wanted.only is None or case.name in wanted.only:
            print(write_case(case, wanted.into))


if __name__ == "__main__":
    main()
