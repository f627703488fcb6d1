"""The POSCAR reader and writer: all variants, all mistakes, round trips, and public files as others read them."""

import json
from pathlib import Path

import numpy as np
import pytest
from ase.io import read as ase_read
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.elements import SYMBOLS
from eigenwerk.io.vasp.input.poscar import (
    Poscar,
    format_poscar,
    overlap_problems,
    overlapping_atoms,
    parse_poscar,
    read_poscar,
    runs_of,
    write_poscar,
)

STEADY = settings(deadline=None, derandomize=True)
SILICON = """silicon
1.0
0.0 2.7 2.7
2.7 0.0 2.7
2.7 2.7 0.0
Si
2
Direct
0.0 0.0 0.0
0.25 0.25 0.25
"""


@pytest.fixture(scope="module")
def data(samples: Path) -> Path:
    return samples


def edited(line: int, text: str | None) -> str:
    """SILICON with one line (from 1) replaced, or removed."""
    lines = SILICON.splitlines()
    lines[line - 1 : line] = [] if text is None else text.split("\n")
    return "\n".join(lines) + "\n"


# --- variants --------------------------------------------------------------------------------------------------------


def test_scale_factor_multiplies_vectors_and_cartesian_positions(data):
    poscar = read_poscar(data / "POSCAR.scaled")
    assert poscar.lattice_cv == pytest.approx(3.57 * np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]))
    assert poscar.scaled_ac == pytest.approx(np.array([[0.0] * 3, [0.25] * 3]), abs=1e-14)
    assert poscar.symbols == ("B", "N")
    assert poscar.scale == 3.57


def test_negative_scale_is_the_volume(data):
    poscar = read_poscar(data / "POSCAR.volume")
    assert poscar.volume == pytest.approx(45.499293, rel=1e-12)
    assert poscar.scale == pytest.approx((4 * 45.499293) ** (1 / 3), rel=1e-12)


def test_three_scales_act_on_the_cartesian_components(data):
    poscar = read_poscar(data / "POSCAR.three_scales")
    assert poscar.lattice_cv == pytest.approx(np.array([[2.0, 0, 0], [0, 3.0, 0], [2.0, 0, 4.0]]))
    assert poscar.positions_av[0] == pytest.approx([1.0, 1.5, 2.0])
    assert poscar.scale is None


def test_names_are_cut_to_elements_and_runs_may_repeat(data):
    poscar = read_poscar(data / "POSCAR.three_scales")
    assert poscar.species_runs == (("Fe", 1), ("O", 1), ("Fe", 2))
    assert poscar.suffixes == ("_pv", "/0123abc", "")
    assert poscar.symbols == ("Fe", "O", "Fe", "Fe")


def test_selective_dynamics_velocities_and_predictor_are_kept(data):
    poscar = read_poscar(data / "POSCAR.md")
    assert poscar.selective_ac.tolist() == [[True, False, True], [False, True, False]]
    assert poscar.velocities_av == pytest.approx(np.array([[0.01, 0.02, 0.03], [-0.01, 0.0, 0.001]]))
    assert poscar.velocities_cartesian
    np.testing.assert_array_equal(poscar.lattice_velocity_cv, 0.1 * np.eye(3))
    assert poscar.predictor.split() == ["1", "0.15000000E+01", "0.1", "0.2", "0.3", "0.4"]


LATTICE_VELOCITIES = "Lattice velocities and vectors\n  {state}\n{velocity}\n 0 1e-4 0\n 0 0 2e-4\n{vectors}\n"


@pytest.mark.parametrize(("state", "known"), [("1", True), ("0", False)])
def test_lattice_velocities_count_where_they_are_set(state, known):
    cell = parse_poscar(SILICON).lattice_cv
    vectors = "\n".join(" ".join(map(repr, row)) for row in cell.tolist())
    block = LATTICE_VELOCITIES.format(state=state, velocity=" 3E-4 0 0", vectors=vectors)
    poscar = parse_poscar(SILICON + block + "\n 0.1 0 0\n 0 0 0\n")
    assert (poscar.lattice_velocity_cv is not None) == known and not poscar.problems
    assert not known or np.array_equal(poscar.lattice_velocity_cv, np.diag([3e-4, 1e-4, 2e-4]))
    np.testing.assert_array_equal(poscar.velocities_av, [[0.1, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(("part", "text", "complaint"), [
    ("state", "x", "a line with 1"), ("state", "1 0 0", "a line with 1"), ("velocity", "0 nan 0", "lattice vector 1"),
    ("vectors", "1 0 0\n0 1 0", "lattice vector 3"),
])  # fmt: skip
def test_a_damaged_block_of_lattice_velocities_is_an_error_with_its_line(part, text, complaint):
    parts = {"state": "1", "velocity": "0 0 0", "vectors": "1 0 0\n0 1 0\n0 0 1", part: text}
    with pytest.raises(InputError, match=f"POSCAR.*{complaint}"):
        parse_poscar(SILICON + LATTICE_VELOCITIES.format(**parts))


def test_another_cell_beside_lattice_velocities_is_a_warning():
    block = LATTICE_VELOCITIES.format(state="1", velocity="0 0 0", vectors="9 0 0\n0 9 0\n0 0 9")
    poscar = parse_poscar(SILICON + block)
    assert [problem.severity for problem in poscar.problems] == ["warning"]
    assert "Lines 3 to 5 count" in poscar.problems[0].remedy


def test_velocities_with_another_first_line_are_direct():
    poscar = parse_poscar(SILICON + "Direct\n0.1 0 0\n0 0 0\n")
    assert not poscar.velocities_cartesian
    assert parse_poscar(SILICON + "Kartesisch\n0.1 0 0\n0 0 0\n").velocities_cartesian


def test_blank_lines_at_the_end_are_no_velocities():
    assert parse_poscar(SILICON + "\n  \n").velocities_av is None


def test_left_handed_cells_are_accepted(data):
    poscar = read_poscar(data / "POSCAR.left_handed")
    assert np.linalg.det(poscar.lattice_cv) < 0
    assert poscar.volume == pytest.approx(120.0)
    assert poscar.species_runs == (("Si", 1), ("O", 1), ("Si", 1))


def test_missing_species_come_from_potcar_first(data):
    poscar = read_poscar(data / "POSCAR.vasp4", species_order=("Ge", "S"))
    assert poscar.symbols == ("Ge", "S", "S")
    assert "Ge S are taken from the order of POTCAR" in str(poscar.problems[0])


def test_missing_species_come_from_a_title_of_symbols(data):
    poscar = read_poscar(data / "POSCAR.vasp4")
    assert poscar.symbols == ("Si", "O", "O")
    assert "Si O are taken from the title" in str(poscar.problems[0])


def test_several_species_may_stand_before_a_colon_in_the_title(data):
    text = (data / "POSCAR.vasp4").read_text()
    poscar = parse_poscar("Si O : quartz, surface\n" + text.split("\n", 1)[1])
    assert poscar.symbols == ("Si", "O", "O")


@pytest.mark.parametrize("title", ["Si2", "Si"])
def test_a_formula_that_agrees_with_the_counts_is_a_list_of_species(title):
    assert parse_poscar(edited(1, title).replace("\nSi\n2", "\n2")).symbols == ("Si", "Si")


def test_missing_species_come_from_labels_behind_the_positions():
    text = edited(1, "no names").replace("\nSi\n2", "\n2").replace("0.0 0.0 0.0\n", "0.0 0.0 0.0 Ge\n")
    assert parse_poscar(text.replace("0.25\n", "0.25 Ge\n")).symbols == ("Ge", "Ge")


@pytest.mark.parametrize("title", ["silicon", "Si4", "Si O", "C: graphite", ""])
def test_species_that_nobody_names_are_an_error(title):
    with pytest.raises(InputError, match="no line names the 1 species"):
        parse_poscar(edited(1, title).replace("\nSi\n2", "\n2"))


def test_potcar_in_another_order_is_an_error():
    with pytest.raises(InputError, match=r"POSCAR line 6: the species are Si, but POTCAR has Ge\. Put both"):
        parse_poscar(SILICON, species_order=("Ge",))


def test_labels_against_the_order_of_species_are_warned_of():
    (problem,) = parse_poscar(SILICON.replace("0.25\n", "0.25 Ge\n")).problems
    assert problem.severity == "warning"
    assert "POSCAR line 10: atom 2 is labelled Ge, but by the order of species it is Si" in str(problem)


def test_comments_and_odd_line_ends_do_no_harm():
    text = edited(7, "2   # two of them").replace("\n", "\r\n")
    assert len(parse_poscar(text).symbols) == 2
    assert parse_poscar(edited(2, "1.0  ! scale")).scale == 1.0


# --- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the file ends after 0 lines, before the title"),
        ("\n".join(SILICON.splitlines()[:9]), "the file ends after 9 lines, before the position of atom 2 of 2"),
        (edited(2, "0.0"), r"line 2: the scale factors are 0; one factor must not be zero"),
        (edited(2, "1 1"), "line 2: there are 2 scale factors"),
        (edited(2, "1 1 -1"), "line 2: the scale factors are"),
        (edited(2, "a"), "line 2: there are 0 scale factors"),
        (edited(3, "0.0 NaN 2.7"), "line 3: NaN is not a finite number below 1e[+]06; lattice vector 1 needs 3"),
        (edited(4, "2.7 0.0"), "line 4: there are 2 numbers; lattice vector 2 needs 3"),
        (edited(5, "2.7 2.7 5.4"), "line 3: the three lattice vectors lie in a plane"),
        (edited(5, "0 0 0"), "line 3: the three lattice vectors lie in a plane"),
        (edited(6, "Xx"), "line 6: Xx is not a chemical element"),
        (edited(6, "SI"), r"line 6: SI is not a chemical element; did you mean Si\? Write Si\."),
        (edited(6, "si_pv"), r"line 6: si_pv is not a chemical element; did you mean Si\? Write Si_pv\."),
        (edited(6, "al"), r"line 6: al is not a chemical element; did you mean Al\? Write Al\."),
        (edited(6, "Si O"), r"line 7: there are 1 counts for 2 species \(Si O\)"),
        (edited(7, "1 1"), r"line 7: there are 2 counts for 1 species \(Si\)"),
        (edited(7, "-2"), "line 7: -2 is not a number of atoms"),
        (edited(7, "2.0"), "line 7: 2.0 is not a number of atoms"),
        (edited(7, "two"), "line 7: there are no numbers of atoms"),
        (edited(7, "0"), "line 7: 0 is not a number of atoms"),
        (edited(7, "3"), "the file ends after 10 lines, before the position of atom 3 of 3"),
        (edited(7, "99999999999"), "line 7: the counts add up to 99999999999 atoms, but only 3 lines follow"),
        (edited(2, "1e300"), "line 2: the scale factors are 1e[+]300"),
        (edited(2, "1e-7"), "line 2: with this scale factor the lattice vectors are 3.82e-07, 3.82e-07"),
        (edited(2, "-1e-30"), "line 2: the scale factors are -1e-30"),
        (edited(3, "1e300 0 0"), "line 3: 1e300 is not a finite number below 1e[+]06"),
        (edited(7, "1"), "line 10: this is the position of an atom 2, but the counts say 1 atoms"),
        (edited(8, None), "line 8: Direct or Cartesian is expected here, found 0.0 0.0 0.0"),
        (edited(9, "0.0 inf 0.0"), "line 9: inf is not a finite number below 1e[+]06; the position of atom 1"),
        (edited(9, ""), "line 9: there are 0 numbers"),
        (edited(8, "Selective\nDirect"), "line 10: there are 0 flags; with Selective dynamics three flags"),
        (SILICON + "\n0.1 0.1 0.1\n", "the file ends after 12 lines, before the velocity of atom 2 of 2"),
        (SILICON + "\n0.1 0.1 0.1\n0.1 x 0.1", "line 13: x is not a finite number"),
    ],
)
def test_mistakes_are_named_with_line_and_numbers(text, expected):
    with pytest.raises(InputError, match=expected):
        parse_poscar(text)


def test_bad_flags_are_errors():
    text = edited(8, "Selective dynamics\nDirect").replace("0.0 0.0 0.0\n", "0.0 0.0 0.0 T maybe F\n")
    with pytest.raises(InputError, match="line 10: maybe is not a logical"):
        parse_poscar(text)


@pytest.mark.slow
@STEADY
@given(st.text())
def test_no_text_gives_another_error_than_ours(text):
    with pytest.raises(InputError):
        parse_poscar(text)


@STEADY
@given(st.data())
def test_no_damage_to_a_file_gives_another_error_than_ours(data):
    lines = SILICON.splitlines()
    line = data.draw(st.integers(0, len(lines) - 1))
    lines[line] = data.draw(st.text(alphabet="0123 .-*SidTFNaOe#!"))
    try:
        poscar = parse_poscar("\n".join(lines))
    except InputError as error:
        assert "POSCAR" in str(error)
    else:
        assert np.isfinite(poscar.scaled_ac).all()


# --- overlaps --------------------------------------------------------------------------------------------------------


def structure(lattice_cv, scaled_ac) -> Poscar:
    scaled_ac = np.array(scaled_ac, dtype=float)
    return Poscar("test", np.array(lattice_cv, dtype=float), ("H",) * len(scaled_ac), scaled_ac)


def test_overlaps_are_found_across_the_cell_boundary():
    pairs = overlapping_atoms(structure(10 * np.eye(3), [[0.99, 0.0, 0.5], [0.5, 0.5, 0.5], [0.01, 0.0, 0.5]]))
    assert [(i, j) for i, j, _ in pairs] == [(0, 2)]
    assert pairs[0][2] == pytest.approx(0.2)


def test_an_atom_overlaps_its_image_in_a_cell_that_is_too_small():
    (pair,) = overlapping_atoms(structure(np.diag([0.2, 5.0, 5.0]), [[0.0, 0.0, 0.0]]))
    assert pair == (0, 0, pytest.approx(0.2))


def test_distinct_atoms_do_not_overlap():
    assert overlapping_atoms(parse_poscar(SILICON)) == ()


def test_overlaps_are_errors_that_name_the_atoms():
    (problem,) = overlap_problems(parse_poscar(SILICON.replace("0.25 0.25 0.25", "0.01 0.0 0.0")))
    assert str(problem).startswith("POSCAR: atoms 1 (Si) and 2 (Si) are 0.038 Å apart.")


@STEADY
@given(
    arrays(float, (3, 3), elements=st.floats(-3, 3)),
    arrays(float, (4, 3), elements=st.floats(-1, 1)),
)
def test_overlaps_agree_with_a_search_over_many_images(lattice_cv, scaled_ac):
    assume(abs(np.linalg.det(lattice_cv)) > 0.5)
    found = {(i, j): distance for i, j, distance in overlapping_atoms(structure(lattice_cv, scaled_ac), 0.5)}
    reach = int(np.ceil(0.5 * np.linalg.norm(np.linalg.inv(lattice_cv), axis=0).max())) + 3
    shifts = np.array(list(np.ndindex((2 * reach + 1,) * 3))) - reach
    for i in range(4):
        for j in range(i, 4):
            distances = np.linalg.norm((scaled_ac[j] - scaled_ac[i] + shifts) @ lattice_cv, axis=1)
            nearest = np.delete(distances, len(shifts) // 2).min() if i == j else distances.min()
            if abs(nearest - 0.5) > 1e-9:
                assert ((i, j) in found) == (nearest < 0.5)
            if (i, j) in found:
                assert found[i, j] == pytest.approx(nearest, abs=1e-9)


# --- round trips -----------------------------------------------------------------------------------------------------


coordinates = st.floats(-2.0, 2.0).map(lambda x: round(x, 12))


@st.composite
def structures(draw) -> Poscar:
    symbols = tuple(draw(st.lists(st.sampled_from(SYMBOLS), min_size=1, max_size=6)))
    lattice_cv = draw(arrays(float, (3, 3), elements=st.floats(-9, 9).map(lambda x: round(x, 10))))
    assume(abs(np.linalg.det(lattice_cv)) > 1.0)
    optional = st.none() | arrays(float, (len(symbols), 3), elements=coordinates)
    return Poscar(
        draw(st.text(alphabet=st.characters(codec="latin-1", categories=("L", "N", "P")), max_size=40)),
        lattice_cv,
        symbols,
        draw(arrays(float, (len(symbols), 3), elements=coordinates)),
        suffixes=tuple(draw(st.sampled_from(("", "_pv", "/a1"))) for _ in runs_of(symbols)),
        selective_ac=draw(st.none() | arrays(bool, (len(symbols), 3))),
        velocities_av=draw(optional),
        velocities_cartesian=draw(st.booleans()),
    )


@pytest.mark.slow
@STEADY
@given(structures())
def test_what_is_written_is_read_back(poscar):
    again = parse_poscar(format_poscar(poscar))
    assert again.title == poscar.title
    assert again.symbols == poscar.symbols
    assert again.species_runs == poscar.species_runs
    assert again.suffixes == poscar.suffixes
    assert np.abs(again.lattice_cv - poscar.lattice_cv).max() < 1e-15
    assert np.abs(again.scaled_ac - poscar.scaled_ac).max() < 1e-15
    assert (again.selective_ac is None) == (poscar.selective_ac is None)
    assert poscar.selective_ac is None or np.array_equal(again.selective_ac, poscar.selective_ac)
    assert (again.velocities_av is None) == (poscar.velocities_av is None)
    if poscar.velocities_av is not None:
        assert np.abs(again.velocities_av - poscar.velocities_av).max() < 1e-15
        assert again.velocities_cartesian == poscar.velocities_cartesian


@pytest.mark.parametrize("name", ["scaled", "volume", "three_scales", "md", "vasp4", "left_handed"])
def test_files_survive_writing_and_reading(data, tmp_path, name):
    poscar = read_poscar(data / f"POSCAR.{name}")
    write_poscar(tmp_path / "POSCAR", poscar)
    again = read_poscar(tmp_path / "POSCAR")
    assert again.scaled_ac == pytest.approx(poscar.scaled_ac, abs=1e-15)
    assert again.species_runs == poscar.species_runs
    assert (again.lattice_velocity_cv is None) == (poscar.lattice_velocity_cv is None)
    if poscar.lattice_velocity_cv is not None:
        np.testing.assert_array_equal(again.lattice_velocity_cv, poscar.lattice_velocity_cv)
    assert again.predictor == poscar.predictor
    assert [path.name for path in tmp_path.iterdir()] == ["POSCAR"]


@pytest.mark.parametrize("name", ["scaled", "volume", "md", "left_handed"])
def test_ase_reads_the_same_from_what_is_written(data, tmp_path, name):
    poscar = read_poscar(data / f"POSCAR.{name}")
    write_poscar(tmp_path / "POSCAR", poscar)
    atoms = ase_read(tmp_path / "POSCAR", format="vasp")
    assert tuple(atoms.symbols) == poscar.symbols
    assert atoms.cell.array == pytest.approx(poscar.lattice_cv)
    assert atoms.positions == pytest.approx(poscar.positions_av, abs=1e-12)


# --- what other readers make of public files -----------------------------------------------------------------------


def reference_cases() -> list[str]:
    styles = "AlN _Fe3O4 _O2 _hcp _tricky_symmetry".split()
    cases = (
        "aiidavasp_born_charges aiidavasp_magmom_relax atomate_adsorbate_slab atomate_elastic_relax "
        "atomate_scan_rvv10_lif atomate_si_static custodian_basic custodian_large_cell custodian_nonconv "
        "custodian_unconverged doped_cdte_hse_soc doped_mgo_optics doped_mgo_pbesol_relax nomad_aln_commented "
        "pyiron_aborted_job pymatgen_hybrid_lifepo4 sisl_diamond sisl_graphene_sections"
    ).split()
    return [f"{case}/POSCAR" for case in cases] + [
        f"pymatgen_poscar_styles/POSCAR{'' if style[0] == '_' else '.'}{style}" for style in styles
    ]


@pytest.mark.parametrize("name", reference_cases())
def test_public_files_agree_with_pymatgen(shared_dir, name):
    folder = shared_dir / "reference" / "vasp_inputs"
    case, file = name.split("/")
    expected = json.loads((folder / "expected_parse.json").read_text())["cases"][case][file]
    order = None if expected["species_named_in_file"] else ("H",)
    poscar = read_poscar(folder / name, order)
    assert list(poscar.symbols) == expected["species"]
    assert poscar.lattice_cv == pytest.approx(np.array(expected["lattice_A"]), abs=6e-9)
    apart = poscar.scaled_ac - np.array(expected["frac_mod1"])
    assert np.abs(apart - np.round(apart)).max() < 1.1e-6
    assert poscar.volume == pytest.approx(expected["volume_A3"], abs=1e-6 * expected["volume_A3"])
    # pymatgen drops flags that are all true
    free = poscar.selective_ac is None or poscar.selective_ac.all()
    assert (None if free else poscar.selective_ac.tolist()) == expected["selective"]
    assert overlapping_atoms(poscar) == ()


def test_every_public_file_is_tested(shared_dir):
    cases = json.loads((shared_dir / "reference/vasp_inputs/expected_parse.json").read_text())["cases"]
    files = {f"{case}/{name}" for case, names in cases.items() for name in names if name.startswith("POSCAR")}
    assert files == set(reference_cases())
