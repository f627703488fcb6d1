"""A free atom with an open d or f shell is told beforehand to take several times the steps."""

import pytest

from input_folders import folder_reader, words

ATOM = "atom\n1\n8 0 0\n0 8.1 0\n0 0 8.2\n{symbol}\n1\nDirect\n0 0 0\n"
TOLD = "other fillings of its open shell are tried"


@pytest.fixture
def read(tmp_path):
    return folder_reader(
        tmp_path, begin="ENCUT = 300\nISMEAR = 0\nSIGMA = 0.01\n", poscar=ATOM.format(symbol="Fe"), mesh="1 1 1"
    )


@pytest.mark.parametrize(
    ("lines", "told"),
    [("ISPIN = 2\n", True), ("ISPIN = 2\nISYM = 0\n", True), ("", False), ("ISPIN = 2\nLHFCALC = T\n", False),
     ("ISPIN = 2\nGGA = BO\nLUSE_VDW = T\nAGGAC = 0\n", True),
     ("ISPIN = 2\nISYM = 2\n", False)],
)  # fmt: skip
def test_iron_is_told_where_its_run_will_search(read, lines, told):
    assert (TOLD in words(read(lines), "note")) is told


@pytest.mark.parametrize(("symbol", "told"), [("O", False), ("Zn", False), ("Gd", True)])
def test_only_open_d_and_f_shells_have_other_fillings(tmp_path, symbol, told):
    read = folder_reader(
        tmp_path, begin="ENCUT = 300\nISMEAR = 0\nSIGMA = 0.01\n", poscar=ATOM.format(symbol=symbol), mesh="1 1 1"
    )
    assert (TOLD in words(read("ISPIN = 2\n"), "note")) is told
