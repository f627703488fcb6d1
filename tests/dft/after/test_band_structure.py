"""Gap, places and effective masses of model bands whose answers are known."""

import json

import numpy as np
import pytest

from eigenwerk.dft.after.band_structure import BandStructure, band_structure, filled_bands_of
from eigenwerk.dft.after.effective_mass import HALF_SQUARE
from eigenwerk.dft.crystal.k_path import PathLine, path_kpoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import no_symmetry

CELL = Structure(np.eye(3), ("Si",), np.zeros((1, 3)))
RECIPROCAL = 2 * np.pi / 4.0 * np.eye(3)
"""1/angstrom of a cube of 4 angstrom."""
X, R = np.array([0.5, 0, 0]), np.array([0.5, 0.5, 0.5])


@pytest.fixture
def points():
    lines = (PathLine(np.zeros(3), X, "G", "X"), PathLine(R, np.zeros(3), "R", "G"))
    return path_kpoints(lines, 40, no_symmetry(CELL), "model")


def made(points, eig_kn, filled, fermi=0.0):
    eig_skn = np.asarray(eig_kn)[None]
    return band_structure(points, RECIPROCAL, eig_skn, np.zeros_like(eig_skn), fermi, filled, 1e-5, True)


def length2(points, centre=np.zeros(3)):
    return (((points.point_kc - centre) @ RECIPROCAL) ** 2).sum(1)


def test_path_jumps_no_way(points):
    bands = made(points, np.zeros((80, 2)), None)
    assert bands.distance_k[39] == bands.distance_k[40] == pytest.approx(np.pi / 4)
    assert bands.distance_k[-1] == pytest.approx(np.pi / 4 * (1 + 3**0.5))
    assert bands.gap.metal and bands.zero == bands.fermi_level


def test_gap_masses_and_places_of_parabolas(points):
    """Holes of masses 0.5 and 0.2 that meet at G, electrons of mass 0.9 on the way to X."""
    k2, bottom = length2(points), np.array([0.4, 0, 0])
    eig = [-HALF_SQUARE / 0.2 * k2, -HALF_SQUARE / 0.5 * k2, 1.0 + HALF_SQUARE / 0.9 * length2(points, bottom)]
    bands = made(points, np.stack(eig, 1), (2,), 0.3)
    assert not bands.gap.metal and not bands.gap.is_direct
    assert bands.gap.gap == pytest.approx(1.0, abs=5e-3) and bands.gap.top.point_c == (0, 0, 0)
    assert bands.place(bands.gap.top) == "G (0 0 0)"
    assert bands.place(bands.gap.bottom).startswith("0.79 of the way from G to X") and bands.zero == 0
    masses = {(mass.carrier, mass.band, mass.towards): mass.mass for mass in bands.masses}
    assert masses[("hole", 1, "X")] == pytest.approx(0.2, rel=1e-6)
    assert [masses[("hole", 2, end)] for end in "XR"] == pytest.approx([0.5, 0.5], rel=1e-6)
    assert masses[("electron", 3, "G-X")] == pytest.approx(0.9, rel=1e-6)
    again = BandStructure.of_dict(json.loads(json.dumps(bands.as_dict(), allow_nan=False)))
    assert again.as_dict() == bands.as_dict() and again.gap == bands.gap and again.masses == bands.masses


def test_mass_of_a_band_that_is_no_parabola_has_an_error(points):
    """Kane: E (1 + αE) = ħ²k²/2m with a strong α."""
    k2 = HALF_SQUARE * length2(points) / 0.07
    bands = made(points, np.stack([-0.1 - 0 * k2 - 3 * k2, ((1 + 4 * 0.6 * k2) ** 0.5 - 1) / 1.2], 1), (1,))
    light = [mass for mass in bands.masses if mass.carrier == "electron" and mass.towards == "X"]
    assert light[0].mass == pytest.approx(0.07, rel=0.02) and 0 < light[0].error < 0.01


def test_poor_fits_are_left_out(points):
    """A cusp has no second derivative."""
    cusp = np.sqrt(length2(points))
    assert made(points, np.stack([-cusp, 1 + cusp], 1), (1,)).masses == ()


def test_bands_that_overlap_between_mesh_points_are_a_metal(points):
    k2 = length2(points)
    assert made(points, np.stack([0.5 - k2, 0.4 + k2], 1), (1,)).gap.metal


def test_filled_bands_are_those_of_the_mesh():
    eig_skn = np.array([[[0.0, 1, 2], [0.2, 0.9, 3]], [[0.0, 1.5, 2], [0.2, 1.6, 3]]])
    occ_skn = np.array([[[1.0, 1, 0]] * 2, [[1.0, 0, 0]] * 2])
    assert filled_bands_of(eig_skn, occ_skn, np.zeros((2, 3)), [1.2, 1.2]) == (2, 1)
    assert filled_bands_of(eig_skn, occ_skn, np.zeros((2, 3)), [0.95, 0.95]) is None
