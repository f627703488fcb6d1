"""Projections on atoms in PROCAR, vasprun.xml and DOSCAR: the layout of VASP, and what others read of it."""

import re

import numpy as np
import pytest

from eigenwerk.io.vasp.output.doscar import write_doscar
from eigenwerk.io.vasp.output.files import OUTPUT_FILES
from eigenwerk.io.vasp.output.weights.procar import bytes_of, write_procar
from eigenwerk.io.vasp.output.weights.projections import LM_COLUMNS, by_l, columns
from eigenwerk.io.vasp.output.xml.vasprun import write_vasprun
from projected_records import with_projections


def test_names_are_those_of_vasp_and_sums_over_m_match():
    assert columns(10) == columns(0) == columns(5) == ("s", "p", "d", "f")
    assert columns(11) == columns(1) == columns(12) == LM_COLUMNS
    value_xL = np.random.default_rng(1).random((5, 16))
    sums = [value_xL[:, l * l : (l + 1) ** 2].sum(1) for l in range(4)]
    np.testing.assert_allclose(by_l(value_xL), np.stack(sums, 1))


@pytest.mark.parametrize(
    ("lorbit", "title"),
    [(10, "PROCAR new format"), (11, "PROCAR lm decomposed"), (12, "PROCAR lm decomposed + phase")],
)
def test_lines_are_those_of_vasp(tmp_path, make_record, lorbit, title):
    record = with_projections(make_record(spins=1), lorbit)
    write_procar(tmp_path / "PROCAR", record)
    lines = (tmp_path / "PROCAR").read_text().splitlines()
    _, points, bands = record.final.eig_skn.shape
    assert lines[0] == title
    assert lines[1] == f"# of k-points:{points:5d}         # of bands:{bands:5d}         # of ions:    3"
    assert lines[3] == " k-point     1 :    0.12500000 0.00000000 0.00000000     weight = 0.16666667"
    energy, occupied = record.final.eig_skn[0, 0, 0], 2 * record.final.occ_skn[0, 0, 0]
    assert lines[5] == f"band     1 # energy {energy:14.8f} # occ. {occupied:11.8f}"
    assert lines[7].split() == ["ion", *columns(lorbit), "tot"]
    row = [float(word) for word in lines[8].split()]
    weight_aL = record.final.projections.weight_sknaL[0, 0, 0]
    np.testing.assert_allclose(row, [1, *weight_aL[0], weight_aL[0].sum()], atol=6e-4)
    assert lines[11].startswith("tot  ")
    np.testing.assert_allclose(float(lines[11].split()[-1]), weight_aL.sum(), atol=6e-4)
    phases = [line for line in lines if line.startswith("charge")]
    assert len(phases) == (points * bands if lorbit == 12 else 0)
    size = bytes_of(points, 1, bands, 3, len(columns(lorbit)), lorbit == 12)
    assert size == pytest.approx((tmp_path / "PROCAR").stat().st_size, rel=0.1)


@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("lorbit", [10, 11, 12])
def test_pymatgen_reads_the_weights(tmp_path, make_record, lorbit, spins):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    record = with_projections(make_record(spins=spins), lorbit)
    write_procar(tmp_path / "PROCAR", record)
    write_vasprun(tmp_path / "vasprun.xml", record)
    procar = outputs.Procar(str(tmp_path / "PROCAR"))
    run = outputs.Vasprun(tmp_path / "vasprun.xml", parse_projected_eigen=True, parse_potcar_file=False)
    wanted = record.final.projections
    assert tuple(procar.orbitals) == wanted.columns
    for s, spin in enumerate(procar.data):
        np.testing.assert_allclose(procar.data[spin], wanted.weight_sknaL[s], atol=6e-4)
        np.testing.assert_allclose(run.projected_eigenvalues[spin], wanted.weight_sknaL[s], atol=6e-5)
        np.testing.assert_allclose(procar.eigenvalues[spin], record.final.eig_skn[s], atol=1e-7)
        if lorbit == 12:
            np.testing.assert_allclose(procar.phase_factors[spin], wanted.phase_sknaL[s], atol=8e-4)
    np.testing.assert_allclose(procar.weights, record.weight_k, atol=1e-7)


@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("lorbit", [10, 11])
def test_parts_of_the_density_of_states_are_read(tmp_path, make_record, lorbit, spins):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    vasp = pytest.importorskip("ase.calculators.vasp", reason="ASE is not installed")
    record = with_projections(make_record(spins=spins), lorbit)
    write_vasprun(tmp_path / "vasprun.xml", record)
    write_doscar(tmp_path / "DOSCAR", record)
    run = outputs.Vasprun(tmp_path / "vasprun.xml", parse_potcar_file=False)
    dos, parts = record.final.dos, vasp.VaspDos(str(tmp_path / "DOSCAR"))
    for a, part in enumerate(run.pdos):
        for L, (orbital, by_spin) in enumerate(part.items()):
            assert str(orbital).startswith(columns(lorbit)[L][0]) or lorbit == 11
            for s, density_x in enumerate(by_spin.values()):
                np.testing.assert_allclose(density_x, dos.partial_sxaL[s, :, a, L], atol=6e-6)
                np.testing.assert_allclose(parts.site_dos(a, L * spins + s), dos.partial_sxaL[s, :, a, L], rtol=1e-3)
    names = [*columns(10)] if lorbit == 10 else ["s", "py", "pz", "px", "dxy", "dyz", "dz2", "dxz", "dx2"]
    for L, name in enumerate(names):
        wanted_x = dos.partial_sxaL[0, :, 1, L]
        np.testing.assert_allclose(parts.site_dos(1, name + ("+" if spins == 2 else "")), wanted_x, rtol=1e-3)
    complete = run.complete_dos
    assert len(complete.get_spd_dos()) == 4
    assert (tmp_path / "DOSCAR").read_text().startswith("   3   3   1")


def test_pymatgen_has_bands_with_projections(tmp_path, make_record):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    record = with_projections(make_record(spins=2))
    write_vasprun(tmp_path / "vasprun.xml", record)
    run = outputs.BSVasprun(tmp_path / "vasprun.xml", parse_projected_eigen=True, parse_potcar_file=False)
    bands = run.get_band_structure(kpoints_filename=None)
    assert bands.get_projection_on_elements()


def test_without_projections_nothing_is_written(tmp_path, make_record):
    record = make_record()
    assert "PROCAR" not in [file.name for file in OUTPUT_FILES if file.due(record)]
    assert "PROCAR" in [file.name for file in OUTPUT_FILES if file.due(with_projections(record))]
    write_vasprun(tmp_path / "vasprun.xml", record)
    assert not re.search("<(partial|projected)>", (tmp_path / "vasprun.xml").read_text())
    with pytest.raises(ValueError, match="without projections"):
        write_procar(tmp_path / "PROCAR", record)
