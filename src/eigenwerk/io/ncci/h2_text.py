"""MFDn's h2 files as text, versions 15099 and 15200.

Version;  numbers of proton and neutron orbitals;  lines `index n l 2j species weight`;  J0, parity, Tz0;  15099 only:
limits of single nucleons;  limits of pairs;  15099 only: limits of 2J;  numbers of elements;  lines
`a b c d 2J 2J [11, 22 or 12] element`.  Limits, numbers and elements stand in the order pp nn pn in version 15099 and
pp pn nn in version 15200; inside a kind the elements may stand in any order.
"""

from pathlib import Path

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.ncci.h2_data import KINDS, NEW_VERSION, OLD_VERSION, H2Data, H2Header, check_header
from eigenwerk.io.ncci.number_text import Labels, LineReader, NumberLine

SPECIES_CODES = {11: "pp", 22: "nn", 12: "pn"}


def read_h2_text(path: str | Path) -> H2Data:
    """The matrix elements of an h2 file in text form; raises InputError with the line."""
    lines = LineReader(path)
    first = lines.take("the version")
    version = first.integer(0, "the version")
    if version not in (OLD_VERSION, NEW_VERSION):
        raise InputError(
            f"{first.place}: version {version} is not known; {OLD_VERSION} and {NEW_VERSION} are. Convert the file."
        )
    old = version == OLD_VERSION
    order = KINDS if old else ("pp", "pn", "nn")
    numbers = lines.take("the numbers of orbitals")
    orbitals, weights = zip(*[_orbitals(lines, numbers.integer(k, "number of orbitals")) for k in (0, 1)], strict=True)
    operator_line = lines.take("J0, parity and Tz0")
    operator = tuple(operator_line.integer(k, "J0, parity, Tz0") for k in range(len(operator_line.fields)))
    if old:
        lines.take("limits of single nucleons")
    limit_line = lines.take("limits of pairs")
    limits = {kind: limit_line.real(k, "limit of pairs") for k, kind in enumerate(order)}
    if old:
        lines.take("limits of 2J")
    count_line = lines.take("numbers of elements")
    counts = {kind: count_line.integer(k, "number of elements") for k, kind in enumerate(order)}
    header = H2Header(orbitals[0], orbitals[1], weights[0], weights[1], limits)
    check_header(header, operator, counts, count_line.place)
    if sum(counts.values()) > len(lines.rest()):
        raise InputError(
            f"{count_line.place}: {sum(counts.values())} elements are announced, {len(lines.rest())} lines follow. "
            "The file is cut off; get it again."
        )
    data = H2Data(header, {kind: _matrices(lines, header, kind, counts[kind], old) for kind in order})
    if lines.rest():
        raise InputError(
            f"{lines.rest()[0].place}: more lines than the {sum(counts.values())} announced elements. "
            "Correct the counts."
        )
    return data


def _orbitals(lines: LineReader, count: int) -> tuple[np.ndarray, np.ndarray]:
    found = [lines.take(f"orbital {x + 1} of {count}") for x in range(count)]
    names = ("n", "l", "2j")
    labels = [[line.integer(1 + k, f"{name} of the orbital") for k, name in enumerate(names)] for line in found]
    weights = [line.real(5, "weight of the orbital") for line in found]
    return np.array(labels, dtype=np.int64).reshape(-1, 3).T, np.array(weights)


def _matrices(lines: LineReader, header: H2Header, kind: str, count: int, old: bool):
    """Matrices of one kind.  Every element comes once: the count is that of all labels, and none comes twice."""
    place = {
        (int(a), int(b), j): (key, x)
        for key, pairs in header.pairs[kind].items()
        for j in [key[0]]
        for x, (a, b) in enumerate(pairs)
    }
    matrices = {key: np.full((len(x), len(x)), np.nan) for key, x in header.pairs[kind].items()}
    labels = Labels()
    for number in range(count):
        line = lines.take(f"{kind} matrix element {number + 1} of {count}")
        a, b, c, d, twice_j, twice_j_ket = (line.integer(k, "index or 2J") for k in range(6))
        _check_kind(line, kind, old)
        bra, ket = place.get((a - 1, b - 1, twice_j // 2)), place.get((c - 1, d - 1, twice_j_ket // 2))
        if bra is None or ket is None or bra[0] != ket[0]:
            raise InputError(
                f"{line.place}: {a} {b} {c} {d} with 2J = {twice_j}, {twice_j_ket} is no {kind} element of the "
                "orbitals and limits above. Correct the line, or add the missing orbitals to the list."
            )
        matrix = matrices[bra[0]]
        labels.take(line, (bra[0], *sorted((bra[1], ket[1]))))
        matrix[bra[1], ket[1]] = matrix[ket[1], bra[1]] = line.real(7 if old else 6, "the matrix element")
    return matrices


def _check_kind(line: NumberLine, kind: str, old: bool) -> None:
    if old and SPECIES_CODES.get(line.integer(6, "the species code")) != kind:
        raise InputError(
            f"{line.place}: species code {line.fields[6]} stands among {kind} elements. "
            "Write 11 (pp), 22 (nn) or 12 (pn)."
        )
