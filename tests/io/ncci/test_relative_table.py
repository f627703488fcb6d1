"""Tables of the relative motion: three layouts of one interaction agree, damaged ones are refused with the line."""

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.ncci.relative_table import read_relative_table

PLAIN = """# an interaction, hbar*omega = 25 MeV
0 0 0 0 0 0 -1.5
0 0 0 0 0 1 2.5
1 1 0 2 0 1 3.5
1 1 0 2 1 0 4.5
"""
SECTORS = """    1    1    0    2   61    2    9.389200E+02    2.000000E+01    0
  1.0   2.0
  3.0
    1    1    2    0   61    2    9.389200E+02    2.000000E+01    0
  1.0   5.0   3.0
99999
"""
LSJT = """# RELATIVE LSJT
# columns
 1
 0 0 0 0 0
 2 1
   0      0   0   0   0   1      0   0   0   0   1     0.0
   0      0   0   0   0   1      2   0   0   0   1    -6.5
   0      2   0   0   0   1      2   0   0   0   1     0.0
   0      1   1   1   0   1      1   1   1   0   1     0.0
   0      1   1   0   1   0      1   1   0   1   0     0.0
   0      0   0   1   1   0      0   0   1   1   0     0.0
   0      0   0   1   1   0      2   0   1   1   0     0.0
   0      2   0   1   1   0      2   0   1   1   0     0.0
   0      0   0   1   1   0      2   2   1   1   0     2.5
   0      2   0   1   1   0      2   2   1   1   0     1.5
   0      1   1   1   1   1      1   1   1   1   1     0.0
   0      2   2   1   1   0      2   2   1   1   0     0.0
"""


def read(tmp_path, text):
    path = tmp_path / "table.dat"
    path.write_text(text, encoding="utf-8")
    return read_relative_table(path)


def test_plain_tables(tmp_path):
    table = read(tmp_path, PLAIN)
    assert table.hw == 25.0
    np.testing.assert_array_equal(table.matrices[0, 0, 0, 0], [[-1.5, 2.5], [2.5, 0.0]])
    np.testing.assert_array_equal(table.matrices[1, 1, 0, 2], [[0.0, 3.5], [4.5, 0.0]])


def test_sectors_hold_upper_triangles_and_the_row_belongs_to_the_second_l(tmp_path):
    table = read(tmp_path, SECTORS)
    assert (table.hw, table.nucleon_mass) == (20.0, 938.92)
    np.testing.assert_array_equal(table.matrices[1, 1, 0, 2], [[1.0, 5.0], [2.0, 3.0]])


def test_lsjt_tables_count_quanta(tmp_path):
    table = read(tmp_path, LSJT)
    assert table.hw is None
    assert table.matrices[0, 0, 0, 0][0, 1] == table.matrices[0, 0, 0, 0][1, 0] == -6.5
    np.testing.assert_array_equal(table.matrices[1, 1, 0, 2][:, 0], [2.5, 1.5])


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (PLAIN, "1 1 0 2 1 0", "1 1 0 1 1 0", "line 5: J S l l' n n' = 1 1 0 1 1 0 cannot be"),
        (PLAIN, "0 0 0 0 0 1 2.5", "0 0 0 0 0 0 2.5", "line 3: this element stands in line 2 already"),
        (PLAIN, "-1.5", "−1.5", r"line 2: '−' \(U\+2212"),
        (PLAIN, "1 1 0 2 1 0 4.5", "1 1 0 2 1 0", "line 5: 6 fields|the matrix element is missing"),
        (PLAIN, "-1.5", "nan", "line 2: the matrix element is 'nan'"),
        (PLAIN, "-1.5", "1_0.5", "line 2: the matrix element is '1_0.5'"),
        (PLAIN, "-1.5", "-1e999", "line 2: the matrix element is '-1e999'"),
        (PLAIN, "1 1 0 2 1 0", "1 1 0 2 5000 0", "line 5: .* they go up to 1000"),
        (SECTORS, "99999\n", "", "line 5: the mark 99999 is missing"),
        (SECTORS, "  1.0   5.0   3.0\n", "  1.0   5.0\n", "announces 3 elements, 2 follow"),
        (SECTORS, "0   61    2    9.389200E+02    2.000000E+01", "0   61    2    9.389200E+02    2.1", "differ from"),
        (LSJT, " 0 0 0 0 0\n", " 0 0 0 2 0\n", "line 4: .*T0 up to 2"),
        (LSJT, "2   0   0   0   1    -6.5", "2   0   1   0   1    -6.5", "line 7: S and J"),
        (LSJT, LSJT[-60:], "", "line 5: Nmax = 2 and Jmax = 1 announce 12 elements, 11 follow. The file is cut off"),
    ],
)
def test_damaged_tables_are_refused_with_the_line(tmp_path, text, old, new, message):
    assert old in text
    with pytest.raises(InputError, match=message):
        read(tmp_path, text.replace(old, new, 1))


def test_both_published_tables_of_jisp16_are_read_whole(shared_dir):
    folder = shared_dir / "reference" / "ncci" / "relative"
    sectors = read_relative_table(folder / "Vrel_JISP16_bare_Jmax4.hw20")
    lsjt = read_relative_table(folder / "jisp16_Nmax20_hw20.0_rel.dat")
    assert len(sectors.matrices) == len(lsjt.matrices) == 22
    for key, matrix in lsjt.matrices.items():
        # up to 20 quanta on both sides
        rows, columns = ((20 - l) // 2 + 1 for l in key[2:])
        np.testing.assert_allclose(matrix[:rows, :columns], sectors.matrices[key][:rows, :columns], atol=1e-6)


@pytest.mark.slow
def test_the_table_of_daejeon16_is_read_whole(shared_dir):
    folder = shared_dir / "reference" / "ncci" / "relative"
    daejeon = read_relative_table(folder / "daejeon16_hw25.txt")
    assert daejeon.hw == 25.0
    assert sum(m.size for m in daejeon.matrices.values()) > 17024
