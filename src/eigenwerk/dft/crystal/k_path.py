"""Paths of k-points for band structures: straight lines between points of the Brillouin zone.

A path is a sequence of lines; where one ends and the next begins elsewhere, the path jumps.  Points are fractional.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

import numpy as np

from eigenwerk.dft.crystal.kpoints import NO_SHIFT, KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.errors import InputError
from eigenwerk.units import BOHR_ANGSTROM

AUTO = "auto"
"""The word for the standard path of the crystal."""

SPACING = 0.04
"""Largest distance of neighbours on a path that is chosen here, 1/angstrom (with the factor 2 pi)."""

FEWEST, MOST = 11, 101
"""Limits of the number of points on each line of such a path."""

SHORT = {"GAMMA": "G", "\\GAMMA": "G", "Γ": "G"}
"""Other names of the centre of the zone."""


@dataclass(frozen=True, eq=False)
class PathLine:
    """A straight line of a path, from one named point to another; (3,) fractional each."""

    start_c: np.ndarray
    end_c: np.ndarray
    start_label: str
    end_label: str


def path_kpoints(lines: Sequence[PathLine], per_line: int, symmetry: Symmetry, source: str) -> KPoints:
    """The points of a path, `per_line` on each line with both ends, k_i = a + (b - a) i / (N - 1).

    A point where two lines meet stands there twice, as in VASP.  All weights are equal: they mean nothing.
    """
    step_i = np.linspace(0.0, 1.0, per_line)[:, None]
    point_kc = np.concatenate([line.start_c + step_i * (line.end_c - line.start_c) for line in lines])
    labels = [[line.start_label, *[""] * (per_line - 2), line.end_label] for line in lines]
    return KPoints(
        point_kc=point_kc, weight_k=np.full(len(point_kc), 1.0 / len(point_kc)), mesh=None, shift=NO_SHIFT,
        full_count=len(point_kc), irreducible_of_full=None, source=source, symmetry=symmetry,
        label_k=tuple(label for line in labels for label in line),
        line_k=np.repeat(np.arange(len(lines)), per_line),
    )  # fmt: skip


def points_per_line(lines: Sequence[PathLine], structure: Structure) -> int:
    """So many that neighbours on the longest line are at most SPACING apart, within FEWEST and MOST."""
    longest = max(np.linalg.norm((line.end_c - line.start_c) @ structure.reciprocal_cv) for line in lines)
    return int(np.clip(ceil(longest / BOHR_ANGSTROM / SPACING) + 1, FEWEST, MOST))


def path_text(lines: Sequence[PathLine], per_line: int, title: str) -> str:
    """A path as a file in the form of KPOINTS, line mode."""
    rows = [title, str(per_line), "Line", "Reciprocal"]
    for line in lines:
        for point_c, label in ((line.start_c, line.start_label), (line.end_c, line.end_label)):
            rows.append("".join(f"{x + 0.0:15.10f}" for x in point_c) + f"  {label}")
        rows.append("")
    return "\n".join(rows)


def standard_path(structure: Structure, words: str = AUTO) -> tuple[PathLine, ...]:
    """The path of a crystal between the points that the literature has names for.

    Points and their standard order: Y. Hinuma, G. Pizzi, Y. Kumagai, F. Oba and I. Tanaka, Comp. Mat. Sci. 128, 140
    (2017), by the library seekpath, for the cell as it is given.  Atoms of one element with other starting moments
    count as different; without spin-orbit coupling bands are the same at k and -k, with inversion or without.

    words: "auto" for the standard order, or names of points such as "G X L" or "L-G-X|K-G" (a bar is a jump).
    Raises InputError for names that this crystal does not have, or a path with one point.
    """
    from seekpath import get_path_orig_cell

    kinds = list(structure.kinds)
    if structure.magmom_a is not None:
        kinds = [f"{kind} {moment:.3f}" for kind, moment in zip(kinds, structure.magmom_a, strict=True)]
    number_of = {kind: number for number, kind in enumerate(dict.fromkeys(kinds), start=1)}
    cell = (structure.lattice_cv * BOHR_ANGSTROM).tolist(), structure.scaled_ac.tolist(), [number_of[k] for k in kinds]
    try:
        found = get_path_orig_cell(cell, with_time_reversal=True)
    except Exception as error:  # seekpath has many kinds, none of which tells a user what to do
        raise InputError(
            f"--bands {words}: no standard path for this cell ({error}). Write the path to KPOINTS_OPT in line mode."
        ) from error
    coords = found["point_coords"].items()
    point_of = {_short(name): np.round(np.array(point_c, dtype=float), 12) + 0.0 for name, point_c in coords}
    if words.strip().lower() == AUTO:
        pairs = [(_short(start), _short(end)) for start, end in found["path"]]
    else:
        pairs = _pairs(words, point_of)
    return tuple(PathLine(point_of[start], point_of[end], start, end) for start, end in pairs)


def beside_vacuum(lines: Sequence[PathLine], empty_c: np.ndarray) -> tuple[PathLine, ...]:
    """The lines of a path that run in a layer or along a chain: bands across vacuum are flat.  All lines where none
    does, as of a molecule.  empty_c: (3,) of bool, lattice axes with vacuum."""
    kept = tuple(
        line for line in lines if not np.abs(np.stack([line.start_c, line.end_c])[:, empty_c]).max(initial=0) > 1e-9
    )
    return kept or tuple(lines)


def _short(name: str) -> str:
    return SHORT.get(name.upper(), name)


def _pairs(words: str, point_of: dict[str, np.ndarray]) -> list[tuple[str, str]]:
    """Ends of the lines that were asked for by names of points."""
    known = {name.upper(): name for name in point_of}
    pairs = []
    for part in re.split(r"[|,]", words):
        names = [_short(name) for name in re.split(r"[\s-]+", part.strip()) if name]
        missing = [name for name in names if name.upper() not in known]
        if missing:
            raise InputError(
                f"--bands {words[:80]}: this crystal has no point {missing[0][:20]}. "
                f"It has {', '.join(sorted(point_of))}; --bands auto takes the standard path."
            )
        if len(names) < 2:
            raise InputError(
                f"--bands {words[:80]}: {f'one point, {names[0]},' if names else 'no point'} is no path. "
                "Name two or more, say G X, or set --bands auto."
            )
        names = [known[name.upper()] for name in names]
        pairs += list(pairwise(names))
    return pairs
