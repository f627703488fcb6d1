"""Readers that count lines and columns: dpdata, parsevasp (aiida-vasp), vasppy; what is not installed is left out."""

import logging

import numpy as np
import pytest

from eigenwerk.io.vasp.output.doscar import write_doscar
from eigenwerk.io.vasp.output.outcar.outcar import write_outcar
from eigenwerk.io.vasp.output.weights.projections import D, F, columns
from eigenwerk.io.vasp.output.xml.vasprun import write_vasprun
from projected_records import with_projections

OFFSETS = [
    ("FORCE on cell", "  Total"), ("FORCE on cell", "  in kB"), ("FORCE on cell", "external pressure"),
    ("VOLUME and BASIS", "direct lattice vectors"), ("VOLUME and BASIS", "length of vectors"),
    ("TOTAL-FORCE", "total drift"), ("total drift", "FREE ENERGIE OF"), ("FREE ENERGIE OF", "free  energy   TOTEN"),
    ("free  energy   TOTEN", "energy  without entropy"), (" SYSTEM =", " POSCAR ="),
]  # fmt: skip
"""Phrases of OUTCAR from which, and to which, lines are counted; the drift by the number of atoms."""


def lines_between(lines, first, second):
    start = next(place for place, line in enumerate(lines) if first in line)
    return next(place for place, line in enumerate(lines[start:]) if second in line)


def test_lines_are_as_far_apart_as_in_published_files(shared_dir, tmp_path, make_record):
    record = make_record(spins=1)
    write_outcar(tmp_path / "OUTCAR", record)
    ours = (tmp_path / "OUTCAR").read_text().splitlines()
    theirs = (shared_dir / "reference" / "vasp_outputs" / "si_static" / "OUTCAR").read_text().splitlines()
    for first, second in OFFSETS:
        more = len(record.symbols) - 2 if second == "total drift" else 0
        assert lines_between(ours, first, second) == lines_between(theirs, first, second) + more, (first, second)


@pytest.mark.parametrize("kinds", [D, F])
@pytest.mark.parametrize("lorbit", [10, 11, 12])
def test_columns_end_with_d_unless_there_are_projectors_of_f(tmp_path, make_record, lorbit, kinds):
    record = with_projections(make_record(spins=2), lorbit, kinds)
    write_doscar(tmp_path / "DOSCAR", record)
    write_vasprun(tmp_path / "vasprun.xml", record)
    count = {(10, D): 3, (10, F): 4}.get((lorbit, kinds), kinds**2)
    assert len(columns(lorbit, kinds)) == count
    assert len((tmp_path / "DOSCAR").read_text().splitlines()[-1].split()) == 1 + 2 * count
    fields = (tmp_path / "vasprun.xml").read_text().split("<partial>")[1].split("</field>")[: count + 1]
    assert len(fields) == count + 1 and fields[-1].strip().endswith(columns(lorbit, kinds)[-1])


def test_dpdata_reads_frames_with_their_virials(tmp_path, make_record):
    dpdata = pytest.importorskip("dpdata", reason="dpdata is not installed")
    record = make_record(spins=1, ionic=3)
    write_outcar(tmp_path / "OUTCAR", record)
    found = dpdata.LabeledSystem(str(tmp_path / "OUTCAR"), fmt="vasp/outcar", convergence_check=False)
    assert len(found) == 3
    for frame, ionic in enumerate(record.ionic_steps):
        virial_vv = ionic.stress_vv * abs(np.linalg.det(ionic.lattice_cv)) / 1602.1766208
        # it turns each cell to a lower triangle
        found_v, wanted_v = (np.linalg.eigvalsh(one_vv) for one_vv in (found["virials"][frame], virial_vv))
        np.testing.assert_allclose(found_v, wanted_v, atol=1e-5)
        found_a, wanted_a = (np.linalg.norm(one_av, axis=1) for one_av in (found["forces"][frame], ionic.forces_av))
        np.testing.assert_allclose(found_a, wanted_a, atol=1e-7)


def test_parsevasp_reads_parts_of_the_density_of_states(tmp_path, make_record):
    """It expects ten columns, and reads no file with those of f, of whatever program."""
    vasprun = pytest.importorskip("parsevasp.vasprun", reason="parsevasp is not installed")
    doscar = pytest.importorskip("parsevasp.doscar", reason="parsevasp is not installed")
    logging.disable(logging.CRITICAL)
    record = with_projections(make_record(spins=2), 11, D)
    write_vasprun(tmp_path / "vasprun.xml", record)
    write_doscar(tmp_path / "DOSCAR", record)
    found = vasprun.Xml(file_path=str(tmp_path / "vasprun.xml")).get_dos()
    wanted_sxaL = record.final.dos.partial_sxaL
    for s, spin in enumerate(("up", "down")):
        np.testing.assert_allclose(found[spin]["partial"], wanted_sxaL[s].transpose(1, 0, 2), atol=1e-5)
    assert doscar.Doscar(file_path=str(tmp_path / "DOSCAR")).get_pdos() is not None


def test_vasppy_reads_all_parts(tmp_path, make_record):
    doscar = pytest.importorskip("vasppy.doscar", reason="vasppy is not installed")
    for kinds, lmax in ((D, 2), (F, 3)):
        record = with_projections(make_record(spins=2), 11, kinds)
        write_doscar(tmp_path / "DOSCAR", record)
        partial = doscar.Doscar(str(tmp_path / "DOSCAR"), lmax=lmax).pdos
        np.testing.assert_allclose(partial, record.final.dos.partial_sxaL.transpose(2, 1, 3, 0), rtol=1e-3)
