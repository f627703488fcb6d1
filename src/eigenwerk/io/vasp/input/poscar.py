"""The POSCAR (and CONTCAR) file: cell, species, positions, and what a run may add to them.

Lengths in Angstrom, velocities in Angstrom/fs or direct units per step, as in the file.  Reader and
writer share the type `Poscar`.  Format: docs/formats/poscar.md.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.vasp.elements import name_of
from eigenwerk.io.vasp.input.poscar_reader import PoscarReader
from eigenwerk.io.vasp.problem import Problem, limited
from eigenwerk.io.vasp.textfile import read_text, split_lines
from eigenwerk.lattice_reduction import heights, reduced

_MOST_PAIRS = 10_000
"""So many pairs of atoms that are too close are enough to know of."""

LATTICE_VELOCITIES = "Lattice velocities and vectors"

CLOSEST = 0.3
"""Distance in Angstrom below which two atoms count as overlapping."""


@dataclass(frozen=True, eq=False)
class Poscar:
    """One structure as a POSCAR file holds it.

    title: first line; lattice_cv: (3, 3) Angstrom, rows are vectors, scaling applied; symbols: element
    of each atom in file order; scaled_ac: (a, 3) direct coordinates, not wrapped; species_runs: (symbol,
    count) in file order, an element may occur in several runs (made from symbols when left out);
    suffixes: what followed the element in each run's name ('_pv' of Si_pv), a hint at a data-set
    variant; selective_ac: (a, 3) true where a direct coordinate may move, or None; velocities_av:
    (a, 3) or None, in Angstrom/fs if velocities_cartesian, else direct coordinates per step;
    lattice_velocity_cv: (3, 3) Angstrom/fs or None, rows belong to the lattice vectors; predictor: text
    block of a molecular-dynamics run, kept as it is; scale: the universal scale factor, to which
    Cartesian k-points refer (None when three factors were given); file: name for messages; problems:
    warnings and notes of the reader.
    """

    title: str
    lattice_cv: np.ndarray
    symbols: tuple[str, ...]
    scaled_ac: np.ndarray
    species_runs: tuple[tuple[str, int], ...] = ()
    suffixes: tuple[str, ...] = ()
    selective_ac: np.ndarray | None = None
    velocities_av: np.ndarray | None = None
    velocities_cartesian: bool = True
    lattice_velocity_cv: np.ndarray | None = None
    predictor: str = ""
    scale: float | None = 1.0
    file: str = "POSCAR"
    problems: tuple[Problem, ...] = ()

    def __post_init__(self) -> None:
        if not self.species_runs:
            object.__setattr__(self, "species_runs", runs_of(self.symbols))

    @property
    def volume(self) -> float:
        """Volume of the cell in cubic Angstrom, positive also for left-handed cells."""
        return abs(float(np.linalg.det(self.lattice_cv)))

    @property
    def positions_av(self) -> np.ndarray:
        """Cartesian positions in Angstrom, (a, 3): r = s A."""
        return self.scaled_ac @ self.lattice_cv


def runs_of(symbols: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """(symbol, count) of every run of equal symbols: Si Si O Si gives (Si 2) (O 1) (Si 1)."""
    runs: list[tuple[str, int]] = []
    for symbol in symbols:
        if runs and runs[-1][0] == symbol:
            runs[-1] = (symbol, runs[-1][1] + 1)
        else:
            runs.append((symbol, 1))
    return tuple(runs)


def read_poscar(path: str | Path, species_order: tuple[str, ...] | None = None) -> Poscar:
    """Read a POSCAR file; species_order is that of a POTCAR beside it, if there is one.

    Raises InputError, naming file, line, numbers and remedy, for whatever cannot be a structure:
    too few lines, wrong counts, numbers that are none, a flat cell, unknown elements, or an order of
    species that contradicts the POTCAR.
    """
    return parse_poscar(read_text(path), Path(path).name, species_order)


def parse_poscar(text: str, file: str = "POSCAR", species_order: tuple[str, ...] | None = None) -> Poscar:
    """The same from text."""
    reader = PoscarReader(split_lines(text), file)
    title = reader.title()
    scales, scale = reader.lattice()
    runs, suffixes = reader.species(species_order)
    symbols = tuple(symbol for symbol, count in runs for _ in range(count))
    selective, cartesian = reader.modes()
    coordinates, selective_ac = reader.positions(symbols, selective)
    scaled_ac = np.linalg.solve(reader.lattice_cv.T, (coordinates * scales).T).T if cartesian else coordinates
    lattice_velocity_cv = reader.lattice_velocities()
    velocities_av, velocities_cartesian = reader.velocities(len(symbols))
    return Poscar(
        title, reader.lattice_cv, symbols, scaled_ac, runs, suffixes, selective_ac, velocities_av, velocities_cartesian,
        lattice_velocity_cv, reader.rest(), scale, file, limited(reader.problems),
    )  # fmt: skip


def format_poscar(poscar: Poscar, mark: str = "") -> str:
    """The text of a POSCAR file with scale factor 1 and direct coordinates, 16 decimals.

    mark: words behind Direct, of which readers take the first letter.
    """
    pairs = zip(poscar.species_runs, _suffixes(poscar), strict=True)
    names = [name_of(symbol, suffix) for (symbol, _), suffix in pairs]
    lines = [" ".join(poscar.title.splitlines()), "   1.0", *(_row(vector) for vector in poscar.lattice_cv)]
    lines.append("".join(f" {name:>5}" for name in names))
    lines.append("".join(f" {count:>5}" for _, count in poscar.species_runs))
    lines += [] if poscar.selective_ac is None else ["Selective dynamics"]
    lines.append(f"Direct  {mark}".rstrip())
    lines += [_row(scaled) + _flags(poscar, atom) for atom, scaled in enumerate(poscar.scaled_ac)]
    if poscar.lattice_velocity_cv is not None:
        lines += [LATTICE_VELOCITIES, "  1"]  # 1: there are velocities
        lines += [_exponential(row) for row in (*poscar.lattice_velocity_cv, *poscar.lattice_cv)]
    if poscar.velocities_av is not None:
        lines.append("" if poscar.velocities_cartesian else "Direct")
        lines += [_row(velocity) for velocity in poscar.velocities_av]
    lines += ["", *poscar.predictor.splitlines()] if poscar.predictor else []
    return "\n".join(lines) + "\n"


def write_poscar(path: str | Path, poscar: Poscar, mark: str = "") -> None:
    """Write a POSCAR file: first under another name, then renamed, so that no half file is ever seen.

    mark: see `format_poscar`.  Raises InputError if the folder cannot be written.
    """
    with replacing(path) as new:
        Path(new).write_text(format_poscar(poscar, mark), encoding="utf-8")


def overlapping_atoms(poscar: Poscar, closest: float = CLOSEST) -> tuple[tuple[int, int, float], ...]:
    """Pairs (i, j, distance in Angstrom), i <= j from 0, closer than `closest` with periodic images.

    i = j means that an atom meets its own image.  A pair within distance d differs by less than
    d/h_c along a lattice vector c, h_c the spacing of the lattice planes: that bounds the images.
    """
    # vectors as short as possible, or a skewed cell has thousands of images within reach
    lattice_cv = reduced(poscar.lattice_cv)
    scaled_ac = poscar.scaled_ac % 1.0 @ poscar.lattice_cv @ np.linalg.inv(lattice_cv)
    spacing_c = heights(lattice_cv)
    reach_c = np.floor(closest / spacing_c + 0.5).astype(int)
    shifts = np.array(list(np.ndindex(*(2 * reach_c + 1)))) - reach_c
    found: list[tuple[int, int, float]] = []
    for i in range(len(poscar.symbols)):
        difference_jc = scaled_ac[i:] - scaled_ac[i]
        difference_jc -= np.round(difference_jc)
        near_j = np.flatnonzero((np.abs(difference_jc) * spacing_c < closest).all(axis=1) | (reach_c > 0).any())
        distance_jx = np.linalg.norm((difference_jc[near_j, None] + shifts) @ lattice_cv, axis=2)
        distance_jx[0, len(shifts) // 2] = np.inf
        nearest = distance_jx.min(axis=1)
        found += [(i, i + int(near_j[x]), float(nearest[x])) for x in np.flatnonzero(nearest < closest)]
        if len(found) > _MOST_PAIRS:
            break
    return tuple(found)


def overlap_problems(poscar: Poscar, closest: float = CLOSEST) -> tuple[Problem, ...]:
    """One error for every pair of overlapping atoms, atoms counted from 1."""
    return limited(
        Problem(
            "error", poscar.file, None,
            f"atoms {i + 1} ({poscar.symbols[i]}) and {j + 1} ({poscar.symbols[j]}) are {distance:.3f} Å apart"
            + (", the second being a periodic image of the first" if i == j else ""),
            remedy="Check the positions, the scale factor and Direct or Cartesian.",
        )
        for i, j, distance in overlapping_atoms(poscar, closest)
    )  # fmt: skip


def _suffixes(poscar: Poscar) -> tuple[str, ...]:
    return poscar.suffixes or ("",) * len(poscar.species_runs)


def _row(vector: np.ndarray) -> str:
    return "".join(f" {component:21.16f}" for component in vector)


def _exponential(vector: np.ndarray) -> str:
    return "".join(f" {component:23.16E}" for component in vector)


def _flags(poscar: Poscar, atom: int) -> str:
    if poscar.selective_ac is None:
        return ""
    return "".join("   T" if free else "   F" for free in poscar.selective_ac[atom])
