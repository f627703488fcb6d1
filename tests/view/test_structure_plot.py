"""Pictures of atoms: radii of the table, molecules in one piece, images on faces, bonds where elements make them."""

import numpy as np
import pytest

from eigenwerk.io.vasp.elements import SYMBOLS
from eigenwerk.view.structure_plot import RADII, radius, structure_figure

CUBE = 4.0 * np.eye(3)


def circles(figure):
    """Balls without their shine."""
    return [patch for patch in figure.axes[0].patches if patch.get_alpha() is None and hasattr(patch, "radius")]


def sticks(figure):
    return [line for line in figure.axes[0].lines if line.get_linewidth() > 3]


def test_radii_are_those_of_ase():
    data = pytest.importorskip("ase.data", reason="ASE is not installed")
    for number in range(1, 97):
        assert RADII[number - 1] == pytest.approx(data.covalent_radii[number]), SYMBOLS[number - 1]
    assert radius("Og") == radius("Cm")


def test_an_atom_at_the_corner_is_drawn_at_all_corners():
    assert len(circles(structure_figure(CUBE, np.zeros((1, 3)), ("Po",), "Po"))) == 8
    both = structure_figure(CUBE, np.array([[0.0, 0, 0], [0.5, 0.5, 0.5]]), ("Cs", "Cl"), "CsCl")
    assert len(circles(both)) == 9


def test_a_molecule_across_the_edge_is_drawn_in_one_piece_with_its_bonds():
    scaled_ac = np.array([[0.0, 0.0, 0.0], [0.0, 0.06, 0.05], [0.0, 0.94, 0.05]])
    figure = structure_figure(12.0 * np.eye(3), scaled_ac, ("O", "H", "H"), "water")
    assert len(circles(figure)) == 3 and len(sticks(figure)) == 4  # both halves of two bonds
    low, high = figure.axes[0].get_xlim()
    assert high - low < 6


def test_no_atom_covers_the_names_of_the_axes():
    """a, b and c stand beyond the atoms at the ends of the axes."""
    for cell in (CUBE, 2.7 * np.array([[0, 1.0, 1], [1, 0, 1], [1, 1, 0]])):
        figure = structure_figure(cell, np.array([[0.0, 0, 0]]), ("Si",), "Si")
        names = [text for text in figure.axes[0].texts if text.get_text() in "abc"]
        assert len(names) == 3
        for name in names:
            nearest = min(np.hypot(*np.subtract(circle.center, name.xy)) - circle.radius for circle in circles(figure))
            assert nearest > 0.2


def test_metals_have_no_bonds():
    cell = np.array([[0, 2, 2], [2, 0, 2], [2, 2, 0.0]])
    assert not sticks(structure_figure(cell, np.zeros((1, 3)), ("Al",), "Al"))
    assert sticks(structure_figure(cell, np.array([[0.0, 0, 0], [0.25, 0.25, 0.25]]), ("Si", "Si"), "Si2"))


@pytest.mark.slow
def test_layers_are_repeated_and_moments_have_arrows():
    cell = np.diag([2.5, 2.5, 20.0])
    figure = structure_figure(cell, np.array([[0.5, 0.5, 0.5]]), ("Fe",), "Fe", np.array([-2.0]))
    assert len(circles(figure)) == 4 and len([text for text in figure.axes[0].texts if text.arrow_patch]) == 4
