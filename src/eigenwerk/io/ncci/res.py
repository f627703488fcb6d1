"""MFDn's result files: settings and tables of levels of versions 14 and 15 (and of files in their layout)."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.textfile import read_text, split_lines

LEVEL_COLUMNS = ("Seq", "J", "n", "T")

OLD_TABLES = {
    "E-Egs": ("Energies", ("Eexc", "Eabs", "Error", "r(p)", "r(n)", "r(matter)")),
    "M1": ("M1 moments", ("mu", "Dl(p)", "Dl(n)", "Ds(p)", "Ds(n)", "sum(=J)")),
    "R2-OneBody(pro,neu)": ("E2 moments", ("R2(p)", "R2(n)", "Q(p)", "Q(n)")),
    "additional": ("Other 2-body observables", ()),
}
"""Version 14: the word after `Seq J NP n T` -> the name of the table and of its columns in version 15."""


@dataclass(frozen=True, eq=False)
class ResTable:
    """One table of levels: names of columns and values (level, column); columns without a name stand at the end."""

    columns: tuple[str, ...]
    values: np.ndarray

    def column(self, name: str) -> np.ndarray:
        """One value of every level; raises InputError with the names that exist."""
        if name not in self.columns:
            raise InputError(f"The table has no column {name}; it has {' '.join(self.columns)}. Ask for one of these.")
        return self.values[:, self.columns.index(name)]

    def rest(self) -> np.ndarray:
        """Values right of the named columns, such as the probabilities of each number of quanta."""
        return self.values[:, len(self.columns) :]


@dataclass(frozen=True, eq=False)
class ResFile:
    """Settings by section and key as text, tables by name.

    `occupations` maps ("p" or "n", n, l, 2j) to the occupation in every level.
    """

    settings: dict[str, dict[str, str]]
    tables: dict[str, ResTable]
    occupations: dict[tuple[str, int, int, int], np.ndarray] = field(default_factory=dict)

    def table(self, name: str) -> ResTable:
        """A table; raises InputError with the names that exist."""
        if name not in self.tables:
            raise InputError(f"The file has no table '{name}'; it has {', '.join(self.tables)}. Ask for one of these.")
        return self.tables[name]

    @property
    def energies(self) -> np.ndarray:
        """Energies of all levels in MeV."""
        return self.table("Energies").column("Eabs")

    def number(self, section: str, key: str) -> float:
        """A setting as a number."""
        try:
            return float(self.settings[section][key])
        except (KeyError, ValueError):
            raise InputError(f"The file has no number '{key}' in a section [{section}]. Use a complete file.") from None


def read_res(path: str | Path) -> ResFile:
    """All levels of a result file; raises InputError if it is none or has no energies, as after a stopped run."""
    lines = split_lines(read_text(path))
    result = _read_new(lines) if any(re.match(r"\[(PARAMETERS|RESULTS)\]", x) for x in lines) else _read_old(lines)
    if "Energies" not in result.tables:
        raise InputError(
            f"{Path(path).name}: no table of energies in {len(lines)} lines: the run stopped before, the file is cut, "
            "or it is no result file of MFDn (14 or 15). Get the complete file."
        )
    return result


def _numbers(line: str) -> list[float] | None:
    """The numbers of a line that holds nothing else."""
    try:
        values = [float(x) for x in line.split()]
    except ValueError:
        return None
    return values or None


def _table(columns: tuple[str, ...], rows: list[list[float]]) -> ResTable:
    width = min(len(row) for row in rows)
    return ResTable(columns[:width], np.array([row[:width] for row in rows]))


def _read_new(lines: list[str]) -> ResFile:
    settings: dict[str, dict[str, str]] = {}
    rows: dict[str, list[list[float]]] = {}
    columns: dict[str, tuple[str, ...]] = {}
    occupations: dict[tuple[str, int, int, int], np.ndarray] = {}
    files: list[str] = []
    section = ""
    for line in lines:
        if match := re.match(r"\[(.+)\]\s*$", line):
            section = match[1]
        elif line.startswith("#"):
            words = line[1:].split()
            if words[:1] == ["Seq"] and "see" not in words:
                columns[section] = tuple(words)
        elif "=" in line:
            key, value = (part.strip() for part in line.split("=", 1))
            settings.setdefault(section, {})[key] = value
            if key.startswith("TBMEfile(") and key != "TBMEfile(1)":
                files.append(re.sub(r"^tbme-|\.bin$", "", value))
        elif match := re.match(r"\s*\d+\s+(pro|neu)\s+(\d+)\s+(\d+)\s+(\d+)\s+(.*)", line):
            n, l, twice_j = (int(match[k]) for k in (2, 3, 4))
            occupations[match[1][0], n, l, twice_j] = np.array(_numbers(match[5]) or [])
        elif values := _numbers(line):
            rows.setdefault(section, []).append(values)
    columns["Other 2-body observables"] = (*LEVEL_COLUMNS, *files)
    if "Oscillator quanta" in columns:
        columns["Oscillator quanta"] = LEVEL_COLUMNS
    tables = {name: _table(columns.get(name, LEVEL_COLUMNS), found) for name, found in rows.items()}
    return ResFile(settings, tables, occupations)


def _read_old(lines: list[str]) -> ResFile:
    """Version 14: tables headed `Seq J NP n T ...`; the first table of each kind counts."""
    tables: dict[str, ResTable] = {}
    settings: dict[str, dict[str, str]] = {}
    for position, line in enumerate(lines):
        words = line.split()
        if words[:5] == ["Seq", "J", "NP", "n", "T"]:
            name, columns = _old_name(words[5:])
            rows = []
            for follower in lines[position + 1 :]:
                values = _numbers(follower)
                if values is None:
                    break
                rows.append([*values[:2], *values[3:]])  # without NP, the parity
            if name and rows and name not in tables:
                tables[name] = _table((*LEVEL_COLUMNS, *columns), rows)
        elif match := re.match(r"\s*Number of protons \(and neutrons\)\s+(\d+)\s+(\d+)", line):
            settings.setdefault("Basis", {}).update(Nprotons=match[1], Nneutrons=match[2])
        elif match := re.match(r"\s*Number of HO quanta above minimal conf\s+(\d+)\s+to\s+(\d+)", line):
            settings.setdefault("Basis", {}).update(Nmin=match[1], Nmax=match[2])
        elif match := re.match(r"\s*hbar-omega\s+([\d.]+)", line):
            settings.setdefault("Interaction", {})["hbomeg"] = match[1]
    return ResFile(settings, tables)


def _old_name(words: list[str]) -> tuple[str, tuple[str, ...]]:
    if words[:1] == ["Eabs"] and "(amp(N))^2" in words:
        return "Oscillator quanta", ("Eabs",)
    return OLD_TABLES.get(words[0], ("", ())) if words else ("", ())
