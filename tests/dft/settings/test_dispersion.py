"""IVDW and VDW_*: what they mean for each functional, what is refused, and in which words."""

import pytest

from eigenwerk.dft.dispersion import libraries
from eigenwerk.dft.dispersion.correction import D2, D3_BJ, D3_ZERO, D4
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.units import BOHR_ANGSTROM

BOX = "box\n1\n4 0 0\n0 4 0\n0 0 4\nC H\n1 4\nDirect\n0 0 0\n.16 .16 .16\n-.16 -.16 .16\n-.16 .16 -.16\n.16 -.16 -.16\n"
HYBRID = "LHFCALC = T\nHFSCREEN = 0.2\n"
needs_libraries = pytest.mark.skipif(
    libraries.is_missing(D3_BJ) or libraries.is_missing(D4), reason="dftd3 or dftd4 is not installed"
)


@pytest.fixture
def read(tmp_path):
    def make(incar, poscar=BOX):
        (tmp_path / "INCAR").write_text(f"ENCUT = 200\nKSPACING = 1\n{incar}\n")
        (tmp_path / "POSCAR").write_text(poscar)
        return read_inputs(tmp_path)

    return make


def said(inputs):
    return "\n".join(str(problem) for problem in inputs.problems)


@pytest.mark.parametrize("incar", ["IVDW = 1", "IVDW = 10", "LVDW = T", "LVDW = T\nIVDW = 10"])
def test_d2_has_the_defaults_of_its_paper(read, incar):
    given = read(incar).parameters.dispersion
    assert given.method == D2 and given.parameters == {"s6": 0.75, "sr": 1.0, "d": 20.0}
    assert given.radius == pytest.approx(50 / BOHR_ANGSTROM) and given.coordination_radius is None
    assert set(given.coefficients) == {"C", "H"}
    assert given.coefficients["C"] == pytest.approx((1.75 * 17.3452771, 1.452 / BOHR_ANGSTROM), rel=1e-6)


@needs_libraries
@pytest.mark.parametrize(("incar", "method", "parameters"), [
    ("IVDW = 11", D3_ZERO, {"s6": 1, "s8": 0.722, "rs6": 1.217, "rs8": 1, "alp": 14}),
    ("IVDW = 12", D3_BJ, {"s6": 1, "s8": 0.7875, "a1": 0.4289, "a2": 4.4407, "alp": 14}),
    ("IVDW = 12\nGGA = RP", D3_BJ, {"s6": 1, "s8": 0.8318, "a1": 0.1820, "a2": 4.0094, "alp": 14}),
    (f"IVDW = 12\n{HYBRID}", D3_BJ, {"s6": 1, "s8": 2.31, "a1": 0.383, "a2": 5.685, "alp": 14}),
    ("IVDW = 12\nLHFCALC = T", D3_BJ, {"s6": 1, "s8": 1.2177, "a1": 0.4145, "a2": 4.8593, "alp": 14}),
    (f"IVDW = 11\n{HYBRID}", D3_ZERO, {"s6": 1, "s8": 0.109, "rs6": 1.129, "rs8": 1, "alp": 14}),
    ("IVDW = 13", D4, {"s6": 1, "s8": 0.95948085, "a1": 0.38574991, "a2": 4.80688534, "alp": 16}),
])  # fmt: skip
def test_d3_and_d4_have_parameters_by_functional(read, incar, method, parameters):
    given = read(incar).parameters.dispersion
    assert given.method == method
    assert given.parameters == pytest.approx({**parameters, "s9": 1.0 if method == D4 else 0.0})
    if method == D4:
        assert given.radius is None and given.coordination_radius is None
    else:
        assert given.radius == pytest.approx(50.2 / BOHR_ANGSTROM)
        assert given.coordination_radius == pytest.approx(20 / BOHR_ANGSTROM)


@needs_libraries
def test_tags_change_what_they_name_and_nothing_else(read):
    usual, given = (read(incar).parameters.dispersion for incar in ("IVDW = 12", "IVDW = 12\nVDW_S8 = 0.9"))
    assert given.parameters == {**usual.parameters, "s8": 0.9}
    full = read("IVDW = 11\nVDW_S6 = .9\nVDW_S8 = .8\nVDW_SR = 1.1\nVDW_RADIUS = 30\nVDW_CNRADIUS = 15").parameters
    values = full.dispersion.parameters
    assert (values["s6"], values["s8"], values["rs6"], values["rs8"], values["s9"]) == (0.9, 0.8, 1.1, 1.0, 0.0)
    assert full.dispersion.radius == pytest.approx(30 / BOHR_ANGSTROM)
    assert full.dispersion.coordination_radius == pytest.approx(15 / BOHR_ANGSTROM)
    triples = read("IVDW = 12\nVDW_S9 = 1")
    assert triples.parameters.dispersion.parameters["s9"] == 1.0 and "three-body term is added" in said(triples)
    assert read("IVDW = 13\nVDW_S9 = 0").parameters.dispersion.parameters["s9"] == 0.0


def test_d2_takes_lists_by_species_and_the_old_name_of_its_scale(read):
    given = read("IVDW = 1\nVDW_SCALING = 0.6\nVDW_D = 23\nVDW_SR = 1.1\nVDW_C6 = 2 0.1\nVDW_R0 = 1.5 1.0").parameters
    assert given.dispersion.parameters == {"s6": 0.6, "sr": 1.1, "d": 23.0}
    assert given.dispersion.coefficients["H"] == pytest.approx((0.1 * 17.3452771, 1 / BOHR_ANGSTROM), rel=1e-6)
    assert read("IVDW = 1\nVDW_S6 = 0.5\nVDW_SCALING = 0.6").parameters.dispersion.parameters["s6"] == 0.5


@needs_libraries
def test_d4_takes_the_charge_of_the_cell(read):
    assert read("IVDW = 13\nNELECT = 7").parameters.dispersion.charge == pytest.approx(1.0)
    assert read("IVDW = 12\nNELECT = 7").parameters.dispersion.charge == 0.0


@pytest.mark.parametrize(("incar", "words"), [
    ("IVDW = 2", "the method of Tkatchenko and Scheffler is not available. Set IVDW = 12"),
    ("IVDW = 20", "Tkatchenko and Scheffler is not available"),
    ("IVDW = 21", "iterative Hirshfeld charges is not available"),
    ("IVDW = 202", "many-body dispersion (MBD@rsSCS) is not available"),
    ("IVDW = 263", "fractional ions (MBD@rSC/FI) is not available"),
    ("IVDW = 3", "DFT-ulg is not available"), ("IVDW = 4", "dDsC is not available"),
    ("IVDW = 14", "libMBD is not available"), ("IVDW = 15", "Set IVDW = 11 or 12, which are the same library's D3"),
    ("IVDW = 7", "IVDW = 7: the value is none of 0, 1, 10, 11, 12, 13"),
    ("IVDW = 12\nLVDW = T", "LVDW = T: it asks for D2, and IVDW = 12 does not. Keep one of them."),
    ("IVDW = 1\nGGA = PS", "no parameters of D2 for this functional (pbesol)"),
    ("IVDW = 1\nGGA = PS", "there are some for pbe, blyp, b3lyp, revpbe, pbe0. Set VDW_S6, or take another"),
    ("IVDW = 1\nVDW_C6 = 1", "VDW_C6 = 1: 1 values, but POSCAR has 2 species (C H)"),
    ("IVDW = 1\nVDW_R0 = 1 0", "no value can be negative, and no radius zero"),
    ("IVDW = 1\nVDW_RADIUS = -3", "VDW_RADIUS = -3: the value must be above 0"),
])  # fmt: skip
def test_what_there_is_not_is_refused_by_name(read, incar, words):
    inputs = read(incar)
    assert any(words in str(problem) for problem in inputs.errors), said(inputs)


@needs_libraries
@pytest.mark.parametrize(("incar", "words"), [
    ("IVDW = 12\nGGA = CA", "Set VDW_S8, VDW_A1, VDW_A2, or take another functional or IVDW."),
    ("IVDW = 11\nGGA = CA", "Set VDW_S8, VDW_SR, or take another"),
    ("IVDW = 12\nLHFCALC = T\nAEXX = 0.4", "hse06"),
    ("IVDW = 13\nGGA = CA\nVDW_S8 = 1", "Set VDW_A1, VDW_A2, or take another"),
])  # fmt: skip
def test_a_functional_without_parameters_needs_them_by_number(read, incar, words):
    inputs = read(incar)
    assert any("there are no parameters of" in str(problem) and words in str(problem) for problem in inputs.errors)


@needs_libraries
def test_with_all_numbers_any_functional_will_do(read):
    given = read("IVDW = 12\nGGA = CA\nVDW_S8 = 1\nVDW_A1 = 0.4\nVDW_A2 = 5").parameters.dispersion
    assert given.functional == ""
    assert given.parameters == {"s6": 1.0, "s9": 0.0, "alp": 14.0, "s8": 1.0, "a1": 0.4, "a2": 5.0}


def test_elements_beyond_the_table_of_d2_need_numbers(read):
    gold = BOX.replace("C H", "C Au")
    inputs = read("IVDW = 1", gold)
    assert "the table of D2 ends at Xe, and has nothing of Au" in said(inputs) and "VDW_C6 and VDW_R0" in said(inputs)
    given = read("IVDW = 1\nVDW_C6 = 1.75 40\nVDW_R0 = 1.452 1.77", gold).parameters.dispersion
    assert given.coefficients["Au"] == pytest.approx((40 * 17.3452771, 1.77 / BOHR_ANGSTROM), rel=1e-6)


def test_species_of_one_element_have_one_value(read):
    poscar = BOX.replace("C H\n1 4", "H C H\n1 1 3")
    assert "two species of H have different values" in said(read("IVDW = 1\nVDW_C6 = .1 2 .2", poscar))


@pytest.mark.parametrize("method", [D3_BJ, D4])
def test_a_missing_library_is_told_with_the_line_that_installs_it(read, monkeypatch, method):
    monkeypatch.setattr(libraries, "find_spec", lambda name: None)
    inputs = read("IVDW = 13" if method == D4 else "IVDW = 12")
    package = libraries.PACKAGES[method]
    assert f"by the library {package}, which is not installed" in said(inputs)
    assert "pip install 'eigenwerk[dispersion]'" in said(inputs) and inputs.errors
    assert not read("IVDW = 1").errors


def test_tags_that_take_no_part_are_told(read):
    assert "VDW_A1 = 0.4: not used: it is no parameter of D2" in said(read("IVDW = 1\nVDW_A1 = 0.4"))
    assert "VDW_S8 = 1: not used without IVDW" in said(read("VDW_S8 = 1"))
    assert read("VDW_S8 = 1").setting("VDW_S8") is None


@needs_libraries
def test_twice_counted_dispersion_is_a_warning_that_names_both(read):
    inputs = read("IVDW = 12\nLUSE_VDW = T\nIVDW_NL = 2\nBPARAM = 10")
    assert not inputs.errors and inputs.parameters.dispersion.functional == "pbe"
    warnings = [str(problem) for problem in inputs.problems if problem.severity == "warning"]
    assert any("counted twice, by D3(BJ) and by the non-local correlation of PBE" in words for words in warnings)
    named = said(read("LVDW = T\nVDW_S6 = 1\nLUSE_VDW = T\nAGGAC = 0\nGGA = RE"))
    assert "LVDW = T: dispersion is counted twice, by D2 and by the non-local correlation of vdW-DF (LUSE_VDW)" in named


@needs_libraries
def test_values_in_force_say_whence(read):
    inputs = read("IVDW = 12\nVDW_S8 = 0.9")
    origins = {one.tag: one.origin for one in inputs.settings if one.tag.startswith("VDW")}
    assert origins == {
        "VDW_S6": "of pbe", "VDW_S8": "INCAR line 4", "VDW_S9": "default", "VDW_A1": "of pbe", "VDW_A2": "of pbe",
        "VDW_RADIUS": "default", "VDW_CNRADIUS": "default",
    }  # fmt: skip


GRAPHITE = ((2.46, 6.7), ["C"] * 4, [[0, 0, 0.25], [1 / 3, 2 / 3, 0.25], [0, 0, 0.75], [2 / 3, 1 / 3, 0.75]])
METHOD_OF_SET = {"dftd2": D2, "dftd3": D3_ZERO, "dftd3-bj": D3_BJ, "dftd4": D4}


@needs_libraries
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "kind"), [
    ("MPRelaxSet", "dftd2"), ("MPRelaxSet", "dftd3"), ("MPRelaxSet", "dftd3-bj"), ("MPRelaxSet", "dftd4"),
    ("MPStaticSet", "dftd3-bj"), ("MPHSERelaxSet", "dftd3"), ("MPHSERelaxSet", "dftd3-bj"), ("MPHSERelaxSet", "dftd4"),
    ("MITRelaxSet", "dftd2"), ("MPMetalRelaxSet", "dftd3-bj"), ("MatPESStaticSet", "dftd4"), ("MVLSlabSet", "dftd3"),
])  # fmt: skip
def test_folders_of_pymatgens_sets_are_taken_as_they_are(tmp_path, name, kind):
    core = pytest.importorskip("pymatgen.core", reason="pymatgen is not installed")
    sets = pytest.importorskip("pymatgen.io.vasp.sets")
    (a, c), symbols, scaled_ac = GRAPHITE
    made = getattr(sets, name)(core.Structure(core.Lattice.hexagonal(a, c), symbols, scaled_ac), vdw=kind)
    made.incar.write_file(tmp_path / "INCAR")
    made.poscar.write_file(tmp_path / "POSCAR")
    if made.kpoints is not None:
        made.kpoints.write_file(tmp_path / "KPOINTS")
    inputs = read_inputs(tmp_path)
    assert not inputs.errors and inputs.parameters.dispersion.method == METHOD_OF_SET[kind]
    assert inputs.parameters.dispersion.functional == ("hse06" if "HSE" in name else "pbe")
