"""What a later run takes from eigenwerk.h5: the converged energy never depends on it, the number of steps does."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from covering import but_slow
from eigenwerk import __version__
from eigenwerk.dft.basis import plane_wave_basis
from eigenwerk.dft.basis.grids import told_apart
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.density.density import Density, electrons_of
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.quantities.records import Observables, ionic_step
from eigenwerk.dft.runs.run import run_folder
from eigenwerk.dft.runs.saving.checkpoint import density_of, fields_tree, load_start
from eigenwerk.dft.runs.saving.output_folder import OutputFolder
from eigenwerk.dft.runs.saving.saving import Saver
from eigenwerk.dft.spin.form import COLLINEAR
from eigenwerk.errors import InputError
from eigenwerk.io.hdf5.hdf5_state import VERSION, read_header, read_state, write_state
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.units import HARTREE_EV
from when_used import when_used

Oszicar = when_used("pymatgen.io.vasp.outputs", "Oszicar")
Vasprun = when_used("pymatgen.io.vasp.outputs", "Vasprun")

POSCAR = "silicon\n{a}\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 {last}\n"
KPOINTS = "mesh\n0\nGamma\n{mesh}\n"
INCAR = {"ENCUT": 150, "EDIFF": "1E-7", "ISMEAR": 0, "SIGMA": 0.05, "NBANDS": 6}


def make_folder(path, a=5.43, last=0.26, mesh="2 2 1", **tags):
    path.mkdir(exist_ok=True)
    (path / "POSCAR").write_text(POSCAR.format(a=a, last=last))
    (path / "KPOINTS").write_text(KPOINTS.format(mesh=mesh))
    (path / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in (INCAR | tags).items()))
    return path


def make_calculation(folder):
    inputs = read_inputs(folder)
    datasets = {symbol: read_paw_xml(file) for symbol, file in inputs.datasets.items()}
    return Calculation(inputs.structure, inputs.kpoints, inputs.parameters, datasets)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """A converged run: (its state file, its result)."""
    folder = make_folder(tmp_path_factory.mktemp("earlier") / "run")
    return folder / "eigenwerk.h5", run_folder(folder)


@pytest.fixture
def folder_with_state(earlier, tmp_path):
    """Makes a folder that holds the state of the earlier run and asks for it."""

    def make(state=None, **changes):
        folder = make_folder(tmp_path / "later", **({"ISTART": 1} | changes))
        (folder / "eigenwerk.h5").write_bytes(Path(state or earlier[0]).read_bytes())
        return folder

    return make


def test_nothing_is_left_to_do_for_the_same_input(earlier, folder_with_state):
    result = run_folder(folder_with_state())
    assert len(result.steps) == 1  # NELMIN counts those of the earlier run
    assert result.free_energy == pytest.approx(earlier[1].free_energy, abs=1e-7)  # EDIFF
    # the first residual is the one that the finished run had left, a hundredth of a fresh start's at least
    assert result.steps[0].density_residual < 1.5 * earlier[1].steps[-1].density_residual
    assert result.steps[0].density_residual < 0.01 * earlier[1].steps[0].density_residual


def test_stored_state_comes_back_unchanged(earlier, folder_with_state):
    calculation = make_calculation(folder_with_state())
    start, state = load_start(earlier[0], calculation), earlier[1].ground_state.state
    assert torch.allclose(start.density.density_sg, state.following.density_sg, rtol=1e-13, atol=0)
    assert torch.allclose(start.density.occupancy_sx, state.following.occupancy_sx, rtol=1e-13, atol=0)
    assert torch.allclose(start.coeff_sknG, state.coeff_sknG, rtol=1e-14, atol=0)
    assert start.notes == ()


CHANGES = {
    "larger cutoff": {"ENCUT": 200},
    "smaller cutoff": {"ENCUT": 120},
    "finer density": {"PREC": "Accurate"},
    "more bands": {"NBANDS": 9},
    "fewer bands": {"NBANDS": 5},
    "two spin channels": {"ISPIN": 2, "MAGMOM": "0.1 0.1"},
    "other k-points": {"mesh": "2 2 2"},
    "moved atoms": {"last": 0.255},
    "strained cell": {"a": 5.5},
    "density only": {"ISTART": 0, "ICHARG": 1},
}


def steps_to_a_microelectronvolt(result):
    return next(step.step for step in result.steps if abs(step.free_energy - result.free_energy) < 1e-6)


@pytest.mark.fast("moved atoms")
@pytest.mark.parametrize(
    "change",
    but_slow(tuple(CHANGES), "smaller cutoff", "finer density", "more bands", "other k-points", "strained cell"),
)
def test_result_does_not_depend_on_the_start(folder_with_state, tmp_path, change):
    scratch = run_folder(make_folder(tmp_path / "scratch", **({"ISTART": 0} | CHANGES[change])))
    again = run_folder(folder_with_state(**CHANGES[change]))
    assert scratch.converged and again.converged
    assert again.free_energy == pytest.approx(scratch.free_energy, abs=1e-7)  # EDIFF
    if change != "other k-points":  # on meshes this coarse the density of another one is no better than atoms
        assert steps_to_a_microelectronvolt(again) <= steps_to_a_microelectronvolt(scratch)
    taken = "density" if change in ("other k-points", "density only") else "density and orbitals"
    assert again.notes[0].startswith(f"starting from the {taken} of") and not scratch.notes


@pytest.mark.parametrize(("change", "words"), [
    ("other k-points", "the k-points differ"),
    ("moved atoms", "atoms have moved by up to 0.0"),
    ("strained cell", "the cell has changed"),
    ("two spin channels", "ISPIN was 1, now it is 2"),
])  # fmt: skip
def test_differences_are_told(folder_with_state, change, words):
    folder = folder_with_state(**CHANGES[change])
    notes = load_start(folder / "eigenwerk.h5", make_calculation(folder)).notes
    assert any(words in note for note in notes), notes


@pytest.mark.fast("larger cutoff", "fewer bands", "two spin channels", "other k-points")
@pytest.mark.parametrize("change", CHANGES)
def test_start_has_the_right_shapes_and_electrons(folder_with_state, change):
    folder = folder_with_state(**CHANGES[change])
    calculation = make_calculation(folder)
    start = load_start(folder / "eigenwerk.h5", calculation)
    assert float(electrons_of(start.density, calculation.atoms).sum()) == pytest.approx(8, abs=1e-12)
    assert start.density.spin == calculation.basis.spin
    assert start.density.density_sg.shape[1] == calculation.basis.density_count
    if start.coeff_sknG is not None:
        spins, bands = calculation.parameters.spins, calculation.parameters.bands
        assert start.coeff_sknG.shape[:1] + start.coeff_sknG.shape[2:3] == (spins, bands)
        assert float((start.coeff_sknG.abs() * (1 - calculation.basis.mask_kG[:, None])).max()) == 0


@pytest.mark.slow
def test_polarised_state_serves_an_unpolarised_run(tmp_path):
    folder = make_folder(tmp_path / "x", ISPIN=2, MAGMOM="0.5 0.5", NELM=4)
    run_folder(folder)
    scratch = run_folder(make_folder(tmp_path / "y"))
    again = run_folder(make_folder(folder, ISTART=1))
    assert again.free_energy == pytest.approx(scratch.free_energy, abs=2e-8)
    assert any("ISPIN was 2" in note for note in again.notes)


@pytest.mark.slow
@pytest.mark.fast("2")
@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_polarised_run_goes_on_from_any_of_its_first_steps(tmp_path, step):
    """The memory of the mixer has one channel until there is a change of both."""
    folder = make_folder(tmp_path / "x", ISPIN=2, MAGMOM="0.5 0.5", NELM=step)
    run_folder(folder)
    again = run_folder(make_folder(folder, ISPIN=2, MAGMOM="0.5 0.5", ISTART=1))
    assert again.converged and len(again.steps) > 1


def test_other_number_of_electrons_is_reached(folder_with_state):
    folder = folder_with_state(NELECT=7.5)
    calculation = make_calculation(folder)
    start = load_start(folder / "eigenwerk.h5", calculation)
    assert float(electrons_of(start.density, calculation.atoms).sum()) == pytest.approx(7.5, abs=1e-12)


@pytest.mark.slow
def test_orbitals_can_be_left_out(tmp_path):
    folder = make_folder(tmp_path / "x", LWAVE=".FALSE.", NELM=3)
    run_folder(folder)
    assert "coeff_sknG" not in read_state(folder / "eigenwerk.h5")["bands"]
    again = run_folder(make_folder(folder, ISTART=1, NELM=3))
    assert "the file holds no orbitals: density only" in again.notes


# --- what is kept ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_memory_of_the_mixer_takes_no_more_room_than_the_orbitals(tmp_path):
    """Of the changes as many as fit, the newest; with the orbitals it is left out."""
    names = "last_ixy", "best_ixy", "change_ixjy"
    for bands, kept in ((5, 1), (20, 5)):
        folder = make_folder(tmp_path / f"x{bands}", NBANDS=bands, NELM=6)
        run_folder(folder)
        state = read_state(folder / "eigenwerk.h5", only=["bands", "progress"])
        memory = state["progress"]["mixer"]
        size = sum(memory[name].nbytes for name in names if memory[name] is not None)
        assert size <= state["bands"]["coeff_sknG"].nbytes
        assert len(memory["history"]["places"]) == memory["change_ixjy"].shape[2] >= kept
    run_folder(make_folder(tmp_path / "without", LWAVE=".FALSE.", NELM=3))
    assert read_state(tmp_path / "without" / "eigenwerk.h5", only=["progress"])["progress"]["mixer"] is None


def test_fields_come_back_whatever_they_are(tmp_path):
    """Hermitian matrices with their imaginary parts; one density has no say in what the other is."""
    draw = np.random.default_rng(3)

    def value(size):
        return torch.as_tensor(draw.normal(size=(2, size)) + 1j * draw.normal(size=(2, size)))

    one, other = (Density.of(value(7), value(25), COLLINEAR) for _ in range(2))
    write_state(tmp_path / "x.h5", {"density": fields_tree(one), "next": fields_tree(other)}, __version__)
    tree = read_state(tmp_path / "x.h5")
    for name, density in (("density", one), ("next", other)):
        assert list(tree[name]) == ["waves", "matrices"]
        found = density_of(tree[name])
        assert list(found.value) == list(density.value)
        assert all(torch.equal(found.value[field], density.value[field]) for field in density.value)


@pytest.mark.slow
def test_a_sequence_of_ionic_steps_is_kept_with_the_state_of_the_last(earlier, folder_with_state, tmp_path):
    """Structures and results of all; what a later run goes on from is the last one's."""
    folder = folder_with_state(NELM=60)
    inputs, state = read_inputs(folder), earlier[1].ground_state.state
    calculation = make_calculation(folder)
    ground = calculation.run(start=state)
    saver = Saver(inputs, calculation, OutputFolder(tmp_path))
    observables = Observables.of(ground)
    last = ionic_step(inputs, ground.state, observables, True)
    saver.earlier = (replace(last, free_energy=last.free_energy + 0.5, scaled_ac=last.scaled_ac + 0.1, forces_av=None),)
    record, _ = saver.write(ground.state, observables, "converged")
    assert len(record.ionic_steps) == 2 and record.last.free_energy == pytest.approx(last.free_energy)
    tree = read_state(tmp_path / "eigenwerk.h5")
    steps = tree["ionic_steps"]
    assert np.diff(steps["free_x"] * HARTREE_EV) == pytest.approx(-0.5)
    np.testing.assert_allclose(np.diff(steps["scaled_xac"], axis=0)[0], -0.1, atol=1e-12)
    np.testing.assert_allclose(steps["lattice_xcv"][1], tree["structure"]["lattice_cv"], atol=1e-12)
    np.testing.assert_allclose(steps["forces_xav"][1], ground.forces_av, atol=1e-15)
    assert np.isnan(steps["forces_xav"][0]).all() and steps["moment_x"] is None
    np.testing.assert_allclose(tree["structure"]["scaled_ac"], last.scaled_ac)
    vasprun = Vasprun(tmp_path / "vasprun.xml", parse_potcar_file=False)
    assert len(Oszicar(tmp_path / "OSZICAR").ionic_steps) == len(vasprun.ionic_steps) == 2
    assert load_start(tmp_path / "eigenwerk.h5", make_calculation(folder)).progress is not None


# --- version 1 -------------------------------------------------------------------------------------------------------


@pytest.fixture
def version_1(repository, tmp_path):
    """A folder with a state of version 1 and the inputs it was made from."""
    file = repository / "tests" / "data" / "states" / "version_1.h5"
    for name, text in read_state(file)["input"]["texts"].items():
        (tmp_path / name).write_text(text)
    (tmp_path / "eigenwerk.h5").write_bytes(file.read_bytes())
    if make_calculation(tmp_path).datasets["H"].md5 != read_state(file)["setups"]["H"]["md5"]:
        pytest.skip("the PAW data of hydrogen are not those of the file")
    return tmp_path


def test_a_state_of_version_1_is_still_read(version_1):
    """Density and orbitals as they stand in the file; there was no memory of the mixer."""
    tree, calculation = read_state(version_1 / "eigenwerk.h5"), make_calculation(version_1)
    assert read_header(version_1 / "eigenwerk.h5").version == 1
    start = load_start(version_1 / "eigenwerk.h5", calculation)
    assert start.progress is None and len(start.notes) == 1 and "had not converged" in start.notes[0]
    then_sg, now_sg = tree["density"]["density_sg"], start.density.density_sg
    count = then_sg.shape[1]  # it held the waves of a smaller sphere: the shortest ones of today
    assert count < now_sg.shape[1] and calculation.basis.norm2_g[count] > calculation.basis.norm2_g[count - 1]
    np.testing.assert_allclose(now_sg[:, :count], then_sg, rtol=1e-6, atol=1e-15)
    np.testing.assert_allclose(start.density.occupancy_sx, tree["occupancy"]["occupancy_sx"], rtol=1e-6, atol=1e-15)
    assert start.coeff_sknG.shape[:3] == tree["bands"]["coeff_sknG"].shape[:3]


@pytest.mark.slow
def test_a_run_goes_on_from_a_state_of_version_1(version_1):
    before = read_state(version_1 / "eigenwerk.h5", only=["history"])["history"]["free"][-1] * HARTREE_EV
    anew = run_folder(version_1, version_1 / "anew")
    with open(version_1 / "INCAR", "a") as incar:
        incar.write("ISTART = 1\n")
    result = run_folder(version_1)
    assert "density and orbitals" in result.notes[0]
    there, from_atoms = (sum(step.applications for step in one.steps) for one in (result, anew))
    assert result.converged and there < from_atoms
    assert result.free_energy == pytest.approx(anew.free_energy, abs=1e-4)
    assert before == pytest.approx(result.free_energy, abs=3e-3)  # its density ended at 1.5 G_cut: 1.8 meV
    assert read_header(version_1 / "eigenwerk.h5").version == VERSION


# --- refusals --------------------------------------------------------------------------------------------------------


def altered(earlier, tmp_path, change):
    """A state file with something changed in its tree."""
    state = read_state(earlier[0])
    change(state)
    write_state(tmp_path / "altered.h5", state, __version__)
    return tmp_path / "altered.h5"


def test_other_atoms_are_refused(earlier, folder_with_state, tmp_path):
    def change(state):
        state["structure"]["symbols"] = ("Ge", "Si")

    folder = folder_with_state(altered(earlier, tmp_path, change))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(InputError, match=r"2 atoms Ge Si, but POSCAR has the 2 atoms Si Si.*ISTART = 0"):
        run_folder(folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_other_paw_data_are_refused(earlier, folder_with_state, tmp_path):
    def change(state):
        state["setups"]["Si"]["md5"] = "0" * 32

    with pytest.raises(InputError, match=r"PAW data Si.PBE \(md5 00000000\) for Si"):
        run_folder(folder_with_state(altered(earlier, tmp_path, change)))


def test_state_of_something_else_is_refused(folder_with_state, tmp_path):
    write_state(tmp_path / "other.h5", {"levels": np.zeros(3)}, __version__)
    with pytest.raises(InputError, match="no ground state of a crystal"):
        run_folder(folder_with_state(tmp_path / "other.h5"))


@pytest.mark.slow
def test_a_state_with_other_waves_of_the_density_starts_a_run(tmp_path, monkeypatch):
    """PREC = Normal had the sphere of 1.5 G_cut once; the word, and grids of small cells, are the same."""

    def sphere_alone(structure, index_gc, size_c):
        norm_g = np.linalg.norm(index_gc @ structure.reciprocal_cv, axis=1)
        return told_apart(structure, index_gc, size_c) & (norm_g <= 0.75 * norm_g.max())

    monkeypatch.setattr(plane_wave_basis, "told_apart", sphere_alone)
    folder = make_folder(tmp_path / "x")
    run_folder(folder)
    monkeypatch.undo()
    scratch = run_folder(make_folder(tmp_path / "y"))
    again = run_folder(make_folder(folder, ISTART=1))
    assert again.converged and again.free_energy == pytest.approx(scratch.free_energy, abs=1e-7)
    assert any("mixing starts afresh: not the same waves of the density" in note for note in again.notes)
