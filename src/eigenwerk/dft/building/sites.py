"""Vacancies and substitutions: which atoms are meant, taking them out, making them another element.

Atoms are counted from 0 here and from 1 in words.
"""

import random
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from eigenwerk.dft.building.supercell import without_motion
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.elements import ELEMENTS
from eigenwerk.io.vasp.input.poscar import Poscar


def find_atoms(poscar: Poscar, words: str, seed: int = 0, taken: Collection[int] = ()) -> list[int]:
    """The atoms that words such as `17`, `As:2`, `As` or `@0.5,0.5,0.5` name, ascending.

    17: the atom of this number, from 1.  As:2: two of the As atoms that are not yet taken, drawn at random (the same
    ones for the same seed).  As: all of them.  @x,y,z: the atom nearest to these direct coordinates.
    Raises InputError with the remedy if there is no such atom.
    """
    if words.startswith("@"):
        return [nearest_atom(poscar, _point(words))]
    if words.isdigit():
        return [_numbered(poscar, int(words))]
    symbol, _, count = words.partition(":")
    if symbol not in ELEMENTS or (count and not count.isdigit()) or words.endswith(":"):
        raise InputError(
            f"{words} names no atoms. Write a number (17), an element with a count (As:2), an element for all of its "
            "atoms (As), or @x,y,z for the atom nearest to these direct coordinates."
        )
    return drawn_atoms(poscar, symbol, int(count) if count else None, seed, taken)


def drawn_atoms(
    poscar: Poscar, symbol: str, count: int | None = None, seed: int = 0, taken: Collection[int] = ()
) -> list[int]:
    """`count` atoms of an element drawn at random from those not yet taken, all of them if count is None; ascending.

    Raises InputError if there are fewer.
    """
    atoms = [atom for atom, other in enumerate(poscar.symbols) if other == symbol and atom not in taken]
    left = " that are not yet used" if taken else ""
    if not atoms:
        present = ", ".join(f"{poscar.symbols.count(other)} {other}" for other in dict.fromkeys(poscar.symbols))
        raise InputError(f"There are no {symbol} atoms{left}; the structure has {present}.")
    count = len(atoms) if count is None else count
    if not 0 < count <= len(atoms):
        raise InputError(f"{symbol}:{count} asks for {count} atoms; there are {len(atoms)} {symbol} atoms{left}.")
    return sorted(random.Random(seed).sample(atoms, count))


def nearest_atom(poscar: Poscar, point_c: np.ndarray) -> int:
    """The atom closest to a point in direct coordinates, periodic images included; the first one if several are."""
    offset_ac = poscar.scaled_ac - point_c
    offset_ac = offset_ac - np.round(offset_ac)
    image_xc = np.array(list(np.ndindex(3, 3, 3))) - 1
    distance_ax = np.linalg.norm((offset_ac[:, None] + image_xc) @ poscar.lattice_cv, axis=2)
    return int(np.argmin(np.round(distance_ax.min(axis=1), 9)))


def remove_atoms(poscar: Poscar, atoms: Collection[int]) -> Poscar:
    """The structure without these atoms (vacancies); raises InputError if none would be left."""
    keep = [atom for atom in range(len(poscar.symbols)) if atom not in set(atoms)]
    if not keep:
        raise InputError(f"All {len(poscar.symbols)} atoms would be removed. Leave at least one.")
    return _arranged(poscar, keep, _runs(poscar), _names(poscar))


def replace_atoms(poscar: Poscar, symbols: Mapping[int, str]) -> Poscar:
    """The structure with other elements on some atoms (substitutions).

    symbols: new element by atom.  A new atom joins the last run of its element; new elements come after all others.
    Raises InputError for an unknown element.
    """
    names, runs = _names(poscar), _runs(poscar)
    for atom, symbol in symbols.items():
        if symbol not in ELEMENTS:
            raise InputError(f"{symbol} is not a chemical element; write a symbol such as Bi.")
        known = [run for run, (name, _) in enumerate(names) if name == symbol]
        if not known:
            names.append((symbol, ""))
        runs[atom] = known[-1] if known else len(names) - 1
    return _arranged(poscar, list(range(len(runs))), runs, names)


def _names(poscar: Poscar) -> list[tuple[str, str]]:
    """(element, suffix) of each run."""
    suffixes = poscar.suffixes or ("",) * len(poscar.species_runs)
    return [(symbol, suffix) for (symbol, _), suffix in zip(poscar.species_runs, suffixes, strict=True)]


def _runs(poscar: Poscar) -> list[int]:
    """The run of each atom."""
    return [run for run, (_, count) in enumerate(poscar.species_runs) for _ in range(count)]


def _arranged(poscar: Poscar, atoms: list[int], runs: list[int], names: list[tuple[str, str]]) -> Poscar:
    """The given atoms sorted by their runs; runs without atoms disappear."""
    order = sorted(atoms, key=lambda atom: runs[atom])
    used = sorted({runs[atom] for atom in order})
    return replace(
        without_motion(poscar),
        symbols=tuple(names[runs[atom]][0] for atom in order),
        scaled_ac=poscar.scaled_ac[order],
        species_runs=tuple((names[run][0], sum(runs[atom] == run for atom in order)) for run in used),
        suffixes=tuple(names[run][1] for run in used),
        selective_ac=None if poscar.selective_ac is None else poscar.selective_ac[order],
    )


def _numbered(poscar: Poscar, number: int) -> int:
    if not 1 <= number <= len(poscar.symbols):
        raise InputError(f"There is no atom {number}: the structure has atoms 1 to {len(poscar.symbols)}.")
    return number - 1


def _point(words: str) -> np.ndarray:
    try:
        point_c = np.array([float(number) for number in words[1:].split(",")])
    except ValueError:
        point_c = np.empty(0)
    if point_c.shape != (3,) or not np.isfinite(point_c).all():
        raise InputError(f"{words} is not a point. Write three direct coordinates, such as @0.5,0.5,0.5.")
    return point_c
