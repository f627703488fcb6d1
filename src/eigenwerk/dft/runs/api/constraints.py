"""Constraints of ASE as what POSCAR can say: whether an atom may move along each lattice vector.

An atom that is held to a plane, a line or a place moves in a linear space.  POSCAR means the space that some of the
lattice vectors span, so a constraint can be said there if its space is one of these.
"""

from typing import Any

import numpy as np

from eigenwerk.dft.settings.motion_kind import RELAXATION, kind_of_motion
from eigenwerk.dft.settings.tags_in_force import whole
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.problem import Problem

PLACE = "structure"
"""What stands in messages where a folder has the name of a file."""

LINEAR = ("FixAtoms", "FixScaled", "FixCartesian", "FixedPlane", "FixedLine")
"""Constraints that act on each atom by itself, and linearly on its step."""

KEEPS_SYMMETRY = "FixSymmetry"
"""What every relaxation does unless ISYM forbids it."""

AWAY = 1e-6
"""Part of a lattice vector that may stick out of the space in which an atom moves."""

LONGEST = 160
"""Characters of a constraint in words."""


def selective_flags(atoms: Any) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Whether atom a may move along lattice vector c, and the constraints that such flags cannot say, in words.

    atoms: of ASE, with a cell.  The flags, (a, 3), are None without constraints.
    """
    constraints = list(atoms.constraints)
    linear = [one for one in constraints if type(one).__name__ in LINEAR]
    others = tuple(_words(one) for one in constraints if one not in linear)
    if not linear:
        return None, others
    lattice_cv = np.array(atoms.cell, dtype=float)
    normal_xavv = np.stack([_forbidden(one, atoms) for one in linear])
    free_ac, lost_a = _along_vectors(normal_xavv.sum(axis=0), lattice_cv)
    unsaid_x = np.array([_along_vectors(normal_avv, lattice_cv)[1][lost_a].any() for normal_avv in normal_xavv])
    free_ac[lost_a] = _along_vectors(normal_xavv[~unsaid_x].sum(axis=0), lattice_cv)[0][lost_a]
    unsaid = tuple(_words(one) for one, lost in zip(linear, unsaid_x, strict=True) if lost)
    return free_ac, (*unsaid, *others)


def _along_vectors(normal_avv: np.ndarray, lattice_cv: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether atom a may move along lattice vector c, and whether that is less than it may do.

    normal_avv: sums of projectors on forbidden directions.
    """
    along_acv = np.einsum("cv,avw->acw", lattice_cv, normal_avv)
    free_ac = np.linalg.norm(along_acv, axis=2) < AWAY * np.linalg.norm(lattice_cv, axis=1)
    dimension_a = (np.linalg.eigvalsh(normal_avv) < AWAY).sum(axis=1)
    return free_ac, dimension_a > free_ac.sum(axis=1)


def _forbidden(constraint: Any, atoms: Any) -> np.ndarray:
    """The projector on the directions in which each atom may not move, (a, 3, 3), found by trying three steps."""
    position_av = np.array(atoms.get_positions(), dtype=float)
    step_avw = np.empty((len(position_av), 3, 3))
    for axis in range(3):
        there_av = position_av.copy()
        there_av[:, axis] += 1.0
        constraint.adjust_positions(atoms, there_av)
        step_avw[:, axis] = there_av - position_av
    _, size_ax, right_axv = np.linalg.svd(step_avw)
    allowed_avv = np.einsum("axv,axw->avw", right_axv * (size_ax > AWAY)[..., None], right_axv)
    return np.asarray(np.eye(3) - allowed_avv)


def _words(constraint: Any) -> str:
    """What a constraint says of itself, on one line."""
    words = " ".join(repr(constraint).split())
    name = type(constraint).__name__
    words = words if words.startswith(name) else name
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} ..."


def held_problems(free_ac: np.ndarray | None, held: tuple[str, ...], incar: Incar) -> list[Problem]:
    """What becomes of constraints: an error for one that a run that moves atoms cannot keep, else a note.

    free_ac: what POSCAR says of them; held: those that it cannot say.
    """
    kind, problems = kind_of_motion(incar), []
    for words in held:
        if kind is None:
            message = f"{words} is not in POSCAR, which has no words for it; nothing moves in this run"
            problems.append(Problem("note", PLACE, None, message))
        elif not (words.startswith(KEEPS_SYMMETRY) and kind == RELAXATION and whole(incar, "ISYM") > 0):
            message = f"{words}: this constraint cannot be kept by a run that moves atoms itself"
            remedy = "Move them by ASE with the calculator eigenwerk.ase.Eigenwerk, which leaves constraints to ASE, "
            remedy += "or remove it. What POSCAR can say is kept: places, and steps along lattice vectors."
            problems.append(Problem("error", PLACE, None, message, remedy=remedy))
    if free_ac is not None and not free_ac.all():
        count = int((~free_ac.all(axis=1)).sum())
        message = f"{count} of {len(free_ac)} atoms {'is' if count == 1 else 'are'} held (F in POSCAR)"
        problems.append(Problem("note", PLACE, None, message + ("" if kind else ", and nothing moves in this run")))
    return problems
