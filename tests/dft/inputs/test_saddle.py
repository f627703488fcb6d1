"""Tags and folders of searches for saddle points: what they ask for, and what is refused with folder and line."""

import sys

import numpy as np
import pytest

from eigenwerk.cli.checking.check_document import document
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.motion.movers import make_mover
from eigenwerk.errors import InputError
from eigenwerk.motion.saddle.nudged import require_ase
from eigenwerk.motion.saddle.saddle_settings import BandSettings, DimerSettings
from input_folders import words

CELL = "ice\n1\n6 0 0\n0 6 0\n0 0 {c}\nH O\n2 1\n"
POSCAR = CELL + "{mode}Cartesian\n.76 0 .59{flag}\n-.76 0 {z}{flag}\n0 0 0{flag}\n{rest}"
PLAIN = {"c": 6, "mode": "", "flag": "", "rest": ""}


def image(z, **changes):
    return POSCAR.format(**(PLAIN | {"z": z} | changes))


IMAGES = [image(0.59), image(0.45), image(0.3), image(0.1)]


@pytest.fixture
def read(tmp_path):
    def make(lines, images=IMAGES, poscar=None):
        (tmp_path / "INCAR").write_text(f"ENCUT = 400\n{lines}")
        (tmp_path / "KPOINTS").write_text("mesh\n0\nGamma\n1 1 1\n")
        for number, text in enumerate(images):
            (tmp_path / f"{number:02d}").mkdir(exist_ok=True)
            if text is not None:
                (tmp_path / f"{number:02d}" / "POSCAR").write_text(text)
        if poscar is not None:
            (tmp_path / "POSCAR").write_text(poscar)
        return read_inputs(tmp_path)

    return make


BAND = "IMAGES = 2\nIBRION = 2\nNSW = 30\n"


def test_a_path_has_its_images_and_no_symmetry(read):
    inputs = read(BAND + "EDIFFG = -0.02\nSPRING = -3\nLCLIMB = F\nMAXMOVE = 0.1\n")
    assert not inputs.errors and len(inputs.images) == 4 and inputs.motion.kind == "path"
    assert inputs.motion.settings == BandSettings(2, "diis", 30, 3.0, False, 0.02, None, 1.0, 0.1)
    assert inputs.symmetry.order == 1 and inputs.setting("ISYM") == 0
    assert inputs.setting("STEP_MAX") is None and inputs.setting("PSTRESS") is None
    assert inputs.size.earlier > 4  # states of all images are in memory


@pytest.mark.parametrize(("lines", "method", "pace"), [
    ("IBRION = 1\nPOTIM = 0.3", "diis", 0.6), ("IBRION = 2\nPOTIM = 0.3", "diis", 1.0),
    ("IBRION = 3", "quick-min", 0.2), ("IBRION = 3\nPOTIM = 0\nIOPT = 1", "diis", 1.0),
    ("IBRION = 3\nPOTIM = 0\nIOPT = 7\nICHAIN = 0", "quick-min", 0.2),
])  # fmt: skip
def test_the_optimisers_of_vasp_and_of_the_vtst_patches_have_one_in_their_place(read, lines, method, pace):
    inputs = read(f"IMAGES = 2\nNSW = 9\n{lines}\n")
    assert not inputs.errors
    assert inputs.motion.settings.method == method and inputs.motion.settings.pace == pytest.approx(pace)


def test_a_force_is_the_end_unless_an_energy_is_asked_for(read):
    assert read(BAND).motion.settings.force_tolerance == 0.05 and read(BAND).setting("EDIFFG") == -0.05
    settings = read(BAND + "EDIFFG = 0.001\n").motion.settings
    assert settings.force_tolerance is None and settings.energy_tolerance == 0.001


@pytest.mark.parametrize(("lines", "expected"), [
    ("IMAGES = 2\nIBRION = 0\nNSW = 9\nPOTIM = 1", "INCAR line 3: IBRION = 0: this is molecular dynamics"),
    ("IMAGES = 2\nNSW = 9", "this is molecular dynamics, and IMAGES = 2 asks for a path"),
    ("IMAGES = 2\nIBRION = 44\nNSW = 9", "Set IBRION = 1, 2 or 3, or remove IMAGES"),
    (BAND + "ISIF = 3", "INCAR line 5: ISIF = 3: the cell of a path cannot change"),
    (BAND + "SPRING = 5", "INCAR line 5: SPRING = 5: an elastic band that is not nudged"),
    (BAND + "SPRING = 0", "the images would not hold together"),
    (BAND + "MAXMOVE = 0", "MAXMOVE = 0: no atom could move"),
    ("IMAGES = 2\nIBRION = 3\nNSW = 9\nPOTIM = 0", "INCAR line 5: POTIM = 0: no image would move"),
    (BAND + "LNEBCELL = T", "a band whose cell changes is not available"),
    (BAND + "ICHAIN = 2", "set IBRION = 44"),
    (BAND + "IOPT = 9", "IOPT = 9"),
    (BAND + "ICHARG = 12", "keeps the density"),
    ("IMAGES = 98", "IMAGES = 98"),
])  # fmt: skip
def test_what_no_path_does_is_refused_with_its_line(read, lines, expected):
    inputs = read(lines + "\n")
    assert expected in words(inputs, "error")


@pytest.mark.parametrize(("place", "text", "expected"), [
    (1, None, "01/POSCAR: there is no such file for this image. IMAGES = 2 needs folders 00 to 03"),
    (3, None, "03/POSCAR: there is no such file for this end point"),
    (2, image(0.3, c=6.1), "02/POSCAR: the lattice vectors differ from those of 00/POSCAR by up to 0.1 Å"),
    (2, image(0.3).replace("H O\n2 1", "O H\n2 1"), "02/POSCAR: atom 1 is O, and H in 00/POSCAR"),
    (2, image(0.3).replace("H O\n2 1", "H O\n1 2"), "02/POSCAR: atom 2 is O, and H in 00/POSCAR"),
    (2, IMAGES[1], "02/POSCAR: the same structure as 01/POSCAR"),
    (1, image(0.45).replace("0.45", "0.x"), "01/POSCAR line 10: 0.x is not a finite number"),
    (1, image(0.45, mode="Selective\n", flag=" T T F"), "01/POSCAR: the flags of selective dynamics are not those of"),
])  # fmt: skip
def test_images_that_do_not_fit_are_told_with_their_folder(read, place, text, expected):
    images = list(IMAGES)
    images[place] = text
    assert expected in words(read(BAND, images), "error")


def test_atoms_that_may_not_move_are_at_one_place(read):
    fixed = {"mode": "Selective\n", "flag": " F F F"}
    images = [image(z, **fixed) for z in (0.59, 0.45, 0.3, 0.1)]
    assert "01/POSCAR: atom 2, which may not move, is 0.140 Å from where it is in 00/POSCAR" in words(
        read(BAND, images), "error"
    )


def test_an_atom_that_goes_far_is_doubted_and_a_poscar_above_is_not_used(read):
    images = [*IMAGES[:3], image(3.1)]
    inputs = read(BAND, images, poscar=IMAGES[0])
    assert "03/POSCAR: atom 2 (H) is 2.80 Å from where it is in 02/POSCAR" in words(inputs, "warning")
    assert "POSCAR: not used: IMAGES takes the structures" in words(inputs, "note")


def test_check_tells_what_the_band_is(read):
    found = document(read(BAND))
    assert found["motion"]["kind"] == "path" and "nudged elastic band of 2 images" in found["motion"]["words"][0]


DIMER = "IBRION = 44\nNSW = 50\nEDIFF = 1E-6\n"


def dimer_inputs(read, lines, rest=""):
    return read(lines, images=(), poscar=image(0.3, rest=rest))


def test_a_dimer_has_its_direction_behind_the_positions(read):
    inputs = dimer_inputs(read, DIMER + "FINDIFF = 2\nMINROT = 3\n", "! unstable direction\n0 0 1\n0 0 2\n0 0 0\n")
    assert not inputs.errors and not words(inputs, "warning").count("direction")
    settings = inputs.motion.settings
    assert settings == DimerSettings(50, 0.05, 0.01, True, 3, 0.01, 0.1, 0)
    mover = make_mover(inputs, inputs.motion)
    centred = np.array([[0, 0, 0.0], [0, 0, 1], [0, 0, -1]])  # without the motion of the whole
    np.testing.assert_allclose(mover.direction_av, centred / np.linalg.norm(centred), atol=1e-12)


def test_a_dimer_without_a_direction_takes_a_random_one_and_says_so(read):
    inputs = dimer_inputs(read, DIMER + "RANDOM_SEED = 5\n")
    assert "a random one is taken (RANDOM_SEED = 5)" in words(inputs, "warning")
    assert inputs.motion.settings.seed == 5 and inputs.setting("RANDOM_SEED") == (5,)


@pytest.mark.parametrize(("lines", "expected"), [
    (DIMER + "EDIFFG = 0.001", "EDIFFG = 0.001: a saddle point is found by its forces"),
    (DIMER + "ISIF = 3", "the cell of a dimer cannot change"),
    (DIMER + "DIMER_DIST = 0", "DIMER_DIST = 0"),
    (DIMER + "FINDIFF = 3", "FINDIFF = 3"),
])  # fmt: skip
def test_what_no_dimer_does_is_refused(read, lines, expected):
    assert expected in words(dimer_inputs(read, lines + "\n"), "error")


def test_tags_of_paths_that_a_relaxation_does_not_use_are_told(read):
    inputs = dimer_inputs(read, "IBRION = 2\nNSW = 9\nIOPT = 7\nSTEP_MAX = 0.2\n")
    assert inputs.motion.kind == "relaxation"
    assert "act with IMAGES only: IOPT" in words(inputs, "note")
    assert "act with IBRION = 44 only: STEP_MAX" in words(inputs, "note")


def test_without_ase_the_remedy_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "ase", None)
    with pytest.raises(InputError, match=r"needs the Python package ase.*pip install 'eigenwerk\[ase\]'"):
        require_ase("A path between images (IMAGES)")
