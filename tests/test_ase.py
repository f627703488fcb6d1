"""The calculator of ASE: properties in ASE's units, fresh results from kept states, nothing silent."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.calculator import PropertyNotImplementedError, SCFError
from ase.constraints import FixAtoms
from ase.md.verlet import VelocityVerlet
from ase.mep import NEB
from ase.optimize import BFGS
from ase.units import fs

from eigenwerk.ase import Eigenwerk
from eigenwerk.errors import InputError

SETTINGS = {"encut": 150, "kpts": (2, 1, 1), "ediff": 1e-7, "ismear": 0, "sigma": 0.05}


def silicon(**more):
    atoms = bulk("Si")
    atoms.rattle(0.05, seed=1)
    atoms.calc = Eigenwerk(**(SETTINGS | more))
    return atoms


def applications(atoms):
    atoms.get_potential_energy()
    return atoms.calc.result.run.applications


@pytest.mark.slow
def test_a_kept_state_gives_what_a_fresh_start_gives():
    kept, fresh = silicon(), silicon(keep=False)
    assert applications(kept) == applications(fresh)
    for atoms in (kept, fresh):
        atoms.positions[0] += 0.02
        atoms.set_cell(atoms.cell * 1.01, scale_atoms=True)
    assert applications(kept) < applications(fresh)
    assert kept.get_potential_energy() == pytest.approx(fresh.get_potential_energy(), abs=1e-5)
    np.testing.assert_allclose(kept.get_forces(), fresh.get_forces(), atol=1e-3)
    np.testing.assert_allclose(kept.get_stress(), fresh.get_stress(), atol=1e-5)


@pytest.mark.slow
def test_several_structures_predict_the_next_one_better_than_the_last_alone():
    """Steps along a line: from the third on two states and more say where the next one is."""
    def carbide(**more):
        atoms = bulk("SiC", "zincblende", a=4.36)
        atoms.rattle(0.05, seed=1)
        atoms.calc = Eigenwerk(**(SETTINGS | {"kpts": (2, 1, 1), "encut": 200} | more))
        return atoms

    atoms, counts = carbide(), []
    for _ in range(5):
        counts.append(applications(atoms))
        atoms.positions[0] += 0.02
    assert counts[-1] < 0.8 * counts[1] < counts[0]
    fresh = carbide(keep=False)
    fresh.set_positions(atoms.get_positions())
    assert atoms.get_potential_energy() == pytest.approx(fresh.get_potential_energy(), abs=1e-5)
    np.testing.assert_allclose(atoms.get_forces(), fresh.get_forces(), atol=1e-3)


def test_forces_and_stress_are_derivatives_of_the_free_energy():
    atoms = silicon(encut=250)
    force, step = atoms.get_forces()[0, 0], 0.01
    energies = []
    for sign in (1, -1):
        atoms.positions[0, 0] += sign * step
        energies.append(atoms.get_potential_energy(force_consistent=True))
        atoms.positions[0, 0] -= sign * step
    assert (energies[1] - energies[0]) / (2 * step) == pytest.approx(force, abs=5e-3)
    stress = atoms.get_stress(voigt=False)
    assert stress == pytest.approx(stress.T) and np.abs(stress).max() > 0.01


@pytest.mark.slow
def test_on_a_fixed_basis_the_stress_is_the_derivative_of_the_energy_from_cell_to_cell():
    """At a cutoff at which plane waves that come and go change the energy by much more."""
    slopes = {}
    for fixed in (True, False):
        atoms = silicon(kpts=(2, 2, 2), fixed_basis=fixed)
        cell, energies = atoms.cell.copy(), []
        stress = np.trace(atoms.get_stress(voigt=False)) * atoms.get_volume()
        for strain in (0.01, -0.01):
            atoms.set_cell(cell * (1 + strain), scale_atoms=True)
            energies.append(atoms.get_potential_energy(force_consistent=True))
        slopes[fixed] = (energies[0] - energies[1]) / 0.02 - stress
    assert abs(slopes[True]) < 0.1 < abs(slopes[False])


@pytest.mark.slow
def test_a_fixed_basis_is_made_anew_where_settings_or_atoms_change():
    atoms = silicon(fixed_basis=True)
    first = atoms.get_potential_energy()
    atoms.calc.set(encut=180)
    finer = atoms.get_potential_energy()
    fresh = silicon(encut=180).get_potential_energy()
    assert finer == pytest.approx(fresh, abs=1e-5) and abs(finer - first) > 1e-3
    other = Atoms("SiC", positions=atoms.positions, cell=atoms.cell, pbc=True)
    alone = silicon(encut=180).calc
    assert atoms.calc.get_potential_energy(other) == pytest.approx(alone.get_potential_energy(other), abs=1e-4)


@pytest.mark.slow
def test_crystals_with_an_inversion_are_predicted_from_several_states():
    """Their orbitals are real numbers about a centre that stays."""
    atoms, counts = silicon(kpts=(3, 1, 1)), []
    for _ in range(3):
        counts.append(applications(atoms))
        atoms.positions[0] += 0.01
        atoms.positions[1] -= 0.01
    assert atoms.calc.result.state.system.basis.inversion is not None
    assert counts[2] < 0.7 * counts[1] < counts[0]


@pytest.mark.slow
def test_an_optimiser_finds_the_place_of_the_atoms():
    atoms = silicon(kpts=(2, 2, 2))
    BFGS(atoms, logfile=None).run(fmax=0.02, steps=15)
    assert np.abs(atoms.get_distance(0, 1, mic=True) - 5.43 * 3**0.5 / 4) < 0.005


@pytest.mark.slow
def test_molecular_dynamics_and_neb_use_it():
    atoms = silicon()
    VelocityVerlet(atoms, timestep=1 * fs).run(1)
    ends = [silicon(kpts=(1, 1, 1)) for _ in range(2)]
    ends[1].positions[1] += 0.05
    images = [ends[0], silicon(kpts=(1, 1, 1)), ends[1]]
    band = NEB(images, method="improvedtangent")
    band.interpolate()
    assert np.isfinite(band.get_forces()).all()


@pytest.mark.slow
def test_spin_comes_from_the_moments_of_the_atoms():
    oxygen = Atoms("O", cell=[4, 4, 4], magmoms=[2.0], pbc=False)
    oxygen.calc = Eigenwerk(encut=250, kpts=(1, 1, 1), ismear=0, sigma=0.01)
    with pytest.warns(UserWarning, match="encut"):
        assert oxygen.get_magnetic_moment() == pytest.approx(2, abs=1e-3)
    assert oxygen.get_magnetic_moments().shape == (1,)
    first = oxygen.calc._continuation
    oxygen.set_initial_magnetic_moments([0.0])
    assert oxygen.get_magnetic_moment() == 0
    assert first is not oxygen.calc._continuation


@pytest.mark.slow
def test_an_unconverged_structure_raises_and_leaves_no_results():
    atoms = silicon(nelm=2)
    with pytest.raises(SCFError, match="NOT CONVERGED in 2 steps"):
        atoms.get_potential_energy()
    assert atoms.calc.results == {} and atoms.calc.result is None
    atoms.calc.set(nelm=60)
    assert np.isfinite(atoms.get_potential_energy())


@pytest.mark.slow
def test_other_atoms_begin_afresh_and_settings_can_be_changed():
    atoms = silicon()
    atoms.get_potential_energy()
    before = atoms.calc.result
    assert not atoms.calc.set(encut=150) and atoms.calc.result is before
    assert atoms.calc.set(encut=160) and atoms.calc.results == {}
    other = bulk("Ge")
    other.calc = atoms.calc
    assert other.get_potential_energy() != pytest.approx(before.energy_eV, abs=0.1)


def test_levels_are_there_by_the_names_of_ase_and_moments_only_with_spin():
    atoms = silicon(bands="G X")
    atoms.get_potential_energy()
    calc, result = atoms.calc, atoms.calc.result
    assert calc.get_fermi_level() == result.fermi_level_eV and calc.get_number_of_spins() == 1
    np.testing.assert_array_equal(calc.get_ibz_k_points(), result.kpoints)
    np.testing.assert_array_equal(calc.get_k_point_weights(), result.weights)
    np.testing.assert_array_equal(calc.get_eigenvalues(kpt=1, spin=0), result.eigenvalues_eV[0, 1])
    np.testing.assert_array_equal(calc.get_occupation_numbers(), result.occupations[0, 0])
    assert calc.get_number_of_bands() == result.eigenvalues_eV.shape[2] and not calc.get_spin_polarized()
    assert calc.band_structure().path.path == "GX" and atoms.get_magnetic_moment() == 0
    with pytest.raises(PropertyNotImplementedError, match="moments need ispin=2"):
        atoms.get_magnetic_moments()
    assert calc.result is result  # nothing was computed once more


@pytest.mark.slow
def test_stress_that_is_not_wanted_is_not_there():
    atoms = silicon(isif=0)
    with pytest.raises(PropertyNotImplementedError):
        atoms.get_stress()


def test_bad_input_names_the_keyword():
    atoms = silicon(nbands=1)
    with pytest.raises(InputError, match="nbands = 1, but 8 electrons"):
        atoms.get_potential_energy()
    water = molecule("H2O")
    water.calc = Eigenwerk()
    with pytest.raises(InputError, match="no cell"):
        water.get_potential_energy()


@pytest.mark.slow
def test_without_ase_a_sentence_says_what_to_install():
    words = "import sys; sys.modules['ase'] = None; import eigenwerk.ase"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True)
    assert done.returncode == 1 and "pip install 'eigenwerk[ase]'" in done.stderr


@pytest.mark.slow
def test_a_mesh_by_spacing_stays_on_a_fixed_basis_and_is_told_where_it_changes():
    """Bulk modulus of silicon: 89 GPa on one mesh; 199 where the mesh shrinks within the curve."""
    def curve(**more):
        atoms, volumes, energies = bulk("Si"), [], []
        atoms.calc, cell = Eigenwerk(encut=150, kspacing=0.66, ismear=0, sigma=0.05, **more), atoms.cell.copy()
        for scale in (0.99, 1.0, 1.01, 1.02, 1.03):
            atoms.set_cell(cell * scale, scale_atoms=True)
            energies.append(atoms.get_potential_energy())
            volumes.append(atoms.get_volume())
        return energies, [len(atoms.calc.result.weights), atoms.calc.result.eigenvalues_eV.shape[1]]

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        kept, points = curve(fixed_basis=True)
        assert points == [8, 8] and not [one for one in heard if "k-mesh" in str(one.message)]
        steps, _ = curve()
    said = [str(one.message) for one in heard if "k-mesh" in str(one.message)]
    assert len(said) == 1 and "from 4 x 4 x 4 to 3" in said[0] and "kpts=(4, 4, 4)" in said[0]
    smooth, rough = (np.abs(np.diff(energies, 3)).max() for energies in (kept, steps))
    assert rough > 10 * smooth


@pytest.mark.slow
def test_a_fixed_basis_serves_a_cell_with_more_symmetry_than_its_own():
    atoms = bulk("Si")
    cell = atoms.cell.copy()
    atoms.calc = Eigenwerk(encut=120, kpts=(2, 2, 2), ismear=0, sigma=0.05, fixed_basis=True)
    energies = []
    for stretched in (1.002, 1.0):
        atoms.set_cell(cell * [1, 1, stretched], scale_atoms=True)
        energies.append(atoms.get_potential_energy())
    fresh = bulk("Si")
    fresh.calc = Eigenwerk(encut=120, kpts=(2, 2, 2), ismear=0, sigma=0.05)
    assert abs(energies[1] - fresh.get_potential_energy()) < 0.01 and energies[0] != energies[1]


def test_settings_that_move_atoms_are_refused():
    atoms = silicon(nsw=3, ibrion=2)
    with pytest.raises(InputError, match="nsw = 3: this moves the atoms within the calculator"):
        atoms.get_potential_energy()
    atoms.calc.set(ibrion=-1)
    atoms.get_potential_energy()


@pytest.mark.slow
def test_a_warning_is_told_once():
    atoms = silicon(kpts=(1, 1, 1))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for _ in range(2):
            atoms.rattle(0.01, seed=2)
            atoms.get_potential_energy()
    assert sum("Gamma is the only k-point" in str(one.message) for one in heard) == 1


@pytest.mark.slow
def test_constraints_of_the_atoms_are_kept_by_ase(tmp_path):
    atoms = silicon(folder=tmp_path)
    atoms.set_constraint(FixAtoms([0]))
    before = atoms.get_positions()
    BFGS(atoms, logfile=None).run(fmax=0.02, steps=2)
    moved = np.abs(atoms.get_positions() - before).max(axis=1)
    assert moved[0] == 0 < 1e-3 < moved[1]
    assert any("1 of 2 atoms is held" in words for words in atoms.calc.result.notes)
    assert "Selective dynamics" in (tmp_path / "POSCAR").read_text()
