"""Files that are no inputs, or too much of one: a refusal with the place and what to do, soon and in little memory."""

import gzip
import importlib.util
import os
import sys

import pytest

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.errors import InputError
from eigenwerk.io.paw.paw_xml import read_paw_header
from eigenwerk.io.vasp.input.incar import judge, parse_incar
from eigenwerk.io.vasp.input.poscar import overlap_problems, parse_poscar
from eigenwerk.io.vasp.problem import MOST_OF_A_KIND, errors
from eigenwerk.io.vasp.tags.table import TAGS
from eigenwerk.io.vasp.textfile import LARGEST, read_text
from eigenwerk.lattice_reduction import reduced

SILICON = "Si\n1\n0 2.7 2.7\n2.7 0 2.7\n2.7 2.7 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"


def damage(repository):
    """The script that damages files."""
    path = repository / "benchmarks" / "robustness" / "mutate.py"
    spec = importlib.util.spec_from_file_location("mutate", path)
    sys.path.insert(0, str(path.parent))  # its readers of results stand beside it
    try:
        spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    finally:
        sys.path.remove(str(path.parent))
    return module


@pytest.mark.slow
@pytest.mark.parametrize(("first", "count", "checked"), [(0, 2, 1), pytest.param(2, 28, 9, marks=pytest.mark.slow)])
def test_damaged_files_of_every_kind_are_read_or_refused(repository, tmp_path, first, count, checked):
    """A small share of `python benchmarks/robustness/mutate.py`, in this process."""
    script = damage(repository)
    for reader, (_, inputs) in script.READERS.items():
        undamaged = inputs()
        numbers = range(first, first + (checked if reader.startswith("check") else count))
        for number in numbers if undamaged else ():
            folder = script._written(script.damaged(reader, number, script.SEED, undamaged), tmp_path)
            outcome, words = script.attempt(reader, folder)
            assert outcome != "failed", f"{reader} {number}: {words}"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: os.mkfifo(path), "pipe or a device"),
        (lambda path: path.symlink_to("/dev/zero"), "pipe or a device"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.symlink_to(path), "leads in a circle"),
        (lambda path: path.symlink_to("nowhere"), "there is no such file"),
        (lambda path: path.write_bytes(b"#" * (LARGEST["INCAR"] + 1)), "4 MB"),
    ],
)
def test_what_is_no_file_of_its_kind_is_refused(tmp_path, make, words):
    make(tmp_path / "INCAR")
    (tmp_path / "POSCAR").write_text(SILICON)
    with pytest.raises(InputError, match=words):
        read_text(tmp_path / "INCAR")
    assert words in "\n".join(map(str, read_inputs(tmp_path).errors))


@pytest.mark.parametrize(
    "line",
    [
        "PREC = ,", f"NELM = {'9' * 5000}", f"MAGMOM = {'9' * 5000}*1", "ISPIN = 2\nMAGMOM = 2*1e300", "NELECT = 1e-12",
        "SIGMA = 5e-324", "ENCUT = 1e300", "KSPACING = 5e-324", "NBANDS = 2147483647", "MAGMOM = , 1", "SIGMA = 1e300",
        "MAGMOM = 1000000*1 1000000*1", "SYMPREC = 1e300", "AMIX = nan", "BMIX = 1e300", "ENCUT = 9" + "0" * 400,
    ],
)  # fmt: skip
def test_numbers_that_nobody_means_are_errors_of_their_line(tmp_path, line):
    (tmp_path / "INCAR").write_text(f"SYSTEM = x\n{line}\n")
    (tmp_path / "POSCAR").write_text(SILICON)
    found = read_inputs(tmp_path).errors
    tags = {part.split("=")[0].strip() for part in line.split("\n")}
    assert found and all(problem.tag in tags and problem.line for problem in found), found
    assert all(len(str(problem)) < 1500 for problem in found)


@pytest.mark.parametrize("text", ["A = 1\n" * 100_000, "x{" * 100_000, '"=' * 100_000, " " * 3_000_000, "}" * 300_000])
def test_long_nonsense_is_told_in_few_words(text):
    incar = parse_incar(text)
    found = [*incar.problems, *judge(incar)]
    assert len(found) <= 3 * (MOST_OF_A_KIND + 1)


@pytest.mark.parametrize(("scale", "cutoff"), [("1e5", 300), ("10", 100_000), ("1e5", 100_000)])
def test_grids_that_no_machine_holds_are_refused(tmp_path, scale, cutoff):
    (tmp_path / "INCAR").write_text(f"ENCUT = {cutoff}\n")
    (tmp_path / "POSCAR").write_text(SILICON.replace("\n1\n", f"\n{scale}\n"))
    (problem,) = read_inputs(tmp_path).errors
    assert "more than any machine holds" in problem.message


@pytest.mark.parametrize("number", ["1e300", "9" * 400, "1e7"])
def test_kpoints_far_away_are_refused(tmp_path, number):
    (tmp_path / "INCAR").write_text("ENCUT = 300\n")
    (tmp_path / "POSCAR").write_text(SILICON)
    (tmp_path / "KPOINTS").write_text(f"k\n1\nReciprocal\n0 0 {number} 1\n")
    (problem,) = read_inputs(tmp_path).errors
    assert (problem.file, problem.line) == ("KPOINTS", 4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("0 2.7 2.7\n", "2.7 0 2.70001\n"), "cubic Å for each"),
        (("\n1\n", "\n1e-3\n"), "cubic Å for each"),
        (("\n1\n", "\nNaN\n"), "scale factor"),
        (("\n1\n", "\n0\n"), "scale factor"),
        (("\n1\n", "\n1e8\n"), "Å long"),
        (("\n2\nD", "\n-2\nD"), "number of atoms"),
        (("\n2\nD", "\n1000000\nD"), "lines follow"),
    ],
)
def test_cells_that_are_none_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        parse_poscar(SILICON.replace(*change))


def test_a_skewed_cell_is_searched_for_overlaps_like_its_reduced_one():
    skewed = parse_poscar("x\n1\n3 0 0\n3000 3 0\n-6000 900 3\nHe\n2\nDirect\n0 0 0\n0.02 0 0\n")
    (problem,) = overlap_problems(skewed)
    assert "0.060 Å apart" in str(problem)
    assert reduced(skewed.lattice_cv).round(9).__abs__().sum() == 9


def test_identical_atoms_are_told_of_in_few_lines():
    poscar = parse_poscar("x\n1\n90 0 0\n0 90 0\n0 0 90\nHe\n300\nDirect\n" + "0 0 0\n" * 300)
    assert len(overlap_problems(poscar)) == MOST_OF_A_KIND + 1


def test_lists_of_species_may_take_several_lines():
    names = ["Si", "O", "H", "C", "N", "Fe"]
    rows = "\n".join(f"{x / 7:.3f} 0 0" for x in range(6))
    text = f"x\n1\n9 0 0\n0 9 0\n0 0 9\n{' '.join(names[:4])}\n{' '.join(names[4:])}\n1 1 1 1\n1 1\nDirect\n{rows}\n"
    assert parse_poscar(text).symbols == tuple(names)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('valence="4', 'valence="-5'), "valence"),
        (('version="1.0"?', 'version="1.0" encoding="no-such"?'), "damaged"),
        (("<paw_setup", "<a>" * 3000 + "<paw_setup"), "damaged"),
    ],
)
def test_data_sets_that_cannot_be_are_refused(tmp_path, change, words):
    from gpaw_data import datapath

    text = gzip.decompress((datapath() / "Si.PBE.gz").read_bytes()).decode()
    assert change[0] in text
    (tmp_path / "Si.PBE").write_text(text.replace(*change, 1))
    with pytest.raises(InputError, match=words):
        read_paw_header(tmp_path / "Si.PBE")


def test_a_small_gzip_file_that_holds_gigabytes_is_refused(tmp_path):
    bomb = gzip.compress(b"\0" * 60_000_000, 9)
    (tmp_path / "Si.PBE.gz").write_bytes(bomb * 50)
    with pytest.raises(InputError, match="more than 50 MB"):
        read_paw_header(tmp_path / "Si.PBE.gz")


def test_tags_that_pymatgen_knows_are_known():
    inputs = pytest.importorskip("pymatgen.io.vasp.inputs")
    known = inputs.Incar.from_str("\n".join(f"{name} = 1" for name in ("KPOINT_BSE", "LNMR_SYM_RED", "NLSPLINE")))
    assert set(known) <= set(TAGS)
    incar = parse_incar("ENMAX = 400")
    assert incar.values == {"ENCUT": 400.0} and not errors(incar.problems)


def test_one_cause_gives_one_error(tmp_path):
    (tmp_path / "INCAR").write_text("ENCUT = 300\nISPIN = 3\nMAGMOM = 2*1\nMETAGGA = SCAN\nLASPH = .TRUE.\n")
    (tmp_path / "POSCAR").write_text(SILICON)
    told = {problem.tag for problem in read_inputs(tmp_path).problems if problem.tag}
    assert told == {"ISPIN", "METAGGA"}
