"""XDATCAR is read by pymatgen and ASE."""

import numpy as np
import pytest

from eigenwerk.io.vasp.output.xdatcar import write_xdatcar


@pytest.mark.parametrize("ionic", [1, 3])
@pytest.mark.parametrize("moving_cell", [False, True])
def test_pymatgen_and_ase_read_all_structures(tmp_path, make_record, ionic, moving_cell):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    io = pytest.importorskip("ase.io", reason="ASE is not installed")
    record = make_record(ionic=ionic)
    if not moving_cell:
        for step in record.ionic_steps:
            object.__setattr__(step, "lattice_cv", record.last.lattice_cv)
    write_xdatcar(tmp_path / "XDATCAR", record)
    theirs = [(s.lattice.matrix, s.frac_coords) for s in outputs.Xdatcar(str(tmp_path / "XDATCAR")).structures]
    images = io.read(tmp_path / "XDATCAR", index=":", format="vasp-xdatcar")
    assert len(theirs) == len(images) == ionic
    for (lattice_cv, scaled_ac), atoms, step in zip(theirs, images, record.ionic_steps, strict=True):
        np.testing.assert_allclose(lattice_cv, step.lattice_cv, atol=1e-12)
        np.testing.assert_allclose(scaled_ac, step.scaled_ac, atol=1e-12)
        np.testing.assert_allclose(atoms.cell, step.lattice_cv, atol=1e-12)
        np.testing.assert_allclose(atoms.get_scaled_positions(wrap=False), step.scaled_ac, atol=1e-12)
        assert atoms.get_chemical_symbols() == list(record.symbols)
