"""Find PAW data sets: those of the installed package gpaw-data, and those in folders the user names.

A set is a file `X.F.gz`, `X.V.F.gz` (element X, variant V, functional F; the .gz may be missing), or, in a
user's folder, any `X*.xml` or `X*.xml.gz`, whose functional is read from the file.

Which file is taken for an element: the first folder that has one wins, gpaw-data comes last; there, the plain
`X.F` unless a variant is asked for.  Where a place has no file made for the functional, the next of those that the
functional declares serves (`Functional.data`).
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from gpaw_data import datapath  # type: ignore[import-untyped]

from eigenwerk.errors import InputError
from eigenwerk.io.paw.dataset import PawHeader, split_dataset_name
from eigenwerk.io.paw.formats import format_by_suffix
from eigenwerk.units import HARTREE_EV

RECOMMENDED_ERROR, NARROWEST = 0.002, 50.0
"""eV per atom, by the rule of `CutoffAdvice`; the least distance in eV of two cutoffs that is extrapolated from."""

STEEPEST = 20.0
"""The least distance in eV over which an error is taken to double below the lowest known cutoff."""

KNOWN_ERRORS = (0.010, 0.005, 0.001)
"""Errors of energy differences, eV per atom, of the cutoffs `CutoffAdvice.differences_eV`."""

_CUTOFF_FILE = Path(__file__).with_name("cutoffs.json")


@dataclass(frozen=True, order=True)
class DatasetEntry:
    """One data set file: its element, variant ("" for the plain one), functional and path."""

    element: str
    variant: str
    functional: str
    file: Path


@dataclass(frozen=True)
class CutoffAdvice:
    """Plane-wave cutoffs for one data set in eV, and where they come from.

    recommended: energy differences converged to about 2 meV per atom (the total energy to 30 meV or better);
    minimum: to about 10 meV (100 meV), enough for a first look.  differences: where energy differences have the errors
    `KNOWN_ERRORS`, if they were found.  The rule: `docs/formats/paw_xml.md`.
    """

    minimum_eV: float
    recommended_eV: float
    source: str
    differences_eV: tuple[float, ...] = ()

    def expected_error_eV(self, cutoff_eV: float) -> float:
        """About how far energy differences are from their converged values at a cutoff, in eV per atom.

        Its logarithm is a straight line between cutoffs whose error is known, and beyond them: those of 10, 5 and 1 meV
        if they were found, else the minimum (10 meV) and the recommended one (2 meV).
        """
        if self.differences_eV:
            return self._between(cutoff_eV)
        width = max(self.recommended_eV - self.minimum_eV, NARROWEST)
        return float(RECOMMENDED_ERROR * 5.0 ** ((self.recommended_eV - cutoff_eV) / width))

    def _between(self, cutoff_eV: float) -> float:
        """The same by the cutoffs of known errors."""
        known = list(zip(self.differences_eV, KNOWN_ERRORS, strict=True))
        for (low, large), (high, small) in pairwise(known):
            if low <= cutoff_eV < high:
                return float(large * (small / large) ** ((cutoff_eV - low) / (high - low)))
        # as steep as at the nearer end: errors grow ever faster towards low cutoffs
        (first, large), (second, less), (last, small) = known
        if cutoff_eV < first:
            return float(large * (large / less) ** ((first - cutoff_eV) / max(second - first, STEEPEST)))
        return float(small * (small / less) ** ((cutoff_eV - last) / max(last - second, NARROWEST)))


def list_datasets(functional: str = "PBE", folders: tuple[str | Path, ...] = ()) -> tuple[DatasetEntry, ...]:
    """All sets made for one functional, folders first, each part sorted by element and variant.

    Raises InputError if a folder does not exist or a file in it is damaged.
    """
    places = [*_checked(folders), datapath()]
    return tuple(entry for place in places for entry in _scan(place) if entry.functional == functional)


def choose_dataset(
    element: str,
    *functionals: str,
    variant: str | None = None,
    folders: tuple[str | Path, ...] = (),
) -> Path:
    """Path of the data set to use for an element.

    functionals: those of the sets that serve, best first (PBE if none are named).  A set made with another functional
    has the frozen core and the reference energy (`ae_energy`) of that other functional: energies relative to the
    reference of different sets cannot be compared with each other.

    variant: None for the plain set, or the middle of a name like Cr.14.PBE ("14").  Raises InputError that lists
    what exists if there is no such set, or several without a plain one.
    """
    functionals = functionals or ("PBE",)
    for place in [*_checked(folders), datapath()]:
        entries = _scan(place, element)
        for name in functionals:
            chosen = _pick([entry for entry in entries if entry.functional == name], variant)
            if chosen is not None:
                return chosen.file
    raise _nothing(element, functionals, variant, folders)


def recommended_cutoff(header: PawHeader) -> CutoffAdvice | None:
    """Cutoffs for a data set: from our table by checksum, else from the file's own <pw_ecut>, else None."""
    row = _cutoffs().get(header.sha256)
    if row is not None:
        known = tuple(map(float, row["differences_eV"]))
        return CutoffAdvice(row["minimum_eV"], row["recommended_eV"], "eigenwerk's table", known)
    if header.pw_ecut is not None:
        low, _, high = header.pw_ecut
        return CutoffAdvice(low * HARTREE_EV, high * HARTREE_EV, "the data set's <pw_ecut>")
    return None


def _pick(found: list[DatasetEntry], variant: str | None) -> DatasetEntry | None:
    """The entry of that variant; without a wish the plain one, else the only one."""
    matching = [entry for entry in found if entry.variant == (variant or "")]
    if not matching and variant is None and len(found) == 1:
        return found[0]
    if not matching and variant is None and found:
        names = ", ".join(entry.file.name for entry in found)
        raise InputError(
            f"Element {found[0].element}: the folder {found[0].file.parent} has {len(found)} PAW data sets and none "
            f"of plain name: {names}. Name the variant, or keep one of them."
        )
    return matching[0] if matching else None


def _checked(folders: tuple[str | Path, ...]) -> list[Path]:
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise InputError(f"PAW data folder {folder}: there is no such folder. Correct the path or leave it out.")
    return [Path(folder) for folder in folders]


def _scan(folder: Path, element: str = "") -> list[DatasetEntry]:
    """Data sets in a folder, of one element or all; files of other elements are not opened."""
    entries = (_entry(file) for file in folder.iterdir() if element in ("", _symbol(file)))
    return sorted(entry for entry in entries if entry is not None)


def _symbol(file: Path) -> str:
    match = re.match(r"([A-Z][a-z]?)(?=[._-])", file.name)
    return "" if match is None else match[1]


def _entry(file: Path) -> DatasetEntry | None:
    if not _symbol(file) or not file.is_file():
        return None
    form = format_by_suffix(file)
    if form is not None:
        header = form.read_header(file)
        rest = header.name.removeprefix(header.symbol)
        return DatasetEntry(header.symbol, rest.strip("._-"), header.functional, file)
    names = split_dataset_name(file.name)
    # Orbital sets (X.dzp.basis.gz) lie beside the data sets.
    if names is None or names[2] == "basis":
        return None
    return DatasetEntry(*names, file)


def _nothing(element: str, served: tuple[str, ...], variant: str | None, folders: tuple[str | Path, ...]) -> InputError:
    entries = [entry for place in [*_checked(folders), datapath()] for entry in _scan(place)]
    what = f"element {element}, functional {served[0]}" + (f", variant {variant}" if variant else "")
    head = f"No PAW data set for {what} in {', '.join(str(p) for p in [*folders, datapath()])}."
    variants = sorted(e.variant or "(plain)" for e in entries if e.element == element and e.functional in served)
    if variants:
        return InputError(f"{head} Variants of {element} that exist: {', '.join(variants)}. Choose one of these.")
    elements = sorted({entry.element for entry in entries if entry.functional in served})
    hint = f" Did you mean {element.capitalize()}?" if element.capitalize() in elements else ""
    return InputError(
        f"{head}{hint} Elements with a set: {' '.join(elements)}. Give a folder with a PAW-XML file for {element}."
    )


@cache
def _cutoffs() -> dict[str, dict[str, Any]]:
    rows = json.loads(_CUTOFF_FILE.read_text())["datasets"]
    return {row["sha256"]: row for row in rows}
