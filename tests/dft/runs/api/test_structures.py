"""Structures of ASE and pymatgen: the same cell, atoms, order and moments; what is no structure is told."""

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk, molecule

from eigenwerk.dft.runs.api.structures import structure_given
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.poscar import format_poscar
from when_used import when_used

Lattice = when_used("pymatgen.core", "Lattice")
Molecule = when_used("pymatgen.core", "Molecule")
Structure = when_used("pymatgen.core", "Structure")
pymatgen = when_used("pymatgen.io.vasp", "inputs")


def test_ase_and_pymatgen_give_the_same_structure(tmp_path):
    atoms = bulk("NaCl", "rocksalt", a=5.6)[[1, 0]]
    atoms.wrap()
    atoms.set_initial_magnetic_moments([0.5, 0.0])
    sites = {"magmom": [0.5, None]}
    structure = Structure(
        Lattice(atoms.cell[:]), atoms.get_chemical_symbols(), atoms.get_scaled_positions(), site_properties=sites
    )
    first, second = map(structure_given, (atoms, structure))
    one, other = first.poscar, second.poscar
    assert one.symbols == other.symbols == ("Cl", "Na")
    assert first.moments == second.moments == (0.5, 0.0) and first.charge == second.charge == 0
    assert first.mass_a is second.mass_a is one.velocities_av is other.selective_ac is None
    np.testing.assert_allclose(one.lattice_cv, other.lattice_cv)
    np.testing.assert_allclose(one.scaled_ac, other.scaled_ac, atol=1e-14)
    (tmp_path / "POSCAR").write_text(format_poscar(one))
    np.testing.assert_allclose(structure_given(tmp_path / "POSCAR").poscar.positions_av, atoms.positions, atol=1e-12)


def test_atoms_outside_the_cell_stay_where_they_are():
    atoms = Atoms("H", positions=[[-1, 7, 0.5]], cell=[5, 5, 5], pbc=False)
    np.testing.assert_allclose(structure_given(atoms).poscar.positions_av, atoms.positions)


def test_oxidation_states_are_no_charge_and_a_charge_that_is_said_is_one():
    lattice, sites = Lattice.cubic(4), [[0] * 3]
    assert structure_given(Structure(lattice, ["Na+"], sites)).charge == 0
    assert structure_given(Structure(lattice, ["Na"], sites, charge=1)).charge == 1


def test_what_pymatgen_holds_and_moves_is_kept():
    """As its Poscar reads a file: flags and velocities are properties of sites."""
    text = "Si\n1\n0 2.7 2.7\n2.7 0 2.7\n2.7 2.7 0\nSi\n2\nSelective dynamics\nDirect\n"
    text += "0 0 0 F F T\n.25 .25 .25 T T T\n\n0.01 0 0\n0 0 -0.02\n"
    file = pymatgen.Poscar.from_str(text)
    for given in map(structure_given, (file, file.structure)):
        assert given.poscar.selective_ac.tolist() == [[False, False, True], [True] * 3]
        np.testing.assert_allclose(given.poscar.velocities_av, [[0.01, 0, 0], [0, 0, -0.02]])
    sites = {"selective_dynamics": [[False] * 3, None]}
    partly = Structure(file.structure.lattice, ["Si", "Si"], [[0] * 3, [0.25] * 3], site_properties=sites)
    assert structure_given(partly).poscar.selective_ac.tolist() == [[False] * 3, [True] * 3]


def test_velocities_and_isotopes_of_ase_are_kept():
    water = molecule("H2O", vacuum=3)
    water.set_masses([15.999, 2.014, 1.008])
    water.set_velocities(np.arange(9).reshape(3, 3) * 1e-3 / units.fs)
    given = structure_given(water)
    np.testing.assert_allclose(given.poscar.velocities_av, np.arange(9).reshape(3, 3) * 1e-3, rtol=1e-7)
    assert given.mass_a[1] == 2.014 and given.mass_a[2] == pytest.approx(1.008)
    assert structure_given(molecule("CH3CH2OH", vacuum=3)).mass_a is None


def test_a_slab_whose_images_are_near_is_a_warning():
    slab = Atoms("Cu", cell=[3, 3, 5], pbc=[True, True, False])
    (problem,) = structure_given(slab).problems
    assert problem.severity == "warning" and "5.0 Å along axis 3" in str(problem)
    slab.cell[2, 2] = 9
    assert structure_given(slab).problems == () == structure_given(Atoms("Cu", cell=[3, 3, 5])).problems


def test_remarks_about_a_file_are_not_lost(tmp_path):
    path = tmp_path / "POSCAR"
    path.write_text("Si\n3\n1 0 0\n0 1 0\n0 0 1\nSi\n1\nDirect\n0 0 0 C\n")
    assert "atom 1 is labelled C" in str(structure_given(path).problems[0])


VECTORS = Atoms("H", cell=[4, 4, 4])
VECTORS.set_initial_magnetic_moments([[0, 0, 1]])


@pytest.mark.parametrize(
    ("structure", "words"),
    [
        (molecule("H2O"), r"atoms.center\(vacuum=5\) makes it"),
        (Atoms("H", cell=[5, 0, 0]), "no cell along some direction"),
        (Atoms(cell=[5, 5, 5]), "no atoms"),
        (VECTORS, "noncollinear"),
        (lambda: Molecule(["H"], [[0, 0, 0]]), "get_boxed_structure"),
        (lambda: Structure(Lattice.cubic(4), [{"Na": 0.5}], [[0] * 3]), "occupied in part"),
        (Atoms("Na", cell=[4] * 3, info={"occupancy": {"0": {"Na": 0.5, "K": 0.5}}}), "in part.*Na 0.5, K 0.5"),
        (Atoms("HX", positions=[[0] * 3, [1] * 3], cell=[4] * 3), "atom 2 is X.*ghosts"),
        (lambda: Structure(Lattice.cubic(4), ["Xa"], [[0] * 3]), "atom 1 is Xa.*dummies"),
        (
            lambda: Structure(Lattice.cubic(4), ["H"], [[0] * 3], site_properties={"velocities": [[1, 2]]}),
            "velocities.*three",
        ),
        ({"Si": 2}, "a dict is no structure"),
        ("no/such/POSCAR", "POSCAR"),
    ],
)
def test_what_cannot_be_computed_is_told(structure, words):
    with pytest.raises(InputError, match=words):
        structure_given(structure() if callable(structure) else structure)
