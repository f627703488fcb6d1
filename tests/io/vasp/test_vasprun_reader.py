"""vasprun.xml is read back as it was written; those of VASP are read; damaged ones are refused with a remedy."""

import re
from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.output.record import DensityOfStates, ProjectionRecord, RunReport
from eigenwerk.io.vasp.output.xml.vasprun import write_vasprun
from eigenwerk.io.vasp.vasprun_reader import read_vasprun

ACCOUNT = RunReport(
    (("system", "Mg2O: <made> & up"), ("PAW data", "Mg"), ("PAW data", "O")),
    (("ENCUT", "450 eV", 'INCAR line 3 "a"'), ("SIGMA", "0.05 eV", "default")),
    (("band gap", "1.2 eV, direct"),), ("first", "second"), (), ("try < again",), False,
)  # fmt: skip


@pytest.fixture
def written(tmp_path, make_record):
    def write(**keywords):
        record = make_record(**keywords)
        write_vasprun(tmp_path / "vasprun.xml", record)
        return tmp_path / "vasprun.xml", record

    return write


@pytest.mark.parametrize("spins", [1, 2])
def test_what_was_written_comes_back(written, spins):
    path, record = written(spins=spins, ionic=3, run_report=ACCOUNT)
    found = read_vasprun(path)
    assert found.own and found.converged and not found.reached and found.generator["version"] == "0.1.0"
    assert found.symbols == record.symbols and found.run_report == ACCOUNT
    assert found.titles == {species.element: species.title for species in record.species}
    assert found.generation == "Monkhorst-Pack 4 x 3 x 1"
    assert len(found.steps) == 3
    for read, step in zip(found.steps, record.ionic_steps, strict=True):
        assert read.lattice_cv == pytest.approx(step.lattice_cv) and read.scaled_ac == pytest.approx(step.scaled_ac)
        assert read.forces_av == pytest.approx(step.forces_av, abs=1e-8)
        assert read.stress_vv == pytest.approx(step.stress_vv)
        assert read.free_energy == pytest.approx(step.free_energy) and read.moment == step.moment
        assert [one.free_energy for one in read.steps] == pytest.approx([one.free_energy for one in step.steps])
        assert [one.seconds for one in read.steps] == pytest.approx([one.seconds for one in step.steps])
    assert found.last.components == pytest.approx(dict(record.last.components))
    assert found.eig_skn == pytest.approx(record.final.eig_skn, abs=1e-8)
    assert found.occ_skn == pytest.approx(record.final.occ_skn, abs=1e-4)
    assert found.fermi_level == 2.25
    assert found.dos.total_sx == pytest.approx(record.final.dos.total_sx) and found.dos.columns == ()


def test_parts_of_the_density_of_states_keep_atom_spin_and_column(tmp_path, make_record):
    record = make_record(spins=2)
    random, columns = np.random.default_rng(3), ("s", "p", "d", "f")
    dos, weight_sknaL = record.final.dos, random.random((2, 4, 5, 3, 4)).round(4)
    parts = random.random((2, 11, 3, 4)).round(4)
    final = replace(
        record.final, dos=DensityOfStates(dos.energy_x, dos.total_sx, dos.integrated_sx, parts),
        projections=ProjectionRecord(columns, weight_sknaL, np.ones(3)),
    )  # fmt: skip
    write_vasprun(tmp_path / "vasprun.xml", replace(record, final=final))
    found = read_vasprun(tmp_path / "vasprun.xml")
    assert found.dos.columns == columns and found.dos.partial_sxaL == pytest.approx(parts)


def test_dynamics_have_energies_under_the_names_of_vasp(written):
    path, _ = written(kinetic=1.5, thermostat=-0.25, thermostat_kinetic=0.125, conserved=-11.0, temperature=301.5)
    last = read_vasprun(path).last
    assert (last.kinetic, last.lattice_kinetic, last.thermostat, last.thermostat_kinetic) == (1.5, 0.0, -0.25, 0.125)
    assert last.conserved == last.total == -11.0 and last.temperature == 301.5


def test_what_is_absent_is_none(written):
    found = read_vasprun(written(stress=False, forces_av=None, converged=False)[0])
    assert found.last.forces_av is None and found.last.stress_vv is None and found.last.moment is None
    assert found.run_report is None and found.converged is False


@pytest.mark.parametrize(
    ("case", "steps", "spins", "columns"),
    [("li_relax", 3, 2, 9), ("mgo_pbesol_relax", 3, 1, 9), ("fe_spin", 1, 2, 9), ("ceo2_hse06", 1, 2, 16),
     ("si64_md", 10, 1, 0)],
)  # fmt: skip
def test_files_of_vasp_are_read(shared_dir, case, steps, spins, columns):
    (path,) = (shared_dir / "reference" / "vasp_outputs" / case).glob("vasprun.xml*")
    found = read_vasprun(path)
    assert not found.own and found.run_report is None and found.converged is None
    assert len(found.steps) == steps and len(found.dos.total_sx) == spins and len(found.dos.columns) == columns
    assert found.last.forces_av is not None and found.eig_skn.shape[:2] == (spins, len(found.point_kc))


@pytest.mark.parametrize(
    ("place", "words"), [(">eigene<", "level"), ('name="efermi"', "level"), ('name="positions"', "positions")]
)
def test_numbers_that_are_not_finite_are_refused(written, place, words):
    path, _ = written()
    before, found, after = path.read_text().partition(place)
    path.write_text(before + found + re.sub(r"-?[0-9]+\.[0-9]+", "nan", after, count=1))
    with pytest.raises(InputError, match=words):
        if place == 'name="positions"':  # those of the first structure are not those of an ionic step
            first = r'(?s)(<calculation>.*?name="positions" >\s*<v>\s*)[-0-9.]+'
            path.write_text(re.sub(first, r"\1nan", before + found + after))
        read_vasprun(path)


def test_every_cut_is_refused_with_a_remedy(written, tmp_path):
    data = written()[0].read_bytes()
    for end in range(0, len(data) - 20, 211):
        (tmp_path / "cut.xml").write_bytes(data[:end])
        with pytest.raises(InputError, match="cut off"):
            read_vasprun(tmp_path / "cut.xml")


def test_damage_is_read_or_refused_and_nothing_else(written, tmp_path):
    data, random = bytearray(written(spins=2, ionic=2, run_report=ACCOUNT)[0].read_bytes()), np.random.default_rng(5)
    for _ in range(300):
        broken = data.copy()
        for place in random.integers(0, len(data), 4):
            broken[place] = random.choice(list(b'<>"/ =0*xe-.'))
        (tmp_path / "broken.xml").write_bytes(broken)
        try:
            read_vasprun(tmp_path / "broken.xml")
        except InputError as error:
            assert "broken.xml" in str(error)


@pytest.mark.parametrize(
    ("text", "words"),
    [("<html></html>", "outermost element"), ("<modeling></modeling>", "no atoms"), ("", "cut off"), ("{}", "cut off")],
)
def test_other_files_are_refused(tmp_path, text, words):
    (tmp_path / "vasprun.xml").write_text(text)
    with pytest.raises(InputError, match=words):
        read_vasprun(tmp_path / "vasprun.xml")


def test_a_run_that_never_moved_has_no_ionic_step(written):
    path, _ = written()
    text = path.read_text()
    start, end = text.index(" <calculation>"), text.index("</calculation>") + len("</calculation>")
    path.write_text(text[:start] + text[end:])
    with pytest.raises(InputError, match="holds no ionic step"):
        read_vasprun(path)


@pytest.mark.parametrize(
    ("pattern", "new", "words"),
    [
        (r'(<varray name="weights" *>\s*)<v>[^<]*</v>', r"\1", "weights for"),
        (r'(<varray name="kpointlist" *>\s*<v>)[^<]*', r"\1 nan 0 0 ", "a k-point is not finite"),
        (r'(<varray name="stress" *>\s*)<v>[^<]*</v>', r"\1", "a stress of 6 numbers"),
        (r'(?s)(<eigenvalues>.*?<set comment="spin 1">\s*)<set.*?</set>', r"\1", "k-points"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(written, pattern, new, words):
    path, _ = written(spins=1)
    text, count = re.subn(pattern, new, path.read_text(), count=1)
    assert count == 1
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_vasprun(path)
