"""Which input folders does eigenwerk accept, and why not the others?

    python benchmarks/readers/acceptance/accept.py FOLDER...          # every folder below with INCAR and POSCAR
    python benchmarks/readers/acceptance/accept.py --xml FOLDER...    # input as every vasprun.xml below tells it
    python benchmarks/readers/acceptance/accept.py --sets  # pymatgen's input sets for five structures, made here

A FOLDER is best an unpacked source archive of a package, `pip download --no-deps --no-binary NAME NAME`: its name is
that of the row in the table.  Each input is read as `eigenwerk check` reads it, with the KPOINTS it has, equal ones
once; a density that ICHARG asks for is taken to be there.  Folders that ask for hybrids, meta-GGA, van der Waals
functionals, many-body methods or reaction paths are counted apart, those whose atoms move as well.  Results:
results.json and results.md here.
"""

import argparse
import hashlib
import json
import re
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "src"))

from eigenwerk.dft.inputs.inputs import read_inputs  # noqa: E402
from eigenwerk.errors import InputError  # noqa: E402
from eigenwerk.io.vasp.input.incar import read_incar  # noqa: E402

HERE = Path(__file__).resolve().parent
INPUTS = ("INCAR", "POSCAR", "KPOINTS", "KPOINTS_OPT", "POTCAR")

ASKED = {
    "hybrids": ("LHFCALC", "AEXX", "HFSCREEN"), "meta-GGA": ("METAGGA",), "van der Waals": ("LUSE_VDW", "IVDW"),
    "motion": ("NSW",), "reaction paths": ("IMAGES",),
    "many-body": ("NOMEGA", "LOPTICS", "LEPSILON", "LCHIMAG", "LPEAD", "LNONCOLLINEAR", "LSORBIT"),
}  # fmt: skip
"""What a folder may ask for that this part of the program does not do, by the tags that ask."""


def asks(folder: Path) -> tuple[str, ...]:
    """What of `ASKED` the INCAR asks for."""
    values = read_incar(folder / "INCAR").values
    wanted = []
    for what, tags in ASKED.items():
        given = [values[tag] for tag in tags if tag in values]
        if any(value not in (False, 0, "None", "--") for value in given):
            wanted.append(what)
    return tuple(wanted)


def judged(folder: Path) -> dict[str, Any]:
    """Accepted or not, with the errors; only input files are looked at, results of the other program are not."""
    with tempfile.TemporaryDirectory() as name:
        for file in INPUTS:
            found = next((path for path in (folder / file, folder / f"{file}.gz") if path.is_file()), None)
            if found is not None:
                shutil.copy(found, Path(name) / found.name)
        (Path(name) / "CHGCAR").touch()  # of the run before, which is not looked at: its words are left out below
        try:
            wanted = asks(Path(name))
            inputs = read_inputs(name)
        except InputError as error:
            return {"accepted": False, "asks": (), "errors": [words(error, name)]}
        problems = [problem for problem in inputs.problems if "CHGCAR" not in problem.file]
        errors = [words(problem, name) for problem in problems if problem.severity == "error"]
        return {"accepted": not errors, "asks": wanted, "errors": errors}


def words(error: object, folder: str) -> str:
    """What is said, without the folder it was copied to."""
    return str(error).replace(folder + "/", "").replace(folder, "the folder")


def folders(roots: list[Path]) -> Iterator[tuple[str, str, Path]]:
    """Every folder with INCAR and POSCAR below the roots, with a name and its root's, equal ones once."""
    seen = set()
    for root in roots:
        for incar in sorted([*root.rglob("INCAR"), *root.rglob("INCAR.gz")]):
            place = incar.parent
            files = [path for name in INPUTS for path in (place / name, place / f"{name}.gz") if path.is_file()]
            content = hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).digest()
            if any(path.name.startswith("POSCAR") for path in files) and content not in seen:
                seen.add(content)
                yield f"{root.name}/{place.relative_to(root)}", root.name, place


def told_by_xml(roots: list[Path], target: Path) -> Iterator[tuple[str, str, Path]]:
    """The input of every vasprun.xml below the roots, written as files; equal ones once."""
    from pymatgen.io.vasp import Incar, Kpoints, Poscar, Vasprun

    warnings.simplefilter("ignore")
    seen = set()
    for root in roots:
        for xml in sorted(path for path in root.rglob("*vasprun*.xml*") if path.is_file()):
            place = target / str(len(list(target.iterdir())))
            place.mkdir()
            title = f"{root.name}/{xml.relative_to(root)}"
            try:
                run = Vasprun(xml, parse_dos=False, parse_eigen=False, parse_potcar_file=False)
                Incar({tag: value for tag, value in run.incar.items() if value is not None}).write_file(place / "INCAR")
                Poscar(run.initial_structure).write_file(place / "POSCAR")
                if "KSPACING" not in run.incar:
                    points = run.kpoints
                    if len(points.kpts) > 1:  # its own count is not that of its list
                        weights = points.kpts_weights or run.actual_kpoints_weights
                        least = min((weight for weight in weights if weight > 0), default=1)
                        points = Kpoints("list", len(points.kpts), Kpoints.supported_modes.Reciprocal, points.kpts,
                                         kpts_weights=[weight / least for weight in weights])  # fmt: skip
                    points.write_file(place / "KPOINTS")
            except Exception as error:
                print(f"{title} cannot be read: {type(error).__name__}: {str(error)[:80]}")
                continue
            content = b"".join((place / name).read_bytes() for name in INPUTS if (place / name).is_file())
            if content not in seen:
                seen.add(content)
                yield title, f"{root.name}, vasprun.xml", place


def made_sets(target: Path) -> Iterator[tuple[str, Path]]:
    """Input sets of pymatgen for five structures, without POTCAR; a set that cannot be made is left out."""
    import pymatgen.io.vasp.sets as sets
    from pymatgen.core import Lattice, Structure

    warnings.simplefilter("ignore")
    cubic = Lattice.cubic
    structures = {
        "Si": Structure.from_spacegroup("Fd-3m", cubic(5.43), ["Si"], [[0, 0, 0]]).get_primitive_structure(),
        "Al": Structure.from_spacegroup("Fm-3m", cubic(4.05), ["Al"], [[0, 0, 0]]).get_primitive_structure(),
        "MgO": Structure.from_spacegroup("Fm-3m", cubic(4.21), ["Mg", "O"], [[0, 0, 0], [0.5, 0.5, 0.5]]),
        "Fe": Structure(cubic(2.87), ["Fe", "Fe"], [[0, 0, 0], [0.5, 0.5, 0.5]]),
        "NiO": Structure.from_spacegroup("Fm-3m", cubic(4.17), ["Ni", "O"], [[0, 0, 0], [0.5, 0.5, 0.5]]),
    }
    for kind in sorted(name for name in vars(sets) if name.endswith("Set") and name not in ("VaspInputSet", "NEBSet")):
        for title, structure in structures.items():
            folder = target / kind / title
            folder.mkdir(parents=True)
            try:
                made = getattr(sets, kind)(structure)
                made.incar.write_file(folder / "INCAR")
                made.poscar.write_file(folder / "POSCAR")
                if made.kpoints is not None:
                    made.kpoints.write_file(folder / "KPOINTS")
            except Exception as error:
                print(f"{kind} of {title} cannot be made: {type(error).__name__}: {str(error)[:80]}")
                continue
            yield f"{kind}/{title}", folder


WITHOUT = (
    "pymatgen 4.7.7, 2019.10.16, 2023.3.10, 2026.10.24, pymatgen-core 2026.10.16, pymatgen-io-validation 0.1.4, "
    "atomate 0.9.4, 1.1.0, atomate2 0.1.5, custodian 1.1.1, 2019.8.24, 2026.10.21, doped 2.3.2, 3.2.1, emmet-core and "
    "emmet-builders 0.87.3, quacc 1.8.2, dfttk 0.3.4, MPInterfaces 2020.6.19, pycdt 2.0.2, pyiron_atomistics 0.8.12, "
    "pyiron_vasp 0.2.19, fireworks 2.1.4, fairchem-data-omat 0.2.0, lobsterpy 0.6.1, matminer 0.10.1, siman 1.12.3, "
    "vasppy 1.0.0, ifermi 0.3.8, easyunfold 0.4.0, nonrad 1.2.0, hiphive 1.5, py4vasp 0.11.3, dpdata 1.1.0, "
    "sisl 0.20.0, sumo 3.0.0, boltztrap2 26.3.1, vaspvis 1.4.4, vaspy 0.9.0, aim2dat 0.4.0; with INCAR "
    "but no POSCAR: effmass 2.3.1"
)
"""Source archives that hold no such input, looked at in November 2026."""

LARGE = ("hybrids", "meta-GGA", "van der Waals", "many-body", "reaction paths")
"""What is another subject; motion is counted with it in one column, and with the rest in another."""


def report(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Shares and reasons as text."""
    lines = ["# Input that is accepted", "", "Shares: of all; of those that ask for no hybrids, meta-GGA, van der "
             "Waals functional, many-body method or reaction path; and of these those whose ions stay.", "",
             "| source | all | none of these | and ions stay |", "|---|---|---|---|"]  # fmt: skip
    whole = {"**all**": dict(found), **groups(found)}
    for title, group in whole.items():
        plain = [entry for entry in group.values() if not set(LARGE) & set(entry["asks"])]
        still = [entry for entry in plain if "motion" not in entry["asks"]]
        parts = [*group.values()], plain, still
        cells = [f"{sum(entry['accepted'] for entry in part)} of {len(part)}" for part in parts]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    asked = Counter(what for entry in found.values() for what in entry["asks"])
    lines += ["", f"Asked for: {', '.join(f'{what} {count}' for what, count in asked.most_common())}.", ""]
    reasons = Counter(words for entry in found.values() for words in dict.fromkeys(map(reason, entry["errors"])))
    lines += ["| inputs | what is said |", "|---|---|"]
    lines += [f"| {count} | {words} |" for words, count in reasons.most_common()]
    lines += ["", "Refused although they ask for nothing of the kind:", ""]
    lines += [f"- {name}: {'; '.join(entry['errors'])[:300]}" for name, entry in found.items()
              if not entry["accepted"] and not set(LARGE) & set(entry["asks"])]  # fmt: skip
    lines += ["", f"Source archives without such input: {WITHOUT}."]
    return "\n".join([*lines, ""])


def groups(found: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Mapping[str, Any]]]:
    """By where the folders come from."""
    sorted_in: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, entry in found.items():
        sorted_in.setdefault(entry["from"], {})[name] = entry
    return sorted_in


def reason(error: str) -> str:
    """An error without file, line and numbers."""
    words = re.sub(r"atoms \d+ \(\w+\) and \d+ \(\w+\)", "atoms", error.partition(": ")[2].partition(". ")[0])
    return words[:100].replace("|", "/")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roots", nargs="*", type=Path)
    parser.add_argument("--xml", action="store_true", help="input as vasprun.xml tells it")
    parser.add_argument("--sets", action="store_true", help="pymatgen's input sets")
    options = parser.parse_args()
    results = HERE / "results.json"
    known = json.loads(results.read_text()) if results.is_file() else {}
    with tempfile.TemporaryDirectory() as name:
        chosen = list(told_by_xml(options.roots, Path(name)) if options.xml else folders(options.roots))
        if options.sets:
            chosen += [(f"sets: {title}", "input sets of pymatgen", path) for title, path in made_sets(Path(name))]
        sources = {source for _, source, _ in chosen}
        known = {title: entry for title, entry in known.items() if entry["from"] not in sources}
        known |= {title: judged(path) | {"from": source} for title, source, path in chosen}
    results.write_text(json.dumps(known, indent=1) + "\n")
    (HERE / "results.md").write_text(report(known))
    print(report(known))


if __name__ == "__main__":
    main()
