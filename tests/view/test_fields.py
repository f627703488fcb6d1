"""Planes and averages of fields: those of closed forms, in skewed cells; pictures of them."""

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.poscar import parse_poscar
from eigenwerk.view.field_plot import field_figure
from eigenwerk.view.fields import (
    Field,
    atom_plane,
    atoms_on,
    best_axis,
    is_field,
    lattice_plane,
    on_plane,
    planar_average,
    spacing,
    vacuum_of,
)

SKEWED = parse_poscar("x\n1\n4 0 0\n1 5 0\n0.5 1 6\nSi C\n2 1\nDirect\n0 0 .25\n.5 .5 .25\n.3 .1 .8\n", "POSCAR")
SLAB = parse_poscar("x\n1\n3 0 0\n0 3 0\n0 0 20\nAl\n2\nDirect\n0 0 .95\n.5 .5 .05\n", "POSCAR")
WATER = parse_poscar("x\n1\n8 0 0\n0 8 0\n0 0 8\nO H\n1 2\nDirect\n.5 .5 .4\n.5 .6 .5\n.5 .4 .5\n", "POSCAR")


def wave(poscar, index, sizes=(24, 30, 36), **more):
    """cos 2πm·s on the grid."""
    s_cR = np.stack(np.meshgrid(*[np.arange(n) / n for n in sizes], indexing="ij"))
    return Field("X", "wave", "eV", np.cos(2 * np.pi * np.tensordot(index, s_cR, 1)), poscar, **more)


def test_average_over_planes_keeps_waves_along_the_axis_only():
    place_x, mean_x = planar_average(wave(SKEWED, (0, 0, 2)), 2)
    assert mean_x == pytest.approx(np.cos(4 * np.pi * place_x / spacing(SKEWED, 2)))
    assert planar_average(wave(SKEWED, (1, 0, 2)), 2)[1] == pytest.approx(np.zeros(36), abs=1e-12)


def test_distance_of_planes_is_volume_over_area():
    for axis in range(3):
        first, second = (SKEWED.lattice_cv[c] for c in range(3) if c != axis)
        assert spacing(SKEWED, axis) == pytest.approx(SKEWED.volume / np.linalg.norm(np.cross(first, second)))


PLANES = [lattice_plane(SKEWED, 0), lattice_plane(SKEWED, 2, 0.4), atom_plane(SKEWED, (1, 2, 3))]


@pytest.mark.parametrize("plane", PLANES)
def test_values_on_a_plane_are_those_of_the_wave_there(plane):
    index = np.array((1, -1, 2))
    x, y, value_yx = on_plane(wave(SKEWED, index, (96, 96, 96)), plane)
    for j, i in ((0, 0), (len(y) // 2, len(x) // 3), (len(y) - 1, len(x) - 1)):
        point_v = plane.origin_v + x[i] * plane.right_v + y[j] * plane.up_v
        phase = 2 * np.pi * index @ (point_v @ np.linalg.inv(SKEWED.lattice_cv))
        assert value_yx[j, i] == pytest.approx(np.cos(phase), abs=0.02)


def test_directions_in_a_plane_are_orthonormal_and_hold_the_lattice_vectors():
    plane = lattice_plane(SKEWED, 2, 0.4)
    assert plane.right_v @ plane.up_v == pytest.approx(0) and np.linalg.norm(plane.up_v) == pytest.approx(1)
    normal_v = np.cross(plane.right_v, plane.up_v)
    assert normal_v @ SKEWED.lattice_cv[:2].T == pytest.approx([0, 0], abs=1e-12)


def test_plane_by_itself_goes_through_most_atoms():
    assert lattice_plane(SKEWED, 2).words == "plane across axis 3 at 0.250"
    assert best_axis(WATER) == 0 and lattice_plane(WATER, 0).words.endswith("0.500")
    assert sorted(symbol for symbol, _, _ in atoms_on(WATER, lattice_plane(WATER, 0))) == ["H", "H", "O"]


def test_plane_through_three_atoms_holds_them():
    plane = atom_plane(SKEWED, (1, 2, 3))
    assert {symbol for symbol, _, _ in atoms_on(SKEWED, plane)} == {"Si", "C"}


@pytest.mark.parametrize("atoms", [(1, 2, 4), (1, 1, 2), (0, 1, 2)])
def test_three_atoms_must_be_there_and_span_a_plane(atoms):
    with pytest.raises(InputError, match="--atoms"):
        atom_plane(SKEWED, atoms)


def test_vacuum_of_a_slab_and_of_nothing_else():
    axis, middle, width = vacuum_of(SLAB)
    assert (axis, middle) == (2, pytest.approx(0.5)) and width == pytest.approx(18.0)
    assert vacuum_of(SKEWED) is None and vacuum_of(WATER) is None and best_axis(SLAB) == 2


def test_names_of_fields():
    assert is_field("CHGCAR") and is_field("PARCHG.0004.ALLK") and not is_field("POSCAR") and not is_field("CHGCAR.png")


def test_picture_of_a_slab_names_levels_and_work_function():
    place_x = np.arange(40) / 40
    value = np.where(np.abs(place_x - 0.5) < 0.4, 4.0, -9.0)
    field = Field("LOCPOT", "electrostatic potential", "eV", np.broadcast_to(value, (6, 6, 40)).copy(), SLAB)
    right = field_figure([field], lattice_plane(SLAB, 2), 2, "Al2", -0.5).axes[1]
    words = [text.get_text() for text in right.get_legend().get_texts()]
    assert words == ["Fermi level -0.50 eV", "vacuum level 4.00 eV", "4.50 eV between them"]
    assert right.get_xlabel().startswith("distance across axis 3 (Å)") and "(eV)" in right.get_ylabel()


@pytest.mark.parametrize("more", [{"signed": True}, {"logarithmic": True}, {}])
def test_fields_of_all_kinds_are_drawn(more):
    fields = [wave(SKEWED, (1, 1, 0), (8, 8, 8), **more), wave(SKEWED, (0, 0, 0), (8, 8, 8), **more)]
    figure = field_figure(fields, lattice_plane(SKEWED, 1), 1, "x")
    figure.canvas.draw()
    assert len(figure.axes) == 6
