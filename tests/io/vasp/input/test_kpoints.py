"""The KPOINTS reader: all forms, all mistakes, and what another reader makes of public files."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.kpoints import parse_kpoints, read_kpoints

STEADY = settings(deadline=None, derandomize=True)
FCC = 4.0 * np.array([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])


@pytest.fixture(scope="module")
def data(samples: Path) -> Path:
    return samples


def test_a_mesh_with_shift(data):
    file = read_kpoints(data / "KPOINTS.shifted")
    assert (file.kind, file.gamma_centred, file.mesh, file.shift) == ("mesh", False, (4, 3, 2), (0.5, 0.0, 0.25))


@pytest.mark.parametrize("tail", ["", "\n", "\n\n", "\n   \n", "\n# no shift", "\n0 0 0 ! shift"])
def test_the_shift_is_optional(tail):
    assert parse_kpoints(f"mesh\n0\ngamma\n2 2 2{tail}").shift == (0.0, 0.0, 0.0)


def test_a_number_below_zero_means_a_mesh_as_zero_does():
    file = parse_kpoints("mesh\n-1\nGamma\n3 3 3\n")
    assert (file.kind, file.mesh) == ("mesh", (3, 3, 3)) and "line 2 says -1" in file.remark
    assert parse_kpoints("mesh\n0\nGamma\n3 3 3\n").remark == ""
    assert parse_kpoints("mesh\n0\nGamma\n3.0 3.0 2.\n").mesh == (3, 3, 2)


def test_a_list_with_tetrahedra(data):
    file = read_kpoints(data / "KPOINTS.tetrahedra")
    assert file.kind == "list"
    assert not file.cartesian
    assert file.points_kc[3].tolist() == [0.5, 0.5, 0.5]
    assert file.weights_k.tolist() == [1, 1, 2, 4]
    assert file.tetrahedra.tolist() == [[6, 0, 1, 2, 3], [1, 0, 0, 1, 2]]
    assert file.tetrahedron_volume == 0.0833333


def test_weights_of_zero_are_kept():
    file = parse_kpoints("bands of a hybrid\n2\nReciprocal\n0 0 0 1\n0.1 0 0 0\n")
    assert file.weights_k.tolist() == [1, 0]


def test_a_path_with_labels(data):
    file = read_kpoints(data / "KPOINTS.line")
    assert (file.kind, file.points_per_line, file.labels) == ("line", 40, ("Γ", "X", "X", ""))
    assert file.points_kc[3].tolist() == [0.5, 0.75, 0.25]


def test_generating_vectors_in_cartesian_coordinates(data):
    file = read_kpoints(data / "KPOINTS.generalised")
    assert (file.kind, file.cartesian, file.shift) == ("generalised", True, (0.5, 0.5, 0.5))
    assert file.reciprocal(4.0 * np.eye(3), 4.0) == pytest.approx(np.eye(3) / 4)


def test_a_length_is_read(data):
    file = read_kpoints(data / "KPOINTS.auto")
    assert (file.kind, file.length) == ("auto", 20.0)


@pytest.mark.parametrize(
    ("cartesian", "reciprocal"),
    [((0, 0, 1), (0.5, 0.5, 0)), ((0.5, 0, 1), (0.5, 0.75, 0.25)), ((0.75, 0.75, 0), (0.375, 0.375, 0.75))],
)
def test_cartesian_points_of_the_fcc_zone(cartesian, reciprocal):
    """X, W and K of the table on the wiki page KPOINTS."""
    file = parse_kpoints(f"point\n1\nCartesian\n{cartesian[0]} {cartesian[1]} {cartesian[2]} 1\n")
    assert file.reciprocal(FCC, 4.0)[0] == pytest.approx(reciprocal)


def test_cartesian_points_need_one_scale_factor():
    file = parse_kpoints("point\n1\nCartesian\n0 0 1 1\n")
    with pytest.raises(InputError, match="KPOINTS line 3: Cartesian points refer to the scale factor"):
        file.reciprocal(FCC, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the file ends after 0 lines, before the title"),
        ("t\n", "the file ends after 1 lines, before the number of k-points"),
        ("t\nGamma\n", "line 2: the number of k-points must be a whole number, 0 for a mesh.* found Gamma"),
        ("t\n-10000000\nG\n", "line 2: .* found -10000000"),
        ("t\n-1\nG\n2 2\n", "line 4: there are 2 numbers"),
        ("t\n\nG\n", "line 2: .* found an empty line"),
        ("t\n0\n", "before the kind of the mesh or list"),
        ("t\n0\n\n2 2 2", "line 3: Gamma, Monkhorst-Pack"),
        ("t\n0\nWrong\n2 2 2", "line 3: Wrong is not understood"),
        ("t\n0\nGamma\n2 2", "line 4: there are 2 numbers; the mesh needs 3"),
        ("t\n0\nGamma\n2 2 0", "line 4: 0 is not a whole number of at least 1"),
        ("t\n0\nGamma\n2 2 2.5", "line 4: 2.5 is not a whole number"),
        ("t\n0\nGamma\n2 x 2", "line 4: x is not a finite number"),
        ("t\n0\nGamma\n2 2 2\n0 0\n", "line 5: there are 2 numbers; the shift of the mesh needs 3"),
        ("t\n0\nGamma\n2 2 2\n0 0 NaN\n", "line 5: NaN is not a finite number"),
        ("t\n0\nAuto\n-3\n", "line 4: the length R_k is -3; it must be above zero"),
        ("t\n0\nReciprocal\n1 0 0\n0 1 0\n1 1 0\n", "line 6: the three generating vectors lie in a plane"),
        ("t\n2\nReciprocal\n0 0 0 1\n", "before k-point 2 of 2"),
        ("t\n1\nReciprocal\n0 0 0\n", "line 4: there are 3 numbers; k-point 1 of 1"),
        ("t\n2\nReciprocal\n0 0 0 1\n.5 0 0 -1\n", "line 5: the weight -1 of a k-point is negative. Give"),
        ("t\n0\nFoo\n2 2 2\n", "line 3: Foo with 0 k-points announces three generating vectors, but 1 line follows"),
        ("t\n1\nReciprocal\n0 0 0 1\n0 0 1 1\n", r"line 5: this is one line more than line 2 announces \(1 k-points\)"),
        ("t\n1\nR\n0 0 0 1\nT\n1 0.1\n1 1 1 1 2\n", "line 7: tetrahedron 1 has corner 2, but there are 1 k-points"),
        ("t\n1\nR\n0 0 0 1\nT\n0 0.1\n", "line 6: 0 tetrahedra of volume 0.1"),
        ("t\n1\nR\n0 0 0 1\nT\n2 0.1\n1 1 1 1 1\n", "before tetrahedron 2 of 2"),
        ("t\n10\nLine\nReciprocal\n0 0 0\n", "there is 1 point; a path needs pairs of ends"),
        ("t\n10\nLine\n0 0 0\n1 0 0\n", "line 4: Reciprocal or Cartesian is expected"),
        ("t\n1\nLine\nr\n0 0 0\n1 0 0\n", "line 2: 1 point on each line of the path"),
        ("t\n0\nLine\nr\n0 0 0\n1 0 0\n", "line 2: 0 points on each line of the path"),
        ("t\n9\nLine\nr\n0 0 0\n1 b 0\n", "line 6: b is not a finite number"),
    ],
)
def test_mistakes_are_named_by_line(text, expected):
    with pytest.raises(InputError, match=expected):
        parse_kpoints(text)


@STEADY
@given(st.text(alphabet="0123 .-\nGMARCLTkt#!"))
def test_no_text_gives_another_error_than_ours(text):
    try:
        file = parse_kpoints(f"title\n{text}")
    except InputError as error:
        assert str(error).startswith("KPOINTS")
    else:
        assert file.kind in ("mesh", "list", "line", "generalised", "auto")


# --- what another reader makes of public files ---------------------------------------------------------------------

STYLES = {"Gamma": ("mesh", True), "Monkhorst": ("mesh", False), "Automatic": ("auto", True)}


def public_files(shared_dir: Path) -> dict[str, dict]:
    cases = json.loads((shared_dir / "reference/vasp_inputs/expected_parse.json").read_text())["cases"]
    return {
        f"{case}/{name}": expected
        for case, files in cases.items()
        for name, expected in files.items()
        if name.startswith("KPOINTS")
    }


def test_public_meshes_agree_with_pymatgen(shared_dir):
    files = public_files(shared_dir)
    for name, expected in files.items():
        file = read_kpoints(shared_dir / "reference/vasp_inputs" / name)
        assert list(file.shift) == expected["shift"], name
        if expected["style"] in STYLES:
            assert (file.kind, file.gamma_centred) == STYLES[expected["style"]], name
            assert list(file.mesh or [file.length]) == expected["kpts"][0], name
    assert len(files) == 22


def test_public_lists_agree_with_pymatgen(shared_dir):
    lists = [item for item in public_files(shared_dir).items() if item[1]["style"] not in STYLES]
    for name, expected in lists:
        file = read_kpoints(shared_dir / "reference/vasp_inputs" / name)
        assert file.kind == ("line" if expected["style"] == "Line_mode" else "list"), name
        assert file.points_kc.tolist() == expected["kpts"], name
        assert (None if file.weights_k is None else file.weights_k.tolist()) == expected["weights"], name
        assert (0 if file.tetrahedra is None else len(file.tetrahedra)) == expected["tet_number"], name
        assert file.tetrahedron_volume == expected["tet_weight"], name
        if file.kind == "line":
            assert (list(file.labels), file.points_per_line) == (expected["labels"], expected["num_kpts"])
        else:
            assert file.cartesian == (expected["style"] == "Cartesian"), name
    assert len(lists) == 3
