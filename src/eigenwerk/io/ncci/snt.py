"""KSHELL's .snt files: interactions of valence spaces in the proton-neutron formalism.

Numbers of proton and neutron orbitals, protons and neutrons of the core;  lines `index n l 2j tz` (tz = -1 proton);
`count method [hw]` and one-body lines `i j value`;  `count method [mass exponent]` and lines `i j k l J value`, method
1: the elements scale as (A/mass)^exponent.  Comments begin with ! or #.  An element may stand there twice, bra and ket
swapped or orbitals in another order (sdpf-m.snt has 34 such pairs), if both are equal: it is one element.
"""

from pathlib import Path

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.ncci.number_text import Labels, LineReader, NumberLine
from eigenwerk.io.ncci.valence_data import LARGEST_LABEL, ValenceData, scaling_of


def read_snt(path: str | Path) -> ValenceData:
    """Orbitals, energies and matrix elements of a .snt file; raises InputError with the line."""
    lines = LineReader(path)
    head = lines.take("the numbers of orbitals and the core")
    counts = [head.integer(k, "number of orbitals") for k in (0, 1)]
    if min(counts) < 0:
        raise InputError(
            f"{head.place}: {counts[0]} and {counts[1]} orbitals; numbers from 0 are possible. Correct it."
        )
    core = (head.integer(2, "protons of the core"), head.integer(3, "neutrons of the core"))
    orbitals = [_orbital(lines.take(f"orbital {x + 1}"), x, counts[0]) for x in range(sum(counts))]
    lists = [np.array(part, np.int64).reshape(-1, 3).T for part in (orbitals[: counts[0]], orbitals[counts[0] :])]
    energies = [np.zeros((count, count)) for count in counts]
    labels = Labels()
    one_body = lines.take("the number of one-body lines")
    if len(one_body.fields) > 1 and one_body.integer(1, "method") != 0:
        raise InputError(
            f"{one_body.place}: method {one_body.fields[1]} of one-body elements is not known, only 0 (as they stand) "
            "is. Write the elements out."
        )
    hw = one_body.real(2, "hw") if len(one_body.fields) > 2 else None
    for x in range(one_body.integer(0, "number of one-body lines")):
        line = lines.take(f"one-body line {x + 1}")
        (kind, i), (other, j) = (_place(line, k, counts) for k in (0, 1))
        if kind != other:
            raise InputError(f"{line.place}: a one-body element joins a proton and a neutron orbital. Correct it.")
        energies[kind][i, j] = energies[kind][j, i] = energy = line.real(2, "the energy")
        labels.take(line, (kind, *sorted((i, j))), energy)
    two_body = lines.take("the number of matrix elements")
    method = two_body.integer(1, "method") if len(two_body.fields) > 1 else 0
    if method not in (0, 1):
        raise InputError(
            f"{two_body.place}: method {method} is not known. Write 0 (elements as they stand) or 1 (they scale "
            "with the mass)."
        )
    count = two_body.integer(0, "number of matrix elements")
    twice_j = [[orbital[2] for orbital in part] for part in (orbitals[: counts[0]], orbitals[counts[0] :])]
    elements = []
    for x in range(count):
        line = lines.take(f"matrix element {x + 1} of {count}")
        element = _element(line, counts)
        if labels.take(line, *_canonical(element, twice_j)):
            elements.append(element)
    if lines.rest():
        raise InputError(f"{lines.rest()[0].place}: more lines than the {count} announced. Correct the count.")
    mass, exponent = None, 0.0
    if method:
        given = two_body.real(2, "the mass of the scaling"), two_body.real(3, "the exponent of the scaling")
        mass, exponent = scaling_of(*given, two_body.place)
    return ValenceData(lists[0], lists[1], energies[0], energies[1], elements, core, mass, exponent, hw)


def _orbital(line: NumberLine, position: int, protons: int) -> list[int]:
    index, n, l, twice_j, charge = (line.integer(k, "an entry of the orbital") for k in range(5))
    expected = -1 if position < protons else 1
    if index != position + 1 or charge != expected:
        raise InputError(
            f"{line.place}: orbital {index} with tz = {charge}, but number {position + 1} with tz = {expected} is due: "
            "protons (-1) stand before neutrons (1). Put the lines in order."
        )
    if not (0 <= n <= LARGEST_LABEL and 0 <= l <= LARGEST_LABEL and abs(twice_j - 2 * l) == 1):
        raise InputError(f"{line.place}: n = {n}, l = {l}, 2j = {twice_j} is no orbital. Correct the line.")
    return [n, l, twice_j]


def _place(line: NumberLine, position: int, counts: list[int]) -> tuple[int, int]:
    """(0 proton, 1 neutron; place in the list of the species)."""
    index = line.integer(position, "the index of an orbital")
    if not 1 <= index <= sum(counts):
        raise InputError(f"{line.place}: orbital {index} is not in the list of {sum(counts)}. Add it or correct this.")
    return (0, index - 1) if index <= counts[0] else (1, index - 1 - counts[0])


def _element(line: NumberLine, counts: list[int]) -> tuple[str, int, int, int, int, int, float]:
    (k1, a), (k2, b), (k3, c), (k4, d) = (_place(line, k, counts) for k in range(4))
    kinds = {(0, 0): "pp", (1, 1): "nn", (0, 1): "pn"}
    kind = kinds.get((k1, k2))
    if kind is None or (k3, k4) != (k1, k2):
        raise InputError(
            f"{line.place}: charges do not fit: pairs are pp, nn, or a proton then a neutron. Correct the order."
        )
    return kind, a, b, c, d, line.integer(4, "J"), line.real(5, "the matrix element")


def _canonical(
    element: tuple[str, int, int, int, int, int, float], twice_j: list[list[int]]
) -> tuple[tuple, float]:
    """What all ways of writing one element have in common, and its value: pairs of like nucleons in the order of the
    list, by <ba; J| = -(-1)^(ja + jb - J) <ab; J|, the smaller pair first."""
    kind, *orbitals, j, value = element
    pairs = [tuple(orbitals[:2]), tuple(orbitals[2:])]
    if kind != "pn":
        two_j = twice_j[0 if kind == "pp" else 1]
        for x, (a, b) in enumerate(pairs):
            if a > b:
                pairs[x] = (b, a)
                value *= -1.0 if ((two_j[a] + two_j[b]) // 2 - j) % 2 == 0 else 1.0
    return (kind, *sorted(pairs), j), value
