"""CONTCAR gives pymatgen and ASE the structure of the record back."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.io.vasp.input.poscar import parse_poscar, read_poscar
from eigenwerk.io.vasp.output.contcar import write_contcar

SELECTIVE = np.array([[False] * 3, [True] * 3, [True, False, True]])


@pytest.fixture
def written(tmp_path, make_record):
    record = make_record(selective_ac=SELECTIVE, velocities_av=np.array([[0.001, -0.002, 0.0035]] * 3))
    write_contcar(tmp_path / "CONTCAR", record)
    return tmp_path / "CONTCAR", record


def test_pymatgen_reads_structure_flags_and_velocities(written):
    inputs = pytest.importorskip("pymatgen.io.vasp.inputs", reason="pymatgen is not installed")
    path, record = written
    poscar = inputs.Poscar.from_file(str(path))
    assert poscar.site_symbols == ["Mg", "O"] and poscar.natoms == [2, 1]
    np.testing.assert_allclose(poscar.structure.lattice.matrix, record.last.lattice_cv, atol=1e-12)
    np.testing.assert_allclose(poscar.structure.frac_coords, record.last.scaled_ac, atol=1e-12)
    np.testing.assert_array_equal(poscar.selective_dynamics, SELECTIVE)
    np.testing.assert_allclose(poscar.velocities, record.last.velocities_av, atol=1e-10)


def test_ase_reads_structure_and_constraints(written):
    io = pytest.importorskip("ase.io", reason="ASE is not installed")
    path, record = written
    atoms = io.read(path, format="vasp")
    assert atoms.get_chemical_symbols() == list(record.symbols) and len(atoms.constraints) == 2
    np.testing.assert_allclose(atoms.cell[:], record.last.lattice_cv, atol=1e-12)
    np.testing.assert_allclose(atoms.get_scaled_positions(wrap=False), record.last.scaled_ac, atol=1e-12)


def test_own_reader_gives_the_same_back(written):
    path, record = written
    poscar = read_poscar(path)
    assert tuple(poscar.symbols) == record.symbols
    np.testing.assert_allclose(poscar.scaled_ac, record.last.scaled_ac, atol=1e-14)
    np.testing.assert_array_equal(poscar.selective_ac, SELECTIVE)


def test_what_the_poscar_held_beyond_the_record_is_kept(tmp_path, make_record):
    record = make_record()
    cell = "cell\n 1.0\n 9 0 0\n 0 9 0\n 0 0 9\n Mg_pv O\n 2 1\nDirect\n"
    start = parse_poscar(cell + " 0 0 0\n .2 .2 .2\n .5 .5 .5\n\n 0 0 0.001\n 0 0 0\n 0 0 0\n")
    write_contcar(tmp_path / "CONTCAR", replace(record, poscar=start))
    found = read_poscar(tmp_path / "CONTCAR")
    assert found.title == "cell" and found.suffixes[0] == "_pv"
    np.testing.assert_allclose(found.velocities_av, start.velocities_av)
    np.testing.assert_allclose(found.scaled_ac, record.last.scaled_ac, atol=1e-14)


def test_velocities_of_a_cell_with_a_mass_are_read_back(tmp_path, make_record):
    inputs = pytest.importorskip("pymatgen.io.vasp.inputs", reason="pymatgen is not installed")
    velocity_cv = np.array([[1e-4, 2e-5, 0.0], [0.0, -3.25e-4, 0.0], [1e-7, 0.0, 1 / 3]])
    moving = {"kinetic": 0.1, "velocities_av": np.array([[0.001, -0.002, 0.0035]] * 3)}
    record = make_record(ionic=2, lattice_velocity_cv=velocity_cv, **moving)
    write_contcar(tmp_path / "CONTCAR", record)
    found = read_poscar(tmp_path / "CONTCAR")
    np.testing.assert_array_equal(found.lattice_velocity_cv, velocity_cv)
    np.testing.assert_allclose(found.velocities_av, record.last.velocities_av, rtol=0, atol=1e-15)
    assert not found.problems
    other = inputs.Poscar.from_file(str(tmp_path / "CONTCAR"))
    expected_xv = np.concatenate([velocity_cv, record.last.lattice_cv])
    np.testing.assert_allclose(other.lattice_velocities, expected_xv, rtol=1e-12)
    np.testing.assert_allclose(other.velocities, record.last.velocities_av, atol=1e-12)
    start = replace(found, lattice_velocity_cv=np.eye(3))
    write_contcar(tmp_path / "CONTCAR", replace(make_record(ionic=2, **moving), poscar=start))
    assert read_poscar(tmp_path / "CONTCAR").lattice_velocity_cv is None  # those of a cell that has no mass any more


def test_ase_reads_past_velocities_of_the_lattice(tmp_path, make_record):
    io = pytest.importorskip("ase.io", reason="ASE is not installed")
    moving = {"kinetic": 0.1, "velocities_av": np.array([[0.001, -0.002, 0.0035]] * 3)}
    record = make_record(ionic=2, lattice_velocity_cv=np.eye(3) * 1e-3, **moving)
    write_contcar(tmp_path / "CONTCAR", record)
    atoms = io.read(tmp_path / "CONTCAR", format="vasp")
    np.testing.assert_allclose(atoms.get_scaled_positions(wrap=False), record.last.scaled_ac, atol=1e-12)


def test_species_that_repeat_stay_apart(tmp_path, make_record):
    record = make_record()
    magnesium, oxygen = record.species
    species = (replace(magnesium, count=1), oxygen, replace(magnesium, count=1))
    write_contcar(tmp_path / "CONTCAR", make_record(species=species, symbols=("Mg", "O", "Mg")))
    assert read_poscar(tmp_path / "CONTCAR").species_runs == (("Mg", 1), ("O", 1), ("Mg", 1))


def test_the_last_structure_is_written(tmp_path, make_record):
    record = make_record(ionic=3, velocities_av=np.array([[0.001, 0.0, 0.002]] * 3))
    assert not np.allclose(record.ionic_steps[0].scaled_ac, record.last.scaled_ac)
    moving = "cell\n 1.0\n 9 0 0\n 0 9 0\n 0 0 9\n Mg O\n 2 1\nDirect\n" + 3 * " 0 0 0\n" + "\n" + 3 * " 1 1 1\n"
    write_contcar(tmp_path / "CONTCAR", replace(record, poscar=parse_poscar(moving)))
    found = read_poscar(tmp_path / "CONTCAR")
    np.testing.assert_allclose(found.scaled_ac, record.last.scaled_ac, atol=1e-14)
    np.testing.assert_allclose(found.lattice_cv, record.last.lattice_cv, atol=1e-14)
    np.testing.assert_allclose(found.velocities_av, record.last.velocities_av, atol=1e-14)
