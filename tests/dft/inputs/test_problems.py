"""Bad input: what is wrong is said with file, line, tag, value and remedy, all at once; nothing else is raised."""

import errno
import re
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.inputs.texts import read_texts
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.tags.table import TAGS

POSCAR = "Si\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"
MESH = "mesh\n0\nGamma\n2 2 2\n"
PATH = "p\n10\nLine\nrec\n0 0 0\n.5 0 0\n"


@pytest.fixture
def read(tmp_path):
    """A function from the texts of the files (None: no file) to `Inputs`."""

    def build(INCAR="ISMEAR = 0\nSIGMA = 0.05\n", POSCAR=POSCAR, KPOINTS=MESH, **others):
        for name, text in {"INCAR": INCAR, "POSCAR": POSCAR, "KPOINTS": KPOINTS, **others}.items():
            (tmp_path / name).unlink(missing_ok=True)
            if text is not None:
                (tmp_path / name).write_text(text)
        return read_inputs(tmp_path)

    return build


def said(inputs, severity):
    return "\n".join(str(problem) for problem in inputs.problems if problem.severity == severity)


ERRORS = {
    "no INCAR": ({"INCAR": None}, r"INCAR: there is no such file in .*\. Write one; the line SYSTEM"),
    "no POSCAR": ({"POSCAR": None}, r"POSCAR: there is no such file in .*\. Write the structure to POSCAR"),
    "unknown tag": (
        {"INCAR": "\nENCOT = 300"},
        r"INCAR line 2: ENCOT = 300: there is no tag ENCOT. Did you mean ENCUT\?",
    ),
    "no number": ({"INCAR": "ENCUT = abc"}, r"INCAR line 1: ENCUT = abc: .* Write ENCUT = a number in eV"),
    "NaN": ({"INCAR": "SIGMA = NaN"}, r"INCAR line 1: SIGMA = NaN"),
    "negative cutoff": ({"INCAR": "ENCUT = -300"}, r"INCAR line 1: ENCUT = -300: the value must be above 0"),
    "refused": ({"INCAR": "ISMEAR = -3"}, r"INCAR line 1: ISMEAR = -3: a run over several .* Run once for each"),
    "tetrahedra of too few points": (
        {"INCAR": "\nISMEAR = -5", "KPOINTS": "m\n0\nGamma\n3 1 1\n"},
        r"INCAR line 2: ISMEAR = -5: the Gamma-centred 3 x 1 x 1 mesh has 3 points, and tetrahedra need at least 4. "
        r"Set ISMEAR = 0 with SIGMA = 0.05, or write a mesh",
    ),
    "tetrahedra of a list": (
        {"INCAR": "ISMEAR = -4", "KPOINTS": "l\n4\nReciprocal\n0 0 0 1\n0 0 .5 1\n0 .5 .5 1\n.5 .5 .5 1\n"},
        r"INCAR line 1: ISMEAR = -4: the list of 4 points in KPOINTS has no tetrahedra. Set ISMEAR = 0 with",
    ),
    "a point of no tetrahedron": (
        {"INCAR": "ISMEAR = -4", "KPOINTS": "l\n2\nReciprocal\n0 0 0 1\n0 0 .5 1\nT\n1 1\n1 1 1 1 1\n"},
        r"INCAR line 1: ISMEAR = -4: k-point 2 of KPOINTS is a corner of none of its tetrahedra",
    ),
    "a step without width": ({"INCAR": "ISMEAR = -15\nSIGMA = 0"}, r"INCAR line 2: SIGMA = 0: the smearing must have"),
    "one energy": ({"INCAR": "NEDOS = 1"}, r"INCAR line 1: NEDOS = 1: .* at least 2.* Set NEDOS = 301"),
    "linear response": (
        {"INCAR": "NSW = 1\nIBRION = 7"},
        r"INCAR line 2: IBRION = 7: linear response is not available. Set IBRION = 5 or 6",
    ),
    "displacements": (
        {"INCAR": "NSW = 1\nIBRION = 6\nNFREE = 3\nEDIFF = 1E-8"},
        r"INCAR line 3: NFREE = 3: each direction is tried 1, 2 or 4 times. Set NFREE = 2",
    ),
    "relaxation": ({"INCAR": "NSW = 5"}, r"INCAR line 1: NSW = 5: .* needs a time step.*IBRION = 2 for a relaxation"),
    "no width": ({"INCAR": "ISMEAR = 0\nSIGMA = 0"}, r"INCAR line 2: SIGMA = 0: the smearing must have a width"),
    "too few bands": (
        {"INCAR": "\n\nNBANDS = 3"},
        r"INCAR line 3: NBANDS = 3, but 8 electrons need at least 4 bands. Set NBANDS = 8, or remove the line",
    ),
    "too few bands for the moment": (
        {"INCAR": "ISPIN = 2\nNUPDOWN = 6\nNBANDS = 5"},
        r"INCAR line 3: NBANDS = 5, but 8 electrons with moment 6 need at least 7 bands",
    ),
    "too many bands": (
        {"INCAR": "ENCUT = 200\nNBANDS = 900"},
        r"INCAR line 2: NBANDS = 900: 900 bands are more than the \d+ plane waves",
    ),
    "moment above electrons": ({"INCAR": "ISPIN = 2\nNUPDOWN = 9"}, r"INCAR line 2: NUPDOWN = 9: .* the 8 electrons"),
    "moments": (
        {"INCAR": "ISPIN = 2\nMAGMOM = 1"},
        r"INCAR line 2: MAGMOM = 1: there are 1 moments for 2 atoms. Give",
    ),
    "occupations missing": (
        {"INCAR": "ISMEAR = -2"},
        r"INCAR line 1: ISMEAR = -2: the tag FERWE is missing. Give 8 occupations",
    ),
    "second channel missing": ({"INCAR": "ISMEAR = -2\nISPIN = 2\nNBANDS=4\nFERWE = 4*1"}, "the tag FERDO is missing"),
    "impossible occupation": (
        {"INCAR": "ISMEAR = -2\nNBANDS = 4\nFERWE = 2 2 2 2"},
        r"INCAR line 3: FERWE = 2 2 2 2: the occupation 2 is outside",
    ),
    "wrong number of occupations": (
        {"INCAR": "ISMEAR = -2\nNBANDS = 4\nFERWE = 5*1"},
        r"FERWE = 5\*1: there are 5 occupations for 4 bands at 3 k-points. Give 4 numbers, or set NBANDS = 5",
    ),
    "wrong sum of occupations": (
        {"INCAR": "ISMEAR = -2\nNBANDS = 4\nFERWE = 1 1 1 0"},
        r"the occupations hold 6 electrons, but there are 8. .* NELECT = 6",
    ),
    "occupations by point": (
        {"INCAR": "ISMEAR = -2\nNBANDS = 4\nFERWE = 4*1 3*1 0 4*1"},
        "differ between k-points are not available",
    ),
    "moment and occupations": (
        {"INCAR": "ISMEAR=-2\nISPIN=2\nNUPDOWN=0\nNBANDS=4\nFERWE=4*1\nFERDO=4*1"},
        r"INCAR line 3: NUPDOWN = 0: .* Remove",
    ),
    "small grid": (
        {"INCAR": "ENCUT = 300\nNGY = 6"},
        r"INCAR line 2: NGY = 6, but the density of this cutoff needs at least 17 points. Set NGY = 17 or more",
    ),
    "small density grid": ({"INCAR": "ENCUT = 300\nNGYF = 20"}, r"INCAR line 2: NGYF = 20, but .* at least 31 points"),
    "dense mesh": (
        {"INCAR": "\nKSPACING = 1e-4", "KPOINTS": None},
        r"INCAR line 2: KSPACING = 0.0001 gives .* k-points. Is the unit",
    ),
    "variant": (
        {"INCAR": "SETUPS = Si:x7"},
        r"INCAR line 1: SETUPS = Si:x7: No PAW data set for element Si, .* variant x7.*Choose",
    ),
    "no data": (
        {"POSCAR": POSCAR.replace("\nSi\n", "\nAm\n")},
        r"POSCAR: No PAW data set for element Am.*Elements with a set",
    ),
    "no element": ({"POSCAR": POSCAR.replace("\nSi\n", "\nXx\n")}, r"POSCAR line 6: Xx is not a chemical element"),
    "positions": (
        {"POSCAR": POSCAR.replace("\n2\n", "\n3\n")},
        r"POSCAR line 7: the counts add up to 3|before the position",
    ),
    "NaN position": ({"POSCAR": POSCAR.replace("0 0 0", "0 NaN 0")}, r"POSCAR line 9: NaN is not a finite number"),
    "flat cell": ({"POSCAR": POSCAR.replace(".5 .5 0\n", "0 0 0\n")}, r"POSCAR line 3: .* in a plane"),
    "overlap": (
        {"POSCAR": POSCAR.replace(".25 .25 .25", ".01 .01 .01")},
        r"POSCAR: atoms 1 \(Si\) and 2 \(Si\) are 0\.0\d+ Å apart. Check the positions",
    ),
    "path": ({"KPOINTS": PATH}, r"KPOINTS line 3: this is a path .* Write a mesh here and the path to KPOINTS_OPT"),
    "zero weights": (
        {"KPOINTS": "l\n2\nRec\n0 0 0 0\n.5 0 0 0\n"},
        r"KPOINTS: all 2 k-points have weight 0, .* set ICHARG = 11",
    ),
    "no points on a line": ({"KPOINTS": PATH.replace("10", "0")}, r"KPOINTS line 2: 0 points on each line of the path"),
    "one point on a line": ({"KPOINTS_OPT": PATH.replace("10", "1")}, r"KPOINTS_OPT line 2: 1 point on each line"),
    "a path with one point": ({"KPOINTS_OPT": PATH.replace(".5 0 0\n", "")}, "KPOINTS_OPT line 5: there is 1 point"),
    "no density to keep": (
        {"INCAR": "ICHARG = 11", "KPOINTS": PATH},
        r"INCAR line 1: ICHARG = 11: there is no density of an earlier run: no eigenwerk.h5 and .*",
    ),
    "bad mesh": ({"KPOINTS": "m\n0\nG\n2 two 2\n"}, r"KPOINTS line 4: two is not a finite number"),
    "bad generators": ({"KPOINTS": "g\n0\nRec\n.3 0 0\n0 .5 0\n0 0 .5\n"}, r"KPOINTS: The mesh spanned by .* integers"),
    "huge mesh": ({"KPOINTS": "m\n0\nG\n999 999 999\n"}, r"KPOINTS: The k-point mesh .* has more than 250000 points"),
    "POTCAR order": (
        {"POTCAR": "  TITEL  = PAW_PBE Ge 05Jan2001\n"},
        r"POSCAR line 6: the species are Si, but POTCAR has Ge",
    ),
    "POTCAR without species": ({"POTCAR": "nothing\n"}, r"POTCAR: no line TITEL"),
}


@pytest.mark.parametrize(("files", "message"), ERRORS.values(), ids=ERRORS)
def test_an_error_names_place_value_and_remedy(read, files, message):
    inputs = read(**files)
    assert re.search(message, said(inputs, "error")), said(inputs, "error")
    with pytest.raises(InputError, match=message):
        inputs.raise_on_errors()


WARNINGS = {
    "vector moments": ({"INCAR": "ISPIN = 2\nMAGMOM = 6*1"}, r"6 moments for 2 atoms: .* not used.*noncollinear"),
    "a moment without spin": ({"INCAR": "NUPDOWN = 2"}, r"acts only with ISPIN = 2. Set ISPIN = 2, or remove"),
    "half a level": (
        {
            "INCAR": "ISMEAR = 0\nSIGMA = 0.01\nISPIN = 2\nNUPDOWN = 1", "KPOINTS": "m\n0\nGamma\n1 1 1\n",
            "POSCAR": "O2\n9\n1 0 0\n0 1 0\n0 0 1\nO\n2\nDirect\n0 0 0\n0 0 .135\n",
        },
        r"NUPDOWN = 1: 12 electrons of a molecule have it with 6.5 up and 5.5 down, .* Set NUPDOWN = 0 or 2",
    ),
    "no moments": ({"INCAR": "ISPIN = 2\nMAGMOM = 2*0"}, r"MAGMOM = 2\*0: all starting moments are zero"),
    "low cutoff": (
        {"INCAR": "ENCUT = 40"},
        r"INCAR line 1: ENCUT = 40: energy differences may be off by 100 meV per atom or more; recommended: Si.PBE 220",
    ),
    "frozen density": (
        {"INCAR": "NELM = 4\nNELMDL = -5"},
        r"NELMDL = -5: the density is kept for 5 steps, but NELM = 4",
    ),
    "other element": ({"INCAR": "SETUPS = Ni:10"}, r"SETUPS = Ni:10: the structure has no Ni"),
    "spheres": (
        {"POSCAR": POSCAR.replace(".25 .25 .25", ".15 .15 .15")},
        r"atoms 1 \(Si\) and 2 \(Si\) are 1.411 Å apart; their augmentation spheres \(1.06 and 1.06 Å\) overlap",
    ),
    "molecule": (
        {"INCAR": "", "POSCAR": POSCAR.replace("5.43", "24")},
        r"SIGMA = 0.2 eV may fill its levels in parts. Set ISMEAR = 0",
    ),
    "charged slab": (
        {"INCAR": "NELECT = 7", "POSCAR": POSCAR.replace(".5 .5 0\n", "0 0 4\n")},
        "NELECT = 7: a charged slab: the background fills the vacuum",
    ),
    "grid without symmetry": ({"INCAR": "NGX = 33\nNGY = 33\nNGZ = 33"}, "NGX = 33: symmetry translates by 1/4"),
}


LOST = "{} mesh has {} symmetry operations of the crystal. Density, forces and stress are averaged over all of them: "
LOST += "what is zero by symmetry is zero, and the points stand for {}. A structure with fewer operations (an atom "
LOST += "displaced, a strain) gets other points, and its energy and forces do not join on to these smoothly. {}"
UNEVEN = "{}, which lie or count unevenly, so that energies converge more slowly with their number"
MESHES = {
    "Monkhorst-Pack": (
        {"KPOINTS": "m\n0\nM\n4 4 4\n"},
        ("KPOINTS: the Monkhorst-Pack 4 x 4 x 4", "12 of the 48", "256, a regular mesh",
         "Set Gamma in line 3 of KPOINTS, without a shift (4 4 4): that mesh has all, as Monkhorst-Pack meshes of odd "
         "numbers have."),
    ),
    "unequal divisions": (
        {"KPOINTS": "m\n0\nG\n4 4 2\n"},
        ("Gamma-centred 4 x 4 x 2", "8 of the 48", UNEVEN.format(64),
         "Divide equivalent axes equally, with a mesh that is Gamma-centred."),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "words"), MESHES.values(), ids=MESHES)
def test_a_mesh_that_lowers_the_symmetry_is_a_warning_with_its_remedy(read, files, words):
    inputs = read(**files)
    assert LOST.format(*words) in said(inputs, "warning")


LESS, ROWS = "mesh\n0\nM\n2 2 2\n", "mesh\n0\nG\n4 2 1\n"
LISTED = "list\n4\nReciprocal\n0 0 0 1\n.5 0 0 1\n0 .5 0 1\n0 0 .5 1\nTetrahedra\n1 1.0\n1 1 2 3 4\n"
TWO_MORE = {
    "hybrid, screened": (
        {"KPOINTS": ROWS, "INCAR": "LHFCALC = T\nHFSCREEN = 0.2\nISMEAR = 0\nSIGMA = .05"}, "note",
        "exact exchange acts between all 44 points that the operations of the crystal make of the mesh of 8",
    ),
    "hybrid, 1/r": (
        {"KPOINTS": ROWS, "INCAR": "LHFCALC = T\nISMEAR = 0\nSIGMA = .05"}, "warning",
        "levels that symmetry makes equal may come out different",
    ),
    "hybrid, fewer q-points": (
        {"KPOINTS": LESS, "INCAR": "LHFCALC = T\nHFSCREEN = 0.2\nEVENONLY = T\nISMEAR = 0\nSIGMA = .05"}, "warning",
        "exact exchange on a part of the q-points needs the differences of one mesh",
    ),
    "vibrations by 1/r": (
        {"KPOINTS": ROWS, "INCAR": "LHFCALC = T\nISMEAR = 0\nSIGMA = .05\nIBRION = 6\nNSW = 1"}, "error",
        "force constants of displaced atoms, which need it in all directions, cannot be found with it",
    ),
    "vibrations": (
        {"KPOINTS": LESS, "INCAR": "ISMEAR = 0\nSIGMA = .05\nIBRION = 6\nNSW = 1"}, "note",
        "displaced atoms take all 32 points that the operations of the crystal make of the mesh of 8",
    ),
    "vibrations with tetrahedra of a list": (
        {"KPOINTS": LISTED, "INCAR": "ISMEAR = -5\nIBRION = 6\nNSW = 1"}, "error",
        "the tetrahedra of this list would have to be turned by the lost ones",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "severity", "message"), TWO_MORE.values(), ids=TWO_MORE)
def test_what_a_mesh_with_less_symmetry_means_for_exchange_and_displaced_atoms(read, files, severity, message):
    assert message in said(read(**files), severity)


@pytest.mark.parametrize("incar", [files["INCAR"] for files, *_ in TWO_MORE.values() if files["KPOINTS"] != LISTED])
def test_a_mesh_with_all_operations_needs_none_of_these_words(read, incar):
    inputs = read(INCAR=incar)
    words = "".join(said(inputs, severity) for severity in ("error", "warning", "note"))
    assert "operations" not in words


def test_the_lda_of_the_data_sets_needs_no_word(read):
    assert "Perdew" not in said(read(INCAR="GGA = PW92"), "note")


@pytest.mark.parametrize(("files", "message"), WARNINGS.values(), ids=WARNINGS)
def test_what_deserves_a_look_is_a_warning_and_forbids_nothing(read, files, message):
    inputs = read(**files)
    assert re.search(message, said(inputs, "warning")), said(inputs, "warning")
    assert inputs.errors == ()
    assert inputs.parameters.bands > 0


NOTES = {
    "all bands filled": ({"INCAR": "NBANDS = 4"}, "NBANDS = 4: there is no empty band"),
    "cutoff": ({"INCAR": "ENCUT = 150"}, "converged to about 5 meV per atom; recommended: Si.PBE 220 eV"),
    "smearing": ({"INCAR": ""}, r"ISMEAR = 1 \(default\) is made for metals"),
    "parts of the density without LPARD": (
        {"INCAR": "IBAND = 4\nLSEPB = T"}, "not used, because they act with LPARD = .TRUE. only: IBAND, LSEPB"
    ),
    "moments without spin": ({"INCAR": "MAGMOM = 2*1"}, "it acts only with ISPIN = 2"),
    "occupations": ({"INCAR": "FERWE = 4*1"}, "it acts only with ISMEAR = -2"),
    "vacuum": (
        {"POSCAR": POSCAR.replace(".5 .5 0\n", "0 0 4\n")},
        "2 x 2 x 2 mesh has several points along axis 3, across",
    ),
    "charge": ({"INCAR": "NELECT = 9"}, "the cell has charge -1"),
    "medium of no charge": ({"INCAR": "EPSILON = 12"}, "EPSILON = 12: it acts only in a charged cell"),
    "other functional": ({"INCAR": "GGA = PS"}, "no data sets were made for PBEsol; Si.PBE serve"),
    "combined functional": (
        {"INCAR": "GGA = LDA_X+GGA_C_PBE"}, r"no data sets were made for LDA_X\+GGA_C_PBE; Si.LDA serve"
    ),
    "idle names of libxc": ({"INCAR": "LIBXC1 = 101"}, "LIBXC1 = 101: not used: it acts only with GGA = LIBXC"),
    "idealised": (
        {"INCAR": "SYMPREC = 1e-2", "POSCAR": POSCAR.replace(".25 .25 .25", ".2505 .25 .25")},
        r"moved by up to \S+ Å to be",
    ),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GGA = LIBXC", "INCAR line 1: GGA = LIBXC: neither LIBXC1 nor LIBXC2 is set. Name exchange and correlation"),
        ("GGA = LIBXC\nLIBXC1 = 101\nLIBXC2 = GGA_C_P86", "INCAR line 3: LIBXC2 = GGA_C_P86: there is no formula of"),
        ("GGA = LIBXC\nLIBXC1 = 263\nLIBXC2 = 130", "INCAR line 2: LIBXC1 = 263: there is no formula of libxc's 263."),
        ("GGA = LIBXC\nLIBXC1 = 101\nLIBXC2 = 116", "INCAR line 3: LIBXC2 = 116: GGA_X_PBE and GGA_X_PBE_SOL are no"),
    ],
)
def test_functionals_of_libxc_that_are_not_here_are_errors_of_their_tag(read, text, expected):
    (problem,) = read(INCAR=text).errors
    assert str(problem).startswith(expected)


@pytest.mark.parametrize(("files", "message"), NOTES.values(), ids=NOTES)
def test_what_is_worth_saying_is_a_note(read, files, message):
    inputs = read(**files)
    assert re.search(message, said(inputs, "note")), said(inputs, "note")
    assert inputs.errors == ()


def test_all_errors_are_listed_at_once(read):
    inputs = read(INCAR="ENCOT = 3\nNBANDS = 2\nMAGMOM = 1\nISPIN = 2\n", KPOINTS="m\n0\nG\n2 2\n")
    places = [(problem.file, problem.line) for problem in inputs.errors]
    assert places == [("INCAR", 1), ("KPOINTS", 4), ("INCAR", 3), ("INCAR", 2)]
    with pytest.raises(InputError) as raised:
        inputs.raise_on_errors()
    assert len(str(raised.value).splitlines()) == 4


def test_a_good_folder_has_no_problems(read):
    assert read().problems == ()


def test_a_missing_folder_is_an_error_at_once(tmp_path):
    with pytest.raises(InputError, match="there is no such folder"):
        read_inputs(tmp_path / "nowhere")


def test_a_folder_in_place_of_a_file_is_an_error(read, tmp_path):
    read(POSCAR=None)
    (tmp_path / "POSCAR").mkdir()
    (problem,) = read_inputs(tmp_path).errors
    assert problem.file == "POSCAR"
    assert "is a folder" in problem.message


def test_nothing_is_written(read, tmp_path):
    read()
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    read_inputs(tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


NUMBERS = "0;-1;1;2;5;1e9;1e-9;-3.5;0.3;1e300;T;F;Fast;;3*1;2*0.5 1;1*-1".split(";")
HONOURED = [name for name, tag in TAGS.items() if tag.status == "honoured"]


def test_a_folder_that_may_not_be_entered_is_not_an_empty_one(read, tmp_path, monkeypatch):
    def denied(path, *more, **named):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    read()
    monkeypatch.setattr("eigenwerk.dft.inputs.texts.os.lstat", denied)
    monkeypatch.setattr("eigenwerk.io.bounded.os.open", denied)
    found = read_texts(tmp_path)
    assert "permission denied" in found.problem["INCAR"] and "permission denied" in found.problem["POSCAR"]


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(HONOURED), st.sampled_from(NUMBERS)), max_size=6))
def test_no_combination_of_values_gives_another_error_than_ours(read, pairs):
    inputs = read(INCAR="".join(f"{tag} = {value}\n" for tag, value in pairs))
    if inputs.errors:
        with pytest.raises(InputError):
            inputs.raise_on_errors()
    else:
        assert inputs.parameters.bands * 2 >= inputs.parameters.electrons


def test_a_file_of_bytes_is_no_crash(read, tmp_path):
    for name in ("INCAR", "POSCAR", "KPOINTS", "POTCAR"):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        (tmp_path / name).write_bytes(bytes(range(256)) * 3)
    assert {problem.file for problem in read_inputs(tmp_path).errors} >= {"POSCAR", "KPOINTS"}
