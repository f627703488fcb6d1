"""The KPOINTS file: a mesh, a list, a path, a generalised mesh or a length.

Reads every form; whether a form can be computed is decided elsewhere.  Points are kept as written;
`KpointsFile.reciprocal` turns Cartesian ones (in units of 2π/a) into multiples of the reciprocal
lattice vectors.  Format: docs/formats/kpoints.md.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.fortran import is_int, is_number, strip_comment, to_float
from eigenwerk.io.vasp.textfile import read_text, split_lines

KINDS = ("mesh", "list", "line", "generalised", "auto")
_CARTESIAN = ("C", "c", "K", "k")
LARGEST = 1e6
"""Of coordinates and weights; beyond that a coordinate has lost its fraction."""


@dataclass(frozen=True, eq=False)
class KpointsFile:
    """What a KPOINTS file says.

    kind 'mesh': mesh (three subdivisions), gamma_centred, shift; k = (n_i + s_i) / N_i, and without
    gamma_centred half a step further along axes with even N_i (Monkhorst-Pack).
    kind 'list': points_kc (k, 3), weights_k (k,) as written, which may all be zero, labels (one per point, ''
    without), tetrahedra (t, 5) = degeneracy and four corners counted from 0, or None, with tetrahedron_volume.
    kind 'line': points_kc are pairs of ends, labels (one per end, '' without), points_per_line.
    kind 'generalised': points_kc (3, 3) are the generating vectors, shift along them.
    kind 'auto': length R_k in Angstrom.
    cartesian: points_kc are in units of 2π/a, a the scale factor of POSCAR, else in reciprocal lattice
    vectors.  remark: how something unusual was read.
    """

    kind: str
    title: str = ""
    gamma_centred: bool = True
    mesh: tuple[int, int, int] | None = None
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)
    points_kc: np.ndarray | None = None
    weights_k: np.ndarray | None = None
    cartesian: bool = False
    tetrahedra: np.ndarray | None = None
    tetrahedron_volume: float = 0.0
    labels: tuple[str, ...] = ()
    points_per_line: int = 0
    length: float | None = None
    file: str = "KPOINTS"
    remark: str = ""

    def reciprocal(self, lattice_cv: np.ndarray, scale: float | None) -> np.ndarray:
        """points_kc in multiples of the reciprocal lattice vectors, (k, 3).

        k = (2π/a) x and k · a_i = 2π κ_i give κ_i = x · a_i / a.  lattice_cv: (3, 3) Angstrom; scale: a,
        the universal scale factor of POSCAR in Angstrom.  Raises InputError for Cartesian points when
        POSCAR has three scale factors (scale is None), or for a kind without points.
        """
        if self.points_kc is None:
            raise InputError(f"{self.file}: a file of kind {self.kind} holds no points.")
        if not self.cartesian:
            return self.points_kc
        if scale is None:
            raise InputError(
                f"{self.file} line 3: Cartesian points refer to the scale factor of POSCAR, which has three. "
                "Write the points in reciprocal coordinates."
            )
        points: np.ndarray = self.points_kc @ lattice_cv.T / scale
        return points


def read_kpoints(path: str | Path) -> KpointsFile:
    """Read a KPOINTS file; raises InputError naming the line for whatever cannot be read."""
    return parse_kpoints(read_text(path), Path(path).name)


def parse_kpoints(text: str, file: str = "KPOINTS") -> KpointsFile:
    """The same from text."""
    reader = _Reader(split_lines(text), file)
    title = reader.next("the title").strip()
    count = reader.whole("the number of k-points")
    if count < 0:
        reader.remark = f"line 2 says {count}, which is read as 0: k-points are generated"
        count = 0
    word = reader.next("the kind of the mesh or list").strip()
    if not word:
        raise reader.error("Gamma, Monkhorst-Pack, Auto, Line, Reciprocal or Cartesian is expected here.")
    if count == 0 and word[0] in "Ll":
        raise InputError(f"{file} line 2: 0 points on each line of the path; at least 2 are needed, say 40.")
    if count > 0:
        return _line_mode(reader, title, count) if word[0] in "Ll" else _list(reader, title, count, word)
    return replace(_generated(reader, title, word), remark=reader.remark)


def _generated(reader: "_Reader", title: str, word: str) -> KpointsFile:
    """A file that says how k-points are made."""
    if word[0] in "GgMm":
        return _mesh(reader, title, gamma_centred=word[0] in "Gg")
    if word[0] in "Aa":
        length = reader.floats(1, "the length R_k")[0]
        if length <= 0.0:
            raise reader.error(f"the length R_k is {length:g}; it must be above zero.")
        return KpointsFile("auto", title, length=length, file=reader.file)
    return _generalised(reader, title, word)


class _Reader:
    """The lines of a KPOINTS file; `position` is the index of the next one."""

    def __init__(self, lines: list[str], file: str) -> None:
        self.lines = lines
        self.file = file
        self.position = 0
        self.remark = ""

    def error(self, message: str) -> InputError:
        return InputError(f"{self.file} line {self.position}: {message}")

    def next(self, what: str) -> str:
        if self.position >= len(self.lines):
            raise InputError(
                f"{self.file}: the file ends after {len(self.lines)} lines, before {what}. A mesh takes four lines: a "
                "title, 0, Gamma, and three numbers such as 4 4 4; or remove the file and set KSPACING in INCAR."
            )
        self.position += 1
        return self.lines[self.position - 1]

    def peek(self) -> str:
        """The next line without its comment, '' at the end of the file."""
        return strip_comment(self.lines[self.position]) if self.position < len(self.lines) else ""

    def skip_blank(self) -> None:
        while self.position < len(self.lines) and not self.lines[self.position].strip():
            self.position += 1

    def whole(self, what: str) -> int:
        token = (self.next(what).split() or [""])[0]
        if not is_int(token) or abs(int(token)) > LARGEST:
            raise self.error(
                f"{what} must be a whole number, 0 for a mesh and at most {LARGEST:g}, "
                f"found {token or 'an empty line'}."
            )
        return int(token)

    def tokens(self, count: int, what: str) -> list[str]:
        """The tokens of the next line, of which `count` at least must be finite numbers."""
        tokens = self.next(what).split()
        for token in tokens[:count]:
            if not is_number(token):
                raise self.error(f"{token} is not a finite number; {what} needs {count} numbers.")
            if abs(to_float(token)) > LARGEST:
                raise self.error(f"{token} is too large; {what} needs numbers up to {LARGEST:g}.")
        if len(tokens) < count:
            raise self.error(f"there are {len(tokens)} numbers; {what} needs {count}.")
        return tokens

    def floats(self, count: int, what: str) -> list[float]:
        return [to_float(token) for token in self.tokens(count, what)[:count]]

    def ints(self, count: int, what: str, least: int) -> list[int]:
        tokens = self.tokens(count, what)[:count]
        for token in tokens:  # programs write 4.0 for 4
            if to_float(token) < least or not to_float(token).is_integer():
                raise self.error(f"{token} is not a whole number of at least {least}; {what} needs {count} of them.")
        return [int(to_float(token)) for token in tokens]

    def shift(self) -> tuple[float, float, float]:
        """Three numbers of an optional line; zeros when it is absent, blank or a comment."""
        if not self.peek():
            return (0.0, 0.0, 0.0)
        first, second, third = self.floats(3, "the shift of the mesh")
        return first, second, third


def _mesh(reader: _Reader, title: str, gamma_centred: bool) -> KpointsFile:
    first, second, third = reader.ints(3, "the mesh", least=1)
    return KpointsFile(
        "mesh", title, gamma_centred=gamma_centred, mesh=(first, second, third), shift=reader.shift(), file=reader.file
    )


def _generalised(reader: _Reader, title: str, word: str) -> KpointsFile:
    if word[0] not in "CcKkRrFfDd":
        raise reader.error(
            f"{word[:40]} is not understood; with 0 k-points write "
            "Gamma, Monkhorst-Pack, Auto, Reciprocal or Cartesian."
        )
    left = len(reader.lines) - reader.position
    if left < 3:
        raise reader.error(
            f"{word[:40]} with 0 k-points announces three generating vectors, but {left} line{'s' * (left != 1)} "
            f"follow{'s' * (left == 1)}. For a mesh such as 4 4 4 write Gamma or Monkhorst-Pack here."
        )
    vectors = np.array([reader.floats(3, f"generating vector {number}") for number in (1, 2, 3)])
    if abs(float(np.linalg.det(vectors))) < 1e-12:
        raise reader.error("the three generating vectors lie in a plane.")
    return KpointsFile(
        "generalised", title, shift=reader.shift(), points_kc=vectors, cartesian=word[0] in _CARTESIAN, file=reader.file
    )


def _list(reader: _Reader, title: str, count: int, word: str) -> KpointsFile:
    tokens = [reader.tokens(4, f"k-point {number} of {count} (with weight)") for number in range(1, count + 1)]
    rows = np.array([[to_float(token) for token in row[:4]] for row in tokens])
    weights = rows[:, 3]
    if np.any(weights < 0.0):
        first = int(np.argmax(weights < 0.0))
        raise InputError(
            f"{reader.file} line {reader.position - count + first + 1}: the weight {weights[first]:g} of a k-point is "
            "negative. Give it a positive one, or 0 for a point that has levels and no part in sums."
        )
    if reader.peek()[:1] in ("T", "t"):
        tetrahedra, volume = _tetrahedra(reader, count)
    else:
        tetrahedra, volume = None, 0.0
    following = reader.peek().split()
    if len(following) >= 3 and all(is_number(token) for token in following[:3]):
        reader.position += 1
        raise reader.error(f"this is one line more than line 2 announces ({count} k-points).")
    return KpointsFile(
        "list", title, points_kc=rows[:, :3], weights_k=weights, cartesian=word[0] in _CARTESIAN,
        tetrahedra=tetrahedra, tetrahedron_volume=volume, labels=tuple(_label(row[4:]) for row in tokens),
        file=reader.file,
    )  # fmt: skip


def _label(tokens: list[str]) -> str:
    """The name of a point, behind its numbers."""
    return " ".join(tokens).lstrip("!# ").strip()


def _tetrahedra(reader: _Reader, count: int) -> tuple[np.ndarray, float]:
    """Degeneracy and corners, counted from 0, of every tetrahedron, (t, 5), and their common volume."""
    reader.next("the tetrahedra")
    number, volume = reader.floats(2, "the number and volume of tetrahedra")
    if number < 1.0 or not number.is_integer() or volume <= 0.0:
        raise reader.error(f"{number:g} tetrahedra of volume {volume:g}: both must be above zero, the first whole.")
    rows = []
    for index in range(1, int(number) + 1):
        row = reader.ints(5, f"tetrahedron {index} of {number:g}", least=1)
        if max(row[1:]) > count:
            raise reader.error(f"tetrahedron {index} has corner {max(row[1:])}, but there are {count} k-points.")
        rows.append([row[0], *(corner - 1 for corner in row[1:])])
    return np.array(rows), volume


def _line_mode(reader: _Reader, title: str, points_per_line: int) -> KpointsFile:
    word = reader.next("Reciprocal or Cartesian").strip()
    if not word or is_number(word.split()[0]):
        raise reader.error("Reciprocal or Cartesian is expected here.")
    points: list[list[float]] = []
    labels: list[str] = []
    reader.skip_blank()
    while reader.position < len(reader.lines):
        tokens = reader.tokens(3, f"end {len(points) + 1} of the path")
        points.append([to_float(token) for token in tokens[:3]])
        labels.append(_label(tokens[3:]))
        reader.skip_blank()
    if len(points) < 2 or len(points) % 2:
        raise reader.error(f"there {'is 1 point' if len(points) == 1 else f'are {len(points)} points'}; a path needs "
                           "pairs of ends, two for each of its lines.")
    if points_per_line < 2:
        raise InputError(f"{reader.file} line 2: {points_per_line} point on each line of the path; at least 2 are "
                         "needed, say 40.")
    return KpointsFile(
        "line", title, points_kc=np.array(points), cartesian=word[0] in _CARTESIAN, labels=tuple(labels),
        points_per_line=points_per_line, file=reader.file,
    )  # fmt: skip
