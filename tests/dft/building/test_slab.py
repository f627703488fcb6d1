"""Slabs are pieces of the crystal between vacuum, in the smallest cell."""

import numpy as np
import pytest

from eigenwerk.dft.building.slab import SlabCut, cut_slab, layers_of, primitive_vectors
from eigenwerk.dft.building.supercell import supercell
from eigenwerk.errors import InputError

EDGE = 3.6
SURFACES = {
    # plane: (area per surface atom in squares of the edge, distance of layers in edges)
    (1, 0, 0): (1 / 2, 1 / 2),
    (0, 0, 1): (1 / 2, 1 / 2),
    (1, 1, 0): (2**0.5 / 2, 2**0.5 / 4),
    (1, 1, 1): (3**0.5 / 4, 1 / 3**0.5),
    (-1, 1, 1): (3**0.5 / 4, 1 / 3**0.5),
    (2, 1, 0): (5**0.5 / 2, 1 / (2 * 5**0.5)),
}


@pytest.mark.parametrize("miller", SURFACES)
def test_fcc_surfaces_have_one_atom_per_layer_at_the_textbook_distance(copper, miller):
    area, distance = SURFACES[miller]
    made = cut_slab(copper, SlabCut(miller, 5, 12.0))
    assert len(made.symbols) == 5
    heights = np.sort(made.positions_av[:, 2])
    np.testing.assert_allclose(np.diff(heights), distance * EDGE, atol=1e-9)
    surface = np.linalg.norm(np.cross(made.lattice_cv[0], made.lattice_cv[1]))
    assert surface == pytest.approx(area * EDGE**2)
    assert made.lattice_cv[2] == pytest.approx([0, 0, heights[-1] - heights[0] + 12.0])
    assert heights.mean() == pytest.approx(made.lattice_cv[2, 2] / 2)


@pytest.mark.parametrize("miller", SURFACES)
def test_the_cell_is_reduced_and_right_handed(copper, miller):
    first_v, second_v, _ = cut_slab(copper, SlabCut(miller, 3, 10.0)).lattice_cv
    assert first_v[1:] == pytest.approx([0, 0], abs=1e-12)
    assert second_v[1] > 0 and second_v[2] == pytest.approx(0, abs=1e-12)
    assert abs(first_v @ second_v) <= first_v @ first_v / 2 + 1e-9
    assert first_v @ first_v <= second_v @ second_v + 1e-9


def pair_distances(poscar, reach):
    """Sorted distances between atoms, images in the plane included, with the elements."""
    image_xc = np.array([(i, j, 0) for i in range(-4, 5) for j in range(-4, 5)])
    found = []
    for a, one in enumerate(poscar.symbols):
        for b, other in enumerate(poscar.symbols):
            offset_xv = (poscar.scaled_ac[b] - poscar.scaled_ac[a] + image_xc) @ poscar.lattice_cv
            distance_x = np.linalg.norm(offset_xv, axis=1)
            found += [(round(d, 6), *sorted((one, other))) for d in distance_x if 0.1 < d < reach]
    return sorted(found)


def test_the_middle_of_a_thick_slab_is_bulk(arsenide):
    """Every atom of the inner layers has four neighbours of the other element at the bulk distance."""
    made = cut_slab(arsenide, SlabCut((1, 1, 0), 9, 10.0))
    bond = 5.65 * 3**0.5 / 4
    heights = made.positions_av[:, 2]
    layers = layers_of(made)
    assert len(layers) == 9
    for atom in layers[4]:
        image_xc = np.array([(i, j, 0) for i in range(-2, 3) for j in range(-2, 3)])
        offset_axv = (made.scaled_ac[:, None] - made.scaled_ac[atom] + image_xc) @ made.lattice_cv
        near = np.argwhere(np.abs(np.linalg.norm(offset_axv, axis=2) - bond) < 1e-6)[:, 0]
        assert len(near) == 4
        assert {made.symbols[b] for b in near} == {"As" if made.symbols[atom] == "Ga" else "Ga"}
    assert heights.max() - heights.min() == pytest.approx(8 * 5.65 / 8**0.5)


def test_the_first_layer_chooses_the_termination(arsenide):
    """Along (100) layers of gallium and of arsenic alternate."""
    lowest = []
    for first in (1, 2, 3):
        made = cut_slab(arsenide, SlabCut((1, 0, 0), 4, 10.0, first))
        assert [len(layer) for layer in layers_of(made)] == [1] * 4
        lowest.append(made.symbols[layers_of(made)[0][0]])
    assert lowest[0] == lowest[2] != lowest[1]


def test_layers_are_counted_across_the_cell_boundary(copper):
    """Atoms just below the boundary of the cell belong to the layer just above it."""
    scaled_ac = copper.scaled_ac + np.array([0, 0, 1e-4]) * np.array([[-1], [1], [-1], [1]])
    moved = type(copper)("", copper.lattice_cv, copper.symbols, scaled_ac)
    assert len(layers_of(cut_slab(moved, SlabCut((0, 0, 1), 3, 10.0)))) == 3


@pytest.mark.parametrize("matrix", [np.diag([1, 1, 1]), np.diag([2, 1, 2]), [[1, 1, 0], [0, 1, 1], [1, 0, 2]]])
def test_primitive_vectors_span_a_quarter_of_the_cubic_cell(copper, matrix):
    cell = supercell(copper, np.array(matrix))
    primitive_cv = primitive_vectors(cell) @ cell.lattice_cv
    assert abs(np.linalg.det(primitive_cv)) == pytest.approx(EDGE**3 / 4)


def test_a_supercell_gives_the_slab_of_its_primitive_cell(copper):
    cells = copper, supercell(copper, np.diag([2, 2, 2]))
    small, large = (cut_slab(cell, SlabCut((0, 0, 1), 4, 10.0)) for cell in cells)
    assert pair_distances(small, 6.0) == pair_distances(large, 6.0)


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (SlabCut((0, 0, 0), 3, 10.0), "name no plane"),
        (SlabCut((1, 1, 1), 0, 10.0), "0 layers from layer 1"),
        (SlabCut((1, 1, 1), 2, -1.0), "vacuum of -1 Å"),
        (SlabCut((1, 1, 1), 2, 10.0, 0), "from layer 0"),
    ],
)
def test_impossible_slabs_are_refused(copper, cut, words):
    with pytest.raises(InputError, match=words):
        cut_slab(copper, cut)
