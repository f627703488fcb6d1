"""A case file (TOML) -> `Case`: what to compute, checked as far as that needs no interaction file and no basis.

docs/guides/ncci.md shows a file; `input_settings` has the list of its keys.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any

from eigenwerk.errors import InputError
from eigenwerk.io.bounded import MEGABYTE, read_bounded
from eigenwerk.ncci.inputs.input_settings import G_ORBITAL, G_SPIN, SETTINGS, KeyPlace
from eigenwerk.ncci.inputs.nucleus import Nucleus, nucleus_named
from eigenwerk.ncci.ranks.scheme import AUTO

LARGEST = MEGABYTE
"""Bytes of a case file."""


ROUNDING = {"single": 1.2e-7, "double": 2.3e-16}
"""Of one, by precision of vectors and matrix elements."""


@dataclass(frozen=True)
class SolverSettings:
    """How the lowest states are found.

    products: H is applied to at most so many vectors (exactly so many with `fixed`).  space: Lanczos vectors kept.
    block: vectors that H is applied to at once.  start: results of a smaller case to begin from, or None.  layout: how
    several ranks share stored blocks, see `ranks.layout`; scheme: how their vectors travel, see `ranks.scheme`.
    """

    method: str = "lanczos"
    backend: str = "auto"
    precision: str = "double"
    device: str = "auto"
    block: int | None = None
    tolerance: float = 1e-6
    products: int = 1000
    fixed: bool = False
    space: int = 200
    start: Path | None = None
    checkpoint_minutes: float = 10.0
    memory_gb: float | None = None
    layout: str = "auto"
    scheme: str = AUTO.name


GUARDS = 4
"""Vectors in a LOBPCG block beyond those that are wanted."""


def block_size(choice: SolverSettings, states: int) -> int:
    """How many vectors H is applied to at once: as asked for, else 1 for Lanczos, a multiple of 4 for LOBPCG."""
    if choice.method == "lanczos":
        return choice.block or 1
    return max(choice.block or 4 * -(-(states + GUARDS) // 4), states)


@dataclass(frozen=True)
class Case:
    """One calculation.  Energies MeV, lengths fm.

    interaction: the name of a built-in one or a file.  srg_lambda: how far it is evolved, fm^-1, or None.  hw: None in
    a valence space.  max_excitation: Nmax, None for all of a valence space.  parity: natural, unnatural, + or -; None
    for that of Nmax.  weights: largest sums of oscillator quanta of protons, neutrons and all nucleons, in place of
    Nmax.  core: protons and neutrons of an inert core, for files that do not name it.  orbitals, scaling: what else an
    .int file may lack.  file_hw: the hw of an interaction file that does not tell it.  effective_charges, g_orbital,
    g_spin: of protons and neutrons in moments and transitions; None: see `results.observables.charges`.  given: the
    keys that stand in the file.
    """

    path: Path
    nucleus: Nucleus
    interaction: str
    srg_lambda: float | None
    hw: float | None
    max_excitation: int | None
    twice_m: int
    parity: str | None
    states: int
    coulomb: bool
    lawson: float
    weights: tuple[int | None, int | None, int | None]
    core: tuple[int, int] | None
    orbitals: Path | None
    scaling: tuple[float, float] | None
    observables: tuple[str, ...]
    solver: SolverSettings
    file_hw: float | None = None
    effective_charges: tuple[float, float] | None = None
    g_orbital: tuple[float, float] = G_ORBITAL
    g_spin: tuple[float, float] = G_SPIN
    given: frozenset[str] = frozenset()

    def by_scheme(self, scheme: str) -> "Case":
        """The same case with another scheme."""
        return replace(self, solver=replace(self.solver, scheme=scheme), given=self.given - {"solver.scheme"})

    @property
    def title(self) -> str:
        """The case in one line."""
        size = "" if self.max_excitation is None else f", Nmax {self.max_excitation}"
        quantum = "" if self.hw is None else f", hbar-omega {number_text(self.hw)} MeV"
        name = interaction_title(self.interaction, self.srg_lambda)
        return f"{self.nucleus.name}, {name}{quantum}{size}, M = {half(self.twice_m)}"


def interaction_title(interaction: str, srg_lambda: float | None) -> str:
    """NNLOopt SRG 2 fm^-1; of a file its name without folders."""
    return Path(interaction).name + ("" if srg_lambda is None else f" SRG {number_text(srg_lambda)} fm^-1")


def number_text(number: float) -> str:
    """A number as short as it can be told from every other one: 20, 17.5, 20.0000001."""
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


def half(twice: int) -> str:
    """A half-integer as people write it: 3/2, -1/2, 2."""
    return str(Fraction(twice, 2))


def read_cases(path: str | Path) -> list[Case]:
    """All cases of a file: one, or one for each pair of hw and Nmax where the file lists several of them.

    Cases of one hw stand together, with growing Nmax, so that each can start from the vectors of the one before.
    Raises InputError naming the file, the key, the value and what it has to be.
    """
    path = Path(path)
    document = _document(path)
    values = _values(path, document)
    nucleus = _nucleus(path, values)
    case = _case(path, nucleus, values, _given(document))
    _refuse_what_the_solver_does_not_know(case)
    return [
        replace(case, hw=hw, max_excitation=size) for hw in values["hw"] or [None] for size in values["Nmax"] or [None]
    ]


def _given(document: Mapping[str, Any]) -> frozenset[str]:
    """The keys of a file, those of tables with the table's name: 'solver.block'."""
    tables = {name: value for name, value in document.items() if isinstance(value, dict)}
    inside = (f"{name}.{key}" for name, table in tables.items() for key in table)
    return frozenset([*(name for name in document if name not in tables), *inside])


def _refuse_what_the_solver_does_not_know(case: Case) -> None:
    """Raises InputError for keys that would have no effect: of Lanczos beside LOBPCG, of stored blocks beside another
    back end."""
    if "solver.layout" in case.given and case.solver.backend not in ("auto", "csb"):
        raise InputError(
            f'{case.path}: [solver] layout belongs to backend = "csb", but it is "{case.solver.backend}". Remove it.'
        )
    rounding = ROUNDING[case.solver.precision]
    if case.solver.tolerance < rounding:
        raise InputError(
            f"{case.path}: [solver] tolerance = {case.solver.tolerance:g} is below the rounding of "
            f"{case.solver.precision} precision, {rounding:g}. Set a larger one"
            + (', or precision = "double".' if case.solver.precision == "single" else ".")
        )
    for key in ("fixed", "space"):
        if case.solver.method == "lobpcg" and f"solver.{key}" in case.given:
            raise InputError(
                f'{case.path}: [solver] {key} belongs to method = "lanczos"; LOBPCG has nothing of the kind. Remove it.'
            )


def _document(path: Path) -> dict[str, Any]:
    if not os.path.lexists(path):
        raise InputError(f"There is no case file {path}. `eigenwerk ncci keys` shows what one contains.")
    try:
        text = read_bounded(path, LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} cannot be read as text: {error}. A case file is TOML, as in docs/guides/ncci.md."
        ) from error
    if "\u2212" in text:
        line = text[: text.index("\u2212")].count("\n") + 1
        raise InputError(f"{path} line {line} contains a typographic minus sign (U+2212). Write it as '-'.")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f'{path} is no TOML: {error}. Texts stand in quotation marks: nucleus = "6Li".') from error
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, thousands of brackets
        raise InputError(f"{path} is no case file ({error}). `eigenwerk ncci keys` shows what one contains.") from None


def _values(path: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting, read or by default; the names of tables are put before the keys, 'solver.block'."""
    _refuse_unknown(path, document)
    values = {}
    for setting in SETTINGS:
        given = document.get(setting.table, {}) if setting.table else document
        place = KeyPlace(path, setting.table, setting.key)
        name = f"{setting.table}.{setting.key}" if setting.table else setting.key
        values[name] = setting.read(place, given[setting.key]) if setting.key in given else setting.default
    return values


def _refuse_unknown(path: Path, document: Mapping[str, Any]) -> None:
    tables = {setting.table for setting in SETTINGS if setting.table}
    for name, value in document.items():
        inside = value.items() if name in tables and isinstance(value, dict) else ()
        if name in tables and not isinstance(value, dict):
            raise InputError(f"{path}: {name} is a table; write its keys below a line [{name}].")
        if name not in tables:
            _refuse_unless_known(path, "", name)
        for key, _ in inside:
            _refuse_unless_known(path, name, key)


def _refuse_unless_known(path: Path, table: str, key: str) -> None:
    known = {setting.key: setting.table for setting in SETTINGS}
    if known.get(key) == table:
        return
    if key in known:
        where = f"below a line [{known[key]}]" if known[key] else "above the first line in brackets"
        raise InputError(f"{path}: {key} stands in the wrong place; it belongs {where}.")
    near = get_close_matches(key.lower(), [name.lower() for name in known], n=1)
    meant = next((name for name in known if near and name.lower() == near[0]), None)
    hint = f"Did you mean {meant}?" if meant else f"Known are {', '.join(known)}."
    raise InputError(f"{path}: there is no key {f'[{table}] ' if table else ''}{key}. {hint}")


def _nucleus(path: Path, values: Mapping[str, Any]) -> Nucleus:
    if values["nucleus"] is not None:
        if values["Z"] is not None or values["N"] is not None:
            raise InputError(f"{path} gives both nucleus and Z or N. Remove one of them.")
        return nucleus_named(values["nucleus"], f"{path}: nucleus = ")
    if values["Z"] is None or values["N"] is None:
        raise InputError(f'{path} does not say which nucleus. Write nucleus = "6Li", or Z = 3 and N = 3.')
    try:
        return Nucleus(values["Z"], values["N"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _case(path: Path, nucleus: Nucleus, values: Mapping[str, Any], given: frozenset[str]) -> Case:
    if values["interaction"] is None:
        raise InputError(f'{path} names no interaction. Write for example interaction = "JISP16", or a file name.')
    return Case(
        path=path,
        nucleus=nucleus,
        interaction=values["interaction"],
        srg_lambda=values["srg_lambda"],
        hw=None,
        file_hw=values["file_hw"],
        effective_charges=values["effective_charges"],
        g_orbital=values["g_orbital"],
        g_spin=values["g_spin"],
        given=given,
        max_excitation=None,
        twice_m=_twice_m(path, nucleus, values["M"]),
        parity=values["parity"],
        states=values["states"],
        coulomb=values["coulomb"],
        lawson=values["lawson"],
        weights=(values["basis.protons"], values["basis.neutrons"], values["basis.all"]),
        core=values["core"],
        orbitals=values["orbitals"],
        scaling=values["scaling"],
        observables=values["observables"],
        solver=SolverSettings(
            **{key.split(".")[1]: value for key, value in values.items() if key.startswith("solver.")}
        ),
    )


def _twice_m(path: Path, nucleus: Nucleus, twice_m: int | None) -> int:
    """2M, by default the smallest; it is odd for an odd number of nucleons."""
    if twice_m is None:
        return nucleus.nucleons % 2
    if (twice_m - nucleus.nucleons) % 2:
        kind = "half-integer, as 1/2" if nucleus.nucleons % 2 else "integer"
        near = half(twice_m - 1 if twice_m > 0 else twice_m + 1)
        raise InputError(
            f"{path}: M = {half(twice_m)}, but {nucleus.name} has {nucleus.nucleons} nucleons, so M has to be {kind}. "
            f'Set M = "{near}", or remove the line.'
        )
    return twice_m
