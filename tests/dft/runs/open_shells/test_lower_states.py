"""Molecules and atoms end in the lowest of the states that their open shells have, by default."""

import pytest

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.run import run_inputs

BEGIN = "ISMEAR = 0\nSIGMA = 0.05\nISPIN = 2\n"


def _poscar(cell, symbols, places):
    rows = [f"{a} 0 0" if c == 0 else f"0 {a} 0" if c == 1 else f"0 0 {a}" for c, a in enumerate(cell)]
    kinds = list(dict.fromkeys(symbols))
    counts = " ".join(str(symbols.count(kind)) for kind in kinds)
    lines = [f"{x} {y} {z}" for x, y, z in places]
    return "\n".join(["molecule", "1", *rows, " ".join(kinds), counts, "Cartesian", *lines]) + "\n"


@pytest.fixture
def molecule(tmp_path):
    def result(lines, *poscar):
        (tmp_path / "INCAR").write_text(BEGIN + lines)
        (tmp_path / "POSCAR").write_text(_poscar(*poscar))
        (tmp_path / "KPOINTS").write_text("Gamma\n0\nGamma\n1 1 1\n")
        return run_inputs(read_inputs(tmp_path), threads=1, in_memory=True)

    return result


BORON = (5.2, 5.2, 5.2), ["B"], [(0, 0, 0)]
HYDROGEN = (5, 5, 8), ["H", "H"], [(0, 0, 0), (0, 0, 3)]


@pytest.mark.slow
def test_one_electron_of_a_p_shell_has_one_orbital(molecule):
    """Si, C, O and their like: the spherical atom is 0.05 to 0.3 eV too high."""
    held = molecule("ENCUT = 120\nPREC = Normal\nISYM = 2\n", *BORON)
    found = molecule("ENCUT = 120\nPREC = Normal\n", *BORON)
    assert held.converged and found.converged
    assert found.free_energy < held.free_energy - 0.02
    (note,) = (note for note in held.notes if "partly filled" in note)
    lower = held.free_energy - found.free_energy
    assert f"lower by {lower:.3f}"[:-1] in note and note.endswith("and not taken: ISYM is given")
    assert any(note.endswith(f"that state is taken: it is lower by {lower:.4f} eV") for note in found.notes)
    assert [step.step for step in found.steps] == list(range(1, len(found.steps) + 1))


@pytest.mark.slow
def test_vibrations_tell_of_a_partly_filled_level(molecule):
    found = molecule("ENCUT = 120\nPREC = Normal\nIBRION = 6\nNSW = 1\nEDIFF = 1E-6\n", *BORON)
    (note,) = (note for note in found.notes if "partly filled" in note)
    assert note.endswith("which vibrations do not look for; a run with NSW = 0 does, and says by how much it is lower")


@pytest.mark.slow
def test_without_symmetry_the_orbitals_are_chosen_before_the_first_step(molecule):
    found = molecule("ENCUT = 150\nPREC = Normal\n", *BORON)
    free = molecule("ENCUT = 150\nPREC = Normal\nISYM = 0\n", *BORON)
    assert free.converged and len(free.steps) < 15 and not any("partly filled" in note for note in free.notes)
    assert found.free_energy == pytest.approx(free.free_energy, abs=2e-3)  # other orientations in the box


@pytest.mark.slow
def test_parted_atoms_keep_opposite_spins(molecule):
    found = molecule("ENCUT = 250\nPREC = Accurate\n", *HYDROGEN)
    asked = molecule("ENCUT = 250\nPREC = Accurate\nMAGMOM = 1 -1\n", *HYDROGEN)
    assert found.converged and abs(found.moment) < 1e-6
    assert found.free_energy == pytest.approx(asked.free_energy, abs=2e-4)
    first, second = found.moment_a
    assert first == pytest.approx(-second, abs=1e-3) and abs(first) > 0.2
    parallel = molecule("ENCUT = 250\nPREC = Accurate\nMAGMOM = 1 1\n", *HYDROGEN)
    assert parallel.free_energy > found.free_energy + 0.03 and not any("opposite" in note for note in parallel.notes)


@pytest.mark.slow
# on grids of 1.75 G_cut; the sphere of 1.5 made these energies 0.16 and 0.13 eV lower: Accurate gives 2.8256, 35.931
@pytest.mark.parametrize(("name", "energy"), [("n2_stretched", 2.8255), ("no_b3lyp", 35.921), ("si_atom_isym", -0.827)])
def test_reported_molecules_end_where_less_symmetry_leads(shared_dir, name, energy):
    folder = shared_dir / "reference" / "reported" / name
    found = run_inputs(read_inputs(folder), threads=1, in_memory=True)
    assert found.converged and found.free_energy == pytest.approx(energy, abs=6e-3)


@pytest.mark.slow
def test_relaxations_go_on_with_the_symmetry_that_is_left(molecule):
    found = molecule("ENCUT = 250\nIBRION = 2\nNSW = 10\n", (6, 6, 6), ["N", "O"], [(0, 0, 0), (0, 0, 1.2)])
    assert found.converged and any("taken" in note for note in found.notes)
    assert abs(found.forces_av).max() < 0.05
