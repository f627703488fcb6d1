"""The order of species in a POTCAR file, and nothing else of it.

eigenwerk uses free PAW data; a POTCAR beside the input only says which species come in which order.
Its lines `TITEL = PAW_PBE Si 05Jan2001` (or `VRHFIN =Si: s2p2`) are read, one for each data set.
"""

import re
from pathlib import Path

from eigenwerk.errors import InputError
from eigenwerk.io.bounded import MEGABYTE, read_bounded
from eigenwerk.io.vasp.elements import ELEMENTS

LARGEST = 200 * MEGABYTE

_TITLE = re.compile(r"^\s*TITEL\s*=\s*(.*)$")
_VALENCE = re.compile(r"^\s*VRHFIN\s*=\s*([A-Za-z]+)")
_SYMBOL = re.compile(r"([A-Z][a-z]?)([^a-zA-Z].*)?")


def read_potcar_species(path: str | Path) -> tuple[str, ...]:
    """Elements of the data sets of a POTCAR in file order; 'Si_sv_GW' counts as Si.

    Raises InputError if the file cannot be read or names no species.
    """
    path = Path(path)
    text = read_bounded(path, LARGEST).decode("utf-8", errors="replace")
    lines = [line for line in text.split("\n") if "TITEL" in line or "VRHFIN" in line]
    titles = [_title_element(match.group(1), path.name) for line in lines if (match := _TITLE.match(line))]
    valences = [_element(match.group(1), path.name) for line in lines if (match := _VALENCE.match(line))]
    if not titles and not valences:
        raise InputError(
            f"{path.name}: no line TITEL or VRHFIN names a species. Remove the file and name the species in POSCAR."
        )
    return tuple(titles or valences)


def _title_element(title: str, file: str) -> str:
    """Element of a title: the second word, 'PAW_PBE Si_pv 05Jan2001', or the first, if it stands alone."""
    words = title.split()
    return _element(words[1] if len(words) > 1 else "".join(words), file)


def _element(name: str, file: str) -> str:
    match = _SYMBOL.fullmatch(name)
    if match is None or match.group(1) not in ELEMENTS:
        raise InputError(f"{file}: {name or 'an empty title'} is not a chemical element. Repair or remove the file.")
    return match.group(1)
