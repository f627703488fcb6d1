"""The images of a path: folders 00, 01 ... beside INCAR, each with a POSCAR; the first and the last are end points.

Lengths in Angstrom.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.incar import parse_incar
from eigenwerk.io.vasp.input.poscar import Poscar, parse_poscar
from eigenwerk.io.vasp.problem import Problem

SAME_CELL = 1e-5
"""Å; lattice vectors that differ by more are others."""

SAME_PLACE = 1e-3
"""Å; neighbouring images that differ by less are one."""

LARGE_STEP = 2.5
"""Å from one image to the next, from which an atom is likely to be another one."""


def image_folder(number: int) -> str:
    """00, 01 ..."""
    return f"{number:02d}"


def image_file(number: int) -> str:
    """The POSCAR of an image."""
    return f"{image_folder(number)}/POSCAR"


def image_count(incar_text: str) -> int:
    """IMAGES of an INCAR; 0 where it has none, or cannot be read."""
    try:
        given = parse_incar(incar_text).values.get("IMAGES")
    except InputError:
        return 0
    return given if isinstance(given, int) and 0 < given < 98 else 0


def compare_images(images: Sequence[Poscar]) -> list[Problem]:
    """What keeps structures from being images of one path: other atoms, cells, or no difference at all."""
    first = images[0]
    problems: list[Problem] = []
    for poscar, before in zip(images[1:], images, strict=False):
        message, remedy = _mismatch(poscar, first)
        if message:
            problems.append(Problem("error", poscar.file, None, message, remedy=remedy))
            continue
        if poscar.symbols != before.symbols:
            continue
        far_a = distances(before, poscar)
        if far_a.max() < SAME_PLACE:
            words = f"the same structure as {before.file}: no atom differs by {SAME_PLACE:g} Å"
            problems.append(Problem("error", poscar.file, None, words, remedy="Interpolate between the end points."))
        elif far_a.max() > LARGE_STEP:
            atom = int(far_a.argmax())
            words = f"atom {atom + 1} ({poscar.symbols[atom]}) is {far_a[atom]:.2f} Å from where it is in {before.file}"
            remedy = "Look whether the atoms have one order in all images, or take more images."
            problems.append(Problem("warning", poscar.file, None, words, remedy=remedy))
    return problems


def _mismatch(poscar: Poscar, first: Poscar) -> tuple[str, str]:
    """Why a structure has not the atoms and the cell of the first image, and what to do."""
    if len(poscar.symbols) != len(first.symbols):
        words = f"{len(poscar.symbols)} atoms, and {first.file} has {len(first.symbols)}"
        return words, "Give all images the same atoms."
    if poscar.symbols != first.symbols:
        pairs = zip(poscar.symbols, first.symbols, strict=True)
        atom = next(place for place, (one, other) in enumerate(pairs) if one != other)
        words = f"atom {atom + 1} is {poscar.symbols[atom]}, and {first.symbols[atom]} in {first.file}"
        return words, "Give all images the same atoms in the same order."
    apart = float(np.abs(poscar.lattice_cv - first.lattice_cv).max())
    if apart > SAME_CELL:
        return f"the lattice vectors differ from those of {first.file} by up to {apart:.2g} Å", (
            "Give all images the same cell."
        )
    flags = [np.ones((len(one.symbols), 3), bool) if one.selective_ac is None else one.selective_ac
             for one in (poscar, first)]  # fmt: skip
    if not np.array_equal(flags[0], flags[1]):
        return f"the flags of selective dynamics are not those of {first.file}", "Give all images the same flags."
    step_ac = poscar.scaled_ac - first.scaled_ac
    step_ac = np.where(flags[0], 0.0, step_ac - np.round(step_ac))
    far_a = np.linalg.norm(step_ac @ first.lattice_cv, axis=1)
    if far_a.max() > SAME_PLACE:
        atom = int(far_a.argmax())
        words = f"atom {atom + 1}, which may not move, is {far_a[atom]:.3f} Å from where it is in {first.file}"
        return words, "Put it at the same place in all images, or let it move."
    return "", ""


def distances(one: Poscar, other: Poscar) -> np.ndarray:
    """How far each atom is from itself in another structure with the same cell, (a,), Å."""
    step_ac = other.scaled_ac - one.scaled_ac
    return np.linalg.norm((step_ac - np.round(step_ac)) @ one.lattice_cv, axis=1)


def read_images(
    texts: Mapping[str, str], broken: Mapping[str, str], count: int, species_order: tuple[str, ...] | None
) -> tuple[tuple[Poscar, ...], list[Problem]]:
    """The structures of all images, none if one is missing or broken, and what was found.

    texts: of the files that could be read, by `image_file`; broken: why others could not; count: IMAGES.
    """
    images: list[Poscar] = []
    problems: list[Problem] = []
    for number in range(count + 2):
        file = image_file(number)
        if file in texts:
            try:
                poscar = parse_poscar(texts[file], file, species_order)
                images.append(poscar)
                problems += poscar.problems
            except InputError as error:
                problems.append(_of_file(str(error), file))
        elif file in broken:
            problems.append(_of_file(broken[file], file))
        else:
            what = "end point" if number in (0, count + 1) else "image"
            remedy = (
                f"IMAGES = {count} needs folders 00 to {image_folder(count + 1)} with a POSCAR each; 00 and "
                f"{image_folder(count + 1)} are the end points."
            )
            problems.append(Problem("error", file, None, f"there is no such file for this {what}", remedy=remedy))
    if len(images) < count + 2:
        return (), problems
    found = compare_images(images)
    whole = not any(problem.severity == "error" for problem in found)
    return (tuple(images) if whole else ()), [*problems, *found]


def _of_file(message: str, file: str) -> Problem:
    """'01/POSCAR line 7: there are …' as a problem of line 7."""
    place, _, words = message.partition(": ")
    line = place.removeprefix(file).removeprefix(" line ")
    return Problem("error", file, int(line) if line.isdigit() else None, words if place.startswith(file) else message)
