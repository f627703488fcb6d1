"""OXBASH and BIGSTICK .int files: interactions of valence spaces with good isospin, and their lists of orbitals.

A .int file: `count energies [core mass, reference mass, exponent]`, then lines `a b c d J T value` with orbitals as
numbered in the list; a negative count or the three masses mean that the values scale as (reference/A)^exponent.
An element may stand there twice, its orbitals in another order, if both are equal.
Lists: BIGSTICK's .sps (`iso`, count, lines `n l j weight`, n from 0) and OXBASH's .sp (`t`, mass and charge of the
core, number of orbitals, groups, lines `index n l 2j`, n from 1).
"""

from math import prod, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.ncci.number_text import Labels, LineReader, NumberLine
from eigenwerk.io.ncci.valence_data import LARGEST_LABEL, ValenceData, scaling_of


class OrbitalList(NamedTuple):
    """Rows n, l, 2j (n from 0), and the core if the file names it."""

    orbital_3a: np.ndarray
    core: tuple[int, int] | None


def read_oxbash_int(
    path: str | Path,
    orbitals: str | Path,
    core: tuple[int, int] | None = None,
    scaling: tuple[float, float] | None = None,
) -> ValenceData:
    """Energies and matrix elements of a .int file with the orbitals of a .sps or .sp file.

    core: protons and neutrons, scaling: (reference mass, exponent of A/reference mass), where the files do not say.
    Raises InputError with the line.
    """
    listed = read_orbital_list(orbitals)
    size = listed.orbital_3a.shape[1]
    lines = LineReader(path)
    count_line = lines.take("the number of matrix elements")
    count = count_line.integer(0, "the number of matrix elements")
    numbers = [count_line.real(k, "a single-particle energy") for k in range(1, len(count_line.fields))]
    while len(numbers) < size:
        line = lines.take(f"{size} single-particle energies")
        numbers += [line.real(k, "a single-particle energy") for k in range(len(line.fields))]
    if len(numbers) not in (size, size + 3):
        raise InputError(
            f"{count_line.place}: {len(numbers)} numbers follow the count, but {Path(orbitals).name} has {size} "
            "orbitals, so as many energies and, if the values scale, three masses. Give the list that belongs to it."
        )
    if len(numbers) == size + 3:
        scaling = scaling_of(numbers[size + 1], -numbers[size + 2], count_line.place)
        core = core or listed.core or _symmetric_core(numbers[size])
    if count < 0 and scaling is None:
        raise InputError(f"{count_line.place}: a negative count asks for scaling by mass. Give mass and exponent.")
    labels, read = Labels(), []
    for x in range(abs(count)):
        line = lines.take(f"matrix element {x + 1}")
        (a, b, c, d), j, t, value = _isospin_element(line, listed.orbital_3a)
        label = (*sorted((tuple(sorted((a, b))), tuple(sorted((c, d))))), j, t)
        signs = [_orders(x, y, j, t, listed.orbital_3a)[-1][1] for x, y in ((a, b), (c, d)) if x > y]
        if labels.take(line, label, prod(signs) * value):
            read.append(((a, b, c, d), j, t, value))
    if lines.rest():
        raise InputError(f"{lines.rest()[0].place}: more lines than the {abs(count)} announced. Correct the count.")
    energies = np.diag(numbers[:size])
    mass, exponent = scaling or (None, 0.0)
    elements = _proton_neutron(read, listed.orbital_3a)
    three = listed.orbital_3a
    return ValenceData(three, three, energies, energies, elements, core or listed.core, mass, exponent)


def _symmetric_core(mass: float) -> tuple[int, int] | None:
    """Cores named by their mass alone are 16O, 40Ca and the like."""
    half = round(mass / 2)
    return (half, half) if half * 2 == round(mass) else None


def _isospin_element(line: NumberLine, orbital_3a: np.ndarray) -> tuple[tuple[int, ...], int, int, float]:
    """(a, b, c, d) from 0, J, T, value."""
    labels = tuple(line.integer(k, "the number of an orbital") - 1 for k in range(4))
    size = orbital_3a.shape[1]
    if any(not 0 <= label < size for label in labels):
        shown = " ".join(str(label + 1) for label in labels)
        raise InputError(f"{line.place}: orbitals {shown}, but the list has {size}. Give the list with all orbitals.")
    j, t = line.integer(4, "J"), line.integer(5, "T")
    for a, b in (labels[:2], labels[2:]):
        low, high = abs(orbital_3a[2, a] - orbital_3a[2, b]), orbital_3a[2, a] + orbital_3a[2, b]
        if t not in (0, 1) or not low <= 2 * j <= high or (a == b and (j + t) % 2 == 0):
            raise InputError(f"{line.place}: orbitals {a + 1} and {b + 1} cannot have J = {j}, T = {t}. Correct it.")
    return labels, j, t, line.real(6, "the matrix element")


def _proton_neutron(read: list, orbital_3a: np.ndarray) -> list[tuple[str, int, int, int, int, int, float]]:
    """pp = nn = V^(T=1);  pn = 1/2 sqrt((1 + d_ab)(1 + d_cd)) [V^(T=1) + V^(T=0)] in every order of a, b and c, d.

    Exchange: <ba; JT| = (-1)^(ja + jb + J + T) <ab; JT|.
    """
    isospin: dict[tuple[int, int, int, int, int, int], float] = {}
    for (a, b, c, d), j, t, value in read:
        for bra, sign_1 in _orders(a, b, j, t, orbital_3a):
            for ket, sign_2 in _orders(c, d, j, t, orbital_3a):
                isospin[(*bra, *ket, j, t)] = isospin[(*ket, *bra, j, t)] = sign_1 * sign_2 * value
    found = []
    for a, b, c, d, j in sorted({key[:5] for key in isospin}):
        one, zero = (isospin.get((a, b, c, d, j, t)) for t in (1, 0))
        if one is not None and a <= b and c <= d:
            found += [(kind, a, b, c, d, j, one) for kind in ("pp", "nn")]
        norm = 0.5 * sqrt((1 + (a == b)) * (1 + (c == d)))
        found.append(("pn", a, b, c, d, j, norm * ((one or 0.0) + (zero or 0.0))))
    return found


def _orders(a: int, b: int, j: int, t: int, orbital_3a: np.ndarray):
    exponent = (orbital_3a[2, a] + orbital_3a[2, b]) // 2 + j + t
    return (((a, b), 1.0),) if a == b else (((a, b), 1.0), ((b, a), 1.0 - 2.0 * (exponent % 2)))


def read_orbital_list(path: str | Path) -> OrbitalList:
    """Orbitals of a BIGSTICK .sps or an OXBASH .sp file; raises InputError with the line."""
    lines = LineReader(path)
    first = lines.take("'iso' (BIGSTICK) or 't' (OXBASH)")
    word = first.fields[0].lower()
    if word == "iso":
        count = lines.take("the number of orbitals").integer(0, "the number of orbitals")
        rows = [_sps_orbital(lines.take(f"orbital {x + 1} of {count}")) for x in range(count)]
        return OrbitalList(np.array(rows, np.int64).reshape(-1, 3).T, None)
    if word == "t":
        core = lines.take("mass and charge of the core")
        mass, charge = core.integer(0, "the mass of the core"), core.integer(1, "the charge of the core")
        count = lines.take("the number of orbitals").integer(0, "the number of orbitals")
        lines.take("the groups of orbitals")
        rows = [_sp_orbital(lines.take(f"orbital {x + 1} of {count}")) for x in range(count)]
        return OrbitalList(np.array(rows, np.int64).reshape(-1, 3).T, (charge, mass - charge))
    raise InputError(
        f"{first.place}: '{first.fields[0]}' is no list of orbitals that is understood; BIGSTICK's begin with iso, "
        "OXBASH's with t (proton-neutron lists are not read). Give such a list."
    )


def _sps_orbital(line: NumberLine) -> list[int]:
    n, l, j = (min(line.real(k, what), 2.0 * LARGEST_LABEL) for k, what in enumerate(("n", "l", "j")))
    return _checked(line, round(n), round(l), round(2 * j))


def _sp_orbital(line: NumberLine) -> list[int]:
    n, l, twice_j = (line.integer(k, what) for k, what in ((1, "n"), (2, "l"), (3, "2j")))
    return _checked(line, n - 1, l, twice_j)


def _checked(line: NumberLine, n: int, l: int, twice_j: int) -> list[int]:
    if not (0 <= n <= LARGEST_LABEL and 0 <= l <= LARGEST_LABEL and abs(twice_j - 2 * l) == 1):
        raise InputError(f"{line.place}: n = {n}, l = {l}, 2j = {twice_j} is no orbital. Correct the line.")
    return [n, l, twice_j]
