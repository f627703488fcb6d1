"""Paths: points on lines as VASP counts them, the standard path of a crystal, names of points."""

import numpy as np
import pytest

from eigenwerk.dft.crystal.k_path import (
    PathLine,
    beside_vacuum,
    path_kpoints,
    path_text,
    points_per_line,
    standard_path,
)
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.kpoints import parse_kpoints

FCC = 10.26 * (1 - np.eye(3)) / 2
LINES = (
    PathLine(np.zeros(3), np.array([0.5, 0, 0.5]), "G", "X"),
    PathLine(np.array([0.375, 0.375, 0.75]), np.zeros(3), "K", "G"),
)


@pytest.fixture
def diamond():
    return Structure(FCC, ("Si", "Si"), np.array([[0, 0, 0], [0.25, 0.25, 0.25]]))


def test_points_stand_on_the_lines_with_both_ends(diamond):
    points = path_kpoints(LINES, 5, find_symmetry(diamond, 1e-5, 2), "a path")
    assert points.point_kc.shape == (10, 3) and points.weight_k.sum() == pytest.approx(1)
    np.testing.assert_allclose(points.point_kc[1], [0.125, 0, 0.125])
    np.testing.assert_allclose(points.point_kc[4], [0.5, 0, 0.5])
    assert points.label_k == ("G", "", "", "", "X", "K", "", "", "", "G")
    assert points.line_k.tolist() == [0] * 5 + [1] * 5


def test_text_is_a_file_that_gives_the_same_path(diamond):
    file = parse_kpoints(path_text(LINES, 7, "silicon"))
    assert file.kind == "line" and file.points_per_line == 7 and file.labels == ("G", "X", "K", "G")
    np.testing.assert_allclose(file.points_kc[2], LINES[1].start_c)


def test_standard_path_is_in_the_cell_as_it_is_given(diamond):
    pytest.importorskip("seekpath", reason="seekpath is not installed")
    turned = Structure(FCC[[2, 0, 1]], diamond.symbols, diamond.scaled_ac)
    for structure in (diamond, turned):
        lines = standard_path(structure)
        names = [f"{line.start_label}-{line.end_label}" for line in lines]
        assert names == ["G-X", "X-U", "K-G", "G-L", "L-W", "W-X"]
        lengths = [np.linalg.norm((line.end_c - line.start_c) @ structure.reciprocal_cv) for line in lines]
        np.testing.assert_allclose(np.array(lengths[:1] + lengths[3:4]) * 10.26 / 2 / np.pi, [1, 0.75**0.5], atol=1e-6)
        assert points_per_line(lines, structure) == 32


def test_moments_that_differ_make_another_path():
    pytest.importorskip("seekpath", reason="seekpath is not installed")
    cell = 8.0 * np.array([[1, 0.5, 0.5], [0.5, 1, 0.5], [0.5, 0.5, 1]])
    atoms = ("Ni", "Ni", "O", "O"), np.array([[0, 0, 0], [0.5] * 3, [0.25] * 3, [0.75] * 3])
    plain, magnet = Structure(cell, *atoms), Structure(cell, *atoms, np.array([2.0, -2.0, 0, 0]))
    names = [{line.start_label for line in standard_path(structure)} for structure in (plain, magnet)]
    assert names[0] != names[1]


def test_names_choose_the_points(diamond):
    pytest.importorskip("seekpath", reason="seekpath is not installed")
    lines = standard_path(diamond, "L-Γ-x|K gamma")
    assert [(line.start_label, line.end_label) for line in lines] == [("L", "G"), ("G", "X"), ("K", "G")]


@pytest.mark.parametrize(
    ("words", "message"),
    [("G Q", "no point Q. It has G, K, L"), ("X", "one point, X, is no path"), ("", "no point is no path")],
)
def test_names_that_are_no_path(diamond, words, message):
    pytest.importorskip("seekpath", reason="seekpath is not installed")
    with pytest.raises(InputError, match=message):
        standard_path(diamond, words)


@pytest.mark.parametrize("axis", [0, 2])
def test_the_path_of_a_layer_does_not_cross_its_vacuum(axis):
    """Boron nitride: G-M-K-G of the plane, whichever axis has the vacuum; of a chain one line, of a molecule all."""
    lattice_cv = np.array([[4.7, 0, 0], [-2.35, 2.35 * 3**0.5, 0], [0, 0, 30.0]])
    scaled_ac = np.array([[1 / 3, 2 / 3, 0.5], [2 / 3, 1 / 3, 0.5]])
    order = np.roll([0, 1, 2], axis - 2)
    layer = Structure(lattice_cv[order], ("B", "N"), scaled_ac[:, order])
    whole = standard_path(layer)
    empty_c = np.arange(3) == axis
    kept = beside_vacuum(whole, empty_c)
    assert [(line.start_label, line.end_label) for line in kept] == [("G", "M"), ("M", "K"), ("K", "G")]
    assert len(whole) > 6 and all(line.end_c[axis] == 0 for line in kept)
    assert beside_vacuum(whole, np.ones(3, bool)) == whole and beside_vacuum(whole, np.zeros(3, bool)) == whole
