"""Constraints from Python: flags of POSCAR where these say the same, else an error that names the constraint."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.constraints import (
    FixAtoms,
    FixBondLength,
    FixCartesian,
    FixedLine,
    FixedPlane,
    FixScaled,
    FixSymmetry,
    Hookean,
)

from eigenwerk import dft
from eigenwerk.dft.runs.api.incar import inputs_of
from eigenwerk.dft.runs.api.structures import structure_given
from eigenwerk.errors import InputError
from when_used import when_used

Lattice = when_used("pymatgen.core", "Lattice")
Structure = when_used("pymatgen.core", "Structure")

F, T = False, True
RELAX = {"encut": 120, "kpts": (2, 1, 1), "ibrion": 2, "nsw": 2, "ismear": 0, "sigma": 0.05}


def box(*constraints):
    """Two atoms in an orthorhombic cell."""
    return Atoms("Si2", positions=[[0, 0, 0], [1, 1, 2.2]], cell=[4, 5, 6], pbc=True, constraint=list(constraints))


def primitive(*constraints):
    """Two atoms in a cell with vectors along no axis."""
    atoms = bulk("Si")
    atoms.rattle(0.05, seed=1)
    atoms.set_constraint(list(constraints))
    return atoms


@pytest.mark.parametrize(
    ("atoms", "flags"),
    [
        (box(FixAtoms([0])), [[F, F, F], [T, T, T]]),
        (box(FixAtoms([-1])), [[T, T, T], [F, F, F]]),
        (box(FixCartesian([1], (F, F, T))), [[T, T, T], [T, T, F]]),
        (box(FixScaled([0], (T, F, F))), [[F, T, T], [T, T, T]]),
        (box(FixedPlane([0, 1], (0, 0, 1))), [[T, T, F]] * 2),
        (box(FixedLine([1], (0, 2, 0))), [[T, T, T], [F, T, F]]),
        (box(FixedPlane([1], (1, 0, 0)), FixedPlane([1], (0, 0, 1))), [[T, T, T], [F, T, F]]),
        (box(FixedPlane([1], (1, 1, 0)), FixedPlane([1], (1, -1, 0))), [[T, T, T], [F, F, T]]),
        (primitive(FixScaled([1], (T, F, F))), [[T, T, T], [F, T, T]]),
        (primitive(FixedLine([1], (0, 1, 1))), [[T, T, T], [T, F, F]]),
        (primitive(FixAtoms([1]), FixedLine([1], (1, 0, 0))), [[T, T, T], [F, F, F]]),
    ],
)
def test_what_lattice_vectors_say_becomes_flags(atoms, flags):
    given = structure_given(atoms)
    assert given.poscar.selective_ac.tolist() == flags and given.held == ()


@pytest.mark.parametrize(
    ("atoms", "words"),
    [
        (primitive(FixCartesian([1], (F, F, T))), "FixCartesian"),
        (primitive(FixedPlane([1], (1, 2, 3))), "FixedPlane"),
        (box(FixedLine([0], (1, 1, 0))), "FixedLine"),
        (box(FixBondLength(0, 1)), "FixBondLength"),
        (box(Hookean(0, 1, 5, 2)), "Hookean"),
        (box(FixAtoms([1]), FixedLine([0], (1, 1, 0))), "FixedLine"),
    ],
)
def test_others_are_refused_where_atoms_move_and_a_note_where_none_does(atoms, words):
    given = structure_given(atoms)
    settings = {name: value for name, value in RELAX.items() if name != "kpts"}
    (error,) = inputs_of(given, settings, (2, 1, 1)).errors
    assert str(error).startswith(f"structure: {words}") and "cannot be kept" in str(error)
    still = inputs_of(given, settings | {"nsw": 0}, (2, 1, 1))
    assert not still.errors and any(words in str(problem) for problem in still.problems)


def test_symmetry_that_is_to_be_kept_is_kept_by_a_relaxation_and_not_by_dynamics():
    given = structure_given(bulk("Si"))
    held = structure_given(primitive(FixSymmetry(bulk("Si")))).held
    assert given.held == () and held[0].startswith("FixSymmetry")
    atoms = bulk("Si")
    atoms.set_constraint(FixSymmetry(atoms))
    settings = {"encut": 150, "ibrion": 2, "nsw": 3}
    assert not inputs_of(structure_given(atoms), settings).errors
    for other in ({"isym": 0}, {"ibrion": 0, "potim": 1.0}):
        assert "FixSymmetry" in str(inputs_of(structure_given(atoms), settings | other).errors[0])


@pytest.mark.slow
def test_atoms_that_are_held_stay_and_the_others_move():
    atoms = primitive(FixAtoms([0]))
    before = atoms.get_scaled_positions()
    sites = {"selective_dynamics": [[F, F, F], [T, T, T]]}
    structure = Structure(Lattice(atoms.cell[:]), ["Si", "Si"], before, site_properties=sites)
    for given in (atoms, structure):
        step_ac = dft.run(given, **RELAX).run.ionic_history.steps[-1].scaled_ac - before
        step_ac -= np.round(step_ac)
        assert np.abs(step_ac[0]).max() < 1e-12 < 1e-3 < np.abs(step_ac[1]).max()


def test_constraints_stand_in_files_and_notes(tmp_path):
    result = dft.run(primitive(FixAtoms([0])), folder=tmp_path, **(RELAX | {"nsw": 0}))
    for name in ("POSCAR", "CONTCAR"):
        assert (tmp_path / name).read_text().splitlines()[9].split()[3:] == ["F", "F", "F"]
    assert any("1 of 2 atoms is held (F in POSCAR), and nothing moves" in words for words in result.notes)
    with pytest.raises(InputError, match="FixBondLength"):
        dft.run(box(FixBondLength(0, 1)), **RELAX)
