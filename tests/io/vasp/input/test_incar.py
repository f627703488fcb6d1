"""The INCAR reader: every trap of the syntax, every kind of bad value, and what other readers make of public files."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.incar import Incar, judge, parse_incar, read_incar
from eigenwerk.io.vasp.problem import errors
from eigenwerk.io.vasp.tags.table import ALIASES, TAGS

STEADY = settings(deadline=None, derandomize=True)


@pytest.fixture(scope="module")
def traps(samples: Path) -> Incar:
    return read_incar(samples / "INCAR.traps")


def messages(incar: Incar, severity: str = "error") -> str:
    return "\n".join(str(problem) for problem in incar.problems if problem.severity == severity)


# --- syntax ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        ("SYSTEM", "id=[3] (P O4)"),
        ("ENCUT", 400.0),
        ("EDIFF", 1e-5),
        ("ISPIN", 2),
        ("ISMEAR", 1),
        ("SIGMA", 0.1),
        ("NELM", 80),
        ("ISTART", 0),
        ("MAGMOM", (0.6, 0.6, -1.0, -1.0, -1.0, 0.0)),
        ("PREC", "Normal"),
        ("ALGO", "Fast"),
        ("LREAL", False),
        ("LWAVE", True),
        ("LCHARG", True),
        ("LVTOT", False),
        ("FERWE", (1.0,) * 4 + (0.5,) * 2 + (0.0,) * 6),
        ("GGA", "PE"),
        ("KGAMMA", True),
        ("SETUPS", (("Si", "v3"), ("Ni", "10"))),
    ],
)
def test_traps_are_read_as_meant(traps, tag, value):
    assert traps.values[tag] == value
    assert type(traps.values[tag]) is type(value)


def test_traps_raise_no_errors_and_commented_tags_are_not_read(traps):
    assert errors(traps.problems) == ()
    assert "NBANDS" not in traps.values


def test_text_without_statement_is_noted_with_its_line(traps):
    assert [(note.line, note.text[:12]) for note in traps.notes] == [
        (1, "Every trap o"),
        (2, "Ni slab"),
        (7, "Start parame"),
    ]


def test_lines_are_those_of_the_tag_after_continuations_and_quotations(traps):
    assert traps.line_of["MAGMOM"] == 9
    assert traps.line_of["PREC"] == 12
    assert traps.line_of["FERWE"] == 18
    assert traps.line_of["GGA"] == 21


@pytest.mark.parametrize(
    "text", ["hello world\n", "Si\n5.43\n 0 0.5 0.5\nSi\n2\nDirect\n", "ENCUT = 300\n\x01\x02 \x7f\n"]
)
def test_a_file_of_something_else_is_an_error(text):
    """A POSCAR in its place, bytes of a program: not a calculation with all defaults."""
    (problem,) = [p for p in parse_incar(text).problems if p.severity == "error"]
    assert "TAG = value" in problem.message or "characters that no text has" in problem.message
    assert "INCAR" in problem.remedy and problem.line == (2 if "ENCUT" in text else 1)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# a comment\n! another\n", "a title\nENCUT = 300\n", "ENCUT = 300\n\x0c\n\x1a"]
)
def test_empty_files_titles_and_comments_are_fine(text):
    assert not [p for p in parse_incar(text).problems if p.severity == "error"]


def test_crlf_continuation_at_an_empty_line_and_missing_last_newline(tmp_path):
    (tmp_path / "INCAR").write_bytes(b"title\r\nENCUT = 300\r\nISPIN = 1 \\\r\n\r\nNELM = 5")
    incar = read_incar(tmp_path / "INCAR")
    assert dict(incar.values) == {"ENCUT": 300.0, "ISPIN": 1, "NELM": 5}
    assert incar.line_of["NELM"] == 5


def test_nested_blocks_give_names_with_slashes(samples):
    incar = read_incar(samples / "INCAR.nested")
    assert incar.raw["PLUGINS/STRUCTURE"] == "T"
    assert incar.line_of["PLUGINS/FORCES"] == 2
    assert incar.values == {"ENCUT": 250.0}
    assert "KERNEL_TRUNCATION/LTRUNCATE = T: truncated Coulomb interactions are not available" in messages(incar)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PLUGINS {\nENCUT = 300\n", "line 1: the block PLUGINS { is never closed"),
        ('SYSTEM = "no end\nENCUT = 300', "line 1: the quotation mark"),
    ],
)
def test_what_is_opened_must_be_closed(text, expected):
    assert expected in messages(parse_incar(text))


def test_quotation_marks_and_braces_inside_values_are_text():
    incar = parse_incar('SYSTEM = a 2" wafer {100}\nENCUT = 300')
    assert incar.values == {"SYSTEM": 'a 2" wafer {100}', "ENCUT": 300.0}


@pytest.mark.parametrize("line", ["ENCUT 400", "start of the run ENCUT = 400", "run: ENCUT=400"])
def test_a_statement_that_is_lost_in_prose_is_warned_of(line):
    incar = parse_incar(f"{line}\nNELM = 5")
    assert "ENCUT" not in incar.values
    assert "line 1: this text is no statement and is not read" in messages(incar, "warning")


def test_a_statement_behind_a_value_is_warned_of():
    incar = parse_incar("IALGO = 38   algorithm   NELM = 60")
    assert "the text after the value holds NELM" in messages(incar, "warning")


def test_byte_order_mark_and_latin1_are_read(tmp_path):
    (tmp_path / "INCAR").write_bytes("\ufeffENCUT = 300".encode())
    assert read_incar(tmp_path / "INCAR").values == {"ENCUT": 300.0}
    (tmp_path / "INCAR").write_bytes("SYSTEM = Gr\xf6\xdfe\nENCUT = 300".encode("latin-1"))
    assert read_incar(tmp_path / "INCAR").values == {"SYSTEM": "Größe", "ENCUT": 300.0}


def test_a_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="INCAR: there is no such file"):
        read_incar(tmp_path / "INCAR")


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (1, "INCAR.wrong line 1: ENCUT = _encut_: _encut_ is not a finite number. Write ENCUT = a number in eV"),
        (2, "ISMEAR = abc: abc is not a whole number"),
        (3, "SIGMA = 0,05: 0,05 has a comma where a decimal point belongs"),
        (4, "EDIFF = NaN: NaN is not a finite number"),
        (5, "NBANDS = 4.5: 4.5 is not a whole number"),
        (6, "ENCUTT = 400: there is no tag ENCUTT. Did you mean ENCUT?"),
        (7, "NELM: there is no value after the equals sign"),
        (8, "LWAVE = yes: yes is neither .TRUE. nor .FALSE."),
        (9, "PREC = Precise: Precise is none of Normal, Accurate"),
        (10, "ISPIN = 3: the value is none of 1, 2"),
        (11, "MAGMOM = 2*0.6 x 1.0: x is not a finite number"),
        (12, "NELM = 7, but line 7 says NELM = . Keep one of the two lines."),
    ],
)
def test_bad_values_are_named_with_line_tag_value_and_remedy(samples, line, expected):
    incar = read_incar(samples / "INCAR.wrong")
    (problem,) = [problem for problem in incar.problems if problem.line == line]
    assert problem.severity == "error"
    assert expected in str(problem)


def test_all_errors_are_raised_together(samples):
    incar = read_incar(samples / "INCAR.wrong")
    with pytest.raises(InputError) as caught:
        incar.raise_on_errors()
    assert len(str(caught.value).splitlines()) == 12
    assert set(incar.values) == {"ISPIN"}  # typed, though its value is not legal; the others cannot be typed


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ENCUT = 0", "must be above 0"),
        ("NELM = 0", "must be at least 1"),
        ("ISMEAR = -7", "must be at least 0, or one of -15, -14, -5, -4, -2, -1"),
        ("SYMPREC = 0", "must be above 0 and at most 1"),
        ("NUPDOWN = -3", "must be at least 0 and at most 1e+06, or one of -1"),
        ("MAGMOM = 0*1.0", "repeats a value 0 times"),
        ("MAGMOM = 3*abc", "abc is not a finite number"),
        ("MAGMOM = 1 inf", "inf is not a finite number"),
        ("SETUPS = Xx:3", "Xx:3 is not a pair Element:variant"),
        ("SETUPS = Si:v3 Si:v2", "Si is named twice"),
        ("ENCUT = 520eV", "520eV is not a finite number"),
        ("NELECT = 1e999", "is not a finite number"),
        ("NELM = 99999999999999999999.5", "not a whole number"),
        ("NELM = 99999999999999999999", "too large for a whole number"),
    ],
)
def test_values_that_cannot_be_meant_are_errors(line, expected):
    assert expected in messages(parse_incar(line))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("LWAVE = .TRUE.", True),
        ("LWAVE = T", True),
        ("LWAVE = true", True),
        ("LWAVE = .t.", True),
        ("LWAVE = False", False),
        ("LWAVE = .FALSE. nothing is written", False),
        ("LWAVE = .F", False),
    ],
)
def test_logicals_go_by_their_first_significant_letter(line, value):
    assert parse_incar(line).values["LWAVE"] is value


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("ALGO = N", "Normal"),
        ("ALGO = VERYFAST", "VeryFast"),
        ("ALGO = All", "All"),
        ("ALGO = none", "None"),
        ("ALGO = exact", "Exact"),
        ("ALGO = evgw0", "EVGW0"),
        ("PREC = acc", "Accurate"),
        ("PREC = High", "High"),
        ("PREC = single", "Single"),
        ("PREC = SingleN", "SingleN"),
        ("LREAL = A", "Auto"),
        ("LREAL = O", "On"),
        ("LREAL = T", True),
        ("GGA = pbe", "PE"),
        ("GGA = 91", "91"),
        ("EFERMI = midgap", "MIDGAP"),
        ("EFERMI = 5.1", 5.1),
    ],
)
def test_words_are_recognised_as_vasp_does(line, value):
    incar = parse_incar(line)
    assert list(incar.values.values()) == [value]
    assert errors(incar.problems) == ()


def test_a_word_recognised_by_its_first_letter_only_is_reported():
    incar = parse_incar("ALGO = Nrmal")
    assert incar.values["ALGO"] == "Normal"
    assert "read as Normal by its first letter" in messages(incar, "warning")


@pytest.mark.parametrize("word", ["ACFDTRK", "ACFDTRX", "CCSD(T)", "MP2KPAR", "OEP", "2E4WA", "scGW0X"])
def test_a_method_that_there_is_not_is_no_solver_with_the_same_first_letter(word):
    incar = parse_incar(f"ALGO = {word}")
    assert "many-body methods are not available" in messages(replace(incar, problems=judge(incar)), "error")


@pytest.mark.parametrize(("word", "value"), [("Very_fast", "VeryFast"), ("conj", "Conjugate")])
def test_other_spellings_of_solvers_go_by_their_first_letter(word, value):
    assert parse_incar(f"ALGO = {word}").values["ALGO"] == value


def test_the_functional_of_potcar_is_the_default():
    incar = parse_incar("GGA = --")
    assert incar.values["GGA"] == "PE" and not incar.problems


def test_a_second_number_after_a_single_value_is_reported():
    incar = parse_incar("NELM = 60 80\nISMEAR = 1.0")
    assert incar.values == {"NELM": 60, "ISMEAR": 1}
    assert "one value is expected" in messages(incar, "warning")
    assert "a whole number is expected; 1.0 is read as such" in messages(incar, "warning")


def test_equal_duplicates_are_harmless_and_different_ones_an_error():
    incar = parse_incar("ENCUT = 400\nencut = 4d2\nNELM = 5\nNELM = 6")
    assert incar.values == {"ENCUT": 400.0, "NELM": 5}
    assert "line 2: ENCUT = 4d2: the tag was given on line 1 already" in messages(incar, "note")
    assert messages(incar) == "INCAR line 4: NELM = 6, but line 3 says NELM = 5. Keep one of the two lines."


def test_defaults_come_from_the_table_and_computed_ones_do_not():
    incar = parse_incar("NELM = 5")
    assert incar.get("NELM") == 5
    assert incar.get("EDIFF") == 1e-4
    assert incar.get("ENCUT", 333.0) == 333.0
    assert incar.get("NBANDS") is None


def test_a_problem_of_another_check_names_line_tag_and_value():
    problem = parse_incar("ENCUT = 300\nNBANDS = 4").problem(
        "NBANDS", ", but 10 electrons need at least 5 bands", "Set NBANDS = 8, or remove the line."
    )
    expected = "INCAR line 2: NBANDS = 4, but 10 electrons need at least 5 bands. Set NBANDS = 8, or remove the line."
    assert str(problem) == expected


@STEADY
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_moments_survive_writing_and_reading(moments):
    text = "MAGMOM = " + " \\\n ".join(repr(moment) for moment in moments)
    assert parse_incar(text).values["MAGMOM"] == tuple(moments)


@STEADY
@given(st.text())
def test_no_text_makes_the_reader_fail(text):
    incar = parse_incar(text)
    assert judge(incar) == judge(parse_incar(text))


@STEADY
@given(st.text(alphabet='ENCUTMAGSYI01.*= "\\\n;{}#!,-/'))
def test_no_text_of_the_alphabet_of_the_format_makes_the_reader_fail(text):
    incar = parse_incar(f"ENCUT {text}")
    assert set(incar.values) <= set(incar.line_of)


# --- judgement -------------------------------------------------------------------------------------------------------


def verdict(text: str) -> str:
    return "\n".join(f"{problem.severity}: {problem}" for problem in judge(parse_incar(text)))


@pytest.mark.parametrize(
    "text",
    [
        "ISPIN = 2\nMAGMOM = 2*1\nNUPDOWN = 2",
        "PREC = Accurate\nENCUT = 500\nNGX = 24\nNGXF = 48\nLREAL = .FALSE.\nADDGRID = F",
        *(f"ISMEAR = {value}" for value in (-15, -14, -5, -4, -2, -1, 0, 1, 2, 3)),
        *(f"GGA = {value}" for value in ("PE", "PS", "RP", "RE", "PW92")),
        *(f"ISYM = {value}" for value in (-1, 0, 1, 2, 3)),
        *(f"ICHARG = {value}" for value in (0, 1, 2, 11, 12)),
        "ISTART = 0\nISTART = 0",
        "ISTART = 1",
        "IMIX = 4\nAMIX = 0.1\nBMIX = 1d-4\nAMIX_MAG = 0.4\nBMIX_MAG = 1d-4\nAMIN = 0.01\nMAXMIX = 20",
        "NELM = 5\nNELMIN = 3\nNELMDL = -5\nEDIFF = 1e-7\nALGO = Normal\nIALGO = 38",
        "KSPACING = 0.3\nKGAMMA = F\nSYMPREC = 1e-4\nNBANDS = 9\nNELECT = 7.5",
        "FERWE = 4*1\nFERDO = 4*1\nSETUPS = Si:v3",
        "LHFCALC = F\nLDAU = .FALSE.\nIVDW = 0\nMETAGGA = None\nLUSE_VDW = F\nLSORBIT = F\nLNONCOLLINEAR = F",
        "NSW = 0\nIBRION = -1",
        "NSW = -1\nPSTRESS = 0\nIMAGES = 0\nEFIELD = 0.0\nAGGAC = 1\nLPARD = F\nLOPTICS = .FALSE.\nML_LMLFF = F",
        "LVTOT = F\nLAECHG = F\nLELF = F\nLASPH = T",
    ],
)
def test_what_works_or_is_switched_off_needs_no_words(text):
    assert verdict(text) == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("GGA = gga_x_pbe + XC_GGA_C_PBE  the usual", "GGA_X_PBE+XC_GGA_C_PBE"),
        ("GGA = LDA_X", "LDA_X"),
        ("GGA = li", "LIBXC"),
        ("GGA = PBE", "PE"),
    ],
)
def test_functionals_have_tags_or_names_of_libxc(text, value):
    incar = parse_incar(text)
    assert incar.values["GGA"] == value and not incar.problems and not judge(incar)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GGA = GGA_X_G96+GGA_C_LYP", "there is no formula of libxc's GGA_X_G96. There are LDA_X (1)"),
        ("GGA = GGA_X_PBE GGA_C_PBE", "there is no + between GGA_X_PBE and GGA_C_PBE"),
        ("GGA = XX", "XX is none of PE, "),
    ],
)
def test_functionals_that_there_are_not_are_errors_of_their_line(text, expected):
    (problem,) = parse_incar(text).problems
    assert problem.severity == "error" and problem.line == 1 and expected in str(problem)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LRHFCALC = T", "this interaction of exact exchange is not available. Remove the line; LHFCALC with HFSCREEN"),
        ("LDAUTYPE = 1", "this form of +U is not available"),
        ("METAGGA = R2SCAN", "meta-GGA functionals are not available"),
        ("LSORBIT = T", "spin-orbit coupling is not available"),
        ("IBRION = 8", "linear response is not available"),
        ("IBRION = 40", "reaction coordinates (IRC) are not followed"),
        ("ICHAIN = 2", "Remove the line and set IBRION = 44."),
        ("GGA = BF", "BEEF-vdW is not available"),
        ("GGA = HL", "this functional is not available"),
        ("ALGO = GW0", "many-body methods are not available. Set ALGO = Normal."),
        ("ALGO = Eigenval", "leave the orbitals alone"),
        ("IALGO = 2", "leave the orbitals alone"),
        ("ICHARG = 10", "the density of saved orbitals is not made again"),
        ("ISTART = 2", "Set ISTART = 1."),
        ("PREC = Single", "Set PREC = Normal or PREC = Accurate"),
        ("EFERMI = 3.2", "a Fermi level set by hand is not available"),
        ("HFRCUT = -1", "a radius by hand is not available. Remove the line, or set HFRCUT = 0."),
        ("LMONO = T", "corrections of charged cells are reported, and never added"),
        ("ISMEAR = -3", "Run once for each of them."),
    ],
)
def test_what_would_change_the_result_is_refused_by_name(text, expected):
    assert verdict(text).startswith(f"error: INCAR line 1: {text}")
    assert expected in verdict(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NPAR = 4", "bands and plane waves of a group of k-points are both shared out over all its ranks"),
        ("NCORE = 4", "both shared out over all its ranks"),
        ("NSIM = 8", "sized by eigenwerk from the free memory"),
        ("LSCALAPACK = F", "without ScaLAPACK"),
        ("ALGO = Old", "the converged ground state is the same"),
        ("IALGO = 44", "the converged ground state is the same"),
        ("LCHARGH5 = T", "the State is always saved in eigenwerk.h5"),
        ("IMIX = 0", "it changes the path to self-consistency only"),
        ("EFERMI = MIDGAP", "the middle of the gap"),
        ("LMAXFOCK = 4", "all the moments that the data sets give them"),
        ("LDAUPRINT = 2", "not printed"),
        ("KBLOCK = 5", "it decides what VASP writes"),
        ("IBRION = -1\nNSW = 5", "with IBRION = -1 the ions do not move"),
        ("TIMESTEP = 0.1", "VTST"),
        ("ISPIND = 2", "obsolete"),
    ],
)
def test_what_cannot_change_the_result_is_reported_with_the_reason(text, expected):
    assert verdict(text).startswith("note: ")
    assert "accepted and ignored" in verdict(text)
    assert expected in verdict(text)


@pytest.mark.parametrize("text", ["LASPH = F", "PREC = Low", "PREC = High"])
def test_what_differs_from_the_user_s_wish_without_harm_is_a_warning(text):
    assert verdict(text).startswith("warning: ")


def test_a_sign_that_does_not_count_is_taken_off_with_a_warning():
    incar = parse_incar("EDIFF = -1e-10")
    assert incar.get("EDIFF") == 1e-10 and "the sign does not count" in messages(incar, "warning")


def test_a_logical_is_read_where_vasp_once_had_one():
    assert parse_incar("LORBIT = .FALSE.").get("LORBIT") == 0
    assert "not a whole number" in messages(parse_incar("LORBIT = .TRUE."))


def test_a_statement_in_brackets_behind_another_of_its_tag_is_a_remark():
    incar = parse_incar("ALGO = All    (SCF Combo; ALGO=58)")
    assert incar.get("ALGO") == "All" and not any(problem.severity == "error" for problem in incar.problems)
    assert "stands in brackets behind ALGO = All" in messages(incar, "warning")
    assert "Keep one of the two lines" in messages(parse_incar("ALGO = All; ALGO = Normal"))


def test_unknown_members_of_known_families_say_what_is_missing():
    assert "machine-learned force fields are not available" in messages(parse_incar("ML_WTOTEN = 1"))


# --- what other readers make of public files -----------------------------------------------------------------------


CASES = (
    "aiidavasp_born_charges aiidavasp_incar_nohash aiidavasp_magmom_relax atomate_adsorbate_slab atomate_elastic_relax "
    "atomate_scan_rvv10_lif atomate_si_static custodian_basic custodian_large_cell custodian_nonconv custodian_npt_md "
    "custodian_unconverged custodian_variants doped_cdte_hse_soc doped_mgo_optics doped_mgo_pbesol_relax "
    "mushroom_hybrid_chain nomad_aln_commented nomad_boolean_dotted pyiron_aborted_job pymatgen_hybrid_lifepo4 "
    "sisl_diamond sisl_graphene_sections"
).split()


def agrees(ours: object, theirs: object) -> bool:
    """Equality up to the typing of the other reader: words in its own case, lists, letters for logicals."""
    if isinstance(ours, tuple):
        return list(ours) == theirs
    if isinstance(ours, bool) and isinstance(theirs, str):
        return ours is (theirs[0] in "Tt")
    if isinstance(ours, str) and isinstance(theirs, str):
        return ours.casefold() == theirs.casefold() or (len(theirs) == 1 and ours[0] == theirs)
    return ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool)


@pytest.mark.parametrize("case", CASES)
def test_public_files_agree_with_pymatgen(shared_dir, case):
    folder = shared_dir / "reference" / "vasp_inputs"
    expected = json.loads((folder / "expected_parse.json").read_text())["cases"][case]
    for name in (name for name in expected if name.startswith("INCAR")):
        incar = read_incar(folder / case / name)
        unread = {tag for tag, value in expected[name].items() if isinstance(value, str) and value.startswith("_")}
        names = {ALIASES.get(tag, tag): value for tag, value in expected[name].items()}
        assert set(incar.values) == set(names) - unread
        for tag in incar.values:
            value = abs(names[tag]) if TAGS[tag].unsigned else names[tag]
            assert agrees(incar.values[tag], value), tag
        assert {problem.tag for problem in errors(incar.problems)} == unread


def test_every_case_is_tested(shared_dir):
    cases = json.loads((shared_dir / "reference/vasp_inputs/expected_parse.json").read_text())["cases"]
    assert {case for case, files in cases.items() if any(re.match("INCAR", name) for name in files)} == set(CASES)
