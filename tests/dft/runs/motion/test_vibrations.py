"""IBRION = 5 and 6 from folder to files: symmetry changes nothing but the number of arrangements."""

from functools import cache

import numpy as np
import pytest

from cost import shared
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.quantities.report import RunInterrupted
from eigenwerk.dft.runs.run import run_folder, run_inputs

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


class StopAfter:
    """Ctrl-C after so many steps of self-consistency."""

    def __init__(self, steps):
        self.left = steps

    def __call__(self, step):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_displacements_go_on_from_one_that_has_other_operations_than_the_next(tmp_path):
    """A molecule along x is displaced along its axis first, then across, where fewer operations are left."""

    def make(name):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "POSCAR").write_text("H2\n1\n5 0 0\n0 4 0\n0 0 4\nH\n2\nCartesian\n2.1 2 2\n2.86 2 2\n")
        (folder / "KPOINTS").write_text("Gamma\n0\nGamma\n1 1 1\n")
        (folder / "INCAR").write_text(INCAR.replace("1E-9", "1E-6") + "IBRION = 6\nISYM = 2\nNBANDS = 3\n")
        return folder

    whole, steps = run_folder(make("whole")), []
    folder = make("stopped")
    first = len(whole.ionic_history.steps[0].steps)
    with pytest.raises(RunInterrupted):
        run_folder(folder, on_step=StopAfter(first + 2))
    result = run_inputs(read_inputs(folder), on_step=steps.append, resume=True)
    assert result.ionic_history.finished
    assert len(steps) == sum(len(one.steps) for one in whole.ionic_history.steps) - first - 2
    frequencies = [one.ionic_history.more["frequencies_per_cm"] for one in (whole, result)]
    np.testing.assert_allclose(*frequencies, atol=1e-3)
