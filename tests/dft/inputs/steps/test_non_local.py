"""LUSE_VDW and its tags: which functional they mean, and what is said about wrong ones."""

import pytest

from eigenwerk.dft.settings.parameters import method_title
from eigenwerk.functionals.non_local import VDW_DF2, NonLocal
from input_folders import folder_reader

SI = "Si\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"
DF = "LUSE_VDW = .TRUE.\nAGGAC = 0.0000\nLASPH = .TRUE.\n"

RECIPES = {
    "vdW-DF": "GGA = RE\n" + DF, "vdW-DF2": "GGA = ML\nZab_vdW = -1.8867\n" + DF, "optPBE-vdW": "GGA = OR\n" + DF,
    "optB88-vdW": "GGA = BO\nPARAM1 = 0.1833333333\nPARAM2 = 0.2200000000\n" + DF,
    "optB86b-vdW": "GGA = MK\nPARAM1 = 0.1234\nPARAM2 = 1.0000\n" + DF,
    "rev-vdW-DF2": "GGA = MK\nPARAM1 = 0.1234568\nPARAM2 = 0.711357\nZab_vdW = -1.8867\n" + DF,
    "vdW-DF-cx": "GGA = CX\n" + DF,
    "rVV10": "GGA = ML\nLUSE_VDW = T\nIVDW_NL = 2\nBPARAM = 6.3\nCPARAM = 0.0093\nLASPH = T\n",
    "PBE+rVV10L": "GGA = PE\nLUSE_VDW = T\nIVDW_NL = 2\nBPARAM = 10\nLASPH = T\n",
    "C09-vdW": "GGA = GGA_X_C09X+LDA_C_PW\nLUSE_VDW = T\n",
}  # fmt: skip
"""The tags of VASP's pages."""


@pytest.fixture
def read(tmp_path):
    """INCAR lines -> Inputs."""
    return folder_reader(tmp_path, begin="ISMEAR = 0\nSIGMA = 0.05\n", poscar=SI, mesh="2 2 2")


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_have_their_names_and_no_doubts(read, name):
    inputs = read(RECIPES[name])
    assert [str(one) for one in inputs.problems if one.severity in ("error", "warning")] == []
    assert method_title(inputs.parameters) == name


def test_numbers_of_the_recipes_arrive(read):
    inputs = read(RECIPES["rev-vdW-DF2"])
    assert inputs.parameters.functional == "MK(0.1234568,0.711357)"
    assert inputs.parameters.non_local == NonLocal(gradient=VDW_DF2)
    assert inputs.parameters.hybrid.gradient_correlation == 0.0 and inputs.setting("PARAM2") == 0.711357
    assert read(RECIPES["PBE+rVV10L"]).parameters.non_local == NonLocal("rVV10", b=10.0)


def test_a_spin_resolved_kernel_is_named(read):
    inputs = read("GGA = CX\nISPIN = 2\nLSPIN_VDW = T\n" + DF)
    assert inputs.parameters.non_local.spin_resolved and method_title(inputs.parameters) == "spin-resolved vdW-DF-cx"
    assert not read("GGA = CX\nLSPIN_VDW = T\n" + DF).parameters.non_local.spin_resolved


def test_data_sets_are_those_of_pbe_unless_setups_names_others(read):
    assert read(RECIPES["vdW-DF"]).data["Si"].header.functional == "PBE"
    assert read("GGA = RE\n").data["Si"].header.functional == "revPBE"
    asked = read(RECIPES["vdW-DF"] + "SETUPS = Si:revPBE\n")
    assert asked.data["Si"].header.functional == "revPBE" and not asked.errors
    (error,) = read(RECIPES["vdW-DF"] + "SETUPS = Si:v9.revPBE\n").errors
    assert "SETUPS" in str(error) and "v9" in str(error) and "revPBE" in str(error)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("GGA = MK\nLUSE_VDW = T\n", r"AGGAC = 1 adds 100 % of that of optB86b: it would count twice. Set AGGAC = 0"),
        ("GGA = PE\nLUSE_VDW = T\nAGGAC = 0.5\n", "AGGAC = 0.5 adds 50 % of that of PBE"),
        ("GGA = ML\nLUSE_VDW = T\nIVDW_NL = 2\nBPARAM = -6.3\n", "BPARAM = -6.3"),
        ("GGA = RE\nIVDW_NL = 3\n" + DF, "vdW-DF3-opt1 is not available"),
        ("GGA = RE\nIVDW_NL = 4\n" + DF, "vdW-DF3-opt2 is not available"),
        ("GGA = BF\n" + DF, "BEEF-vdW is not available"),
        ("GGA = RE\nZAB_VDW = 0.8491\n" + DF, "ZAB_VDW = 0.8491"),
        ("GGA = MK\nPARAM2 = -1\n" + DF, "PARAM2 = -1"),
        ("GGA = GGA_X_C09X+GGA_C_PBE\nAGGAC = 0\nLUSE_VDW = T\n", "there are no shares of GGA_X_C09X"),
    ],
)
def test_what_cannot_be_computed_is_an_error_of_its_tag(read, lines, expected):
    errors = " ".join(str(one) for one in read(lines).errors)
    assert expected in errors and "INCAR line" in errors


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("AGGAC = 0\n", "recipes with non-local correlation add it by LUSE_VDW"),
        ("PARAM1 = 0.2\n", "not used: PBE takes no numbers, GGA = BO and MK do"),
        ("GGA = BO\n" + DF, "PARAM1 = 0.1833333333, PARAM2 = 0.22 are taken, as in optB88; in VASP write them"),
        ("GGA = ML\n", "vdW-DF2 has LUSE_VDW = .TRUE. and AGGAC = 0 besides"),
        ("GGA = ML\n" + DF, "is no known recipe; it is computed as it stands. vdW-DF2 has ZAB_VDW = -1.8867"),
        ("GGA = PS\n" + DF, "PBEsol with AGGAC = 0 with the kernel of vdW-DF (ZAB_VDW = -0.8491) is no known recipe"),
        ("ZAB_VDW = -1.8867\n", "not used: it acts only with LUSE_VDW = .TRUE."),
        ("GGA = RE\nBPARAM = 6.3\n" + DF, "not used: it belongs to IVDW_NL = 2, not to the kernel of vdW-DF"),
        ("GGA = ML\nLUSE_VDW = T\nIVDW_NL = 2\nAGGAC = 0\n", "which AGGAC = 0 takes away"),
        ("GGA = MK\nIVDW = 1\nVDW_S6 = 0.75\n" + DF, "dispersion is counted twice"),
        ("GGA = RE\nLSPIN_VDW = T\n" + DF, "ISPIN = 1: both spins are alike"),
    ],
)
def test_what_is_doubtful_is_computed_with_a_word(read, lines, expected):
    inputs = read(lines)
    assert not inputs.errors
    assert expected in " ".join(map(str, inputs.problems))


def test_exact_exchange_goes_with_non_local_correlation(read):
    inputs = read("GGA = MK\nLHFCALC = T\nAEXX = 0.2\n" + DF)
    assert not inputs.errors and inputs.parameters.hybrid.fraction == 0.2
    assert "kernel of vdW-DF" in method_title(inputs.parameters)
