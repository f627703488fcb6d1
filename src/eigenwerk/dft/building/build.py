"""One new structure from a POSCAR and a list of request, and what was done in words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigenwerk.dft.building.sites import find_atoms, remove_atoms, replace_atoms
from eigenwerk.dft.building.slab import SlabCut, cut_slab
from eigenwerk.dft.building.supercell import supercell
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.poscar import Poscar, overlapping_atoms


@dataclass(frozen=True)
class BuildRequest:
    """What to make, done in this order: slab, supercell, then replacing and removing.

    cut: the slab, or None; matrix_cc: (3, 3) integers, the supercell, or None; replacing: words such as 17:Bi or
    As:Bi:1; removing: words such as 17 or As:2 (`sites.find_atoms`); seed: of random choices; title: of the new file,
    or None.  All atom numbers are those after slab and supercell.
    """

    cut: SlabCut | None = None
    matrix_cc: np.ndarray | None = None
    replacing: Sequence[str] = ()
    removing: Sequence[str] = ()
    seed: int = 0
    title: str | None = None


def built(poscar: Poscar, request: BuildRequest) -> tuple[Poscar, tuple[str, ...]]:
    """The new structure and one line for each thing done.

    Raises InputError with the remedy for request that cannot be met, or if atoms of the result overlap.
    """
    done: list[str] = []
    if request.cut is not None:
        poscar = cut_slab(poscar, request.cut)
        done.append(_cut_words(request.cut))
    if request.matrix_cc is not None:
        poscar = supercell(poscar, request.matrix_cc)
        done.append(_supercell_words(np.asarray(request.matrix_cc)))
    poscar, edits = _edited(poscar, request)
    done += edits
    if not done:
        raise InputError("Nothing to do. Ask for --supercell, --slab, --replace or --remove.")
    _check_distances(poscar)
    old = poscar.title.strip()
    return replace(poscar, title=request.title or "; ".join([*([old] if old else []), *done])), tuple(done)


def _edited(poscar: Poscar, request: BuildRequest) -> tuple[Poscar, list[str]]:
    """Substitutions, then vacancies; every atom at most once."""
    done: list[str] = []
    new: dict[int, str] = {}
    for words in request.replacing:
        which, symbol, count = _replacement(words)
        atoms = find_atoms(poscar, which + count, request.seed, new)
        _check_unused(poscar, atoms, new)
        new |= dict.fromkeys(atoms, symbol)
        done.append(f"{symbol} for {_named(poscar, atoms)}")
    gone: list[int] = []
    for words in request.removing:
        atoms = find_atoms(poscar, words, request.seed, [*new, *gone])
        _check_unused(poscar, atoms, [*new, *gone])
        gone += atoms
        done.append(f"without {_named(poscar, atoms)}")
    if not new and not gone:
        return poscar, done
    # an atom that is replaced moves to the atoms of its new element: first remove, with the numbers as they were
    order = [atom for atom in range(len(poscar.symbols)) if atom not in set(gone)]
    poscar = remove_atoms(poscar, gone)
    return replace_atoms(poscar, {order.index(atom): symbol for atom, symbol in new.items()}), done


def _replacement(words: str) -> tuple[str, str, str]:
    """(which atoms, new element, ':count' or '') of 17:Bi, As:Bi, As:Bi:2 or @0.5,0.5,0.5:Bi."""
    parts = words.split(":")
    if len(parts) not in (2, 3) or not all(parts):
        raise InputError(
            f"{words} is no replacement. Write 17:Bi for atom 17, As:Bi:2 for two As atoms, As:Bi for all of them, or "
            "@0.5,0.5,0.5:Bi for the atom nearest to a point."
        )
    return parts[0], parts[1], f":{parts[2]}" if len(parts) == 3 else ""


def _check_unused(poscar: Poscar, atoms: list[int], used: Sequence[int] | dict[int, str]) -> None:
    twice = [atom for atom in atoms if atom in used]
    if twice:
        raise InputError(f"{_named(poscar, twice)} would be changed twice. Name every atom once.")


def _named(poscar: Poscar, atoms: list[int], most: int = 8) -> str:
    """Elements with atom numbers from 1: As 33, 35; Ga 2."""
    words = []
    for symbol in dict.fromkeys(poscar.symbols[atom] for atom in atoms):
        numbers = [str(atom + 1) for atom in atoms if poscar.symbols[atom] == symbol]
        more = [f"and {len(numbers) - most} more"] if len(numbers) > most else []
        words.append(f"{symbol} {', '.join(numbers[:most] + more)}")
    return "; ".join(words)


def _cut_words(cut: SlabCut) -> str:
    h, k, l = cut.miller
    return f"({h} {k} {l}) slab, {cut.layers} layers, {cut.vacuum:g} Å vacuum"


def _supercell_words(matrix_cc: np.ndarray) -> str:
    if (matrix_cc == np.diag(np.diag(matrix_cc))).all():
        return f"{' x '.join(str(int(n)) for n in np.diag(matrix_cc))} supercell"
    return f"supercell {'; '.join(' '.join(str(int(n)) for n in row) for row in matrix_cc)}"


def _check_distances(poscar: Poscar) -> None:
    overlaps = overlapping_atoms(poscar)
    if overlaps:
        i, j, distance = overlaps[0]
        raise InputError(
            f"Atoms {i + 1} ({poscar.symbols[i]}) and {j + 1} ({poscar.symbols[j]}) of the new structure are "
            f"{distance:.3f} Å apart. Check the vacuum, and the structure you start from."
        )
