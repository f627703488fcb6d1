"""What people do with a result: ASE's atoms, bands, density of states and pictures, in memory and from a folder."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from ase import units
from ase.build import bulk
from ase.io import read, write

from eigenwerk import dft
from eigenwerk.dft.runs.api.as_ase import atoms_of
from eigenwerk.errors import InputError

SETTINGS = {"encut": 150, "kpts": (2, 1, 1), "ismear": 0, "sigma": 0.1, "lorbit": 11, "isif": 2, "lvhar": True}


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    folder, atoms = tmp_path_factory.mktemp("silicon"), bulk("Si")
    atoms.rattle(0.02, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dft.run(atoms, bands="G X Y", folder=folder, **SETTINGS), folder


def test_a_folder_is_read_to_the_last_digit(computed):
    made, folder = computed
    read_one = dft.Result.read(folder)
    for name in ("free_energy_eV", "energy_eV", "fermi_level_eV", "gap_eV", "converged", "status", "warnings"):
        assert getattr(read_one, name) == getattr(made, name)
    for name in ("forces_eV_per_A", "stress_GPa", "eigenvalues_eV", "occupations", "kpoints", "weights"):
        np.testing.assert_allclose(getattr(read_one, name), getattr(made, name), rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(read_one.bands.energies_eV, made.bands.energies_eV)
    np.testing.assert_allclose(read_one.dos.partial_per_eV, made.dos.partial_per_eV, atol=1e-4)
    assert read_one.bands.labels == made.bands.labels and read_one.dos.columns == made.dos.columns
    assert read_one.bands.effective_masses == made.bands.effective_masses
    assert {"vasprun.xml", "eigenwerk.h5", "OUTCAR"} <= read_one.files.keys() <= made.files.keys()
    assert set(read_one.run.as_dict()) == set(made.run.as_dict())
    with pytest.raises(InputError, match="holds no orbitals"):
        dft.run(bulk("Si"), start=read_one, **SETTINGS)


def test_density_and_potential_of_the_state_are_those_of_the_files(computed):
    made, read_one = computed[0], dft.Result.read(computed[1])
    volume = abs(np.linalg.det(made.density.lattice_A))
    assert made.density.electrons_per_A3.mean() * volume == pytest.approx(8, abs=1e-6)
    assert made.density.magnetisation_muB_per_A3 is None and "8.0000 electrons" in repr(made.density)
    np.testing.assert_allclose(read_one.density.electrons_per_A3, made.density.electrons_per_A3, atol=1e-8)
    np.testing.assert_allclose(read_one.potential.electrostatic_eV, made.potential.electrostatic_eV, atol=1e-6)
    distance_A, mean_eV = made.potential.planar_average(2)
    assert mean_eV.mean() == pytest.approx(made.potential.electrostatic_eV.mean())
    assert distance_A[1] * len(distance_A) == pytest.approx(5.43 / 3**0.5)  # between the planes across a vector
    with pytest.raises(InputError, match=r"no CHGCAR of its run"):
        _ = replace(read_one, run=replace(read_one.run, files={})).density


def test_folders_without_a_whole_run_say_what_is_wrong(computed, tmp_path):
    with pytest.raises(InputError, match=r"no vasprun.xml"):
        dft.Result.read(tmp_path)
    text = (computed[1] / "vasprun.xml").read_text()
    (tmp_path / "vasprun.xml").write_text(text[: len(text) // 2])
    with pytest.raises(InputError, match="not a whole XML file"):
        dft.Result.read(tmp_path)
    (tmp_path / "vasprun.xml").write_text(text)  # alone it has fewer digits
    alone = dft.Result.read(tmp_path)
    assert alone.free_energy_eV == pytest.approx(computed[0].free_energy_eV, abs=1e-8) and alone.bands is None
    np.testing.assert_allclose(alone.eigenvalues_eV, computed[0].eigenvalues_eV, atol=1e-7)


def test_nothing_fills_the_screen(computed):
    made, run = computed[0], computed[0].run
    for one in (made, made.bands, made.dos, run, made.state, run.record, run.ground_state, run.bands):
        assert len(repr(one)) < 400 and "\n" not in repr(one)
    assert "G-X-Y" in repr(made.bands) and "parts of 2 atoms" in repr(made.dos)


def test_atoms_carry_what_was_found(computed, tmp_path):
    made = computed[0]
    atoms = made.atoms
    assert atoms.get_potential_energy() == made.energy_eV
    assert atoms.get_potential_energy(force_consistent=True) == made.free_energy_eV
    np.testing.assert_array_equal(atoms.get_forces(), made.forces_eV_per_A)
    np.testing.assert_allclose(atoms.get_stress(voigt=False) / units.GPa, made.stress_GPa, rtol=1e-6, atol=1e-12)
    calc = atoms.calc
    assert calc.get_fermi_level() == made.fermi_level_eV and calc.get_number_of_spins() == 1
    np.testing.assert_array_equal(calc.get_eigenvalues(kpt=1, spin=0), made.eigenvalues_eV[0, 1])
    np.testing.assert_array_equal(calc.get_k_point_weights(), made.weights)
    write(tmp_path / "all.xyz", made.trajectory)
    again = read(tmp_path / "all.xyz")
    np.testing.assert_allclose(again.get_forces(), made.forces_eV_per_A, atol=1e-7)
    assert "magmoms" not in calc.results and "masses" not in atoms.arrays


def test_atoms_of_a_step_have_velocities_and_what_may_not_move(computed):
    record = computed[0].run.record
    step = replace(record.last, velocities_av=np.full((2, 3), 0.01), converged=False)
    may_ac = np.array([[True, False, True], [False, False, False]])
    atoms = atoms_of(replace(record, ionic_steps=(step,), selective_ac=may_ac), step)
    assert atoms.calc is None  # the electrons have not converged
    assert [type(one).__name__ for one in atoms.constraints] == ["FixAtoms", "FixScaled"]
    np.testing.assert_array_equal(atoms.constraints[0].index, [1])
    free = atoms.copy()
    free.set_constraint()
    free.set_velocities(step.velocities_av / units.fs)
    np.testing.assert_allclose(free.get_velocities() * units.fs, 0.01)


def test_bands_for_ase_and_in_a_picture(computed):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    bands = computed[0].bands
    curves = bands.to_ase()
    assert curves.path.path == "GXY" and curves.reference == bands.zero_eV
    np.testing.assert_array_equal(curves.energies, bands.energies_eV)
    axes = Figure().subplots()
    assert bands.plot(axes, window_eV=(-3, 4), title="silicon") is axes and axes.get_ylim() == (-3, 4)
    assert axes.get_title(loc="left").startswith("silicon: gap") and len(axes.lines) > bands.energies_eV.shape[2]


def test_the_density_of_states_by_element_and_orbital(computed):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    dos = computed[0].dos
    parts_sx = sum(dos.of("Si", orbital) for orbital in "spd")
    np.testing.assert_allclose(parts_sx, dos.of(), atol=1e-12)
    np.testing.assert_allclose(dos.of("Si", "x2-y2") + dos.of(None, "dxy"), dos.partial_per_eV[..., [8, 4]].sum((2, 3)))
    with pytest.raises(ValueError, match=r"O, s: there are Si, and s, py"):
        dos.of("O", "s")
    axes = Figure().subplots()
    assert dos.plot(axes, parts="element") is axes and "valence band top" in axes.get_xlabel()
    assert [text.get_text() for text in axes.get_legend().texts] == ["total", "Si"]
