"""LHFCALC and its tags: which hybrid they mean, and what is said about wrong ones."""

from dataclasses import replace

import numpy as np
import pytest
from ase.build import bulk

from eigenwerk import dft
from eigenwerk.cli.checking.check_document import document
from eigenwerk.dft.crystal.downsampling import EVEN, ODD, Downsampling
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.inputs.steps import exchange
from eigenwerk.dft.runs.run_report import description
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.errors import InputError
from eigenwerk.functionals.hybrid import B3LYP, HARTREE_FOCK, Hybrid
from eigenwerk.units import BOHR_ANGSTROM
from input_folders import folder_reader, words

SI = "Si\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"
HYBRID = "ISMEAR = 0\nSIGMA = 0.05\nLHFCALC = .TRUE.\n"


@pytest.fixture
def read(tmp_path):
    """INCAR lines after LHFCALC = .TRUE. -> Inputs."""
    return folder_reader(tmp_path, begin=HYBRID, poscar=SI, mesh="2 2 2")


def hse(fraction: float, screening: float) -> Hybrid:
    return Hybrid.of(fraction, screening * BOHR_ANGSTROM)


@pytest.mark.parametrize(
    ("lines", "functional", "hybrid", "title"),
    [
        ("", "PE", Hybrid.of(0.25), "PBE0: 25 % exact exchange"),
        ("HFSCREEN = 0.2\n", "PE", hse(0.25, 0.2), "HSE06: 25 % exact exchange screened by 0.2 per Å"),
        ("HFSCREEN = 0.3\n", "PE", hse(0.25, 0.3), "HSE03: 25 % exact exchange screened by 0.3 per Å"),
        ("HFSCREEN = 0.2\nGGA = PS\n", "PS", hse(0.25, 0.2), "HSEsol: 25 % exact exchange screened by 0.2 per Å"),
        ("AEXX = 0.4\n", "PE", Hybrid.of(0.4), "hybrid of PBE: 40 % exact exchange"),
        ("AEXX = 1\n", "PE", HARTREE_FOCK, "Hartree-Fock"),
        ("AEXX = 1\nALDAC = 1\nAGGAC = 1\n", "PE", Hybrid(1.0, 0.0, 0.0, 0.0), "hybrid of PBE: 100 % exact exchange"),
        ("AGGAX = 0.5\n", "PE", Hybrid(0.25, 0.0, 0.5, 0.75),
         "hybrid of PBE: 25 % exact exchange, AGGAX = 0.5"),
        ("GGA = B3\n", "B3", B3LYP, "B3LYP: 20 % exact exchange"),
        ("GGA = B3\nAEXX = 0.2\nAGGAX = 0.72\nAGGAC = 0.81\nALDAC = 0.19\n", "B3", B3LYP, "B3LYP: 20 % exact exchange"),
        ("GGA = LIBXC\nLIBXC1 = HYB_GGA_XC_HSE06\n", "PE-HOLE", Hybrid.of(0.25, 0.11),
         "HSE06: 25 % exact exchange screened by 0.208 per Å"),
        ("GGA = LIBXC\nLIBXC1 = hyb_gga_xc_pbeh\n", "PE-EXACT", Hybrid.of(0.25), "PBE0: 25 % exact exchange"),
    ],
)  # fmt: skip
def test_tags_mean_the_usual_hybrids(read, lines, functional, hybrid, title):
    inputs = read(lines)
    assert words(inputs, "error") == ""
    assert inputs.parameters.functional == functional
    found = inputs.parameters.hybrid
    assert (found.fraction, found.screening) == pytest.approx((hybrid.fraction, hybrid.screening), rel=1e-12)
    assert [getattr(found, field) for field in exchange.SHARES.values()] == pytest.approx(
        [getattr(hybrid, field) for field in exchange.SHARES.values()], rel=1e-12
    )
    assert dict(description(inputs))["method"].startswith(f"{title}, cutoff")


def test_hybrids_have_more_steps_unless_nelm_says_how_many(read):
    hybrid, given, plain = read("HFSCREEN = 0.2\n"), read("HFSCREEN = 0.2\nNELM = 70\n"), read("LHFCALC = .FALSE.\n")
    assert [one.parameters.max_steps for one in (hybrid, given, plain)] == [200, 70, 120]
    rows = {one.tag: (one.value, one.origin) for one in hybrid.settings}
    assert rows["NELM"] == (200, "LHFCALC")


def test_tags_in_force_are_shown_with_their_origin(read):
    inputs = read("HFSCREEN = 0.2\n")
    rows = {one.tag: (one.value, one.origin) for one in inputs.settings}
    assert rows["AEXX"] == (0.25, "from LHFCALC and AEXX")
    assert rows["HFSCREEN"] == (0.2, "INCAR line 4")
    assert rows["AGGAX"][0] == rows["ALDAX"][0] == 0.75 and rows["AGGAC"][0] == rows["ALDAC"][0] == 1.0
    assert inputs.parameters.stress


def test_without_lhfcalc_there_is_no_hybrid_and_none_of_its_tags(read):
    inputs = read("", begin="ISMEAR = 0\n")
    assert inputs.parameters.hybrid is None
    assert not {"AEXX", "HFSCREEN", "NKRED"} & {one.tag for one in inputs.settings}


def test_shares_count_without_exact_exchange(read):
    inputs = read("AGGAC = 0\n", begin="ISMEAR = 0\n")
    assert words(inputs, "error") == ""
    assert inputs.parameters.hybrid == Hybrid(0.0, 0.0, 1.0, 1.0, 0.0, 1.0)
    assert document(inputs)["electrons"]["functional"] == "PBE with AGGAC = 0"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("HFSCREEN = 0.2\nGGA = RP\n", "INCAR line 4: HFSCREEN = 0.2: there is no screened exchange of RPBE"),
        ("LDAU = .TRUE.\nLDAUL = 0\nLDAUU = 1\n", "LDAU = .TRUE.: +U and exact exchange correct the same error"),
        ("NKRED = 3\n", "INCAR line 4: NKRED = 3: 3 does not divide the 2 points of 2 x 2 x 2 along axis 1"),
        ("NKREDZ = 3\n", "NKREDZ = 3: 3 does not divide the 2 points of 2 x 2 x 2 along axis 3"),
        ("NKREDZ = 2\n", "NKREDZ = 2: the q-points that are left do not have the symmetry of the crystal"),
        ("ODDONLY = .TRUE.\n", "ODDONLY = .TRUE.: odd q-points leave q = 0 out, where exchange of 1/r diverges"),
        ("EVENONLY = .TRUE.\nNKRED = 2\n", "EVENONLY = .TRUE.: NKRED and EVENONLY each choose q-points"),
        ("LTHOMAS = .TRUE.\n", "LTHOMAS = .TRUE.: this interaction of exact exchange is not available"),
        ("LRHFCALC = .TRUE.\n", "LRHFCALC = .TRUE.: this interaction of exact exchange is not available"),
        ("LMODELHF = .TRUE.\n", "LMODELHF = .TRUE.: this interaction of exact exchange is not available"),
        ("HFRCUT = -1\n", "HFRCUT = -1: a radius by hand is not available"),
        ("HFSCREEN = -0.2\n", "HFSCREEN = -0.2: "),
        ("HFSCREEN = 1E6\n", "HFSCREEN = 1E6: this screening leaves nothing of the exact exchange"),
        ("CORE_EXCHANGE = Screened\n", "INCAR line 4: CORE_EXCHANGE = Screened: the exact exchange of this hybrid is "
         "not screened at all (HFSCREEN = 0). Set HFSCREEN = 0.2, or remove the line."),
        ("HFSCREEN = 0.2\nCORE_EXCHANGE = .TRUE.\n", "CORE_EXCHANGE = .TRUE.: .TRUE. is none of Plain, Screened."),
        ("METAGGA = SCAN\n", "METAGGA = SCAN: meta-GGA functionals are not available"),
        ("AEXX = 1E6\n", "AEXX = 1E6: a fraction of exact exchange of 1e+06, and above 2 nothing converges"),
        ("AGGAX = 1E6\n", "AGGAX = 1E6: a fraction of the functional of 1e+06, far outside 0 to 1 (with AEXX = 0.25)"),
        ("ALDAC = -5\n", "ALDAC = -5: a fraction of the functional of -5, far outside 0 to 1"),
        ("HFSCREEN = 1E-6\n", "too few k-points for HFSCREEN = 1e-06 1/Å"),
        ("PRECFOCK = X\n", "PRECFOCK = X: X is none of Low, Fast, Normal, Accurate, Medium, Single."),
        ("AEXX = -0.1\n", "AEXX = -0.1: a negative fraction of exact exchange is not available. Set AEXX between"),
        ("ICHARG = 11\n", "ICHARG = 11: a hybrid's potential depends on the orbitals"),
    ],
)
def test_what_cannot_be_is_refused_with_its_tag(read, lines, expected):
    assert expected in words(read(lines), "error")


@pytest.mark.parametrize(
    ("lines", "begin", "severity", "expected"),
    [
        ("AGGAX = -0.5\n", HYBRID, "warning", "AGGAX = -0.5: a negative fraction of the functional (with AEXX = 0.25)"),
        ("PRECFOCK = N\n", HYBRID, "note", "PRECFOCK = N: read as Normal by its first letter"),
        ("PRECFOCK = Single\n", HYBRID, "note", "PRECFOCK = Single: a setting of VASP for grids like those of PREC ="),
        ("AEXX = 1.2\n", HYBRID, "warning", "AEXX = 1.2: a fraction of exact exchange outside 0 to 1"),
        ("HFSCREEN = 0.2\n", "ISMEAR = 0\n", "warning", "HFSCREEN = 0.2: not used: it acts only with LHFCALC = .TRUE.; "
         "this is a calculation with PBE"),
        ("AEXX = 0.25\n", "ISMEAR = 0\n", "warning", "AEXX = 0.25: not used"),
        ("AEXX = 1\n", "ISMEAR = 0\n", "warning", "AEXX = 1: not used"),
        ("NKRED = 2\n", "ISMEAR = 0\n", "note", "NKRED = 2: not used"),
        ("EVENONLY = .TRUE.\n", "ISMEAR = 0\n", "note", "EVENONLY = .TRUE.: not used"),
        ("PRECFOCK = Medium\n", HYBRID, "note", "PRECFOCK = Medium: an old setting of VASP: as Normal"),
        ("PRECFOCK = Fast\n", "ISMEAR = 0\n", "note", "PRECFOCK = Fast: not used"),
        ("CORE_EXCHANGE = Plain\n", "ISMEAR = 0\n", "note", "CORE_EXCHANGE = Plain: not used"),
        ("CORE_EXCHANGE = Screened\n", "ISMEAR = 0\n", "error", "CORE_EXCHANGE = Screened: there is no exact exchange "
         "to screen in a calculation with PBE. Set LHFCALC = .TRUE. and HFSCREEN = 0.2, or remove the line."),
        ("ALGO = Damped\nTIME = 0.2\n", HYBRID, "note", "ALGO = Damped: it finds the orbitals for each operator of"),
        ("IALGO = 58\n", HYBRID, "note", "IALGO = 58: it finds the orbitals for each operator of exact exchange"),
        ("GGA = B3\n", HYBRID, "note", "AGGAX = 0.72, ALDAX = 0.8, AGGAC = 0.81, ALDAC = 0.19 are taken, as in B3LYP"),
        ("GGA = B3\n", "ISMEAR = 0\n", "error", "serve in B3LYP alone, which has 20 % of exact exchange"),
        ("GGA = LIBXC\nLIBXC1 = HYB_GGA_XC_HSE06\n", "ISMEAR = 0\n", "error", "a hybrid, but LHFCALC is not set"),
    ],
)  # fmt: skip
def test_what_deserves_a_word_gets_one(read, lines, begin, severity, expected):
    assert expected in words(read(lines, begin=begin), severity)


@pytest.mark.parametrize(
    ("kpoints", "expected"),
    [
        ("path\n9\nLine-mode\nReciprocal\n0 0 0\n.5 0 .5\n", "with weight 0 behind those of the mesh"),
        ("points\n2\nReciprocal\n0 0 0 0\n.5 0 0 0\n", "Put the points of a mesh with their weights before them"),
    ],
)
def test_paths_and_lists_without_weights_are_not_offered_a_kept_density(read, tmp_path, kpoints, expected):
    for begin in (HYBRID, "ISMEAR = 0\n"):
        read("", begin=begin)
        (tmp_path / "KPOINTS").write_text(kpoints)
        errors = words(read_inputs(tmp_path), "error")
        assert (expected in errors or begin != HYBRID) and ("ICHARG = 11" in errors) == (begin != HYBRID)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("NKRED = 2\n", Downsampling((2, 2, 2))),
        ("NKREDX = 2\nISYM = -1\n", Downsampling((2, 1, 1))),
        ("NKRED = 2\nNKREDY = 1\nISYM = -1\n", Downsampling((2, 1, 2))),
        ("EVENONLY = .TRUE.\nISYM = -1\n", Downsampling((1, 1, 1), EVEN)),
        ("ODDONLY = .TRUE.\nHFSCREEN = 0.2\nISYM = -1\n", Downsampling((1, 1, 1), ODD)),
        ("NKRED = 1\nEVENONLY = .FALSE.\n", None),
    ],
)
def test_a_part_of_the_q_points(read, lines, expected):
    inputs = read(lines)
    assert words(inputs, "error") == ""
    assert inputs.parameters.downsampling == expected


@pytest.mark.parametrize(("word", "expected"), [
    ("fast", "Fast"), ("Accurate", "Accurate"), ("Medium", "Normal"),
    *(("F", "Fast"), ("n", "Normal"), ("A", "Accurate"), ("S", "Normal"), ("M", "Normal"), ("l", "Low")),
])  # fmt: skip
def test_precision_of_pairs(read, word, expected):
    inputs = read(f"PRECFOCK = {word}\n")
    assert words(inputs, "error") == ""
    assert inputs.parameters.pair_precision == expected
    assert read("").parameters.pair_precision == "Normal"


def test_shares_without_exact_exchange_have_bounds_too(read):
    found = words(read("AGGAX = 1E6\n", begin="ISMEAR = 0\n"), "error")
    assert "AGGAX = 1E6: a fraction of the functional of 1e+06" in found
    assert words(read("AGGAC = 0\n", begin="ISMEAR = 0\n"), "error") == ""


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"aexx": 1e6}, "aexx = 1000000.0: a fraction of exact exchange of 1e\\+06"),
        ({"aggax": -7.0}, "aggax = -7.0: a fraction of the functional of -7"),
        ({"hfscreen": 1e6}, "this screening leaves nothing"),
    ],
)
def test_python_hears_of_absurd_fractions_alike(settings, expected):
    with pytest.raises(InputError, match=expected):
        dft.run(bulk("Si"), lhfcalc=True, encut=100, **settings)


def test_exchange_with_the_cores_is_plain_unless_asked_for_and_named_in_any_case(read):
    plain, screened, unscreened = read("HFSCREEN = 0.2\n"), read("HFSCREEN = 0.2\nCORE_EXCHANGE = Screened\n"), read("")
    assert words(screened, "error") == words(screened, "note") == ""
    assert [one.parameters.core_screened for one in (plain, screened, unscreened)] == [False, True, False]
    assert dict(description(plain))["cores"].endswith("not screened, as the PAW data have it (CORE_EXCHANGE = Plain)")
    assert dict(description(screened))["cores"].endswith("recomputed core orbitals (CORE_EXCHANGE = Screened)")
    assert "cores" not in dict(description(unscreened))


def test_bands_beside_the_mesh_need_all_its_points(read, tmp_path):
    (tmp_path / "KPOINTS_OPT").write_text("path\n4\nLine-mode\nReciprocal\n0 0 0\n.5 0 0\n")
    found = words(read("HFSCREEN = 0.2\nNKRED = 2\n"), "error")
    assert "NKRED = 2: bands at k-points beside the mesh (the " in found and "need exchange with all points" in found


def test_a_list_of_points_serves_screened_exchange_alone(read, tmp_path):
    for lines, expected in (("", "exact exchange of 1/r (LHFCALC) needs a mesh of k-points"), ("HFSCREEN = 0.2\n", "")):
        read(lines)
        (tmp_path / "KPOINTS").write_text("points\n2\nReciprocal\n0 0 0 1\n.5 0 0 3\n")
        errors = words(read_inputs(tmp_path), "error")
        assert expected in errors and bool(expected) == bool(errors)


def test_for_bands_beside_the_mesh_plain_exchange_ends_at_a_cell(read, tmp_path):
    assert read("").parameters.exchange_range == "probe charge"
    (tmp_path / "KPOINTS_OPT").write_text("path\n4\nLine-mode\nReciprocal\n0 0 0\n.5 0 0\n")
    plain, screened = read(""), read("HFSCREEN = 0.2\n")
    assert words(plain, "error") == words(screened, "error") == ""
    assert plain.parameters.exchange_range == "Wigner-Seitz" and "1/r ends at the Wigner-Seitz" in words(plain, "note")
    assert screened.parameters.exchange_range == "probe charge" and "Wigner-Seitz" not in words(screened, "note")



def test_data_sets_without_the_exchange_of_their_cores_are_named(read):
    inputs, findings = read(""), Findings()
    assert inputs.data["Si"].header.has_exact_exchange
    header = replace(inputs.data["Si"].header, has_exact_exchange=False)
    exchange.check_data_of_exchange({"Si": replace(inputs.data["Si"], header=header)}, inputs.incar, findings)
    assert [str(problem) for problem in findings.problems] == [
        "INCAR line 3: LHFCALC = .TRUE.: Si.PBE does not hold the exact exchange with the core. Use data sets of "
        "gpaw-data, which have it for all elements."
    ]


LIF = "LiF\n4.0\n0 .5 .5\n.5 0 .5\n.5 .5 0\nLi F\n1 1\nDirect\n0 0 0\n.5 .5 .5\n"


@pytest.mark.parametrize(
    ("mesh", "screening", "severity", "expected"),
    [
        # levels of LiF with 2 x 2 x 2 points are 0.9 eV too low, its energy by 0.44 eV for each electron
        ("2 2 2", 0.2, "warning", "for each electron too low"),
        ("2 2 2", 0.2, "warning", "Take 4 x 4 x 4 points"),
        ("4 4 4", 0.2, "", ""),
        ("3 3 3", 0.01, "error", "Set HFSCREEN = 0.2, or 0"),
    ],
)
def test_too_few_points_for_a_screened_interaction_are_told_with_the_error(
    tmp_path, mesh, screening, severity, expected
):  # fmt: skip
    inputs = folder_reader(tmp_path, begin=HYBRID, poscar=LIF, mesh=mesh)(f"HFSCREEN = {screening}\n")
    found = [problem for problem in inputs.problems if "too few k-points" in problem.message]
    assert [problem.severity for problem in found] == [severity] * bool(severity)
    assert all(expected in f"{problem.message}. {problem.remedy}" for problem in found)


def test_the_error_of_levels_is_the_same_by_images_and_as_an_integral():
    cube = 12.0 * np.eye(3)
    below, above = (exchange.level_error(cube, Hybrid.of(0.25, x / 12.0)) for x in (0.999, 1.001))
    assert below == pytest.approx(above, rel=0.02)


LIST = "list\n4\nReciprocal\n0 0 0 1\n.5 0 0 4\n.5 .5 0 3\n.1 .1 0 0\n"


def test_a_list_that_is_a_mesh_hears_of_too_few_points_as_the_mesh_does(read, tmp_path):
    mesh = words(read("HFSCREEN = 0.2\n"), "warning")
    (tmp_path / "KPOINTS").write_text(LIST)
    listed = words(read_inputs(tmp_path), "warning")
    assert "too few k-points" in mesh and "Take 3 x 3 x 3" in mesh
    assert mesh.split("too few")[1] == listed.split("too few")[1]


def test_a_list_that_is_a_mesh_serves_for_exchange_of_long_range_and_others_do_not(read, tmp_path):
    read("")
    (tmp_path / "KPOINTS").write_text(LIST)
    found = read_inputs(tmp_path)
    assert words(found, "error") == ""
    np.testing.assert_array_equal(found.kpoints.cells_cc, np.diag([2, 2, 2]))
    assert found.parameters.exchange_range == "Wigner-Seitz"
    (tmp_path / "KPOINTS").write_text(LIST.replace(".5 .5 0 3", ".5 .5 0 4"))
    assert "are no regular mesh of equal weights" in words(read_inputs(tmp_path), "error")
