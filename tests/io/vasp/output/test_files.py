"""Files of a run on its way are the same whether or not parts of them were made before; what they say of dynamics."""

import warnings
from dataclasses import replace

import h5py
import numpy as np
import pytest

from eigenwerk.io.run_stamp import RunStamp
from eigenwerk.io.vasp.output.files import OUTPUT_FILES
from eigenwerk.io.vasp.output.xml import vasprun

TEXTS = ("vasprun.xml", "OUTCAR", "OSZICAR", "XDATCAR", "CONTCAR")
VELOCITY = np.array([[0.001, -0.002, 0.0035], [0.0, 0.01, 0.0], [-0.004, 0.0, 0.002]])
BATH = {"thermostat": -0.21, "thermostat_kinetic": 0.125, "lattice_kinetic": 0.0625}
DYNAMICS = {"temperature": 291.84, "kinetic": 0.5, "conserved": -12.0, "velocities_av": VELOCITY, **BATH}
TAGS = {"NSW": 3, "IBRION": 0, "POTIM": 2.0, "SMASS": 0.0, "MDALGO": 2}


def _write(folder, record):
    folder.mkdir(exist_ok=True)
    for file in OUTPUT_FILES:
        if file.due(record):
            file.write(folder / file.name, record)
    return folder


@pytest.fixture
def dynamics(make_record, tmp_path):
    record = make_record(ionic=3, parameters=TAGS, incar=TAGS, **DYNAMICS)
    return _write(tmp_path / "run", record), record


@pytest.mark.fast("True")
@pytest.mark.parametrize("fixed_cell", [True, False])
def test_files_of_a_growing_run_are_those_of_one_that_is_written_once(tmp_path, make_record, monkeypatch, fixed_cell):
    whole = make_record(ionic=5, parameters=TAGS, **DYNAMICS)
    steps = [replace(step, scaled_ac=step.scaled_ac + 0.01 * n) for n, step in enumerate(whole.ionic_steps)]
    if fixed_cell:
        steps = [replace(step, lattice_cv=whole.last.lattice_cv) for step in steps]
    made, first = [], vasprun._scstep
    monkeypatch.setattr(vasprun, "_scstep", lambda ionic, step: made.append(step) or first(ionic, step))
    for count in range(1, 6):
        stamp, over = RunStamp("0123456789abcdef", count), whole.resources if count == 5 else None
        grown = replace(whole, ionic_steps=tuple(steps[:count]), stamp=stamp, resources=over)
        made.clear()
        _write(tmp_path / "grown", grown)
        assert count < 3 or len(made) == sum(len(step.steps) for step in steps[count - 2 : count])
        _write(tmp_path / "fresh", replace(grown, ionic_steps=tuple(replace(step) for step in steps[:count])))
        for name in TEXTS:
            assert (tmp_path / "grown" / name).read_bytes() == (tmp_path / "fresh" / name).read_bytes(), (name, count)


def test_pymatgen_reads_dynamics(dynamics):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    folder, record = dynamics
    last = record.last
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = outputs.Vasprun(str(folder / "vasprun.xml"), parse_potcar_file=False)
    assert run.converged_ionic and run.nionic_steps == 3
    found = run.ionic_steps[-1]
    names = ("kinetic", "lattice kinetic", "nosepot", "nosekinetic", "total")
    assert [found[name] for name in names] == [0.5, 0.0625, -0.21, 0.125, -12.0]
    line = (folder / "OSZICAR").read_text().splitlines()[-1]
    assert line == (  # columns of published files
        "    3 T=   292. E= -.12000000E+02 F= -.12516828E+02 E0= -.12511828E+02"
        "  EK= 0.50000E+00 SP= -.21E+00 SK= 0.12E+00"
    )
    oszicar = outputs.Oszicar(str(folder / "OSZICAR"))
    assert len(oszicar.ionic_steps) == 3 and oszicar.final_energy == pytest.approx(last.energy_zero, abs=1e-6)
    assert [oszicar.ionic_steps[2][name] for name in ("T", "E", "EK", "SP")] == [292.0, -12.0, 0.5, -0.21]
    run = outputs.Outcar(str(folder / "OUTCAR"))
    assert run.final_fr_energy == pytest.approx(last.free_energy) and run.run_stats["cores"] == 4
    assert len(outputs.Xdatcar(str(folder / "XDATCAR")).structures) == 3


def test_ase_reads_dynamics(dynamics):
    io = pytest.importorskip("ase.io", reason="ASE is not installed")
    folder, record = dynamics
    for name, form in (("OUTCAR", "vasp-out"), ("vasprun.xml", "vasp-xml")):
        images = io.read(folder / name, index=":", format=form)
        assert len(images) == 3
        for atoms, ionic in zip(images, record.ionic_steps, strict=True):
            np.testing.assert_allclose(atoms.get_forces(), ionic.forces_av, atol=1e-7)
            assert atoms.get_potential_energy(force_consistent=True) == pytest.approx(ionic.free_energy, abs=1e-7)
    units = pytest.importorskip("ase.units")
    contcar = io.read(folder / "CONTCAR", format="vasp")
    np.testing.assert_allclose(contcar.get_velocities() * units.fs, VELOCITY, atol=1e-9)


def test_blocks_of_dynamics_have_their_phrases(dynamics):
    folder, record = dynamics
    lines = (folder / "OUTCAR").read_text().splitlines()
    energies = [line.split()[4] for line in lines if line.startswith("  kinetic energy EKIN   =")]
    assert energies == ["0.50000000"] * 3 and " molecular dynamics for ions" in lines
    (heat,) = {line for line in lines if "EKIN_LAT" in line}
    assert heat.split()[3:] == ["0.06250000", "(temperature", "291.84", "K)"]
    total = [float(line.split()[4]) for line in lines if "ETOTAL" in line]
    assert total == [-12.0] * 3
    pressure = [float(line.split()[3]) for line in lines if line.startswith("  total pressure")]
    mass_a = np.array([24.305, 24.305, 15.999])
    volume = abs(np.linalg.det(record.last.lattice_cv))
    gas = (mass_a[:, None] * VELOCITY**2).sum() / 3 / volume * 1.66053906660e-17 / 1.602176634e-19 * 1602.176634
    assert pressure[-1] == pytest.approx(np.trace(record.last.stress_vv) / 3 + gas, abs=1e-4)


def test_vaspout_has_the_energies_of_dynamics(dynamics):
    folder, record = dynamics
    with h5py.File(folder / "vaspout.h5") as file:
        group = file["intermediate/ion_dynamics"]
        assert group["energies"].shape == (3, 7) and group["energies_tags"][3].decode().split() == [
            "temperature",
            "TEIN",
        ]
        np.testing.assert_allclose(
            group["energies"][-1], [record.last.free_energy, 0.5, 0.0625, 291.84, -0.21, 0.125, -12.0]
        )


@pytest.mark.parametrize(("at_rest", "given"), [(True, 9), (False, 9), (False, 2)])
def test_readers_see_whether_a_relaxation_is_at_rest(tmp_path, make_record, at_rest, given):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    tags = {"NSW": given, "IBRION": 2, "EDIFFG": -0.01}
    folder = _write(tmp_path, make_record(ionic=2, parameters=tags, incar=tags, relaxed=at_rest))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = outputs.Vasprun(str(folder / "vasprun.xml"), parse_potcar_file=False)
    assert run.converged_ionic == at_rest and run.incar["NSW"] == given
    text = (folder / "OUTCAR").read_text()
    assert ("reached required accuracy - stopping structural energy minimisation" in text) == at_rest


def test_contcar_is_where_the_next_run_begins(tmp_path, make_record):
    poscar = pytest.importorskip("eigenwerk.io.vasp.input.poscar")
    tried = make_record(ionic=3, parameters={"NSW": 1, "IBRION": 6})
    found = poscar.read_poscar(_write(tmp_path, tried) / "CONTCAR")
    np.testing.assert_allclose(found.scaled_ac, tried.ionic_steps[0].scaled_ac, atol=1e-12)
    record = make_record(ionic=3, parameters=TAGS, **DYNAMICS)
    begun = replace(record.last, forces_av=None, velocities_av=None, kinetic=None, temperature=None, conserved=None)
    on_its_way = replace(record, ionic_steps=(*record.ionic_steps[:2], begun), resources=None)
    found = poscar.read_poscar(_write(tmp_path, on_its_way) / "CONTCAR")
    np.testing.assert_allclose(found.scaled_ac, record.ionic_steps[1].scaled_ac, atol=1e-12)
    np.testing.assert_allclose(found.velocities_av, VELOCITY, atol=1e-9)
