"""EIGENVAL is read by pymatgen, number by number."""

import numpy as np
import pytest

from eigenwerk.io.vasp.output.eigenval import write_eigenval


@pytest.mark.parametrize("spins", [1, 2])
def test_pymatgen_reads_every_number(tmp_path, make_record, spins):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    record = make_record(spins=spins)
    write_eigenval(tmp_path / "EIGENVAL", record)
    found = outputs.Eigenval(str(tmp_path / "EIGENVAL"))
    assert (found.nelect, found.nkpt, found.nbands, found.ispin) == (26, 4, 5, spins)
    np.testing.assert_allclose(found.kpoints, record.kpoint_kc, atol=1e-7)
    np.testing.assert_allclose(found.kpoints_weights, record.weight_k, atol=1e-7)
    for values_knx, eig_kn, occ_kn in zip(
        found.eigenvalues.values(), record.final.eig_skn, record.final.occ_skn, strict=True
    ):
        np.testing.assert_allclose(values_knx[..., 0], eig_kn, atol=1e-8)
        np.testing.assert_allclose(values_knx[..., 1], occ_kn, atol=1e-6)


def test_header_is_that_of_vasp(tmp_path, make_record):
    write_eigenval(tmp_path / "EIGENVAL", make_record(parameters={"POTIM": 0.5, "TEBEG": 1e-4}))
    first, second, third, fourth, title, counts = (tmp_path / "EIGENVAL").read_text().splitlines()[:6]
    assert first == "    3    3    1    1" and fourth == "  CAR " and title == " Mg2O <made up> & small"
    assert [float(word) for word in second.split()][4] == 0.5e-15 and third == "  1.000000000000000E-04"
    assert counts.split() == ["26", "4", "5"]
