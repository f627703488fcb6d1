"""vasprun.xml is read whole by the packages people use, and says what the record says."""

import gzip
import time
import warnings
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.output.record import RunReport
from eigenwerk.io.vasp.output.xml.vasprun import write_vasprun


@pytest.fixture
def written(tmp_path, make_record):
    """Write a record made with the given keywords; returns the path and the record."""

    def write(**keywords):
        record = make_record(**keywords)
        write_vasprun(tmp_path / "vasprun.xml", record)
        return tmp_path / "vasprun.xml", record

    return write


def _pymatgen(path, kind="Vasprun"):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(outputs, kind)(str(path), parse_potcar_file=False)


def _number(root, path):
    return float(root.find(path).text)


def test_order_of_elements_is_that_of_vasp(written, shared_dir):
    """Every element of our file stands in the same place as in a file of VASP 6, leaving out those we do not write."""
    path, _ = written(stress=True)
    with gzip.open(shared_dir / "reference" / "vasp_outputs" / "mgo_pbesol_relax" / "vasprun.xml.gz") as file:
        theirs = ElementTree.parse(file).getroot()
    ours = ElementTree.parse(path).getroot()

    def outline(element):
        names = [f"{child.tag}:{child.get('name', '')}" for child in element]
        return list(dict.fromkeys(names))

    for parent in (".", "kpoints", "kpoints/generation", "atominfo", "calculation", "calculation/structure/crystal"):
        expected, found = outline(theirs.findall(parent)[-1]), outline(ours.findall(parent)[-1])
        own = {"separator:eigenwerk"}
        assert [name for name in found if name not in own] == [name for name in expected if name in found], parent
        assert set(found) - own <= set(expected), parent


def test_pymatgen_reads_everything(written):
    path, record = written()
    run = _pymatgen(path)
    assert run.vasp_version == "0.1.0" and run.generator["program"].lower() == "eigenwerk"
    assert run.converged and run.converged_electronic and not run.dos_has_errors
    assert run.final_energy == pytest.approx(-12.51182784, abs=1e-9)
    assert run.ionic_steps[0]["e_fr_energy"] == pytest.approx(-12.51682784, abs=1e-9)
    assert run.ionic_steps[0]["e_wo_entrp"] == pytest.approx(-12.50682784, abs=1e-9)
    np.testing.assert_allclose(run.ionic_steps[0]["forces"], record.last.forces_av, atol=1e-8)
    np.testing.assert_allclose(run.ionic_steps[0]["stress"], record.last.stress_vv, atol=1e-8)
    assert run.run_type == "PBE" and run.incar["EDIFF"] == 1e-10 and run.parameters["ENMAX"] == 450.0
    np.testing.assert_allclose(run.final_structure.frac_coords, record.last.scaled_ac, atol=1e-12)
    np.testing.assert_allclose(run.final_structure.lattice.matrix, record.last.lattice_cv, atol=1e-12)
    np.testing.assert_allclose(run.actual_kpoints, record.kpoint_kc, atol=1e-12)
    np.testing.assert_allclose(run.actual_kpoints_weights, record.weight_k, atol=1e-12)
    assert run.kpoints.style.name == "Monkhorst" and tuple(run.kpoints.kpts[0]) == (4, 3, 1)
    eig_up = next(iter(run.eigenvalues.values()))
    np.testing.assert_allclose(eig_up[:, :, 0], record.final.eig_skn[0], atol=1e-8)


def test_pymatgen_derives_entry_bands_dos_and_dictionary(written):
    path, record = written()
    run = _pymatgen(path)
    entry = run.get_computed_entry()
    assert entry.energy == pytest.approx(-12.51182784, abs=1e-9)
    assert entry.entry_id.startswith("vasprun-20260504-13")
    bands = run.get_band_structure()
    eig_kn = record.final.eig_skn[0]
    gap = eig_kn[:, 3].min() - eig_kn[:, 2].max()
    assert not bands.is_metal() and bands.get_band_gap()["energy"] == pytest.approx(gap, abs=1e-7)
    # Occupations of 3e-6 must not count as filled.
    assert run.eigenvalue_band_properties[0] == pytest.approx(gap, abs=1e-7)
    assert run.complete_dos.efermi == 2.25 and len(run.complete_dos.energies) == 11
    output = run.as_dict()
    assert output["output"]["efermi"] == 2.25 and output["input"]["potcar"] == ["Mg", "O"]
    assert output["input"]["potcar_type"] == ["PAW_PBE", "PAW_PBE"]


def test_pymatgen_takes_the_dataset_title_for_the_potcar_title(written):
    run = _pymatgen(written()[0])
    assert run.potcar_symbols[0] == "PAW_PBE Mg gpaw-data 1.2.1 Mg.PBE md5:0123abcd"
    assert run.hubbards == {} and run.atomic_symbols == ["Mg", "Mg", "O"]


def test_pymatgen_reads_bands_only(written):
    path, record = written(spins=2)
    run = _pymatgen(path, "BSVasprun")
    bands = run.get_band_structure()
    assert len(bands.bands) == 2 and run.as_dict()["output"]["efermi"] == 2.25
    np.testing.assert_allclose(sorted(b[0, 0] for b in bands.bands.values()), sorted(record.final.eig_skn[:, 0, 0]))


@pytest.mark.parametrize(("steps", "nelm"), [(3, 3), (3, 60), (1, 60)])
def test_pymatgen_never_calls_an_unconverged_run_converged(written, steps, nelm):
    """Also when the run gave up, or was stopped, long before NELM."""
    path, _ = written(converged=False, steps=steps, parameters={"NELM": nelm}, incar={"NELM": nelm})
    run = _pymatgen(path)
    assert not run.converged_electronic and not run.converged and run.incar["NELM"] == nelm


def test_lda_is_called_lda(written, make_record):
    record = make_record()
    species = tuple(replace(s, title=s.title.replace("PAW_PBE", "PAW")) for s in record.species)
    path, _ = written(species=species, parameters={"GGA": ""})
    assert _pymatgen(path).run_type == "LDA"


@pytest.mark.parametrize("spins", [1, 2])
def test_ase_reads_energies_forces_stress_and_bands(written, spins):
    io = pytest.importorskip("ase.io", reason="ASE is not installed")
    path, record = written(spins=spins, selective_ac=np.array([[False] * 3, [True] * 3, [True, False, True]]))
    atoms = io.read(path, format="vasp-xml")
    assert atoms.get_chemical_symbols() == ["Mg", "Mg", "O"] and len(atoms.constraints) == 2
    assert atoms.get_potential_energy(force_consistent=True) == pytest.approx(-12.51682784, abs=1e-9)
    # ASE takes E0 - F from the last step of self-consistency: 0.005 eV in both places here.
    assert atoms.get_potential_energy() == pytest.approx(-12.51182784, abs=1e-9)
    np.testing.assert_allclose(atoms.get_forces(apply_constraint=False), record.last.forces_av, atol=1e-8)
    from_kbar = -0.1 * 0.006241509074460763
    np.testing.assert_allclose(
        atoms.get_stress(voigt=False, apply_constraint=False), from_kbar * record.last.stress_vv
    )
    np.testing.assert_allclose(atoms.get_scaled_positions(wrap=False), record.last.scaled_ac, atol=1e-12)
    calc = atoms.calc
    assert calc.get_fermi_level() == 2.25 and calc.get_number_of_spins() == spins
    np.testing.assert_allclose(calc.get_ibz_k_points(), record.kpoint_kc, atol=1e-12)
    np.testing.assert_allclose(calc.get_eigenvalues(kpt=2, spin=spins - 1), record.final.eig_skn[-1, 2], atol=1e-8)


def test_missing_stress_reads_as_missing_not_as_zero(written):
    io = pytest.importorskip("ase.io", reason="ASE is not installed")
    calculators = pytest.importorskip("ase.calculators.calculator", reason="ASE is not installed")
    path, _ = written(stress=False)
    atoms = io.read(path, format="vasp-xml")
    with pytest.raises(calculators.PropertyNotImplementedError):
        atoms.get_stress()
    run = _pymatgen(path)
    assert "stress" not in run.ionic_steps[0] and run.as_dict()["output"]["final_energy"] == pytest.approx(-12.51182784)


def test_phonopy_reads_forces_and_energy_at_zero_smearing(written):
    """phonopy takes a version below 6 for VASP 5, where the second energy is the one at zero smearing."""
    vasp = pytest.importorskip("phonopy.interface.vasp", reason="phonopy is not installed")
    path, record = written()
    with open(path, "rb") as file:
        np.testing.assert_allclose(vasp.Vasprun(file, use_expat=True).read_forces(), record.last.forces_av, atol=1e-8)
    forces = vasp.parse_set_of_forces(3, [str(path)], verbose=False)
    residual = record.last.forces_av - record.last.forces_av.mean(axis=0)
    found = np.array(forces["forces"][0])
    np.testing.assert_allclose(found - found.mean(axis=0), residual, atol=1e-8)
    assert forces["supercell_energies"][0] == pytest.approx(-12.51182784, abs=1e-9)
    with open(path, "rb") as file:
        run = vasp.VasprunxmlExpat(file)
        run.parse()
    assert run.NELECT == 26 and run.efermi == 2.25 and run.fft_grid == [24, 24, 30]
    np.testing.assert_allclose(run.volume, abs(np.linalg.det(record.last.lattice_cv)))
    assert list(run.cell.symbols) == ["Mg", "Mg", "O"]


def test_settings_in_words_are_no_numbers_that_readers_find(written):
    """phonopy takes every <i name="NELECT"> for the number of electrons."""
    words = (("NELECT", "64 electrons", "sum of the valences"), ("NGX", "24", "from PREC & ENCUT"))
    path, _ = written(run_report=RunReport(described=(), settings=words, found=()))
    root = ElementTree.parse(path).getroot()
    assert {float(found.text) for found in root.iter("i") if found.get("name") == "NELECT"} == {26.0}
    settings = [(s.get("name"), s.text, s.get("origin")) for s in root.iter("setting")]
    assert settings == list(words)


def test_boltztrap2_finds_its_elements(written):
    """The paths that BoltzTraP2 26.3 looks up, as far as its format page and other readers tell."""
    root = ElementTree.parse(written(spins=2)[0]).getroot()
    electronic = root.find('parameters/separator[@name="electronic"]')
    assert (
        float(electronic.find('i[@name="NELECT"]').text) == 26
        and electronic.find('i[@name="NBANDS"]').text.strip() == "5"
    )
    spin = electronic.find('separator[@name="electronic spin"]')
    assert spin[0].get("name") == "ISPIN" and spin[0].text.strip() == "2"
    assert spin.find('i[@name="LNONCOLLINEAR"]').text.strip() == "F"
    assert spin.find('v[@name="SAXIS"]').text.split() == ["0.00000000", "0.00000000", "1.00000000"]
    assert len(spin.find('v[@name="MAGMOM"]').text.split()) == 3
    dos = root.find("calculation/dos")
    assert dos[0].get("name") == "efermi" and float(dos[0].text) == 2.25
    assert root.find('parameters/separator[@name="general"]/i[@name="SYSTEM"]').text == "Mg2O <made up> & small"
    assert root.find("incar") is not None and len(root.findall("calculation/eigenvalues/array/set/set/set/r")) == 40


def test_own_results_stand_in_their_own_place(written):
    root = ElementTree.parse(written(spins=2, converged=False)[0]).getroot()
    own = root.find('calculation/separator[@name="eigenwerk"]')
    assert own.find('i[@name="converged"]').text.strip() == "F"
    assert own.find('i[@name="status"]').text == "not converged: 4 > 1e-6 & still falling"
    assert _number(own, 'i[@name="absolute_energy"]') == pytest.approx(-12345.678901234, abs=1e-8)
    assert _number(own, 'i[@name="magnetization"]') == pytest.approx(1.9641)
    assert _number(root, 'calculation/scstep[3]/energy/i[@name="ewald"]') == pytest.approx(-358.54947623)


def test_kpoints_of_a_mesh_follow_from_its_generation_block(written):
    """k = Σ (m + usershift + shift) genvec, for the shifted even and the unshifted odd divisions."""
    path, record = written()
    block = ElementTree.parse(path).getroot().find("kpoints/generation")
    rows = {v.get("name"): np.array(v.text.split(), dtype=float) for v in block.findall("v")}
    genvec = np.stack([rows[f"genvec{c}"] for c in (1, 2, 3)])
    steps = np.stack(np.meshgrid(*(np.arange(n) for n in (4, 3, 1)), indexing="ij"), axis=-1).reshape(-1, 3)
    mesh_kc = (steps + rows["usershift"] + rows["shift"]) @ genvec
    distance = np.abs((record.kpoint_kc[:, None] - mesh_kc + 0.5) % 1 - 0.5).max(axis=2).min(axis=1)
    np.testing.assert_allclose(distance, 0, atol=1e-8)


def test_explicit_kpoints_have_no_generation_block(written):
    path, record = written(generation=None)
    run = _pymatgen(path)
    assert run.kpoints.style.name == "Reciprocal"
    np.testing.assert_allclose(run.kpoints.kpts, record.kpoint_kc, atol=1e-12)
    assert run.as_dict()["nsites"] == 3


def test_velocities_and_selective_flags_are_in_first_and_last_structure(written):
    velocities = np.array([[0.001, 0.0, -0.002]] * 3)
    path, _ = written(velocities_av=velocities, selective_ac=np.eye(3, dtype=bool))
    structures = ElementTree.parse(path).getroot().findall("structure")
    assert [s.get("name") for s in structures] == ["initialpos", "finalpos"]
    for structure in structures:
        rows = [v.text.split() for v in structure.findall('varray[@name="velocities"]/v')]
        np.testing.assert_allclose(np.array(rows, dtype=float), velocities)
    run = _pymatgen(path)
    assert run.final_structure.site_properties["selective_dynamics"][0] == [True, False, False]


def test_odd_titles_leave_the_file_readable(written):
    path, _ = written(title="a \x00 \x1b ü </modeling> ]]> é")
    root = ElementTree.parse(path).getroot()
    assert root.find('parameters/separator[@name="general"]/i').text == "a ? ? ü </modeling> ]]> é"
    assert _pymatgen(path).parameters["SYSTEM"].endswith("é")


def test_huge_and_undefined_numbers_stay_numbers(written, make_record):
    final = replace(make_record().final, fermi_level=-1e12)
    path, _ = written(final=final, free_energy=float("nan"), converged=False)
    run = _pymatgen(path)
    assert np.isnan(run.ionic_steps[0]["e_fr_energy"]) and run.efermi == -1e12


def test_a_record_without_steps_or_with_wrong_shapes_is_refused(make_record):
    with pytest.raises(ValueError, match="without steps"):
        make_record(steps=0)
    with pytest.raises(ValueError, match=r"kpoint_kc has shape \(2, 3\)"):
        make_record(kpoint_kc=np.zeros((2, 3)))
    with pytest.raises(ValueError, match="do not follow the species"):
        make_record(symbols=("Mg", "O", "Mg"))


def test_readers_find_every_ionic_step(written):
    """Energies, forces, structures and steps of each; the electrons of the last one alone."""
    io = pytest.importorskip("ase.io", reason="ASE is not installed")
    path, record = written(ionic=2, spins=2)
    run, images, root = _pymatgen(path), io.read(path, index=":", format="vasp-xml"), ElementTree.parse(path).getroot()
    assert len(run.ionic_steps) == len(images) == 2 and run.converged_electronic
    for ionic, found, atoms in zip(record.ionic_steps, run.ionic_steps, images, strict=True):
        assert found["e_fr_energy"] == pytest.approx(ionic.free_energy, abs=1e-8)
        assert found["e_0_energy"] == pytest.approx(ionic.energy_zero, abs=1e-8)
        assert len(found["electronic_steps"]) == len(ionic.steps)
        np.testing.assert_allclose(found["forces"], ionic.forces_av, atol=1e-8)
        np.testing.assert_allclose(found["structure"].frac_coords, ionic.scaled_ac, atol=1e-12)
        np.testing.assert_allclose(atoms.get_forces(apply_constraint=False), ionic.forces_av, atol=1e-8)
        np.testing.assert_allclose(atoms.cell[:], ionic.lattice_cv, atol=1e-12)
        np.testing.assert_allclose(atoms.get_scaled_positions(wrap=False), ionic.scaled_ac, atol=1e-12)
        assert atoms.get_potential_energy(force_consistent=True) == pytest.approx(ionic.free_energy, abs=1e-8)
    assert run.final_energy == pytest.approx(record.last.energy_zero, abs=1e-8)
    np.testing.assert_allclose(run.initial_structure.frac_coords, record.ionic_steps[0].scaled_ac, atol=1e-12)
    np.testing.assert_allclose(run.final_structure.lattice.matrix, record.last.lattice_cv, atol=1e-12)
    np.testing.assert_allclose(next(iter(run.eigenvalues.values()))[:, :, 0], record.final.eig_skn[0], atol=1e-8)
    first, last = root.findall("calculation")
    assert first.find("dos") is None and first.find("eigenvalues") is None and last.find("dos") is not None


def test_missing_folder_is_an_input_error(tmp_path, make_record):
    with pytest.raises(InputError, match=r"the folder does not exist.*--output"):
        write_vasprun(tmp_path / "nowhere" / "vasprun.xml", make_record())


def test_a_million_band_energies_take_about_a_second(tmp_path, make_record):
    record = make_record()
    shape = (1, 2000, 500)
    final = replace(record.final, eig_skn=np.full(shape, -1.5), occ_skn=np.ones(shape))
    large = make_record(final=final, kpoint_kc=np.zeros((2000, 3)), weight_k=np.full(2000, 1 / 2000))
    start = time.perf_counter()
    write_vasprun(tmp_path / "vasprun.xml", large)
    seconds = time.perf_counter() - start
    # About 1 s on an idle core of 2020; a loop of Python per number takes ten times as long.
    assert seconds < 6, f"{seconds:.1f} s"
