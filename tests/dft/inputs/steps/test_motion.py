"""Tags of atoms that move: what they ask for, in which units, and what is refused."""

import re

import numpy as np
import pytest

from eigenwerk.motion.dynamics.dynamics_settings import DynamicsSettings
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
from input_folders import folder_reader, words

POSCAR = "ice\n1\n6 0 0\n0 6 0\n0 0 6\nH O\n2 1\n{mode}Cartesian\n.76 0 .59{a}\n-.76 0 .59{b}\n0 0 0{c}\n{rest}"
PLAIN = {"mode": "", "a": "", "b": "", "c": "", "rest": ""}


@pytest.fixture
def read(tmp_path):
    return folder_reader(tmp_path, begin="ENCUT = 400\n", poscar=POSCAR.format(**PLAIN), mesh="1 1 1")


def test_nothing_moves_without_steps_and_says_which_tags_are_idle(read):
    inputs = read("IBRION = 2\nEDIFFG = -0.01\nTEBEG = 300\n")
    assert inputs.motion is None and not inputs.errors
    assert "ions do not move in this run: EDIFFG, TEBEG" in words(inputs, "note")
    assert inputs.setting("NSW") is None or inputs.setting("NSW") == 0


@pytest.mark.parametrize(
    ("lines", "severity", "message"),
    [
        ("IBRION = 5", "warning", "line 2: IBRION = 5: nothing moves with NSW = 0: vibrations are not computed"),
        ("IBRION = 44\nNSW = 0", "warning", "the saddle point is not computed. Set NSW = 100"),
        ("IBRION = 2", "note", "IBRION = 2: nothing moves, because NSW is not given"),
        ("IBRION = 2\nNSW = 5\nTEBEG = 300\nMDALGO = 0", "note", "molecular dynamics (IBRION = 0) only: TEBEG"),
        ("IBRION = 2\nNSW = 5\nPSTRESS = 10", "note", "a cell that moves (ISIF = 3) only: PSTRESS"),
        ("IBRION = 0\nNSW = 5\nPOTIM = 1\nEDIFFG = -0.01", "note", "searches for saddle points only: EDIFFG"),
        ("IBRION = 0\nNSW = 5\nPOTIM = 1\nLANGEVIN_GAMMA = 1 1", "note", "MDALGO = 3 only: LANGEVIN_GAMMA"),
        ("IBRION = 0\nNSW = 5\nPOTIM = 1\nMDALGO = 3\nSMASS = 0", "note", "MDALGO = 0 and 2 only: SMASS"),
    ],
)
def test_a_tag_that_means_nothing_in_a_run_is_told(read, lines, severity, message):
    assert message in words(read(lines + "\n"), severity)


@pytest.mark.parametrize(
    "lines",
    ["IBRION = 2\nNSW = 0", "IBRION = 3\nNSW = 5\nSMASS = 0.5",
     "IBRION = 0\nNSW = 5\nPOTIM = 1\nSMASS = -1\nNBLOCK = 9\nTEBEG = 9",
     "IBRION = 2\nNSW = 5\nISIF = 3\nPSTRESS = 10", "IBRION = -1", "IBRION = 44\nNSW = 5\nRANDOM_SEED = 3"],
)  # fmt: skip
def test_tags_that_act_get_no_word(read, lines):
    assert not re.search("nothing moves|not used", words(read(lines + "\n"), "note"))


@pytest.mark.parametrize(("iopt", "method"), [(1, "quasi-newton"), (7, "damped")])
def test_optimisers_of_the_vtst_patches_relax_where_ibrion_leaves_it_to_them(read, iopt, method):
    inputs = read(f"NSW = 5\nIBRION = 3\nPOTIM = 0\nIOPT = {iopt}\n")
    assert (inputs.motion.settings.method, inputs.motion.settings.potim) == (method, 0.5)
    assert f"a {method} relaxation serves" in words(inputs, "note") and inputs.setting("IOPT") == iopt


@pytest.mark.parametrize(("lines", "idle"), [
    ("IBRION = 2\nNSW = 5\nPSTRESS = 10", "PSTRESS"), ("IBRION = 0\nNSW = 5\nPOTIM = 1\nNBLOCK = 9", "NBLOCK"),
    ("IBRION = 0\nNSW = 5\nPOTIM = 1\nNHC_NS = 3", "NHC_NS"), ("IBRION = 5\nNSW = 1\nEDIFFG = -0.01", "EDIFFG"),
    ("IBRION = 44\nNSW = 5\nPOTIM = 1", "POTIM"), ("IBRION = 44\nNSW = 5\nNFREE = 3", "NFREE"),
])  # fmt: skip
def test_a_tag_that_means_nothing_is_not_in_force(read, lines, idle):
    """Whatever is told to be of no use is none of the settings, and the other way round."""
    inputs = read(lines + "\n")
    assert idle in words(inputs, "note") and inputs.setting(idle) is None


def test_one_ionic_step_of_a_density_that_is_kept_moves_nothing(read, tmp_path):
    """As flows write it: NSW = 1 beside ICHARG = 11; finite differences and more steps stay errors."""
    (tmp_path / "eigenwerk.h5").touch()
    for more in ("", "IBRION = 2\n", "IBRION = 0\nPOTIM = 1\n"):
        inputs = read(f"ICHARG = 11\nNSW = 1\n{more}")
        assert inputs.motion is None and not inputs.errors
        assert "ICHARG = 11 keeps the density, so nothing moves in this one step" in words(inputs, "note")
    for more in ("NSW = 2\nIBRION = 2\n", "NSW = 1\nIBRION = 5\n"):
        assert "atoms that move would take it along" in words(read(f"ICHARG = 11\n{more}"), "error")


def test_constant_energy_may_be_said_by_mdalgo_2(read):
    inputs = read("NSW = 9\nIBRION = 0\nTEBEG = 300\nPOTIM = 0.5\nMDALGO = 2\nSMASS = -3\n")
    assert inputs.motion.settings.thermostat == "none" and not words(inputs, "warning").count("bath")
    assert "SMASS = -3: there is no thermostat" in words(inputs, "note")


def test_a_relaxation_has_its_limits_in_its_own_units(read):
    given = read("NSW = 30\nIBRION = 1\nEDIFFG = -0.02\nISIF = 3\nPSTRESS = 10\nPOTIM = 0.3\nNFREE = 5\n").motion
    assert given is not None and given.kind == "relaxation" and given.moves_cell
    settings = given.settings
    assert isinstance(settings, RelaxationSettings)
    assert (settings.method, settings.most_points, settings.isif, settings.nfree) == ("diis", 30, 3, 5)
    assert settings.force_tolerance == 0.02 and settings.energy_tolerance is None
    assert settings.pressure == pytest.approx(1 / 160.2176634)  # 10 kbar = 1 GPa


def test_lattice_velocities_of_poscar_are_those_of_a_cell_with_a_mass(read):
    vectors = "6 0 0\n0 6 0\n0 0 6"
    rest = f"Lattice velocities and vectors\n1\n.001 0 0\n0 0 0\n0 0 0\n{vectors}\n"
    lines = "NSW = 9\nIBRION = 0\nPOTIM = 0.5\nTEBEG = 300\nMDALGO = 3\nLANGEVIN_GAMMA = 10 5\n"
    poscar = POSCAR.format(**(PLAIN | {"rest": rest}))
    moving = read(lines + "ISIF = 3\nLANGEVIN_GAMMA_L = 10\n", poscar=poscar)
    np.testing.assert_array_equal(moving.motion.lattice_velocity_cv, np.diag([0.001, 0, 0]))
    fixed = read(lines, poscar=poscar)
    assert fixed.motion.lattice_velocity_cv is None
    assert "the lattice velocities are not used" in words(fixed, "note")


@pytest.mark.parametrize(("lines", "message"), [
    ("MDALGO = 5", "MDALGO = 5: without CSVR_PERIOD there is no bath"),
    ("MDALGO = 3", "without LANGEVIN_GAMMA there is no bath"),
    ("MDALGO = 1", "Set ANDERSEN_PROB = 0.05, or MDALGO = 0"),
    ("MDALGO = 2", "without SMASS there is no bath"),
    ("POMASS = 0.01 16", "long for atoms of 0.01 u: their bonds may swing in 0.9 fs"),
    ("POTIM = 2", "long for atoms of 1.008 u: their bonds may swing in 9 fs"),
])  # fmt: skip
def test_dynamics_that_is_hardly_meant_is_a_warning(read, lines, message):
    begin = "NSW = 9\nIBRION = 0\nTEBEG = 300\n" + ("" if "POTIM" in lines else "POTIM = 0.5\n")
    inputs = read(begin + lines + "\n")
    assert message in words(inputs, "warning") and not inputs.errors


@pytest.mark.parametrize("lines", ["MDALGO = 1\nANDERSEN_PROB = 0", "MDALGO = 5\nCSVR_PERIOD = 100", "SMASS = 0"])
def test_dynamics_that_is_meant_so_is_none(read, lines):
    found = words(read(f"NSW = 9\nIBRION = 0\nTEBEG = 300\nPOTIM = 0.5\n{lines}\n"), "warning")
    assert "bath" not in found and "swing" not in found


@pytest.mark.parametrize(("lines", "warned"), [
    ("ISIF = 4", True), ("ISIF = 3", True), ("ISIF = 2", False),
    ("ISIF = 3\nLATTICE_CONSTRAINTS = .TRUE. .TRUE. .FALSE.", False),
])  # fmt: skip
def test_a_vacuum_that_may_change_is_a_warning(read, lines, warned):
    layer = "layer\n1\n2.46 0 0\n-1.23 2.1304 0\n0 0 9\nC\n2\nDirect\n0 0 .5\n.333333 .666667 .5\n"
    inputs = read(f"NSW = 9\nIBRION = 2\nISMEAR = 0\n{lines}\n", poscar=layer)
    found = words(inputs, "warning")
    assert ("there is vacuum along axis 3" in found) == warned
    assert ("LATTICE_CONSTRAINTS = .TRUE. .TRUE. .FALSE." in found) == warned


def test_a_relaxation_ends_by_ten_times_ediff_if_nothing_is_said(read):
    inputs = read("NSW = 30\nIBRION = 2\nEDIFF = 1E-5\n")
    assert inputs.setting("EDIFFG") == pytest.approx(1e-4)
    assert inputs.motion.settings.energy_tolerance == pytest.approx(1e-4)
    assert inputs.setting("TEBEG") is None and inputs.setting("SMASS") is None


def test_dynamics_has_masses_velocities_and_no_symmetry(read):
    rest = "\n".join(["", "0.01 0 0", "0 0.01 0", "0 0 0.001", ""])
    lines = "NSW = 9\nIBRION = 0\nPOTIM = 0.5\nTEBEG = 300\nMDALGO = 3\nLANGEVIN_GAMMA = 10 5\nPOMASS = 2.014 16\n"
    inputs = read(lines, poscar=POSCAR.format(**(PLAIN | {"rest": rest})))
    given = inputs.motion
    assert given is not None and isinstance(given.settings, DynamicsSettings)
    assert given.settings.thermostat == "langevin" and given.settings.friction == (0.01, 0.005)
    np.testing.assert_allclose(given.masses_a, [2.014, 2.014, 16])
    np.testing.assert_allclose(given.velocities_av, [[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.001]])
    assert inputs.symmetry.order == 1 and not inputs.parameters.stress


def test_velocities_in_direct_coordinates_are_per_step(read):
    rest = "Direct\n0.001 0 0\n0 0 0\n0 0 0\n"
    inputs = read("NSW = 9\nIBRION = 0\nPOTIM = 0.5\n", poscar=POSCAR.format(**(PLAIN | {"rest": rest})))
    np.testing.assert_allclose(inputs.motion.velocities_av[0], [0.001 * 6 / 0.5, 0, 0])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("NSW = 5", "molecular dynamics (IBRION = 0) needs a time step"),
        ("NSW = 5\nIBRION = 0\nPOTIM = 0", "a time step of 0 fs goes nowhere"),
        ("NSW = 5\nIBRION = 0\nPOTIM = 1\nTEBEG = -10", "below absolute zero"),
        ("NSW = 5\nIBRION = 0\nPOTIM = 1\nISIF = 3\nTEBEG = 10", "a cell that moves needs MDALGO = 3"),
        ("NSW = 5\nIBRION = 0\nPOTIM = 1\nMDALGO = 9", "MDALGO = 9 is not available"),
        ("NSW = 5\nIBRION = 2\nPOMASS = 1", "1 masses for the 2 species"),
        ("NSW = 1\nIBRION = 5\nNFREE = 3", "NFREE = 3"),
        ("NSW = 5\nIBRION = 3\nPOTIM = 0", "line 4: POTIM = 0: no atom would move"),
        ("NSW = 5\nIBRION = 1\nPOTIM = 0", "line 4: POTIM = 0: no atom would move"),
        ("NSW = 1\nIBRION = 8", "linear response is not available"),
        ("NSW = 1\nIBRION = 40", "reaction coordinates (IRC) are not followed"),
        ("NSW = 5\nIBRION = 2\nICHARG = 12", "line 2: NSW = 5: ICHARG = 12 keeps the density"),
        ("NSW = 5\nIBRION = 0\nPOTIM = 0", "line 4: POTIM = 0: a time step of 0 fs"),
        ("NSW = 5\nIBRION = 0\nPOTIM = 1\nTEBEG = -5", "line 5: TEBEG = -5: a temperature of -5 K"),
        ("NSW = 5\nIBRION = 0\nPOTIM = 1\nTEBEG = 9\nMDALGO = 3\nLANGEVIN_GAMMA = 3*1", "3 frictions for 2 species"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_number(read, lines, expected):
    assert expected in words(read(lines + "\n"), "error")


def test_selective_dynamics_that_leaves_nothing_is_refused(read):
    fixed = PLAIN | {"mode": "Selective\n", "a": " F F F", "b": " F F F", "c": " F F F"}
    assert "leaves nothing to move" in words(
        read("NSW = 5\nIBRION = 2\n", poscar=POSCAR.format(**fixed)), "error"
    )  # fmt: skip


@pytest.mark.parametrize("isif", [3, 6, 8])
def test_a_cell_may_move_with_all_atoms_fixed_in_it(read, isif):
    fixed = PLAIN | {"mode": "Selective\n", "a": " F F F", "b": " F F F", "c": " F F F"}
    inputs = read(f"NSW = 5\nIBRION = 2\nISIF = {isif}\n", poscar=POSCAR.format(**fixed))
    assert not words(inputs, "error") and inputs.motion.settings.isif == isif


def test_constraints_of_a_cell_are_not_ignored_in_dynamics(read):
    dynamics = "NSW = 5\nIBRION = 0\nPOTIM = 1\nTEBEG = 10\nMDALGO = 3\nLANGEVIN_GAMMA = 2*1\nLANGEVIN_GAMMA_L = 1\n"
    cell = dynamics + "ISIF = 3\nLATTICE_CONSTRAINTS = T F T\n"
    assert "a cell in dynamics follows all strains" in words(read(cell), "error")
    assert "follows all strains" not in words(read(cell.replace("T F T", "T T T")), "error")


def test_states_that_predict_are_in_the_estimate_of_memory(read):
    still, moving = read(""), read("NSW = 9\nIBRION = 0\nPOTIM = 0.5\nPREC = Normal\n")
    earlier = {item.name: item.bytes for item in moving.parts.memory.items}["earlier ionic steps"]
    orbitals = {item.name: item.bytes for item in moving.parts.memory.items}["orbitals"]
    assert 2 * orbitals <= earlier <= 4 * orbitals  # four states; "orbitals" are two
    assert "earlier ionic steps" not in {item.name for item in still.parts.memory.items}
