"""IBRION = 5 and 6 from folder to files: symmetry changes nothing but the number of arrangements."""

from functools import cache

import numpy as np
import pytest

from cost import shared
from eigenwerk.dft.runs.run import run_folder

POSCAR = "silicon\n5.47\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"
KPOINTS = "mesh\n0\nGamma\n2 2 2\n"
INCAR = "ENCUT = 150\nEDIFF = 1E-9\nISMEAR = 0\nSIGMA = 0.05\nNSW = 1\nLCHARG = F\nLWAVE = F\n"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """`found(5)`: result and folder without symmetry, and with it for 6, made when first asked for."""

    @cache
    def make(ibrion):
        folder = tmp_path_factory.mktemp(f"ibrion{ibrion}")
        (folder / "POSCAR").write_text(POSCAR)
        (folder / "KPOINTS").write_text(KPOINTS)
        (folder / "INCAR").write_text(INCAR + f"IBRION = {ibrion}\nISIF = {2 + (ibrion == 6)}\n")
        with shared():
            return run_folder(folder), folder

    return make


@pytest.mark.slow
def test_frequencies_do_not_depend_on_the_use_of_symmetry(found):
    (plain, _), (symmetric, _) = found(5), found(6)
    assert len(plain.ionic_history.steps) == 13 and len(symmetric.ionic_history.steps) == 5
    frequencies = [result.ionic_history.more["frequencies_per_cm"] for result in (plain, symmetric)]
    assert np.allclose(*frequencies, atol=0.1)
    assert 500 < frequencies[1][0] < 600 and np.abs(frequencies[1][3:]).max() < 1e-3
    assert plain.ionic_history.finished and "elastic_GPa" not in plain.ionic_history.more


def test_elastic_constants_are_those_of_a_cube_and_positive(found):
    tensor_jj = np.array(found(6)[0].ionic_history.more["elastic_GPa"])
    clamped_jj = np.array(found(6)[0].ionic_history.more["elastic_clamped_GPa"])
    assert np.allclose(tensor_jj[:3, :3].diagonal(), tensor_jj[0, 0]) and np.allclose(tensor_jj[:3, 3:], 0, atol=1e-6)
    assert 0 < tensor_jj[3, 3] < clamped_jj[3, 3] and tensor_jj[0, 0] == pytest.approx(clamped_jj[0, 0])


def test_files_hold_the_modes_and_the_structure_at_rest(found):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    result, folder = found(6)
    run = outputs.Vasprun(folder / "vasprun.xml", parse_potcar_file=False)
    assert run.force_constants.shape == (2, 2, 3, 3) and len(run.ionic_steps) == 5
    assert np.allclose(run.final_structure.frac_coords, [[0, 0, 0], [0.25, 0.25, 0.25]])
    assert len(run.actual_kpoints) == run.eigenvalues[next(iter(run.eigenvalues))].shape[0]
    text = (folder / "OUTCAR").read_text()
    assert text.count("2PiTHz") == 6 and "TOTAL ELASTIC MODULI (kBar)" in text
    assert "0.2500000000000000    0.2500000000000000    0.2500000000000000" in (folder / "CONTCAR").read_text()
    assert "6 modes from 5 points" in result.status
