"""Modes and elastic constants in vasprun.xml and OUTCAR, as other packages read them."""

import warnings

import h5py
import numpy as np
import pytest

from eigenwerk.io.vasp.output.outcar.outcar import write_outcar
from eigenwerk.io.vasp.output.vaspout import write_vaspout
from eigenwerk.io.vasp.output.xml.vasprun import write_vasprun
from eigenwerk.io.vasp.output.xml.vibrations import ElasticRecord, VibrationRecord
from eigenwerk.units import FREQUENCY_THZ, THZ_MEV, THZ_PER_CM

MASSES = np.array([24.305, 24.305, 15.999])
ORDER = [0, 1, 2, 5, 3, 4]


def made_up(free_av):
    """Force constants by chance, one mode unstable."""
    random, free_x = np.random.default_rng(5), free_av.ravel()
    half_xx = random.normal(size=(free_x.sum(),) * 2)
    constants_xx = half_xx @ half_xx.T
    constants_xx[0, 0] -= 6.0
    root_x = np.sqrt(np.repeat(MASSES, 3)[free_x])
    square_n, vector_xn = np.linalg.eigh(constants_xx / np.outer(root_x, root_x))
    vector_nav = np.zeros((len(square_n), 3, 3))
    vector_nav[:, free_av] = vector_xn.T[::-1]
    thz_n = np.sign(square_n) * np.sqrt(abs(square_n)) * FREQUENCY_THZ
    clamped_jj, ionic_jj = random.normal(scale=1000, size=(2, 6, 6))
    elastic = ElasticRecord(
        clamped_jj + 1, clamped_jj, ionic_jj, clamped_jj + ionic_jj, random.normal(scale=20, size=(3, 3, 6))
    )
    measured_xx = constants_xx + 0.01 * random.normal(size=constants_xx.shape)
    return VibrationRecord(
        0.015, free_av, constants_xx, measured_xx, MASSES, square_n[::-1], thz_n[::-1], vector_nav, elastic
    )


@pytest.fixture(params=["all", "some"])
def found(request):
    """All atoms move, or two of them."""
    free_av = np.ones((3, 3), bool)
    free_av[1] = request.param == "all"
    return made_up(free_av)


def _pymatgen(path, kind, **keywords):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(outputs, kind)(str(path), **keywords)


def test_pymatgen_reads_force_constants_and_modes(tmp_path, make_record, found):
    write_vasprun(tmp_path / "vasprun.xml", make_record(ionic=2, vibrations=found))
    run = _pymatgen(tmp_path / "vasprun.xml", "Vasprun", parse_potcar_file=False)
    moving_a = found.free_av.any(axis=1)
    root_x = np.sqrt(np.repeat(MASSES[moving_a], 3))
    read_xx = run.force_constants.transpose(0, 2, 1, 3).reshape(len(root_x), -1)
    assert np.allclose(-read_xx * np.outer(root_x, root_x), found.constants_xx, atol=1e-6)
    assert np.allclose(run.normalmode_eigenvals, -found.square_n, rtol=1e-8)
    assert np.allclose(run.normalmode_eigenvecs, found.vector_nav[:, moving_a], atol=1e-8)
    assert len(run.ionic_steps) == 2 and run.eigenvalues


def test_phonopy_reads_force_constants(tmp_path, make_record):
    vasp = pytest.importorskip("phonopy.interface.vasp", reason="phonopy is not installed")
    found = made_up(np.ones((3, 3), bool))
    write_vasprun(tmp_path / "vasprun.xml", make_record(vibrations=found))
    with open(tmp_path / "vasprun.xml", "rb") as file:
        constants_aavv, elements = vasp.Vasprun(file).read_force_constants()
    assert list(elements) == ["Mg", "O"]
    assert np.allclose(constants_aavv.transpose(0, 2, 1, 3).reshape(9, 9), found.constants_xx, atol=1e-6)
    write_outcar(tmp_path / "OUTCAR", make_record(vibrations=found))
    constants_aavv = vasp.read_force_constants_OUTCAR(tmp_path / "OUTCAR")
    assert np.allclose(constants_aavv.transpose(0, 2, 1, 3).reshape(9, 9), found.measured_xx, atol=1e-6)


def test_outcar_has_the_lines_of_vasp(tmp_path, make_record, found):
    """Columns of a published file: a line of each kind."""
    record = make_record(vibrations=found)
    write_outcar(tmp_path / "OUTCAR", record)
    text = (tmp_path / "OUTCAR").read_text()
    lines = text.split("Eigenvectors and eigenvalues of the dynamical matrix")[1].splitlines()[4:]
    for n, thz in enumerate(found.thz_n):
        words = lines[6 * n].split()
        assert words[0] == str(n + 1) and words[1] == ("f/i=" if thz < 0 else "f")
        numbers = [float(word) for word in words[-8::2]]
        assert words[-7::2] == ["THz", "2PiTHz", "cm-1", "meV"]
        assert np.allclose(numbers, abs(thz) * np.array([1, 2 * np.pi, THZ_PER_CM, THZ_MEV]), atol=1e-6)
        rows = np.array([line.split() for line in lines[6 * n + 2 : 6 * n + 5]], dtype=float)
        ionic = record.ionic_steps[0]
        assert np.allclose(rows[:, :3], ionic.scaled_ac @ ionic.lattice_cv, atol=1e-6)
        assert np.allclose(rows[:, 3:], found.vector_nav[n], atol=1e-6)
    assert text.index("SECOND DERIVATIVES (NOT SYMMETRIZED)") < text.index("Finite differences POTIM=")
    example = "   1 f  =  115.029900 THz   722.754181 2PiTHz 3836.984350 cm-1   475.725600 meV"
    assert [len(line) for line in lines if "2PiTHz" in line] == [len(example)] * len(found.thz_n)


def test_pymatgen_reads_elastic_constants_and_internal_strain(tmp_path, make_record, found):
    write_outcar(tmp_path / "OUTCAR", make_record(vibrations=found))
    run = _pymatgen(tmp_path / "OUTCAR", "Outcar")
    run.read_elastic_tensor()
    assert np.allclose(run.data["elastic_tensor"], found.elastic.total_jj[np.ix_(ORDER, ORDER)], atol=1e-4)
    run.read_internal_strain_tensor()
    assert np.allclose(run.internal_strain_tensor, found.elastic.internal_strain_avj[:, :, ORDER], atol=1e-5)


def test_py4vasp_reads_force_constants_and_elastic_constants(tmp_path, make_record, found):
    write_vaspout(tmp_path / "vaspout.h5", make_record(ionic=2, selective_ac=found.free_av, vibrations=found))
    with h5py.File(tmp_path / "vaspout.h5") as file:
        assert np.allclose(file["results/linear_response/force_constants"], -found.constants_xx)
        assert np.allclose(
            file["results/linear_response/relaxed_ion_elastic_modulus"][0, 1, 2, 2], found.elastic.total_jj[5, 2]
        )
        assert np.allclose(
            file["results/linear_response/internal_strain"][:, 2, 0, 2], found.elastic.internal_strain_avj[:, 2, 4]
        )
    py4vasp = pytest.importorskip("py4vasp", reason="py4vasp is not installed")
    run = py4vasp.Calculation.from_path(tmp_path)
    shown = [line.split() for line in str(run.elastic_modulus).splitlines()]
    total_jj = found.elastic.total_jj[np.ix_(ORDER, ORDER)]
    row = [float(x) for x in [words for words in shown if words[:1] == ["YZ"]][-1][1:]]
    assert np.allclose(row, total_jj[4], atol=1e-3)
    assert np.allclose(run.force_constant.to_dict()["force_constants"], -found.constants_xx)
    assert "Internal strain" in str(run.internal_strain) and "atom(i)" in str(run.force_constant)
