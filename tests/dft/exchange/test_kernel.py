"""The interaction: its limits, and what stands for zero."""

from math import pi

import numpy as np
import pytest
import torch
from scipy.special import erf

from eigenwerk.dft.crystal.downsampling import Downsampling
from eigenwerk.dft.crystal.kpoints import explicit, mesh_kpoints
from eigenwerk.dft.crystal.madelung import madelung_constant
from eigenwerk.dft.crystal.symmetry import no_symmetry
from eigenwerk.dft.exchange.kernel import (
    cut_kernel,
    kernel_for,
    probe_charge_kernel,
    screened_kernel,
    wigner_seitz_kernel,
)
from eigenwerk.errors import InputError


def test_screened_interaction_is_finite_at_zero_and_plain_at_short_waves():
    kernel = screened_kernel(0.11)
    small, large = kernel(torch.tensor([1e-8, 16.0], dtype=torch.float64))
    assert float(kernel(torch.zeros(1))) == pytest.approx(pi / 0.11**2)
    assert float(small) == pytest.approx(pi / 0.11**2, rel=1e-6)
    assert float(large) == pytest.approx(4 * pi / 16.0, rel=1e-12)


def test_probe_charge_of_a_mesh_is_that_of_the_larger_cell():
    lattice_cv = 7.0 * np.eye(3)
    one, many = probe_charge_kernel(lattice_cv, 2 * np.eye(3)), probe_charge_kernel(2 * lattice_cv, np.eye(3))
    assert one.at_zero == pytest.approx(many.at_zero)
    assert one.at_zero == pytest.approx(14.0**2 * madelung_constant(lattice_cv))


def test_interaction_cut_at_a_radius_has_the_limit_of_its_formula():
    kernel = cut_kernel(7.0 * np.eye(3), np.eye(3))
    assert float(kernel(torch.full((1,), 1e-7, dtype=torch.float64))) == pytest.approx(kernel.at_zero, rel=1e-6)


def test_lists_of_points_are_refused(crystal):
    points = explicit(np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]]), np.ones(2), no_symmetry(crystal("si")))
    with pytest.raises(InputError, match="needs a mesh of k-points"):
        kernel_for(crystal("si").lattice_cv, points, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("cells", [np.eye(3), np.diag([1, 2, 1])])
def test_interaction_that_ends_at_the_wigner_seitz_cell_is_that_of_an_isolated_charge(cells):
    """A Gaussian charge narrow enough to lie inside the cell, exp(-r²/w²): E = 1/(w√2π), no images."""
    lattice_cv = np.array([[9.0, 0, 0], [0, 8.0, 1.0], [0, 0, 10.0]])
    kernel, width = wigner_seitz_kernel(lattice_cv, cells), 0.5
    crystal_cv = cells @ lattice_cv
    reach_c = np.ceil(8.0 / width * np.linalg.norm(crystal_cv, axis=1) / (2 * pi)).astype(int)
    index_xc = np.stack(np.meshgrid(*(np.arange(-n, n + 1) for n in reach_c), indexing="ij"), -1).reshape(-1, 3)
    wave_xc = index_xc @ np.linalg.inv(cells).T
    norm2_x = torch.as_tensor(((wave_xc @ (2 * pi * np.linalg.inv(lattice_cv).T)) ** 2).sum(1))
    value_x = kernel.of_waves(wave_xc, norm2_x) * torch.exp(-0.5 * width**2 * norm2_x)
    energy = 0.5 * float(value_x.sum()) / abs(np.linalg.det(crystal_cv))
    assert energy == pytest.approx(1 / (width * np.sqrt(2 * pi)), rel=1e-6)


def test_a_part_of_the_q_points_gives_a_point_charge_the_energy_that_all_of_them_give_it(crystal):
    """Screened, where sums over waves end: the smaller crystal's images that the whole mesh does not have are gone."""
    structure, part = crystal("si"), Downsampling((2, 1, 1))
    whole = mesh_kpoints((4, 1, 1), (0, 0, 0), True, no_symmetry(structure))
    kernels = kernel_for(structure.lattice_cv, whole, 0.4), kernel_for(structure.lattice_cv, whole, 0.4, "", part)
    reach = np.arange(-14, 15)
    energies = []
    for kernel, count in zip(kernels, (4, 2), strict=True):
        wave_xc = np.stack(np.meshgrid(np.arange(-60, 60) / count, reach, reach, indexing="ij"), -1).reshape(-1, 3)
        norm2_x = torch.as_tensor(((wave_xc @ structure.reciprocal_cv) ** 2).sum(1))
        # a Gaussian charge far narrower than the distance of images, of which the sum sees the centre
        energies.append(float((kernel(norm2_x) * torch.exp(-0.5 * norm2_x)).sum()) / count)
    assert energies[1] == pytest.approx(energies[0], rel=1e-4)


@pytest.mark.slow
def test_between_the_waves_of_its_cell_it_is_the_integral_over_that_cell():
    """Against a sum over points of the Wigner-Seitz cell, a sphere's worth of them at a time; smooth through the waves
    of the cell."""
    lattice_cv, cells = np.array([[9.0, 0, 0], [0, 8.0, 1.0], [0, 0, 10.0]]), np.diag([1, 2, 1])
    long_range = wigner_seitz_kernel(lattice_cv, cells).long_range
    crystal_cv, size = cells @ lattice_cv, 60
    axis = np.arange(size) / size
    scaled_Rc = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    scaled_Rc -= np.rint(scaled_Rc)
    place_Rv = scaled_Rc @ crystal_cv
    for image_c in np.ndindex(3, 3, 3):  # the cell is nearly rectangular: neighbours are enough
        moved_Rv = (scaled_Rc + np.array(image_c) - 1) @ crystal_cv
        nearer_R = np.linalg.norm(moved_Rv, axis=1) < np.linalg.norm(place_Rv, axis=1) - 1e-9
        place_Rv = np.where(nearer_R[:, None], moved_Rv, place_Rv)
    length_R = np.maximum(np.linalg.norm(place_Rv, axis=1), 1e-9)
    value_R = erf(long_range.a * length_R) / length_R
    weight = abs(np.linalg.det(crystal_cv)) / len(value_R)
    for wave_c in ([0.3, 0.1, -0.2], [0.0, 0.25, 0.0], [0.3, 1.1, 0.8]):
        q_v = 2 * pi * np.linalg.inv(lattice_cv) @ np.array(wave_c)
        expected = float((value_R * np.cos(place_Rv @ q_v)).sum() * weight)
        assert long_range(np.array([wave_c]))[0] == pytest.approx(expected, abs=0.02 * float(value_R.sum() * weight))
    at, near = (long_range(np.array([[0.0, 0.5 + step, 1.0]]))[0] for step in (0.0, 1e-5))
    assert near == pytest.approx(at, rel=1e-3)
