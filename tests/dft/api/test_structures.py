"""Structures of ASE and pymatgen: the same cell, atoms, order and moments; what is no structure is told."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from pymatgen.core import Lattice, Molecule, Structure

from eigenwerk.dft.api.structures import structure_given
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.poscar import format_poscar


def test_ase_and_pymatgen_give_the_same_structure(tmp_path):
    atoms = bulk("NaCl", "rocksalt", a=5.6)[[1, 0]]
    atoms.wrap()
    atoms.set_initial_magnetic_moments([0.5, 0.0])
    sites = {"magmom": [0.5, None]}
    structure = Structure(
        Lattice(atoms.cell[:]), atoms.get_chemical_symbols(), atoms.get_scaled_positions(), site_properties=sites
    )
    (one, moments, charge), (other, *rest) = map(structure_given, (atoms, structure))
    assert one.symbols == other.symbols == ("Cl", "Na")
    assert moments == rest[0] == (0.5, 0.0) and charge == rest[1] == 0
    np.testing.assert_allclose(one.lattice_cv, other.lattice_cv)
    np.testing.assert_allclose(one.scaled_ac, other.scaled_ac, atol=1e-14)
    (tmp_path / "POSCAR").write_text(format_poscar(one))
    np.testing.assert_allclose(structure_given(tmp_path / "POSCAR")[0].positions_av, atoms.positions, atol=1e-12)


def test_atoms_outside_the_cell_stay_where_they_are():
    atoms = Atoms("H", positions=[[-1, 7, 0.5]], cell=[5, 5, 5], pbc=False)
    np.testing.assert_allclose(structure_given(atoms)[0].positions_av, atoms.positions)


def test_oxidation_states_are_no_charge_and_a_charge_that_is_said_is_one():
    lattice, sites = Lattice.cubic(4), [[0] * 3]
    assert structure_given(Structure(lattice, ["Na+"], sites))[2] == 0
    assert structure_given(Structure(lattice, ["Na"], sites, charge=1))[2] == 1


VECTORS = Atoms("H", cell=[4, 4, 4])
VECTORS.set_initial_magnetic_moments([[0, 0, 1]])


@pytest.mark.parametrize(
    ("structure", "words"),
    [
        (molecule("H2O"), r"atoms.center\(vacuum=5\) makes it"),
        (Atoms("H", cell=[5, 0, 0]), "no cell along some direction"),
        (Atoms(cell=[5, 5, 5]), "no atoms"),
        (VECTORS, "noncollinear"),
        (Molecule(["H"], [[0, 0, 0]]), "get_boxed_structure"),
        (Structure(Lattice.cubic(4), [{"Na": 0.5}], [[0] * 3]), "occupied in part"),
        ({"Si": 2}, "a dict is no structure"),
        ("no/such/POSCAR", "POSCAR"),
    ],
)
def test_what_cannot_be_computed_is_told(structure, words):
    with pytest.raises(InputError, match=words):
        structure_given(structure)
