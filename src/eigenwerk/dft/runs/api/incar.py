"""Settings given as keywords become the texts of INCAR and KPOINTS, and errors of these name the keywords.

So a keyword means what its tag means, is judged by the same row of the table, and what was computed can be written down
as a folder.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk.dft.inputs.inputs import Inputs, read_inputs
from eigenwerk.dft.inputs.texts import InputTexts
from eigenwerk.dft.runs.api.constraints import PLACE, held_problems
from eigenwerk.dft.runs.api.structures import GivenStructure
from eigenwerk.dft.settings.tags_in_force import Setting
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.poscar import Poscar, format_poscar
from eigenwerk.io.vasp.problem import Problem
from eigenwerk.io.vasp.tags.base import show
from eigenwerk.io.vasp.tags.table import find_tag

ENDS_A_VALUE = "#!;\n\r\\"
"""Characters that have a meaning of their own in INCAR."""

SINGLE = ("int", "float", "bool", "str", "word", "bool|word", "functional")
"""Kinds of tags with one value."""

PLACES = {"POSCAR": PLACE, "KPOINTS": "kpts", "KPOINTS_OPT": "kpts"}
"""What files are called where there are none."""


CHARGED = 1e-3
"""Electrons; charges of atoms that come from tables or analyses do not sum to zero exactly."""


def inputs_of(
    structure: GivenStructure,
    settings: Mapping[str, Any],
    kpts: Any = None,
    gamma: bool = True,
    bands: str | None = None,
    folder: Path = Path("."),
) -> Inputs:
    """The same `Inputs` that a folder would give; problems in them name keywords.

    structure: its moments are used unless MAGMOM or ISPIN = 1 is given, its masses where atoms move, unless POMASS is
    given; folder: where earlier results may lie.  Raises InputError for values that cannot be written as a tag.
    """
    poscar = structure.poscar
    given = {name.lower(): value for name, value in settings.items() if value is not None}
    if structure.moments is not None and "magmom" not in given and given.get("ispin", 2) == 2:
        given["magmom"] = list(structure.moments)
    if "magmom" in given or _fixes_moment(given.get("nupdown")):
        given.setdefault("ispin", 2)
    if structure.mass_a is not None and "pomass" not in given and "nsw" in given:
        poscar, given["pomass"] = _by_mass(poscar, structure.mass_a)
    if abs(structure.charge) > CHARGED and "nelect" not in given:
        raise InputError(
            f"the structure has a charge of {structure.charge:g}. Say by nelect how many electrons, or remove it."
        )
    texts = {"INCAR": "".join(f"{name.upper()} = {_statement(name, value, poscar)}\n" for name, value in given.items())}
    texts["POSCAR"] = format_poscar(poscar)
    if kpts is not None:
        if "kspacing" in given:
            raise InputError("kpts and kspacing are both given. Give one of them.")
        texts["KPOINTS"] = kpoints_text(kpts, gamma)
    inputs = read_inputs(folder, texts=InputTexts(texts, {}), bands=bands)
    names = list(given)
    problems = [_renamed(problem, names) for problem in inputs.problems]
    problems += [*structure.problems, *held_problems(structure.poscar.selective_ac, structure.held, inputs.incar)]
    return replace(
        inputs, problems=tuple(problems),
        settings=tuple(_with_keyword(setting) for setting in inputs.settings),
    )  # fmt: skip


def _fixes_moment(nupdown: Any) -> bool:
    """Whether a value of NUPDOWN asks for two channels; what is no number is judged by its row of the table."""
    return isinstance(nupdown, int | float | np.integer | np.floating) and float(nupdown) >= 0


def _by_mass(poscar: Poscar, mass_a: np.ndarray) -> tuple[Poscar, list[float]]:
    """The same atoms in runs of one element and one mass, and the mass of each run: POMASS counts species."""
    runs: list[tuple[str, int]] = []
    masses: list[float] = []
    for symbol, mass in zip(poscar.symbols, mass_a.tolist(), strict=True):
        if runs and (runs[-1][0], masses[-1]) == (symbol, mass):
            runs[-1] = (symbol, runs[-1][1] + 1)
        else:
            runs.append((symbol, 1))
            masses.append(mass)
    return replace(poscar, species_runs=tuple(runs)), masses


def _statement(name: str, value: Any, poscar: Poscar) -> str:
    """A value as INCAR holds it; one that is no list where the tag takes none."""
    tag = find_tag(name)
    if tag is not None and tag.kind in SINGLE and not isinstance(value, str) and np.iterable(value):
        raise InputError(f"{name} = {value!r}: there are several values where one belongs. Give one.")
    return _text(name, value, poscar)


def _text(name: str, value: Any, poscar: Poscar) -> str:
    """With all digits."""
    if isinstance(value, Mapping):
        return _of_species(name, value, poscar)
    if isinstance(value, str):
        if not value or any(letter in value for letter in ENDS_A_VALUE):
            raise InputError(f"{name} = {value!r}: no value is empty, or has a character of {ENDS_A_VALUE!r} in it.")
        return value
    if isinstance(value, bool | np.bool_):
        return show(bool(value))
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return repr(float(value))
    if np.size(value) and not np.isscalar(value) and np.asarray(value).dtype.kind in "biufU":
        return " ".join(_text(name, one, poscar) for one in np.asarray(value).ravel().tolist())
    raise InputError(f"{name} = {value!r}: a {type(value).__name__} is no value of a tag. Give a number, text or list.")


def _of_species(name: str, value: Mapping[str, Any], poscar: Poscar) -> str:
    """A mapping by element: pairs for tags that are such, else one value for each species in its order."""
    tag = find_tag(name)
    if tag is not None and tag.kind == "variants":
        return " ".join(f"{symbol}:{_text(name, variant, poscar)}" for symbol, variant in value.items())
    elements = [symbol for symbol, _ in poscar.species_runs]
    if set(elements) != set(value):
        raise InputError(
            f"{name} names {', '.join(map(str, value)) or 'no element'}, but the structure has "
            f"{', '.join(dict.fromkeys(elements))}. Give one value for each element of it."
        )
    return " ".join(_text(name, value[symbol], poscar) for symbol in elements)


def kpoints_text(kpts: Any, gamma: bool = True) -> str:
    """KPOINTS of a mesh (three whole numbers; gamma: centred there, else Monkhorst-Pack), of points (k, 3) or with
    weights (k, 4) in reciprocal lattice vectors, or the text itself, which a pymatgen Kpoints is too."""
    if isinstance(kpts, str) or hasattr(kpts, "style"):
        return str(kpts)
    try:
        array = np.asarray(kpts, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape == (3,) and (array == array.round()).all():
        return f"mesh\n0\n{'Gamma' if gamma else 'Monkhorst-Pack'}\n{' '.join(str(int(n)) for n in array)}\n"
    if array.ndim != 2 or array.shape[1] not in (3, 4) or not len(array):
        raise InputError(f"kpts = {kpts!r}: give three whole numbers, points (k, 3), or points with weights (k, 4).")
    rows = array if array.shape[1] == 4 else np.hstack([array, np.ones((len(array), 1))])
    return f"points\n{len(rows)}\nReciprocal\n" + "".join(" ".join(map(repr, row)) + "\n" for row in rows.tolist())


def _renamed(problem: Problem, names: list[str]) -> Problem:
    """A problem of a file as one of the keyword that stands behind its line."""
    if problem.file in PLACES:
        return replace(problem, file=PLACES[problem.file], line=None)
    if problem.file != "INCAR":
        return problem
    keyword = problem.tag.lower() or (names[problem.line - 1] if problem.line else "")
    message = problem.message.replace("the line", "it") if problem.tag else problem.message
    remedy = problem.remedy.replace("remove the line", "leave it out").replace("Remove the line", "Leave it out")
    return replace(problem, file="settings", line=None, tag=keyword, message=message, remedy=remedy)


def _with_keyword(setting: Setting) -> Setting:
    return replace(setting, origin=f"keyword {setting.tag.lower()}") if setting.origin.startswith("INCAR") else setting
