"""vaspout.h5 holds the record where py4vasp looks for it (benchmarks/readers runs py4vasp itself)."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

from eigenwerk.io.run_stamp import RunStamp, stamp_of
from eigenwerk.io.vasp.output.record import BandsRecord, KpointGeneration, ProjectionRecord
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


def test_projections_paths_and_a_second_list_are_there(written, make_record):
    random = np.random.default_rng(3)
    weight_sknaL, partial_sxaL = random.random((2, 4, 5, 3, 4)), random.random((2, 11, 3, 4))
    projections = ProjectionRecord(("s", "p", "d", "f"), weight_sknaL, np.ones(3))
    final = make_record(spins=2).final
    final = replace(final, projections=projections, dos=replace(final.dos, partial_sxaL=partial_sxaL))
    path = KpointGeneration("listgenerated", per_line=2, end_kc=np.zeros((3, 3)))
    points_kc = np.arange(12).reshape(4, 3) / 12
    second = BandsRecord(points_kc, np.zeros(4), final.eig_skn + 1, final.occ_skn, path)
    file, record = written(spins=2, final=final, second=second)
    assert [word.decode() for word in file["results/projectors/lchar"]] == ["s", "p", "d", "f"]
    np.testing.assert_array_equal(file["results/projectors/par"][1, 2, 3], weight_sknaL[1, :, :, 2, 3])
    np.testing.assert_array_equal(file["results/electron_dos/dospar"][1, 2, 3], partial_sxaL[1, :, 2, 3])
    assert file["input/kpoints_opt/mode"][()] == b"line" and file["input/kpoints_opt/number_kpoints"][()] == 2
    opt = file["results/electron_eigenvalues_kpoints_opt"]
    np.testing.assert_array_equal(opt["eigenvalues"], final.eig_skn + 1)
    np.testing.assert_array_equal(opt["kpoint_coords"], points_kc)
    assert file["results/electron_dos_kpoints_opt/efermi"][()] == record.final.fermi_level


def test_a_dispersion_correction_is_a_column_of_its_own(tmp_path, make_record):
    record = make_record()
    steps = tuple(replace(ionic, components={**ionic.components, "dispersion": -0.5}) for ionic in record.ionic_steps)
    write_vaspout(tmp_path / "vaspout.h5", replace(record, ionic_steps=steps))
    with h5py.File(tmp_path / "vaspout.h5") as file:
        ions = file["intermediate/ion_dynamics"]
        assert ions["energies_tags"][()][-1].strip() == b"dispersion     EDISP"
        np.testing.assert_allclose(ions["energies"][:, -1], -0.5)
        assert ions["energies"][-1, 0] == record.last.free_energy
