"""OUTCAR is read by pymatgen and ASE, number by number, in the phrases of published files."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.io.quantity import Quantity, Values
from eigenwerk.io.vasp.output.outcar.outcar import write_outcar
from eigenwerk.io.vasp.output.potentials import CorePotentials, VacuumLevels

VACUUM, CORE = (Quantity(name, "eV") for name in ("vacuum", "core_potentials"))


@pytest.fixture
def written(tmp_path, make_record):
    """Write a record made with the given keywords; returns the path and the record."""

    def write(**keywords):
        record = make_record(**keywords)
        write_outcar(tmp_path / "OUTCAR", record)
        return tmp_path / "OUTCAR", record

    return write


def _pymatgen(path):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return outputs.Outcar(str(path))


def _ase(path):
    io = pytest.importorskip("ase.io", reason="ASE is not installed")
    return io.read(path, index=":", format="vasp-out")


CHARGE = np.array(
    [[[0.8, 1.5, 5.5], [0.7, 1.25, 0.125], [1.6, 3.5, 0.0]], [[0.1, 0.2, 0.6], [0, 0, 0.5], [0, -0.1, 0]]]
)


@pytest.mark.parametrize("spins", [1, 2])
def test_pymatgen_reads_every_number(written, spins):
    path, record = written(spins=spins, charge_xal=CHARGE[:spins])
    run, last = _pymatgen(path), record.last
    assert run.efermi == 2.25 and run.nelect == 26 and run.total_mag == last.steps[-1].moment
    assert (run.final_fr_energy, run.final_energy) == (last.free_energy, last.energy_zero)
    assert run.final_energy_wo_entrp == last.energy_without_entropy
    assert run.data["nbands"] == 5 and run.data["nplwv"] == [[24 * 24 * 30]] and run.data["ibrion"] == [[-1]]
    assert run.data["nplwvs_at_kpoints"] == [120, 118, 123, 119] and run.spin == (spins == 2) and not run.is_stopped
    np.testing.assert_allclose(run.drift, [last.forces_av.sum(axis=0)], atol=1e-8)
    assert run.run_stats["Elapsed time (sec)"] == 12.5 and run.run_stats["Total CPU time used (sec)"] == 11.25
    assert run.run_stats["Maximum memory used (kb)"] == 123456 and run.run_stats["cores"] == 4
    assert run.run_stats["Average memory used (kb)"] is None
    steps = [step.free_energy - step.energy_without_entropy for step in last.steps]
    assert [float(value[0]) for value in run.data["EENTRO"]] == pytest.approx(steps, abs=1e-8)
    for found, charge_al in zip((run.charge, run.magnetization), CHARGE[:spins], strict=False):
        table = [[atom[name] for name in ("s", "p", "d", "tot")] for atom in found]
        np.testing.assert_allclose(table, np.column_stack([charge_al, charge_al.sum(axis=1)]), atol=1e-6)
    assert len(run.magnetization) == (3 if spins == 2 else 0)


@pytest.mark.parametrize("spins", [1, 2])
def test_ase_reads_every_number(written, spins):
    path, record = written(spins=spins, ionic=2, charge_xal=CHARGE[:spins])
    images = _ase(path)
    assert len(images) == 2
    for atoms, ionic in zip(images, record.ionic_steps, strict=True):
        assert atoms.get_chemical_symbols() == list(record.symbols)
        np.testing.assert_allclose(atoms.cell, ionic.lattice_cv, atol=1e-9)
        np.testing.assert_allclose(atoms.positions, ionic.scaled_ac @ ionic.lattice_cv, atol=1e-8)
        np.testing.assert_allclose(atoms.get_forces(), ionic.forces_av, atol=1e-8)
        stress_vv = -0.1 * ionic.stress_vv / 160.21766208
        np.testing.assert_allclose(atoms.get_stress(voigt=False), stress_vv, atol=1e-7)
        assert atoms.get_potential_energy() == pytest.approx(ionic.energy_zero, abs=1e-8)
        assert atoms.get_potential_energy(force_consistent=True) == pytest.approx(ionic.free_energy, abs=1e-8)
    if spins == 2:
        assert images[-1].get_magnetic_moment() == pytest.approx(record.last.steps[-1].moment)
        np.testing.assert_allclose(images[-1].get_magnetic_moments(), CHARGE[1].sum(axis=1), atol=1e-6)
        kpoint = images[-1].calc.kpts[5]
        assert kpoint.weight == pytest.approx(record.weight_k[1]) and kpoint.s == 1
        np.testing.assert_allclose(kpoint.eps_n, record.final.eig_skn[1, 1], atol=1e-8)
        np.testing.assert_allclose(kpoint.f_n, record.final.occ_skn[1, 1], atol=1e-6)


def test_table_of_one_atom_has_no_sum_and_is_read(tmp_path, make_record):
    record = make_record(spins=2)
    one = replace(record.last, scaled_ac=np.zeros((1, 3)), forces_av=np.zeros((1, 3)), moment_a=np.zeros(1))
    one = replace(one, charge_xal=CHARGE[:, :1])
    species = (replace(record.species[0], count=1),)
    write_outcar(tmp_path / "OUTCAR", replace(record, symbols=("Mg",), species=species, ionic_steps=(one,)))
    run = _pymatgen(tmp_path / "OUTCAR")
    assert [atom["tot"] for atom in run.charge] == [7.8] and [atom["d"] for atom in run.magnetization] == [0.6]
    np.testing.assert_allclose(_ase(tmp_path / "OUTCAR")[-1].get_magnetic_moments(), [0.9])


def test_phrases_are_those_of_published_files(written, shared_dir):
    """Each phrase that a reader looks for stands in the OUTCAR of VASP 5.4 in the same words, and in the same order."""
    path, _ = written(spins=2, charge_xal=CHARGE, seconds=1.5)
    theirs = (shared_dir / "reference" / "vasp_outputs" / "fe_spin" / "OUTCAR").read_text()
    ours = path.read_text()
    phrases = [
        " running on ", " POTCAR:", "   VRHFIN =", " Dimension of arrays:", "NKPTS =", "number of bands    NBANDS=",
        "number of ions     NIONS =", "total plane-waves  NPLWV =", "   ions per type =", "   ISPIN  =", "   EDIFF  =",
        "   IBRION =", "   POMASS =", "   ZVAL   =", "total number of electrons", "direct lattice vectors",
        " k-points in reciprocal lattice and weights:", "position of ions in cartesian coordinates  (Angst):",
        "plane waves:", "maximum and minimum number of plane-waves", " Iteration    1(   1)", "  LOOP:",
        " total energy-change (2. order) :", " number of electron ", " magnetization ",
        " Free energy of the ion-electron system (eV)", "entropy T*S    EENTRO =", "free energy    TOTEN  =",
        "energy without entropy =", "energy(sigma->0) =", " E-fermi : ", " spin component 1\n",
        "  band No.  band energies     occupation", " spin component 2\n",
        " aborting loop because EDIFF is reached ", " total charge     ",
        "# of ion", " magnetization (x)\n", "FORCE on cell =-STRESS in cart. coord.  units (eV):", "  in kB ",
        "  external pressure =", " VOLUME and BASIS-vectors are now :",
        " POSITION                                       TOTAL-FORCE (eV/Angst)", "    total drift:",
        "  FREE ENERGIE OF THE ION-ELECTRON SYSTEM (eV)", "free  energy   TOTEN  =", "energy  without entropy=",
        "     LOOP+:", " General timing and accounting informations for this job:", "Total CPU time used (sec):",
        "User time (sec):", "System time (sec):", "Elapsed time (sec):", "Maximum memory used (kb):",
        "Average memory used (kb):", "Voluntary context switches:",
    ]  # fmt: skip
    for text in (theirs, ours):
        at = 0
        for phrase in phrases:
            assert phrase in text[at:], phrase
            at = text.index(phrase, at)


@pytest.mark.parametrize(
    ("converged", "nelm", "words"),
    [
        (True, 60, "because EDIFF is reached"),
        (False, 3, "EDIFF was not reached"),
        (False, 60, "because hard stop was set"),
    ],
)
def test_end_of_the_loop_is_told_in_words_of_vasp(written, converged, nelm, words):
    path, _ = written(converged=converged, parameters={"NELM": nelm})
    (line,) = [line for line in path.read_text().splitlines() if "aborting loop" in line]
    assert words in line


def test_a_run_on_its_way_has_no_results_yet(written):
    path, _ = written(converged=False, resources=None, forces_av=None)
    text = path.read_text()
    for phrase in ("aborting loop", "E-fermi", "TOTAL-FORCE", "FREE ENERGIE", "General timing"):
        assert phrase not in text
    assert text.count("Iteration") == 3 and _pymatgen(path).run_stats == {"cores": 4}


def test_pymatgen_reads_vacuum_levels(written, make_record):
    final = replace(make_record().final, values=Values({VACUUM: VacuumLevels(2, 12.0, 4.25, 3.5)}))
    run = _pymatgen(written(final=final)[0])
    run.read_vacuum_potentials()
    assert (run.data["vacuum_potential_upper"], run.data["vacuum_potential_lower"]) == (4.25, 3.5)


def test_pymatgen_reads_potentials_at_cores(written, make_record):
    """Beside vacuum levels, and on more than one line."""
    core = CorePotentials(np.array([-83.624, -7.5, -123.45678]), {"Mg": 0.9892, "O": 0.7215})
    values = Values({VACUUM: VacuumLevels(2, 12.0, 4.25, 3.5), CORE: core})
    final = replace(make_record().final, values=values)
    assert _pymatgen(written(final=final)[0]).read_avg_core_poten() == [[-83.624, -7.5, -123.4568]]


def test_nothing_is_said_of_what_was_not_computed(written):
    path, _ = written(forces_av=None, stress=False, basis=None)
    text = path.read_text()
    for phrase in ("in kB", "TOTAL-FORCE", "drift", "total charge", "NPLWV", "plane waves:", "LOOP+"):
        assert phrase not in text


def test_custodian_finds_entropies_and_steps(written):
    """The patterns of custodian's handlers for wide smearing and wall time."""
    path, record = written(ionic=2)
    run = _pymatgen(path)
    run.read_pattern({"entropy": r"entropy T\*S.*= *(\D\d*\.\d*)"}, postprocess=float)
    run.read_pattern({"step": r"Iteration\s*\d+\s*\(\s*(\d+)\s*\)", "ended": "(aborting loop)"})
    run.read_pattern({"seconds": "LOOP:.+real time(.+)"}, postprocess=float)
    assert [step[0] for step in run.data["step"]] == ["1", "2", "3", "4", "1", "2", "3"]
    assert len(run.data["entropy"]) == 7 and run.data["entropy"][0] == [pytest.approx(-0.01)]
    assert len(run.data["ended"]) == 2 and run.data["seconds"] == [[0.25]] * 7
    assert record.version in path.read_text().splitlines()[0]


def test_a_dispersion_correction_stands_in_vasps_words(tmp_path, make_record):
    record = make_record()
    path = tmp_path / "OUTCAR"
    write_outcar(path, record)
    assert "Edisp" not in path.read_text()
    last = replace(record.last, components={**record.last.components, "dispersion": -28.80731})
    write_outcar(path, replace(record, ionic_steps=(*record.ionic_steps[:-1], last)))
    lines = [line for line in path.read_text().splitlines() if "Edisp (eV)" in line]
    assert lines == ["  Edisp (eV)    -28.80731"] and lines[0].split()[2] == "-28.80731"  # where scripts look
    assert _pymatgen(path).final_energy == pytest.approx(record.last.energy_zero)
    assert _ase(path)[-1].get_potential_energy() == pytest.approx(record.last.energy_zero)
