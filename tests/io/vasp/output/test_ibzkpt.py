"""IBZKPT is a KPOINTS file of the mesh's irreducible points."""

import numpy as np
import pytest

from eigenwerk.io.vasp.output.ibzkpt import write_ibzkpt


def test_it_is_a_kpoints_file_with_numbers_of_points(tmp_path, make_record):
    record = make_record()
    write_ibzkpt(tmp_path / "IBZKPT", record)
    text = (tmp_path / "IBZKPT").read_text()
    assert [line.split()[3] for line in text.splitlines()[3:]] == ["2", "2", "4", "4"]
    inputs = pytest.importorskip("pymatgen.io.vasp", reason="pymatgen is not installed")
    points = inputs.Kpoints.from_file(tmp_path / "IBZKPT")
    np.testing.assert_allclose(points.kpts, record.kpoint_kc, atol=1e-14)
    np.testing.assert_allclose(np.array(points.kpts_weights) / 12, record.weight_k)


def test_without_a_mesh_there_is_none(tmp_path, make_record):
    with pytest.raises(ValueError, match="without a mesh"):
        write_ibzkpt(tmp_path / "IBZKPT", make_record(generation=None))
