"""Is a state one of this input?  The one question of restarts, kept densities, atoms that go on and runs that are over.

Both sides are trees as a state file has them: structure, kpoints, setups (checksums) and parameters; hartree and bohr.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure, shortest
from eigenwerk.dft.settings.declared import Changes
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.units import BOHR_ANGSTROM

SAME_CELL, SAME_PLACE = 1e-8, 1e-6 / BOHR_ANGSTROM
"""Largest differences of the vectors of one and the same cell, and of the places of one and the same atom, bohr."""

SAME_POINT = 1e-8
"""Largest difference of fractional coordinates of one and the same k-point, and of its weights."""

SAME_START = 1e-4 / BOHR_ANGSTROM
"""Of both where a run of moving atoms began and where it is to go on, bohr: POSCAR may have been written with few
digits."""

Tree = Mapping[str, Any]

USUAL = asdict(Parameters(cutoff=0.0, electrons=0.0, bands=0))
"""Defaults of all settings that have one."""

CELL, POSITIONS, POINTS = "cell", "positions", "k-points"


@dataclass(frozen=True)
class Difference:
    """What is not the same, as users call it, and what it changes."""

    words: str
    changes: Changes = Changes.THE_ANSWER


def system_tree(structure: Structure, kpoints: KPoints, parameters: Parameters, setups: Tree) -> dict[str, Any]:
    """What a state is a state of, as nested mappings of arrays and plain values."""
    return {
        "structure": {
            "lattice_cv": structure.lattice_cv, "symbols": structure.symbols, "scaled_ac": structure.scaled_ac,
            "magmom_a": structure.magmom_a, "kinds": structure.kinds,
        },
        "parameters": asdict(parameters),
        "kpoints": {"point_kc": kpoints.point_kc, "weight_k": kpoints.weight_k},
        "setups": setups,
    }  # fmt: skip


def differences(before: Tree, now: Tree) -> list[Difference]:
    """All of it, of a state and an input; of other atoms nothing but that."""
    old, new = before["structure"], now["structure"]
    if list(old["symbols"]) != list(new["symbols"]):
        return [Difference("atoms")]
    found, (stretched, away) = [], apart(old, new)
    setups = before.get("setups") or {}
    if any((setups.get(symbol) or {}).get("md5") != one["md5"] for symbol, one in now["setups"].items()):
        found.append(Difference("PAW data"))
    if stretched > SAME_CELL:
        found.append(Difference(CELL))
    if away > SAME_PLACE:
        found.append(Difference(POSITIONS))
    if not same_points(before, now, "point_kc", "weight_k"):
        found.append(Difference(POINTS, Changes.FILLING))
    # they have a say in the symmetry that densities are given
    there, here = old.get("magmom_a"), new["magmom_a"]
    if (there is None) != (here is None) or (here is not None and not np.array_equal(there, here)):
        found.append(Difference("MAGMOM", Changes.THE_WAY))
    if list(old.get("kinds", old["symbols"])) != list(new["kinds"]):
        found.append(Difference("LDAU of the species"))
    return found + other_settings(before.get("parameters") or {}, now["parameters"])


def other_settings(before: Tree, now: Tree) -> list[Difference]:
    """Settings with another value than before; those that there were not yet had their default."""
    found = []
    for one in fields(Parameters):
        changes, usual = one.metadata["changes"], USUAL[one.name]
        there, here = before.get(one.name, usual), now[one.name]
        if isinstance(usual, dict) and isinstance(there, Mapping):
            there = usual | dict(there)
        if (changes is Changes.LESS and here >= (there or 0.0)) or (changes is Changes.BANDS and here is None):
            continue
        if changes is not Changes.NOTHING and there != here:
            found.append(Difference(("a smaller " if changes is Changes.LESS else "") + one.metadata["tag"], changes))
    return found


def another_run(found: list[Difference], moved: bool = False) -> list[str]:
    """What makes a run that is over another one, in words; moved: of atoms that have moved, for whose last state bands
    do not count."""
    kept = (Changes.THE_WAY, Changes.BANDS) if moved else (Changes.THE_WAY,)
    return [one.words for one in found if one.changes not in kept]


def apart(before: Tree, now: Tree) -> tuple[float, float]:
    """By how much lattice vectors of two structures differ at most, and how far an atom has moved, bohr."""
    step_ac = shortest(np.asarray(now["scaled_ac"]) - before["scaled_ac"])
    stretched = np.abs(np.subtract(now["lattice_cv"], before["lattice_cv"])).max()
    return float(stretched), float(np.linalg.norm(step_ac @ now["lattice_cv"], axis=1).max())


def same_points(before: Tree, now: Tree, *names: str) -> bool:
    """Whether the k-points are the same ones; names: what of them counts."""
    there, here = before.get("kpoints") or {}, now["kpoints"]
    return all(
        np.shape(there.get(name, ())) == here[name].shape and np.abs(here[name] - there[name]).max() < SAME_POINT
        for name in names
    )
