"""Bands of a folder: in a density that is kept, at points of weight zero, at a second list of k-points."""

import json
import shutil

import numpy as np
import pytest

from eigenwerk.dft.basis.grids import fine_room
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.run import run_folder, run_inputs
from eigenwerk.errors import InputError
from eigenwerk.io.run_stamp import stamp_of
from when_used import when_used

BSVasprun = when_used("pymatgen.io.vasp.outputs", "BSVasprun")
Elfcar = when_used("pymatgen.io.vasp.outputs", "Elfcar")
Vasprun = when_used("pymatgen.io.vasp.outputs", "Vasprun")
Wavecar = when_used("pymatgen.io.vasp.outputs", "Wavecar")

POSCAR = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"
MESH = "mesh\n0\nGamma\n2 2 2\n"
PATH = "path\n7\nLine\nReciprocal\n.5 .5 .5 L\n0 0 0 G\n\n0 0 0 G\n.5 0 .5 X\n"
INCAR = {"ENCUT": 200, "EDIFF": "1E-8", "ISMEAR": 0, "SIGMA": 0.05, "NBANDS": 8}
MICRO = 1e-6


def make_folder(path, source=None, poscar=POSCAR, kpoints=MESH, opt=None, **tags):
    """A folder with silicon; source: a folder whose state it takes over."""
    path.mkdir(exist_ok=True)
    (path / "POSCAR").write_text(poscar)
    (path / "KPOINTS").write_text(kpoints)
    (path / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in (INCAR | tags).items()))
    if opt is not None:
        (path / "KPOINTS_OPT").write_text(opt)
    if source is not None:
        shutil.copy(source / "eigenwerk.h5", path)
    return path


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    """Self-consistent silicon with a path besides: (folder, result)."""
    folder = make_folder(tmp_path_factory.mktemp("bands") / "ground", opt=PATH)
    return folder, run_folder(folder)


@pytest.fixture(scope="module")
def kept(ground, tmp_path_factory):
    """The same path in its density: (folder, result)."""
    folder = make_folder(tmp_path_factory.mktemp("bands") / "kept", ground[0], kpoints=PATH, ICHARG=11)
    return folder, run_folder(folder)


def read(folder, kind=Vasprun):
    return kind(folder / "vasprun.xml", parse_potcar_file=False)


@pytest.mark.slow
def test_a_path_in_the_same_run_and_in_its_density_is_the_same(ground, kept):
    one, other = ground[1], kept[1]
    assert one.converged and other.converged and other.fixed_density and not one.fixed_density
    assert one.status.endswith("bands of 14 k-points converged, residuals below 3e-05 eV")
    np.testing.assert_allclose(other.bands.eig_skn, one.bands.eig_skn, atol=MICRO)
    np.testing.assert_allclose(other.eig_skn, one.bands.eig_skn, atol=MICRO)
    assert other.fermi_level == pytest.approx(one.fermi_level, abs=1e-9)
    np.testing.assert_array_equal(other.forces_av, one.forces_av)  # sums over a path mean nothing
    np.testing.assert_allclose(other.stress_vv, one.stress_vv, rtol=1e-12)
    assert any("forces and stress are those of the run that made" in note for note in other.notes)
    assert other.ground_state is None
    assert one.bands.gap.gap == pytest.approx(other.bands.gap.gap, abs=MICRO) and not one.bands.gap.metal
    json.dumps(other.as_dict(), allow_nan=False)


def test_mesh_points_on_the_path_have_the_bands_of_the_mesh(ground):
    result = ground[1]
    for k, point_c in enumerate(result.kpoint_kc):
        away_kc = result.bands.point_kc - point_c
        for place in np.flatnonzero(np.abs(away_kc - np.rint(away_kc)).max(1) < 1e-9):
            np.testing.assert_allclose(result.bands.eig_skn[0, place, :5], result.eig_skn[0, k, :5], atol=MICRO)


def test_a_kept_density_leaves_its_file_alone(ground, kept):
    assert "eigenwerk.h5" not in kept[1].files and "bands.json" in kept[1].files
    assert stamp_of(kept[0] / "eigenwerk.h5") == stamp_of(ground[0] / "eigenwerk.h5")
    assert any("the Fermi level is that of the run that made" in note for note in kept[1].notes)
    document = json.loads((kept[0] / "bands.json").read_text())
    assert document["labels"][0] == "L" and document["lines"] == [0] * 7 + [1] * 7


def test_pymatgen_reads_the_path(ground, kept):
    for folder, name in ((ground[0], "KPOINTS_OPT"), (kept[0], "KPOINTS")):
        for kind in (Vasprun, BSVasprun):
            bands = read(folder, kind).get_band_structure(kpoints_filename=str(folder / name), line_mode=True)
            assert [branch["name"] for branch in bands.branches] == ["L-G", "G-X"]
            assert bands.get_band_gap()["energy"] == pytest.approx(kept[1].bands.gap.gap, abs=1e-5)
    second = read(ground[0]).kpoints_opt_props
    assert len(second.actual_kpoints) == 14 and second.kpoints.style.name == "Line_mode"
    assert read(kept[0]).converged_electronic


def test_weightless_points_take_no_part_and_come_in_the_order_of_the_file(ground, tmp_path):
    whole = ground[1]
    rows = [f"{' '.join(map(str, p))} {w}" for p, w in zip(whole.kpoint_kc, whole.weight_k, strict=True)]
    extra = [f"{' '.join(map(str, whole.kpoint_kc[1]))} 0 ! M", ".1 .2 .3 0"]
    rows = [rows[0], extra[0], *rows[1:], extra[1]]
    folder = make_folder(tmp_path / "list", kpoints=f"list\n{len(rows)}\nReciprocal\n" + "\n".join(rows) + "\n")
    result = run_folder(folder)
    assert result.converged and result.free_energy == pytest.approx(whole.free_energy, abs=1e-8)
    assert np.flatnonzero(result.weight_k == 0).tolist() == [1, len(rows) - 1]
    np.testing.assert_allclose(result.eig_skn[0, 1], result.eig_skn[0, 2], atol=MICRO)
    np.testing.assert_allclose(result.kpoint_kc[-1], [0.1, 0.2, 0.3])
    vasprun = read(folder)
    assert vasprun.actual_kpoints_weights[1] == 0.0
    np.testing.assert_allclose(next(iter(vasprun.eigenvalues.values()))[:, :, 0], result.eig_skn[0], atol=1e-7)


def test_a_mesh_in_a_kept_density_has_a_fermi_level_and_gives_back_its_energy(ground, tmp_path):
    folder = make_folder(tmp_path / "mesh", ground[0], ICHARG=11)
    result = run_folder(folder)
    assert result.bands is None and any("of this mesh" in note for note in result.notes)
    assert result.free_energy == pytest.approx(ground[1].free_energy, abs=1e-6)
    assert result.fermi_level == pytest.approx(ground[1].fermi_level, abs=1e-5)


def test_the_density_of_chgcar_can_be_kept_and_has_no_fermi_level(ground, kept, tmp_path):
    folder = make_folder(tmp_path / "chgcar", kpoints=PATH, ICHARG=11)
    shutil.copy(ground[0] / "CHGCAR", folder)
    result = run_folder(folder)
    assert "CHGCAR" in result.status and any("no other is known" in note for note in result.notes)
    assert "CHGCAR" not in result.files and result.bands.gap.gap == pytest.approx(kept[1].bands.gap.gap, abs=1e-4)
    np.testing.assert_allclose(result.eig_skn, kept[1].eig_skn, atol=1e-4)
    assert result.forces_av is None and result.stress_vv is None
    other = make_folder(tmp_path / "other", kpoints=PATH, ICHARG=11, ISPIN=2)
    shutil.copy(ground[0] / "CHGCAR", other)
    with pytest.raises(InputError, match="cannot be kept: it was made with ISPIN = 1, and here ISPIN = 2"):
        run_folder(other)


@pytest.mark.slow
def test_a_grid_that_is_finer_only_for_symmetry_serves_without(ground, kept, tmp_path):
    folder = make_folder(tmp_path / "finer", kpoints=PATH, ICHARG=11)
    coarse = read_inputs(folder).grids.fine
    finer = {f"NG{axis}F": size + 4 for axis, size in zip("XYZ", coarse, strict=True)}
    made = make_folder(tmp_path / "made", **finer)
    run_folder(made)
    shutil.copy(made / "CHGCAR", folder)
    result = run_folder(folder)
    assert any("another grid" in note for note in result.notes)
    np.testing.assert_allclose(result.eig_skn, kept[1].eig_skn, atol=1e-3)


@pytest.mark.slow
def test_a_coarser_grid_that_holds_the_compensation_charges_serves(ground, kept, tmp_path):
    """As files of PREC = Normal before its grids became larger."""
    folder = make_folder(tmp_path / "coarser", kpoints=PATH, ICHARG=11)
    inputs = read_inputs(folder)
    least = fine_room(inputs.structure, inputs.parameters.cutoff)
    assert max(least) + 1 < min(inputs.grids.fine)
    made = make_folder(tmp_path / "made", **{f"NG{axis}F": size + 1 for axis, size in zip("XYZ", least, strict=True)})
    run_folder(made)
    shutil.copy(made / "CHGCAR", folder)
    result = run_folder(folder)
    assert any("another grid" in note for note in result.notes)
    np.testing.assert_allclose(result.eig_skn, kept[1].eig_skn, atol=1e-3)


@pytest.mark.slow
def test_the_density_of_a_run_with_spin_that_found_no_moment_can_be_kept_without(kept, tmp_path):
    spin = make_folder(tmp_path / "spin", ISPIN=2, MAGMOM="2*0.1")
    run_folder(spin)
    folder = make_folder(tmp_path / "chgcar", kpoints=PATH, ICHARG=11)
    shutil.copy(spin / "CHGCAR", folder)
    result = run_folder(folder)
    assert "ISPIN was 2, now it is 1" in result.notes
    np.testing.assert_allclose(result.eig_skn, kept[1].eig_skn, atol=1e-3)


@pytest.mark.slow
def test_superposed_atoms_can_be_kept(tmp_path):
    result = run_folder(make_folder(tmp_path / "atoms", kpoints=PATH, ICHARG=12))
    assert result.converged and "superposed atoms" in result.status
    assert any("no other is known" in note for note in result.notes)


def test_a_list_without_weights_can_be_read_in_a_kept_density(ground, kept, tmp_path):
    points = "list\n2\nReciprocal\n0 0 0 0\n.5 0 .5 0\n"
    result = run_folder(make_folder(tmp_path / "list", ground[0], kpoints=points, ICHARG=11))
    np.testing.assert_allclose(result.eig_skn[0], kept[1].eig_skn[0, [7, 13]], atol=MICRO)
    assert not result.weight_k.any()


@pytest.mark.slow
def test_bands_that_do_not_converge_are_said_and_marked(ground, tmp_path):
    result = run_folder(make_folder(tmp_path / "few", ground[0], kpoints=PATH, ICHARG=11, NELM=1, EDIFF="1E-14"))
    assert not result.converged and not result.interrupted
    assert result.status.startswith("BANDS NOT CONVERGED at ") and "NELM" in result.advice[0]


@pytest.mark.fast("changes2-*", "changes3-*", "changes0-*")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"poscar": POSCAR.replace("5.43", "5.44")}, "its cell is another one"),
        ({"poscar": POSCAR.replace(".25 .25 .25", ".26 .25 .25")}, r"its atoms are elsewhere \(by up to"),
        ({"poscar": POSCAR.replace("Si\n", "C\n")}, "a start for the 2 atoms Si Si, but POSCAR has the 2 atoms C C"),
        ({"ISPIN": 2}, "it was made with ISPIN = 1, and here ISPIN = 2"),
        ({"NELECT": 7}, "it has 8 electrons, and here there are 7"),
    ],
)
def test_the_density_of_something_else_is_refused(ground, tmp_path, changes, message):
    folder = make_folder(tmp_path / "other", ground[0], **{"kpoints": PATH, "ICHARG": 11} | changes)
    with pytest.raises(InputError, match=message):
        run_folder(folder)


@pytest.mark.slow
def test_symmetry_that_the_density_lacks_is_not_used(tmp_path):
    """An antiferromagnetic chain, read with moments that make it ferromagnetic."""
    cell = "chain\n1\n2.5 0 0\n0 2.5 0\n0 0 5.4\nH\n2\nDirect\n0 0 0\n0 0 .5\n"
    tags = {"ISPIN": 2, "MAGMOM": "1 -1", "ENCUT": 150, "NBANDS": 4}
    ground = make_folder(tmp_path / "ground", poscar=cell, kpoints="m\n0\nG\n1 1 2\n", **tags)
    assert abs(run_folder(ground).moment_a[0]) > 0.1
    tags |= {"MAGMOM": "1 1", "ICHARG": 11}
    path = run_folder(make_folder(tmp_path / "path", ground, poscar=cell, kpoints=PATH, **tags))
    assert path.converged and any("less symmetry" in note for note in path.notes)
    right = make_folder(tmp_path / "right", ground, poscar=cell, kpoints=PATH, **tags | {"MAGMOM": "1 -1"})
    np.testing.assert_allclose(path.eig_skn, run_folder(right).eig_skn, atol=MICRO)
    with pytest.raises(InputError, match="does not have the symmetry by which the k-points of the mesh were reduced"):
        run_folder(make_folder(tmp_path / "mesh", ground, poscar=cell, kpoints="m\n0\nG\n2 2 2\n", **tags))


@pytest.mark.slow
def test_the_standard_path_comes_with_a_file_of_it(tmp_path):
    pytest.importorskip("seekpath", reason="seekpath is not installed")
    folder = make_folder(tmp_path / "auto", opt=PATH)
    inputs = read_inputs(folder, bands="G X")
    assert any("--bands G X takes its place" in str(problem) for problem in inputs.problems)
    result = run_inputs(inputs)
    assert set(result.files) > {"bands.json", "KPOINTS_BANDS"} and result.bands.label_k[0] == "G"
    bands = read(folder).get_band_structure(kpoints_filename=str(folder / "KPOINTS_BANDS"), line_mode=True)
    assert [branch["name"] for branch in bands.branches] == ["G-X"]


@pytest.mark.slow
def test_a_second_mesh_by_its_spacing(tmp_path):
    folder = make_folder(tmp_path / "mesh", KSPACING_OPT=0.5)
    result = run_folder(folder)
    assert len(result.bands.point_kc) == 10 and result.bands.line_k is None
    assert read(folder).kpoints_opt_props.kpoints.style.name == "Gamma"

FIELDS = {"LVHAR": "T", "LAECHG": "T", "LELF": "T"}
RATTLED = POSCAR.replace(".25 .25 .25", ".26 .245 .252")


@pytest.fixture(scope="module")
def rattled(tmp_path_factory):
    """Silicon with forces, and what a mesh and a path in its density leave: three pairs (folder, result)."""
    top = tmp_path_factory.mktemp("rattled")
    folders = [make_folder(top / "ground", poscar=RATTLED, **FIELDS)]
    results = [run_folder(folders[0])]
    for name, kpoints, tags in (("mesh", MESH, {}), ("path", PATH, {"LPARD": "T", "IBAND": 4, "KPUSE": 7})):
        folders.append(make_folder(top / name, folders[0], RATTLED, kpoints, ICHARG=11, **FIELDS, **tags))
        results.append(run_folder(folders[-1]))
    return list(zip(folders, results, strict=True))


def test_a_mesh_has_forces_and_stress_of_its_own(rattled):
    ground, mesh = rattled[0][1], rattled[1][1]
    assert np.abs(ground.forces_av).max() > 0.3 and not any("forces" in note for note in mesh.notes)
    np.testing.assert_allclose(mesh.forces_av, ground.forces_av, atol=1e-4)
    np.testing.assert_allclose(mesh.stress_vv, ground.stress_vv, atol=1e-3)
    assert 0 <= mesh.force_error < 1e-3


def test_orbitals_and_fields_are_written_as_in_the_run_that_made_the_density(rattled):
    (ground_folder, ground), (mesh_folder, mesh), (path_folder, path) = rattled
    for folder, result in rattled[1:]:
        assert {"WAVECAR", "LOCPOT", "AECCAR0", "AECCAR1", "AECCAR2", "ELFCAR"} <= result.files.keys()
        assert not {"CHGCAR", "CHG", "eigenwerk.h5"} & result.files.keys()
        for name in ("LOCPOT", "AECCAR0", "AECCAR1"):
            assert lines_of(folder / name) == lines_of(ground_folder / name)
        orbitals = Wavecar(str(folder / "WAVECAR"), verbose=False)
        energies = np.array([[level[0].real for level in levels] for levels in orbitals.band_energy])
        np.testing.assert_allclose(energies, result.eig_skn[0], atol=1e-8)
    assert "IBZKPT" in mesh.files and "IBZKPT" not in path.files and "PARCHG" in path.files
    one, other = (Elfcar.from_file(folder / "ELFCAR").data["total"] for folder in (ground_folder, mesh_folder))
    np.testing.assert_allclose(one, other, atol=1e-4)
    assert any("sum over its k-points" in str(problem) for problem in read_inputs(path_folder).problems)
    assert not any("sum over its k-points" in str(problem) for problem in read_inputs(mesh_folder).problems)
    np.testing.assert_allclose(mesh.eig_skn, ground.eig_skn, atol=MICRO)


def lines_of(path):
    """Without that which has the mark of the run."""
    return [line for line in path.read_text().splitlines() if not line.startswith("Direct")]


@pytest.mark.slow
def test_orbitals_that_nobody_wants_are_not_kept_and_change_nothing(kept, ground, tmp_path):
    folder = make_folder(tmp_path / "batches", ground[0], kpoints=PATH, ICHARG=11, LWAVE="F")
    assert not read_inputs(folder).parts.keeps_orbitals and read_inputs(kept[0]).parts.keeps_orbitals
    result = run_folder(folder)
    assert "WAVECAR" not in result.files and "WAVECAR" in kept[1].files
    np.testing.assert_allclose(result.eig_skn, kept[1].eig_skn, atol=MICRO)
