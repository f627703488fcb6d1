"""WAVECAR is read back by pymatgen and by eigenwerk: energies, occupations, and each coefficient at its plane wave."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.run_stamp import RunStamp, stamp_of
from eigenwerk.io.vasp.output.record import OrbitalRecord
from eigenwerk.io.vasp.output.wavecar import write_wavecar
from eigenwerk.io.vasp.wavecar import KINETIC, read_wavecar, wavecar_bytes, waves_within

CUTOFF = 31.7


@pytest.fixture
def written(tmp_path, make_record):
    """Write random orbitals, their plane waves in any order; returns the path, the record and the orbitals."""

    def write(spins=1, cutoff=CUTOFF):
        record = make_record(spins=spins, parameters={"ENCUT": cutoff}, stamp=RunStamp("0123456789abcdef", 2))
        random = np.random.default_rng(5)
        spheres = [
            random.permutation(waves_within(record.last.lattice_cv, CUTOFF, point_c, 10**5))
            for point_c in record.kpoint_kc
        ]
        counts = tuple(map(len, spheres))
        index_kGc = np.zeros((4, max(counts), 3), int)
        for k, index_Gc in enumerate(spheres):
            index_kGc[k, : counts[k]] = index_Gc
        coeff_sknG = random.normal(size=(spins, 4, 5, max(counts))) + 1j
        orbitals = OrbitalRecord(counts, index_kGc, coeff_sknG)
        write_wavecar(tmp_path / "WAVECAR", replace(record, orbitals=orbitals))
        return tmp_path / "WAVECAR", record, orbitals

    return write


def _sorted(index_Gc, coeff_nG):
    order = np.lexsort(index_Gc.T)
    return index_Gc[order], coeff_nG[:, order]


@pytest.mark.parametrize("spins", [1, 2])
def test_pymatgen_and_eigenwerk_read_every_number(written, spins):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    path, record, orbitals = written(spins)
    theirs, ours = outputs.Wavecar(str(path)), read_wavecar(path)
    assert (theirs.spin, theirs.nk, theirs.nb, theirs.vasp_type) == (spins, 4, 5, "std")
    assert theirs.encut == pytest.approx(CUTOFF, rel=1e-8) and theirs.efermi == ours.fermi_level == 2.25
    np.testing.assert_array_equal(theirs.a, record.last.lattice_cv)
    np.testing.assert_array_equal(theirs.kpoints, record.kpoint_kc)
    np.testing.assert_array_equal(ours.point_kc, record.kpoint_kc)
    np.testing.assert_array_equal(ours.eig_skn, record.final.eig_skn)
    np.testing.assert_array_equal(ours.occ_skn, record.final.occ_skn)
    assert path.stat().st_size == wavecar_bytes(spins, 4, 5, max(orbitals.count_k)) and stamp_of(path) == record.stamp
    for s, k in np.ndindex(spins, 4):
        count = orbitals.count_k[k]
        expected = _sorted(orbitals.index_kGc[k, :count], orbitals.coeff_sknG[s, k, :, :count])
        coeffs, energies = (values[s] if spins == 2 else values for values in (theirs.coeffs, theirs.band_energy))
        np.testing.assert_array_equal(energies[k][:, ::2].T, [record.final.eig_skn[s, k], record.final.occ_skn[s, k]])
        for index_Gc, coeff_nG, limit in (
            (theirs.Gpoints[k].astype(int), np.array(coeffs[k]), 1e-6),  # two spins in single precision
            (ours.waves(k), ours.coefficients(s, k), 0),
        ):
            index_Gc, coeff_nG = _sorted(index_Gc, coeff_nG)
            np.testing.assert_array_equal(index_Gc, expected[0])
            np.testing.assert_allclose(coeff_nG, expected[1], atol=limit, rtol=0)


def test_cutoff_is_raised_where_vasps_constant_would_lose_waves(written):
    """The outermost waves lie above ENCUT by VASP's 2m/ħ²; those of the file are found again all the same."""
    path, record, orbitals = written(cutoff=0.9 * CUTOFF)
    file = read_wavecar(path)
    reciprocal_cv = 2 * np.pi * np.linalg.inv(record.last.lattice_cv).T
    longest = max(
        (((index_Gc[:count] + point_c) @ reciprocal_cv) ** 2).sum(1).max()
        for index_Gc, count, point_c in zip(orbitals.index_kGc, orbitals.count_k, record.kpoint_kc, strict=True)
    )
    assert file.cutoff == pytest.approx(longest / KINETIC, rel=1e-8) and file.cutoff > 0.9 * CUTOFF
    assert [len(file.waves(k)) for k in range(4)] == list(orbitals.count_k)


def test_without_orbitals_there_is_none(tmp_path, make_record):
    with pytest.raises(ValueError, match="not kept"):
        write_wavecar(tmp_path / "WAVECAR", make_record())


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, 7.5, "no whole numbers"), (1, 3, "3 spins"), (2, 45300, "precision 45300"), (0, 1e12, "no WAVECAR"),
        ("second", np.nan, "no numbers"), ("second", 1e6, "need more"), ("cutoff", -1.0, "no sensible numbers"),
        ("cutoff", 20.0, "its cell and cutoff mean"), ("cell", 0.0, "no volume"), ("waves", 1e5, "cannot hold"),
        ("point", np.inf, "no numbers"), ("coefficient", np.nan, "coefficients of k-point 1 are no numbers"),
    ],
)  # fmt: skip
def test_what_cannot_be_true_is_an_input_error(written, place, value, words):
    path, _, _ = written()
    whole = np.fromfile(path)
    size = int(whole[0]) // 8
    places = {"second": size, "cutoff": size + 2, "cell": slice(size + 3, size + 6), "waves": 2 * size}
    places |= {"point": 2 * size + 1, "coefficient": 3 * size}
    whole[places.get(place, place)] = value
    whole.tofile(path)
    with pytest.raises(InputError, match=words):
        read_wavecar(path).coefficients(0, 0)
        read_wavecar(path).waves(0)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_half_spheres_and_two_components_are_told_apart(written, factor):
    path, _, orbitals = written()
    whole = np.fromfile(path)
    size = int(whole[0]) // 8
    count = orbitals.count_k[0]
    at = 2 * size
    whole[at] = (count + 1) // 2 if factor < 1 else count
    if factor > 1:  # a cutoff with half the waves
        file = read_wavecar(path)
        norms = np.sort([(((g + file.point_kc[0]) @ (2 * np.pi * np.linalg.inv(file.lattice_cv).T)) ** 2).sum()
                         for g in file.waves(0)])  # fmt: skip
        half = count // 2
        whole[at], whole[size + 2] = 2 * half, 0.5 * (norms[half - 1] + norms[half]) / KINETIC
        assert norms[half] > norms[half - 1]
    whole.tofile(path)
    with pytest.raises(InputError, match="half spheres" if factor < 1 else "two components"):
        read_wavecar(path).waves(0)


@pytest.mark.parametrize("length", [0, 10, 100, 5000])
def test_a_file_that_is_cut_off_is_an_input_error(written, length):
    path, _, _ = written()
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(InputError, match="WAVECAR"):
        read_wavecar(path)


def test_points_without_weight_are_left_out(tmp_path, make_record):
    """Points that were added to a mesh stand anywhere in the list; orbitals are those of the mesh."""
    record = make_record(weight_k=np.array([0.5, 0, 0.25, 0.25]), parameters={"ENCUT": CUTOFF})
    spheres = [waves_within(record.last.lattice_cv, CUTOFF, record.kpoint_kc[k], 10**5) for k in (0, 2, 3)]
    counts = tuple(map(len, spheres))
    index_kGc = np.zeros((3, max(counts), 3), int)
    for k, index_Gc in enumerate(spheres):
        index_kGc[k, : counts[k]] = index_Gc
    orbitals = OrbitalRecord(counts, index_kGc, np.ones((1, 3, 5, max(counts)), complex))
    write_wavecar(tmp_path / "WAVECAR", replace(record, orbitals=orbitals))
    file = read_wavecar(tmp_path / "WAVECAR")
    np.testing.assert_array_equal(file.point_kc, record.kpoint_kc[[0, 2, 3]])
    np.testing.assert_array_equal(file.eig_skn, record.final.eig_skn[:, [0, 2, 3]])
    assert [len(file.waves(k)) for k in range(3)] == list(counts)
