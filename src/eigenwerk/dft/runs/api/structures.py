"""Structures of ASE and pymatgen as a `Poscar`, known by what they can do: neither package is loaded.

What they bring besides cell and atoms: docs/guides/python.md has the table of what becomes of each.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk.dft.crystal.structure import empty_layers
from eigenwerk.dft.runs.api.constraints import PLACE, selective_flags
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.elements import ELEMENTS, MASSES
from eigenwerk.io.vasp.input.poscar import Poscar, read_poscar
from eigenwerk.io.vasp.problem import Problem
from eigenwerk.units import AMU_EV_FS2_PER_ANGSTROM2

Moments = tuple[float, ...] | None
"""Starting moments of the atoms, Bohr magnetons; None if the structure brings none."""

SAME_MASS = 2e-3
"""Tables of standard weights differ by this part at most; what differs more is an isotope."""

CLOSE = 6.0
"""Å without atoms that part the images of what is said not to repeat."""

ISOTOPES = ("D", "T")
"""Symbols of pymatgen for hydrogen of other masses, which the reader of POSCAR judges."""


@dataclass(frozen=True, eq=False)
class GivenStructure:
    """A structure from Python.

    poscar: cell and atoms in their order, what may move, velocities; moments: starting moments; charge: of the cell,
    electrons taken away; mass_a: amu, None if all are those of the elements; held: constraints that POSCAR has no words
    for; problems: remarks about it.
    """

    poscar: Poscar
    moments: Moments = None
    charge: float = 0.0
    mass_a: np.ndarray | None = None
    held: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def structure_given(structure: Any) -> GivenStructure:
    """Cell, atoms and what comes with them.

    structure: ASE Atoms, a pymatgen Structure or Poscar, a `Poscar` or the path of a POSCAR file.  Raises InputError
    for anything else, for one without a cell, for partly occupied sites, for atoms without a nucleus and for moments
    that are no single numbers.
    """
    if isinstance(structure, Poscar):
        return GivenStructure(structure)
    if isinstance(structure, str | Path):
        poscar = read_poscar(structure)
        return GivenStructure(poscar, problems=tuple(replace(one, file=PLACE) for one in poscar.problems))
    if hasattr(structure, "get_chemical_symbols") and hasattr(structure, "get_scaled_positions"):
        return _of_ase(structure)
    if hasattr(structure, "structure") and hasattr(structure, "site_symbols"):  # pymatgen's Poscar
        return _of_pymatgen(structure.structure)
    if hasattr(structure, "lattice") and hasattr(structure, "frac_coords"):
        return _of_pymatgen(structure)
    if hasattr(structure, "get_boxed_structure"):
        raise InputError("the molecule has no cell. Give molecule.get_boxed_structure(10, 10, 10), or larger.")
    raise InputError(
        f"a {type(structure).__name__} is no structure. Give ASE Atoms, a pymatgen Structure, or the path of a POSCAR."
    )


def _of_ase(atoms: Any) -> GivenStructure:
    lattice_cv = np.array(atoms.cell, dtype=float)
    if not len(atoms):
        raise InputError("the structure has no atoms. Give at least one.")
    if not lattice_cv.any(axis=1).all():
        raise InputError(
            "the atoms have no cell along some direction, and waves need one. atoms.center(vacuum=5) makes it; "
            "it is repeated in all directions, whatever atoms.pbc says."
        )
    scaled_ac = np.linalg.solve(lattice_cv.T, np.asarray(atoms.get_positions(), dtype=float).T).T
    moments = np.asarray(atoms.get_initial_magnetic_moments(), dtype=float)
    if moments.ndim > 1:
        raise InputError("the starting moments are vectors, and noncollinear magnetism is not available. Give numbers.")
    symbols = tuple(atoms.get_chemical_symbols())
    _require_nuclei(symbols)
    _require_order(atoms.info.get("occupancy"))
    free_ac, held = selective_flags(atoms)
    # ASE's unit of time is Å √(amu/eV)
    velocity_av = np.asarray(atoms.get_velocities(), dtype=float) / np.sqrt(AMU_EV_FS2_PER_ANGSTROM2)
    poscar = Poscar(
        atoms.get_chemical_formula(), lattice_cv, symbols, scaled_ac, selective_ac=free_ac,
        velocities_av=velocity_av if velocity_av.any() else None,
    )  # fmt: skip
    return GivenStructure(
        poscar, tuple(moments) if moments.any() else None, float(np.sum(atoms.get_initial_charges())),
        _isotopes(symbols, np.asarray(atoms.get_masses(), dtype=float)), held,
        _repeated(lattice_cv, scaled_ac, np.array(atoms.pbc, dtype=bool)),
    )  # fmt: skip


def _of_pymatgen(structure: Any) -> GivenStructure:
    if not structure.is_ordered:
        raise InputError("sites of the structure are occupied in part. Give an ordered structure.")
    symbols = tuple(site.specie.symbol for site in structure)
    _require_nuclei(symbols)
    sites = structure.site_properties
    given = sites.get("magmom") or [getattr(site.specie, "spin", None) for site in structure]
    moments = None
    if any(moment is not None for moment in given):
        moments = tuple(0.0 if moment is None else _number(moment) for moment in given)
    lattice_cv, scaled_ac = np.array(structure.lattice.matrix), np.array(structure.frac_coords)
    charge = getattr(structure, "_charge", None)  # what was said of it, not the sum of oxidation states
    poscar = Poscar(
        structure.formula, lattice_cv, symbols, scaled_ac,
        selective_ac=_site_rows(sites, "selective_dynamics", True, bool),
        velocities_av=_site_rows(sites, "velocities", 0.0, float),
    )  # fmt: skip
    periodic_c = np.array(getattr(structure.lattice, "pbc", (True, True, True)), dtype=bool)
    return GivenStructure(poscar, moments, float(charge or 0.0), problems=_repeated(lattice_cv, scaled_ac, periodic_c))


def _site_rows(sites: Any, name: str, usual: Any, kind: type) -> np.ndarray | None:
    """A property of three values for each site, (a, 3), `usual` where a site has none; None if no site has it."""
    rows = sites.get(name)
    if rows is None or all(row is None for row in rows):
        return None
    try:
        array: np.ndarray = np.array([[usual] * 3 if row is None else list(row) for row in rows], dtype=kind)
    except (TypeError, ValueError) as error:
        raise InputError(f"site_properties['{name}']: {error}. Give three values for each site.") from error
    if array.shape != (len(rows), 3):
        raise InputError(f"site_properties['{name}'] has the shape {array.shape}. Give three values for each site.")
    return array


def _number(moment: Any) -> float:
    try:
        return float(moment)
    except TypeError as error:
        raise InputError(
            f"the starting moment {moment} is no number, and noncollinear magnetism is not available. Give numbers."
        ) from error


def _require_nuclei(symbols: tuple[str, ...]) -> None:
    """ASE's X and pymatgen's DummySpecies are places without an atom."""
    for number, symbol in enumerate(symbols, start=1):
        if symbol not in ELEMENTS and symbol not in ISOTOPES:
            raise InputError(
                f"atom {number} is {symbol}, which is no chemical element. Atoms without a nucleus (ghosts, dummies) "
                "are not available: remove it."
            )


def _require_order(occupancy: Any) -> None:
    """What ASE keeps of a CIF file with sites occupied in part: Atoms have only the first element of each.

    occupancy: by kind of site, the share of each element.
    """
    for shares in (occupancy or {}).values():
        partial = {element: share for element, share in dict(shares).items() if share != 1}
        if partial:
            words = ", ".join(f"{element} {share:g}" for element, share in partial.items())
            raise InputError(
                f"sites of the structure are occupied in part ({words}, says atoms.info['occupancy']), and the atoms "
                "show one element each. Give an ordered structure, without that entry."
            )


def _isotopes(symbols: tuple[str, ...], mass_a: np.ndarray) -> np.ndarray | None:
    """Masses where some are not those of the elements."""
    usual_a = np.array([MASSES[symbol] for symbol in symbols])
    other_a = np.abs(mass_a - usual_a) > SAME_MASS * usual_a
    return np.where(other_a, mass_a, usual_a) if other_a.any() else None


def _repeated(lattice_cv: np.ndarray, scaled_ac: np.ndarray, periodic_c: np.ndarray) -> tuple[Problem, ...]:
    """A warning where some directions are said not to repeat, and what does repeat there is near."""
    gap_c = empty_layers(lattice_cv, scaled_ac)
    near_c = ~periodic_c & (gap_c < CLOSE)
    if periodic_c.all() or not periodic_c.any() or not near_c.any():  # Atoms without pbc say nothing about it
        return ()
    axes = ", ".join(f"{gap_c[c]:.1f} Å along axis {c + 1}" for c in np.flatnonzero(near_c))
    message = f"by pbc it does not repeat along each axis, but everything repeats here, and images are near: {axes}"
    axis = int(np.flatnonzero(near_c)[0])
    remedy = f"Make the vacuum wider, as atoms.center(vacuum=5, axis={axis}) does."
    return (Problem("warning", PLACE, None, message, remedy=remedy),)
