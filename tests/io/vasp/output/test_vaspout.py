"""vaspout.h5 holds the record where py4vasp looks for it (benchmarks/readers runs py4vasp itself)."""

import h5py
import numpy as np
import pytest

from eigenwerk.io.run_stamp import RunStamp, stamp_of
from eigenwerk.io.vasp.output.vaspout import write_vaspout


@pytest.fixture
def written(tmp_path, make_record):
    """Write a record made with the given keywords; returns the open file and the record."""

    def write(**keywords):
        record = make_record(**keywords)
        write_vaspout(tmp_path / "vaspout.h5", record)
        return h5py.File(tmp_path / "vaspout.h5"), record

    return write


@pytest.mark.parametrize("spins", [1, 2])
def test_every_number_is_that_of_the_record(written, spins):
    file, record = written(spins=spins, ionic=2, stamp=RunStamp("0123456789abcdef", 3))
    ions, final = file["intermediate/ion_dynamics"], record.final
    for name, field in (
        ("lattice_vectors", "lattice_cv"), ("position_ions", "scaled_ac"), ("forces", "forces_av"),
        ("stress", "stress_vv"),
    ):  # fmt: skip
        np.testing.assert_array_equal(ions[name], [getattr(ionic, field) for ionic in record.ionic_steps])
    energies = [[i.free_energy, i.energy_without_entropy, i.energy_zero] for i in record.ionic_steps]
    np.testing.assert_array_equal(ions["energies"], energies)
    assert [tag.decode().strip() for tag in ions["energies_tags"]] == [
        "free energy    TOTEN", "energy without entropy", "energy(sigma->0)",
    ]  # fmt: skip
    assert list(ions["oszicar"][:, 0]) == [1, 2, 3, 4, 1, 2, 3] and np.isnan(ions["oszicar"][0, 6])
    assert list(ions["electronic_step_converged"]) == [0, 0]
    bands, dos = file["results/electron_eigenvalues"], file["results/electron_dos"]
    np.testing.assert_array_equal(bands["eigenvalues"], final.eig_skn)
    np.testing.assert_array_equal(bands["fermiweights"], final.occ_skn)
    np.testing.assert_array_equal(bands["kpoint_coords"], record.kpoint_kc)
    np.testing.assert_array_equal(bands["kpoints_symmetry_weight"], record.weight_k)
    assert dos["efermi"][()] == final.fermi_level and dos["dos"].shape == (spins, 11)
    assert [word.decode() for word in file["results/positions/ion_types"]] == ["Mg", "O"]
    assert list(file["results/positions/number_ion_types"]) == [2, 1]
    assert file["input/kpoints/mode"][()] == b"m" and file["input/kpoints/nkpy"][()] == 3
    assert file["input/incar/ENCUT"][()] == 450 and file["input/incar/SYSTEM"][()].decode() == record.title
    assert file.attrs["program"] == "eigenwerk" and stamp_of(file.filename) == record.stamp


def test_what_was_not_computed_is_not_there(written):
    file, _ = written(forces_av=None, stress=False, generation=None)
    assert not {"forces", "stress", "magnetism"} & set(file["intermediate/ion_dynamics"])
    assert file["input/kpoints/mode"][()] == b"explicit" and file["input/kpoints/number_kpoints"][()] == 4
