"""The tags in force, each with its value, unit and where the value comes from.

For a reader of a record a value is worth little without its origin: "ENCUT = 400 eV, INCAR line 3" and "ENCUT = 700 eV,
from data set O.PBE" are different statements.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eigenwerk.dft.settings.findings import Findings
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.tags.base import Derived, Tag, same_value, show
from eigenwerk.io.vasp.tags.table import TAGS

DEFAULT = "default"


@dataclass(frozen=True)
class Setting:
    """One tag in force.

    value: typed, in the unit of the INCAR file; origin: "INCAR line 4", "default", "from PREC", "from data set Si.PBE";
    given: whether the user wrote it.
    """

    tag: str
    value: object
    unit: str
    origin: str
    given: bool = False

    @property
    def text(self) -> str:
        """The value as it would stand in an INCAR file."""
        return show(self.value)


@dataclass(frozen=True)
class Computed:
    """A value that is computed from other input, and from what; value None takes the tag out of the list."""

    value: object
    origin: str = ""


def settings_in_force(incar: Incar, derived: Mapping[str, Computed]) -> tuple[Setting, ...]:
    """All tags that eigenwerk honours, in the order of the table, those without a value left out."""
    rows = (_setting(tag, incar, derived.get(tag.name)) for tag in TAGS.values() if tag.status == "honoured")
    return tuple(row for row in rows if row is not None)


def _setting(tag: Tag, incar: Incar, derived: Computed | None) -> Setting | None:
    if derived is not None:
        given = derived.origin.startswith(incar.file)
        return None if derived.value is None else Setting(tag.name, derived.value, tag.unit, derived.origin, given)
    default = None if isinstance(tag.default, Derived) or tag.default == () else tag.default
    if tag.name not in incar.values:
        return None if default is None else Setting(tag.name, default, tag.unit, DEFAULT)
    value, origin = incar.values[tag.name], line_of(incar, tag.name)
    choice = tag.choice(value)
    if choice is not None and choice.status == "inert":
        # the note among the problems says why; here stands what is computed
        return Setting(tag.name, default, tag.unit, f"in place of {show(value)} ({origin})", given=True)
    return Setting(tag.name, value, tag.unit, origin, given=True)


def line_of(incar: Incar, name: str) -> str:
    """Where a tag stands: "INCAR line 4"."""
    return f"{incar.file} line {incar.line_of[name]}"


def number(incar: Incar, name: str) -> float:
    """The value of a tag with a number, or its default."""
    value = incar.get(name)
    if not isinstance(value, int | float):
        raise TypeError(f"{name} has no number: {value!r}")
    return float(value)


def whole(incar: Incar, name: str) -> int:
    """The value of a tag with a whole number, or its default."""
    value = incar.get(name)
    if not isinstance(value, int):
        raise TypeError(f"{name} has no whole number: {value!r}")
    return value


def number_or(incar: Incar, name: str, fallback: float) -> float:
    """The number that is given for a tag whose default is none, or something else."""
    value = incar.values.get(name)
    return float(value) if isinstance(value, int | float) else fallback


def of_species(
    incar: Incar, name: str, runs: Sequence[str], default: float, findings: Findings
) -> list[float] | None:
    """The values of a tag, one for each species of POSCAR in its order, the default for all if it is not given; None,
    and an error, for another number of them."""
    given = incar.values.get(name, (default,) * len(runs))
    values = [float(value) for value in (given if isinstance(given, tuple) else (given,))]
    if len(values) == len(runs):
        return values
    message = f"{len(values)} values, but POSCAR has {len(runs)} species ({' '.join(runs)})"
    findings.add(incar.problem(name, message, "Give one value for each species, in the order of POSCAR."))
    return None


def tell_idle(incar: Incar, idle: Iterable[tuple[str, Sequence[str]]], findings: Findings) -> None:
    """A note about tags that are given, with a value that is not their default, and mean nothing here.

    idle: what tags act with only, and their names.
    """
    for words, names in idle:
        given = [name for name in names if not same_value(incar.get(name), TAGS[name].default)]
        given = [name for name in given if name in incar.values]
        if given:
            findings.note(incar.file, f"not used, because they act with {words} only: {', '.join(given)}")
