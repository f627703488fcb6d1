"""Files of valence interactions: what they hold, and refusals that name the line."""

import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.ncci.oxbash_int import read_orbital_list, read_oxbash_int
from eigenwerk.io.ncci.snt import read_snt

SNT = """! p shell
   2   2   2   2
   1  0  1  1  -1  ! 0p1/2
   2  0  1  3  -1
   3  0  1  1   1
   4  0  1  3   1
   4  0
   1  1   2.419
   2  2   1.129
   3  3   2.419
   4  4   1.129
   3  1  6  -0.3
   1  1  1  1   0   0.2440
   1  2  1  2   1  -4.2D-1
   1  3  1  3   1  -1.5
"""

SPS = "iso\n2\n 0.0 1.0 0.5 1\n 0.0 1.0 1.5 1\n"
INT = "! two elements\n2 2.419 1.129\n1 1 1 1 0 1 0.244\n1 2 1 2 1 0 -4.0\n"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_snt_files_are_read_with_scaling_and_fortran_exponents(tmp_path):
    data = read_snt(write(tmp_path / "p.snt", SNT))
    assert data.core == (2, 2)
    assert data.orbital_3a_n.T.tolist() == [[0, 1, 1], [0, 1, 3]]
    assert (data.reference_mass, data.exponent) == (6.0, -0.3)
    assert data.elements[1] == ("pp", 0, 1, 0, 1, 1, -0.42)
    assert data.elements[2] == ("pn", 0, 0, 0, 0, 1, -1.5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1  3  1  3   1  -1.5\n", "", r"ends after line 14, matrix element 3 of 3 is missing"),
        ("1  3  1  3   1  -1.5", "1  3  1  3   1  −1.5", r"line 15: '−' \(U\+2212"),
        ("1  3  1  3", "1  3  1  5", "line 15: orbital 5 is not in the list of 4"),
        ("1  3  1  3", "1  3  1  1", "line 15: charges do not fit"),
        ("3  1  6", "2  1  6", "line 15: more lines than the 2"),
        ("3  1  6", "3  7  6", "line 12: method 7"),
        ("   3  0  1  1   1", "   3  0  1  1  -1", "line 5: orbital 3 with tz = -1"),
        ("0  1  3  -1", "0  1  4  -1", "line 4: n = 0, l = 1, 2j = 4 is no orbital"),
        ("0.2440", "inf", "line 13: the matrix element is 'inf'"),
        ("3  1  6  -0.3", "3  1  -6  -0.3", r"line 12: matrix elements cannot scale as \(A/-6\)\^-0.3"),
        ("3  1  6  -0.3", "3  1  6  -300", r"line 12: matrix elements cannot scale as \(A/6\)\^-300"),
        ("0.2440", "1_0.0", "line 13: the matrix element is '1_0.0'"),
        ("1  2  1  2   1", "1  1  1  1   0", "line 14: this element stands in line 13 already"),
        ("   3  3   2.419", "   2  2   2.419", "line 10: this element stands in line 9 already"),
        ("   4  0\n", "   4  10  15\n", "line 7: method 10 of one-body elements"),
        ("0.2440", "o.2440", "line 13: the matrix element is 'o.2440'"),
    ],
)
def test_bad_snt_files_are_refused_with_the_line(tmp_path, old, new, message):
    assert old in SNT
    with pytest.raises(InputError, match=message):
        read_snt(write(tmp_path / "bad.snt", SNT.replace(old, new, 1)))


def test_int_files_become_protons_and_neutrons(tmp_path):
    """pn = 1/2 sqrt((1 + d_ab)(1 + d_cd)) [V(T=1) + V(T=0)]."""
    data = read_oxbash_int(write(tmp_path / "p.int", INT), write(tmp_path / "p.sps", SPS), core=(2, 2))
    found = {element[:6]: element[6] for element in data.elements}
    assert found["pp", 0, 0, 0, 0, 0] == found["nn", 0, 0, 0, 0, 0] == found["pn", 0, 0, 0, 0, 0] == 0.244
    assert found["pn", 0, 1, 0, 1, 1] == found["pn", 1, 0, 1, 0, 1] == -2.0
    assert found["pn", 0, 1, 1, 0, 1] == -2.0 * (-1) ** (2 + 1)  # exchange of the ket: (-1)^(ja + jb + J + T)
    assert ("pp", 0, 1, 0, 1, 1) not in found


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2 2.419 1.129", "2 2.419 1.129 4.0", r"line 2: 3 numbers follow the count, but p\.sps has 2 orbitals"),
        ("2 2.419 1.129", "-2 2.419 1.129", "line 2: a negative count"),
        ("1 2 1 2 1 0", "1 3 1 2 1 0", "line 4: orbitals 1 3 1 2, but the list has 2"),
        ("1 1 1 1 0 1", "1 1 1 1 0 0", "line 3: orbitals 1 and 1 cannot have J = 0, T = 0"),
        ("1 2 1 2 1 0", "1 1 1 1 0 1", "line 4: this element stands in line 3 already"),
        ("-4.0", "NaN", "line 4: the matrix element is 'NaN'"),
        ("-4.0", "–4.0", r"line 4: '–' \(U\+2013, en dash\)"),
        ("2 2.419", "3 2.419", "ends after line 4"),
    ],
)
def test_bad_int_files_are_refused_with_the_line(tmp_path, old, new, message):
    assert old in INT
    with pytest.raises(InputError, match=message):
        read_oxbash_int(write(tmp_path / "p.int", INT.replace(old, new, 1)), write(tmp_path / "p.sps", SPS))


@pytest.mark.parametrize(
    ("labels", "value"), [("2 1 1 2 1 0", 4.0), ("1 2 2 1 1 0", 4.0), ("2 1 2 1 1 0", -4.0), ("1 2 1 2 1 0", -4.0)]
)
def test_an_element_with_its_orbitals_in_another_order_is_the_same_one(tmp_path, labels, value):
    """<ba; JT| = (-1)^(ja + jb + J + T) <ab; JT|: equal twins are one element, others a mistake."""
    orbitals, known = write(tmp_path / "p.sps", SPS), write(tmp_path / "p.int", INT)
    text = INT.replace("2 2.419", "3 2.419") + f"{labels} {{}}\n"
    twice = read_oxbash_int(write(tmp_path / "q.int", text.format(value)), orbitals)
    assert twice.elements == read_oxbash_int(known, orbitals).elements
    with pytest.raises(InputError, match="line 5: this element stands in line 4 already"):
        read_oxbash_int(write(tmp_path / "q.int", text.format(-value)), orbitals)


@pytest.mark.parametrize(
    ("line", "j", "twin"),
    [
        ("1  2  1  2", 1, -0.42), ("2  1  1  2", 1, -0.42), ("2  1  1  2", 2, 0.42), ("1  2  2  1", 2, 0.42),
        ("2  1  2  1", 2, -0.42), ("1  3  1  3", 1, -1.5),
    ],
)  # fmt: skip
def test_an_element_of_a_snt_file_may_stand_there_twice_if_both_are_equal(tmp_path, line, j, twin):
    """<ba; J| = -(-1)^(ja + jb - J) <ab; J| of like nucleons."""
    known = SNT.replace("1  2  1  2   1", f"1  2  1  2   {j}")
    text = known.replace("3  1  6", "4  1  6") + f"   {line} {j} {{}}\n"
    found = read_snt(write(tmp_path / "p.snt", text.format(twin)))
    assert found.elements == read_snt(write(tmp_path / "q.snt", known)).elements
    with pytest.raises(InputError, match=r"line 16: this element stands in line 1[45] already.*with the value"):
        read_snt(write(tmp_path / "p.snt", text.format(-twin)))


def test_bra_and_ket_swapped_are_one_element(tmp_path, shared_dir):
    folder = shared_dir / "reference/reported/nuclei_twins_snt"
    text = (folder / "twice.snt").read_text()
    assert len(read_snt(folder / "twice.snt").elements) == 5
    with pytest.raises(InputError, match=r"line 1\d: this element stands in line 1\d already"):
        read_snt(write(tmp_path / "bad.snt", text.replace("2   2   1   1     0   -0.5", "2   2   1   1     0   -0.4")))


def test_lists_of_orbitals_count_radial_nodes_from_zero(valence_dir):
    assert read_orbital_list(valence_dir / "sd.sps").orbital_3a.T.tolist() == [[0, 2, 3], [0, 2, 5], [1, 0, 1]]
    fp = read_orbital_list(valence_dir / "fp.sp")
    assert fp.orbital_3a.T.tolist() == [[0, 3, 7], [1, 1, 3], [0, 3, 5], [1, 1, 1]]
    assert fp.core == (20, 20)


@pytest.mark.parametrize(("name", "count"), [("GXPF1.int", 195), ("PWBP.int", 15)])
def test_tables_without_masses_are_read(valence_dir, name, count):
    sps = {"GXPF1.int": "pf.sps", "PWBP.int": "0p.sps"}[name]
    data = read_oxbash_int(valence_dir / name, valence_dir / sps)
    assert data.reference_mass is None
    assert len(data.elements) > count


def test_a_list_of_orbitals_in_another_order_is_noticed(valence_dir):
    """The comment of this file calls orbital 3 p3/2, but two nucleons in p3/2 cannot have J = 5."""
    with pytest.raises(InputError, match="line 8: orbitals 3 and 3 cannot have J = 5, T = 0"):
        read_oxbash_int(valence_dir / "jj44b.int", valence_dir / "pfg.sps")


def test_typographic_minus_signs_of_a_published_table_are_named(valence_dir):
    with pytest.raises(InputError, match=r"JUN45\.int line \d+: '−' \(U\+2212, minus sign\)"):
        read_oxbash_int(valence_dir / "JUN45.int", valence_dir / "pfg.sps")


@pytest.fixture
def valence_dir(shared_dir):
    return shared_dir / "reference" / "ncci" / "valence"
