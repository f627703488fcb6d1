"""IDIPOL and what belongs to it: the centre that is found, and what is refused."""

import numpy as np
import pytest

from eigenwerk.cli.checking.check_document import document
from eigenwerk.cli.checking.check_text import lines
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.run_report import description
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

SLAB = "slab\n1\n3 0 0\n0 3 0\n0 0 14\nLi H\n1 1\nCartesian\n0 0 2\n0 0 3.6\n"
BULK = "bulk\n1\n3 0 0\n0 3 0\n0 0 4\nLi H\n1 1\nDirect\n0 0 0\n.5 .5 .5\n"
BOX = "box\n1\n9 0 0\n0 9 0\n0 0 9\nLi H\n1 1\nCartesian\n4 4 4\n4 4 5.6\n"
LONG = BOX.replace("0 0 9", "0 0 12")


@pytest.fixture
def read(tmp_path):
    def make(incar, poscar=SLAB):
        (tmp_path / "INCAR").write_text(f"ENCUT = 200\nKSPACING = 1\n{incar}\n")
        (tmp_path / "POSCAR").write_text(poscar)
        return read_inputs(tmp_path)

    return make


def test_centre_is_opposite_to_the_middle_of_the_vacuum(read):
    given = read("IDIPOL = 3\nLDIPOL = T\nEFIELD = 0.1").parameters.dipole
    assert given.axes == (2,) and given.in_potential and given.centre_c[2] == pytest.approx(2.8 / 14)
    assert given.force == pytest.approx(0.1 * BOHR_ANGSTROM / HARTREE_EV)
    assert read("IDIPOL = 3").parameters.dipole.in_potential is False
    assert read("IDIPOL = 3\nDIPOL = .5 .5 .25").parameters.dipole.centre_c == (0.5, 0.5, 0.25)
    box = read("IDIPOL = 4", BOX)
    assert box.parameters.dipole.axes == (0, 1, 2)
    np.testing.assert_allclose(box.parameters.dipole.centre_c, [4 / 9, 4 / 9, 4.8 / 9])
    assert read("").parameters.dipole is None and read("").setting("DIPOL") is None
    np.testing.assert_allclose(box.setting("DIPOL"), box.parameters.dipole.centre_c)


@pytest.mark.parametrize(("incar", "poscar", "words"), [
    ("IDIPOL = 3", BULK, "the largest layer without atoms has 2.0 Å along axis 3: no vacuum"),
    ("IDIPOL = 1", SLAB, "has 3.0 Å along axis 1"),
    ("IDIPOL = 4", SLAB, "along axis 1, 3.0 Å along axis 2"),
    ("IDIPOL = 4", LONG, "cubic boxes; the edges here are 9.00, 9.00, 12.00 Å"),
    ("IDIPOL = 3\nNELECT = 1", SLAB, "charge of +1, and the moment of a charge depends on the origin"),
    ("IDIPOL = 3\nDIPOL = 0 0 0.7", SLAB, "step half a cell away, 0.80 Å from an atom along axis 3"),
    ("IDIPOL = 3\nDIPOL = 0.5", SLAB, "has 1 numbers, and 3 are needed"),
    ("EFIELD = 0.1", SLAB, "needs a direction and a corrected potential"),
    ("IDIPOL = 3\nEFIELD = 0.1", SLAB, "LDIPOL = .TRUE."),
    ("IDIPOL = 4\nLDIPOL = T\nEFIELD = 0.1", BOX, "needs one direction"),
    ("IDIPOL = 5", SLAB, "IDIPOL = 5"),
])  # fmt: skip
def test_what_means_nothing_is_refused_with_the_numbers(read, incar, poscar, words):
    assert any(words in str(problem) for problem in read(incar, poscar).errors)


def test_tags_without_idipol_are_told(read):
    notes = [str(problem) for problem in read("LDIPOL = T\nDIPOL = 0 0 0").problems]
    assert sum("acts only with IDIPOL" in note for note in notes) == 2


@pytest.mark.parametrize(("lines", "severities"), [
    ("IDIPOL = 3", ["note"]), ("IDIPOL = 3\nNSW = 3\nIBRION = 2", ["warning"]),
    ("IDIPOL = 3\nLDIPOL = T\nNSW = 3\nIBRION = 2", []),
])  # fmt: skip
def test_forces_without_ldipol_are_not_of_the_energy(read, lines, severities):
    found = [problem for problem in read(lines).problems if "false field" in str(problem)]
    assert [problem.severity for problem in found] == severities
    assert all(("do not come to rest" in str(problem)) == (problem.severity == "warning") for problem in found)


def test_a_field_leaves_only_operations_that_keep_its_sense(read):
    symmetric = SLAB.replace("Li H\n1 1", "Li\n1").replace("0 0 3.6\n", "")
    without = read("IDIPOL = 3\nLDIPOL = T", symmetric).symmetry
    field = read("IDIPOL = 3\nLDIPOL = T\nEFIELD = 0.1", symmetric).symmetry
    assert field.order == without.order // 2 and "turn the electric field" in " ".join(field.notes)


@pytest.mark.parametrize(("tags", "words"), [
    ("IDIPOL = 3", "corrected along axis 3, in the energy alone"),
    ("IDIPOL = 3; LDIPOL = T", "corrected along axis 3, in energy and potential"),
    ("IDIPOL = 3; LDIPOL = T; EFIELD = 0.1",
     "corrected along axis 3, in energy and potential, with a field of 0.1 eV/Å"),
])  # fmt: skip
def test_check_and_run_say_what_is_done_in_the_same_words(read, tags, words):
    inputs = read(tags)
    assert ("dipole", words) in description(inputs)
    assert ["dipole", words] in document(inputs)["electrons"]["words"]
    assert any(line.split() == ["dipole", *words.split()] for line, _ in lines(document(inputs)))
