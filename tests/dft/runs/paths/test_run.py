"""Paths from folders to files: a stop and several ranks change nothing, and each image has the files of a run."""

import json
import shutil

import numpy as np
import pytest

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.paths.run import run_path
from eigenwerk.dft.runs.quantities.report import RunInterrupted
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.poscar import read_poscar
from running import run
from when_used import when_used

NEBAnalysis = when_used("pymatgen.analysis.transition_state", "NEBAnalysis")
Oszicar = when_used("pymatgen.io.vasp.outputs", "Oszicar")
Vasprun = when_used("pymatgen.io.vasp.outputs", "Vasprun")

pytest.importorskip("ase")
pytestmark = pytest.mark.filterwarnings("ignore:.*unconverged VASP run")
POSCAR = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\n{atoms}\nSelective\nDirect\n0 0 0 F F F\n{last} T T T\n"
INCAR = {"ENCUT": 120, "EDIFF": "1E-6", "ISMEAR": 0, "SIGMA": 0.05, "NBANDS": 6, "LCHARG": "F"}
BAND = {"IMAGES": 2, "IBRION": 2, "NSW": 3, "EDIFFG": -0.001}
PLACES = ["0.25 0.25 0.25", "0.26 0.27 0.26", "0.28 0.28 0.27", "0.3 0.29 0.28"]
STILL = {"NSW": 0, "atoms": "Si C\n1 1"}


def make_path(folder, places=PLACES, atoms="Si\n2", **tags):
    """Silicon that is pushed, or other atoms; nothing is symmetric about it."""
    folder.mkdir(parents=True)
    for number, last in enumerate(places):
        image = folder / f"{number:02d}"
        image.mkdir()
        (image / "POSCAR").write_text(POSCAR.format(last=last, atoms=atoms))
    (folder / "KPOINTS").write_text("mesh\n0\nGamma\n2 1 1\n")
    lines = (f"{tag} = {value}\n" for tag, value in (INCAR | BAND | tags).items())
    (folder / "INCAR").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = make_path(tmp_path_factory.mktemp("path") / "run")
    return folder, run_path(read_inputs(folder))


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    folder = make_path(tmp_path_factory.mktemp("still") / "run", **STILL)
    return folder, run_path(read_inputs(folder))


def same(one, other, atoms=2):
    """To 1e-8 eV for each atom, and places that follow from forces of that accuracy."""
    for mine, theirs in zip(one["images"], other["images"], strict=True):
        assert mine["free_energy_eV"] == pytest.approx(theirs["free_energy_eV"], abs=1e-8 * atoms)
        np.testing.assert_allclose(mine["positions_scaled"], theirs["positions_scaled"], atol=1e-7)
    assert one["barrier_eV"] == pytest.approx(other["barrier_eV"], abs=4e-8)


@pytest.mark.slow
def test_a_path_that_is_out_of_steps_says_so_and_has_a_barrier(done):
    folder, result = done
    assert not result.converged and not result.interrupted
    assert result.status.startswith("not at rest after 3 steps") and "NSW" in result.advice[0]
    assert [step.number for step in result.steps] == [1, 2, 3]
    document = json.loads((folder / "neb.json").read_text())
    assert document["format"] == "eigenwerk-neb" and [row["folder"] for row in document["images"]] == [
        "00", "01", "02", "03"
    ]
    assert document["barrier_eV"] > 0.1 and document["reaction_energy_eV"] == pytest.approx(
        result.images[-1].free_energy - result.images[0].free_energy
    )


@pytest.mark.slow
def test_each_image_has_the_files_of_a_run(done):
    folder, result = done
    for number, image in enumerate(result.images):
        place = folder / f"{number:02d}"
        steps = 1 if number in (0, 3) else 3
        vasprun = Vasprun(place / "vasprun.xml", parse_potcar_file=False)
        assert len(vasprun.ionic_steps) == steps == len(Oszicar(place / "OSZICAR").ionic_steps)
        contcar = read_poscar(place / "CONTCAR")
        np.testing.assert_allclose(contcar.scaled_ac, image.scaled_ac, atol=1e-12)
        assert vasprun.ionic_steps[-1]["e_fr_energy"] == pytest.approx(image.free_energy, abs=1e-6)
    np.testing.assert_array_equal(read_poscar(folder / "00" / "CONTCAR").scaled_ac, result.images[0].scaled_ac)


@pytest.mark.slow
def test_pymatgen_reads_energies_and_forces_along_the_path(done):
    folder, result = done
    found = NEBAnalysis.from_dir(str(folder))
    np.testing.assert_allclose(found.energies, [image.energy_zero for image in result.images], atol=1e-6)
    np.testing.assert_allclose(found.forces[1:-1], [image.tangent_force for image in result.images[1:-1]], atol=1e-5)


class StopAfter:
    """Ctrl-C after so many steps of self-consistency."""

    def __init__(self, steps):
        self.left = steps

    def __call__(self, step, image, runtime):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_a_path_goes_on_after_an_interruption(done, tmp_path):
    folder = make_path(tmp_path / "again")
    scf = [step.scf_steps for step in done[1].steps]
    with pytest.raises(RunInterrupted) as stopped:
        run_path(read_inputs(folder), on_step=StopAfter(sum(scf[:2]) + 3), save_every=0)
    assert stopped.value.result.status == "interrupted after 2 steps of the band"
    result = run_path(read_inputs(folder), resume=True)
    assert [step.number for step in result.steps] == [1, 2, 3]
    assert len(Vasprun(folder / "01" / "vasprun.xml", parse_potcar_file=False).ionic_steps) == 3
    for mine, theirs in zip(result.images, done[1].images, strict=True):  # by another way to self-consistency
        assert mine.free_energy == pytest.approx(theirs.free_energy, abs=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("image", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_an_image_that_was_stopped_goes_on_as_if_it_had_not_been(image, still, tmp_path):
    """To the last bit, also of complex orbitals; images before it are converged once more."""
    folder, steps = make_path(tmp_path / "again", **STILL), [one.scf_steps for one in still[1].images]
    with pytest.raises(RunInterrupted):
        run_path(read_inputs(folder), on_step=StopAfter(sum(steps[:image]) + 4))
    result = run_path(read_inputs(folder), resume=True)
    for mine, theirs in zip(result.images[image:], still[1].images[image:], strict=True):
        assert mine.free_energy == theirs.free_energy
    assert result.images[image].scf_steps == steps[image] - 4


@pytest.mark.slow
def test_more_steps_are_allowed_afterwards(done, tmp_path):
    folder = tmp_path / "more"
    shutil.copytree(done[0], folder)
    (folder / "INCAR").write_text((folder / "INCAR").read_text().replace("NSW = 3", "NSW = 4"))
    result = run_path(read_inputs(folder), resume=True)
    assert len(result.steps) == 4 and result.status.startswith("not at rest after 4 steps")


@pytest.mark.slow
def test_another_path_is_not_gone_on_with(done, tmp_path):
    folder = make_path(tmp_path / "other", PLACES[:2] + PLACES[3:], IMAGES=1)
    shutil.copy(done[0] / "neb.h5", folder)
    with pytest.raises(InputError, match=r"neb\.h5: the path cannot go on from there .a band of 2 images"):
        run_path(read_inputs(folder), resume=True)


@pytest.mark.slow
def test_images_that_do_not_move_are_computed_once(still):
    folder, result = still
    assert result.converged and len(result.steps) == 1
    np.testing.assert_allclose(result.images[1].scaled_ac, read_poscar(folder / "01" / "POSCAR").scaled_ac)


@pytest.mark.ranks
@pytest.mark.slow
@pytest.mark.parametrize(("places", "images", "words"), [
    (PLACES, 2, "2 groups of 1 rank compute 1 image each"),
    (PLACES[:2] + PLACES[3:], 1, "all 2 ranks compute one image after the other"),
])  # fmt: skip
def test_two_ranks_find_what_one_does(tmp_path, places, images, words):
    alone = make_path(tmp_path / "alone", places, IMAGES=images)
    run_path(read_inputs(alone))
    folder = make_path(tmp_path / "both", places, IMAGES=images)
    ended = run(str(folder), "--ranks", "2", "--no-plot", "--device", "cpu")
    assert ended.returncode == 3, ended.stderr
    assert words in ended.stdout
    same(*(json.loads((place / "neb.json").read_text()) for place in (folder, alone)))
    assert len(Vasprun(folder / "01" / "vasprun.xml", parse_potcar_file=False).ionic_steps) == 3


def test_the_command_shows_steps_of_the_band_and_its_barrier(tmp_path):
    folder = make_path(tmp_path / "shown", PLACES[:2] + PLACES[3:], IMAGES=1, NSW=1, ENCUT=80, EDIFF="1E-4")
    ended = run(str(folder))
    assert ended.returncode == 3, ended.stderr
    assert "nudged elastic band of 1 image between two end points" in ended.stdout
    assert "Barrier (free energies, the curve through the images)" in ended.stdout
    assert "Not at rest after 1 step" in ended.stdout and (folder / "neb.png").is_file()
    document = json.loads((folder / "neb.json").read_text())
    assert [row["folder"] for row in document["images"]] == ["00", "01", "02"] and document["barrier_eV"] > 0.1
    assert len(Oszicar(folder / "01" / "OSZICAR").ionic_steps) == 1


@pytest.mark.slow
def test_nothing_is_left_to_do_for_a_path_that_is_over(tmp_path):
    over = make_path(tmp_path / "over", NSW=0, ENCUT=80)
    assert run(str(over), "--no-plot", "--json").returncode == 0
    again = run(str(over), "--restart")
    assert again.returncode == 0 and "Nothing is left to do" in again.stdout
