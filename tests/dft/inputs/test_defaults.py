"""Defaults that follow from other settings, by the table of docs/guides/check.md."""

import pytest

from eigenwerk.dft.filling.default_bands import BandDemand, default_bands, thermal_bands
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.units import HARTREE_EV

SILICON = "Si2\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"
SILICON_8 = (
    "Si8\n5.43\n1 0 0\n0 1 0\n0 0 1\nSi\n8\nDirect\n0 0 0\n0 .5 .5\n.5 0 .5\n.5 .5 0\n"
    ".25 .25 .25\n.25 .75 .75\n.75 .25 .75\n.75 .75 .25\n"
)
IRON = "Fe4\n1\n5.66 0 0\n0 2.83 0\n0 0 2.83\nFe\n4\nDirect\n0 0 0\n.25 .5 .5\n.5 0 0\n.75 .5 .5\n"
GADOLINIUM = (
    "Gd2\n1\n3.63 0 0\n-1.815 3.143672 0\n0 0 5.78\nGd\n2\nDirect\n0.333333 0.666667 .25\n.666667 0.333333 .75\n"
)
SCANDIUM_ATOM = "Sc\n1\n9 0 0\n0 9 0\n0 0 9\nSc\n1\nDirect\n0 0 0\n"
MOLECULE = "N2\n1\n8 0 0\n0 8 0\n0 0 9\nN\n2\nCartesian\n0 0 0\n0 0 1.1\n"


@pytest.fixture
def read(tmp_path):
    """A function from the texts of INCAR and POSCAR to `Inputs`."""

    def build(incar="", poscar=SILICON, mesh="1 1 1"):
        (tmp_path / "INCAR").write_text(incar)
        (tmp_path / "POSCAR").write_text(poscar)
        (tmp_path / "KPOINTS").write_text(f"mesh\n0\nGamma\n{mesh}\n")
        return read_inputs(tmp_path)

    return build


def in_force(inputs, tag):
    return next((setting.text, setting.origin) for setting in inputs.settings if setting.tag == tag)


def words(inputs, tag, severity="warning"):
    return " | ".join(p.message for p in inputs.problems if p.severity == severity and p.tag == tag)


# -- NBANDS --------------------------------------------------------------------------------------------------------


def test_bands_have_room_for_a_fixed_moment_however_it_is_given(read):
    """26, as VASP takes; with 22, no more than the electrons up, Fe4 ends 0.45 eV too high."""
    by_default = read("ISPIN = 2\nNUPDOWN = 12", IRON)
    assert by_default.parameters.bands == 26
    assert in_force(by_default, "MAGMOM") == ("3 3 3 3", "NUPDOWN, shared by the atoms")
    assert by_default.structure.magmom_a.tolist() == [3.0] * 4
    assert read("ISPIN = 2\nNUPDOWN = 12\nMAGMOM = 4*1", IRON).parameters.bands == 26
    assert read("ISPIN = 2\nNUPDOWN = 12\nMAGMOM = 4*5", IRON).parameters.bands == 30
    assert read("ISPIN = 2", IRON).parameters.bands == 22
    assert read("ISPIN = 2\nNUPDOWN = -1", IRON).structure.magmom_a.tolist() == [1.0] * 4


def test_a_moment_held_at_zero_starts_from_zero_and_says_so(read):
    inputs = read("ISPIN = 2\nNUPDOWN = 0", IRON)
    assert not inputs.structure.magmom_a.any()
    assert "will not be magnetic" in words(inputs, "NUPDOWN", "note")
    pairs = read("ISPIN = 2\nNUPDOWN = 0\nMAGMOM = 3 -3 3 -3", IRON)
    assert pairs.structure.magmom_a.tolist() == [3.0, -3.0, 3.0, -3.0]
    assert not words(pairs, "NUPDOWN", "note")


def test_open_f_shells_have_room_beside_a_fixed_moment(read):
    free, held = read("ISPIN = 2", GADOLINIUM), read("ISPIN = 2\nNUPDOWN = 16", GADOLINIUM)
    assert held.parameters.bands == free.parameters.bands + 1, "14 by Hund's rule, 16 by NUPDOWN"


def test_a_charged_cell_does_not_cut_a_level_that_it_fills(read):
    """Six states of one energy lie above 16 full bands of Si8 at Gamma: with 21 bands one is missing."""
    neutral, more, less = (read(f"NELECT = {count}", SILICON_8).parameters.bands for count in (32, 33, 24))
    assert (neutral, more, less) == (21, 27, 21)


def test_a_free_atom_has_all_its_valence_orbitals_and_one_more(read):
    """3s 3p 3d 4s of scandium are ten; the formula of the electrons gives nine, and cuts the 3d level."""
    assert read("", SCANDIUM_ATOM).parameters.bands == 11


PRASEODYMIUM = "Pr2\n1\n3.67 0 0\n-1.835 3.17831 0\n0 0 5.92338\nPr\n2\nDirect\n0 0 0\n0.33333333 0.66666667 0.5\n"


def test_f_shells_that_keep_electrons_have_all_their_states(read):
    """13 full bands of hcp Pr, 11 f states that are empty without spin, and three more: with 17, all that the formula
    of the electrons gives, the highest band is cut within the f level and never converges."""
    assert read("", PRASEODYMIUM).parameters.bands == 27
    ceria = "CeO2\n5.41\n0 .5 .5\n.5 0 .5\n.5 .5 0\nCe O\n1 2\nDirect\n0 0 0\n.25 .25 .25\n.75 .75 .75\n"
    assert read("", ceria).parameters.bands == 16, "its f shell is empty"
    sesquioxide = ceria.replace("Ce O", "Pr O").replace("1 2", "2 3") + ".5 .5 .5\n.6 .1 .1\n"
    assert read("", sesquioxide).parameters.bands == 22 + 11 + 3


@pytest.mark.parametrize(
    ("smearing", "bands"),
    [("ISMEAR = -1\nSIGMA = 1", 14), ("ISMEAR = -1\nSIGMA = 2", 20), ("ISMEAR = -5\nSIGMA = 2", 8), ("", 8),
     ("ISMEAR = 0\nSIGMA = 0.1", 8), ("ISMEAR = 0\nSIGMA = 2", 12)],
)  # fmt: skip
def test_wide_smearing_has_bands_to_fill(read, smearing, bands):
    """Eight bands of silicon hold 0.04 electrons in the highest one at 1 eV; 14 hold 1.4e-5."""
    assert read(smearing, mesh="2 2 2").parameters.bands == bands


def test_thermal_bands_count_free_electrons():
    filling = BandDemand(window=12.0 / HARTREE_EV, volume=16.6 / 0.148185)
    assert thermal_bands(3.0, 1, filling) == 9  # 4.5 of aluminium in mean, (4.5^(1/3) + 0.4)^3 at some k-point
    assert thermal_bands(3.0, 1, BandDemand(window=0.5 / HARTREE_EV, volume=112.0)) == 0
    empty = BandDemand(window=0.1, volume=112.0, empty_states=30)
    assert thermal_bands(3.0, 1, empty) == 32
    vacuum = BandDemand(window=12.0 / HARTREE_EV, volume=1e6)
    assert thermal_bands(3.0, 1, vacuum) < 30, "what is beyond the atoms does not count"


def test_more_bands_for_safety_never_ask_for_another_cutoff(read):
    cold, hot = read("ENCUT = 60", mesh="2 2 2"), read("ENCUT = 60\nISMEAR = -1\nSIGMA = 20", mesh="2 2 2")
    assert not [error for error in hot.errors if "plane waves" in error.message]
    assert cold.parameters.bands == 8
    assert 8 < hot.parameters.bands <= hot.size.plane_waves < thermal_bands(8.0, 2,
        BandDemand(window=5.0, volume=270.0))


@pytest.mark.parametrize(
    ("incar", "severity", "said"),
    [
        ("NBANDS = 4", "note", "there is no empty band"),
        ("NBANDS = 4\nNELECT = 7", "warning", "its highest band is filled in part"),
        ("NBANDS = 5\nISPIN = 2\nNUPDOWN = 2", "warning", "8 electrons with moment 2 need no less"),
        ("NBANDS = 5\nISPIN = 2\nMAGMOM = 2*3", "warning", "no larger moment than 2, and MAGMOM begins with 6"),
        ("NBANDS = 8\nISMEAR = -1\nSIGMA = 1", "warning", "SIGMA = 1 fills states far above the Fermi level"),
    ],
)
def test_bands_that_are_just_enough_get_a_word(read, incar, severity, said):
    assert said in words(read(incar, mesh="2 2 2"), "NBANDS", severity)


# -- MAGMOM --------------------------------------------------------------------------------------------------------


def test_moments_beyond_the_atoms_are_not_used(read):
    inputs = read("ISPIN = 2\nMAGMOM = 3 -3 1 1 1", MOLECULE)
    assert inputs.structure.magmom_a.tolist() == [3.0, -3.0]
    assert "5 moments for 2 atoms: those beyond the first 2 are not used" in words(inputs, "MAGMOM")
    assert in_force(inputs, "MAGMOM")[0] == "3 -3"


# -- steps ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("incar", "steps"),
    [("", 120), ("LHFCALC = .TRUE.", 200), ("NELMIN = 150", 300), ("NELMDL = -100", 220), ("NELMDL = -12", 120),
     ("NELM = 5\nNELMIN = 9", 5)],
)  # fmt: skip
def test_there_are_steps_for_those_that_are_asked_for(read, incar, steps):
    inputs = read(f"ISMEAR = 0\nSIGMA = 0.05\n{incar}")
    assert inputs.parameters.max_steps == steps
    assert in_force(inputs, "NELM")[0] == str(steps)
    assert ("ends before it may converge" in words(inputs, "NELMIN")) == ("NELM = 5" in incar)


# -- others --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("incar", "tag", "value"),
    [
        ("NSW = 3\nIBRION = 2", "EDIFFG", "0.001"), ("NSW = 3\nIBRION = 2\nEDIFF = -1E-6", "EDIFFG", "1e-05"),
        ("NSW = 3\nIBRION = 0\nPOTIM = 1", "ISYM", "0"), ("NSW = 3", "IBRION", "0"), ("", "IBRION", "-1"),
        ("AMIX = 0.05", "AMIN", "0.05"), ("AMIX_MAG = 0.02", "AMIN", "0.02"), ("", "AMIN", "0.1"),
        ("ALGO = VeryFast", "IALGO", "48"), ("IALGO = 48", "ALGO", "VeryFast"), ("ALGO = VeryFast", "NELMDL", "-3"),
        ("NGX = 40\nNGY = 40\nNGZ = 40", "NGXF", "80"), ("NELECT = 7", "NELECT", "7"), ("", "NELECT", "8"),
        ("", "LMAXMIX", "4"),
    ],
)  # fmt: skip
def test_a_default_follows_what_it_depends_on(read, incar, tag, value):
    assert in_force(read(incar), tag)[0] == value


def test_default_bands_of_the_formula_are_those_of_neutral_cells():
    assert default_bands(32, 8, BandDemand(neutral=32)) == default_bands(32, 8) == 21
    assert default_bands(31.5, 8, BandDemand(neutral=32)) == 21
