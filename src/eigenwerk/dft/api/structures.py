"""Structures of ASE and pymatgen as a `Poscar`, known by what they can do: neither package is loaded."""

from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.poscar import Poscar, read_poscar

Moments = tuple[float, ...] | None
"""Starting moments of the atoms, Bohr magnetons; None if the structure brings none."""


def structure_given(structure: Any) -> tuple[Poscar, Moments, float]:
    """Cell and atoms in their order, starting moments, and the charge of the cell in electrons taken away.

    structure: ASE Atoms, a pymatgen Structure, a `Poscar` or the path of a POSCAR file.  Raises InputError for
    anything else, for one without a cell, for partly occupied sites and for moments that are no single numbers.
    """
    if isinstance(structure, Poscar):
        return structure, None, 0.0
    if isinstance(structure, str | Path):
        return read_poscar(structure), None, 0.0
    if hasattr(structure, "get_chemical_symbols") and hasattr(structure, "get_scaled_positions"):
        return _of_ase(structure)
    if hasattr(structure, "lattice") and hasattr(structure, "frac_coords"):
        return _of_pymatgen(structure)
    if hasattr(structure, "get_boxed_structure"):
        raise InputError("the molecule has no cell. Give molecule.get_boxed_structure(10, 10, 10), or larger.")
    raise InputError(
        f"a {type(structure).__name__} is no structure. Give ASE Atoms, a pymatgen Structure, or the path of a POSCAR."
    )


def _of_ase(atoms: Any) -> tuple[Poscar, Moments, float]:
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
    poscar = Poscar(atoms.get_chemical_formula(), lattice_cv, tuple(atoms.get_chemical_symbols()), scaled_ac)
    return poscar, tuple(moments) if moments.any() else None, float(np.sum(atoms.get_initial_charges()))


def _of_pymatgen(structure: Any) -> tuple[Poscar, Moments, float]:
    if not structure.is_ordered:
        raise InputError("sites of the structure are occupied in part. Give an ordered structure.")
    symbols = tuple(site.specie.symbol for site in structure)
    given = structure.site_properties.get("magmom") or [getattr(site.specie, "spin", None) for site in structure]
    moments = None
    if any(moment is not None for moment in given):
        moments = tuple(0.0 if moment is None else _number(moment) for moment in given)
    lattice_cv, scaled_ac = np.array(structure.lattice.matrix), np.array(structure.frac_coords)
    charge = getattr(structure, "_charge", None)  # what was said of it, not the sum of oxidation states
    return Poscar(structure.formula, lattice_cv, symbols, scaled_ac), moments, float(charge or 0.0)


def _number(moment: Any) -> float:
    try:
        return float(moment)
    except TypeError as error:
        raise InputError(
            f"the starting moment {moment} is no number, and noncollinear magnetism is not available. Give numbers."
        ) from error
