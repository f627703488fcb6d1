"""Filtered projectors: what the error that they state means, and when there are none."""

import numpy as np
import pytest

from eigenwerk.dft.basis.grids import GridSizes, WaveLimits, wave_limits
from eigenwerk.dft.paw.filtered import filtered_projectors
from eigenwerk.dft.paw.radial import spherical_bessel, spherical_bessel_transform
from eigenwerk.errors import InputError

LIMITS = WaveLimits(4.3, 9.0)


def transform(radial, l, radius, q_Q):
    """∫ r² j_l(qr) χ(r) dr by another quadrature than that of the filter."""
    r_x = np.linspace(0, radius, 4001)
    return np.trapezoid(spherical_bessel(l, np.multiply.outer(q_Q, r_x)) * radial(r_x) * r_x ** (l + 2), r_x, axis=1)


@pytest.mark.fast("Si")
@pytest.mark.parametrize("symbol", ["Si", "O", "Fe"])
def test_error_is_that_of_the_fourier_components(dataset, symbol):
    data = dataset(symbol)
    filtered = filtered_projectors(data, LIMITS, 1e-3)
    low_Q, high_Q = np.linspace(0, LIMITS.orbital, 60), np.linspace(LIMITS.alias, 2.5 * LIMITS.alias, 90)
    errors = []
    for j, (state, radial) in enumerate(zip(data.states, filtered.radial_j, strict=True)):
        exact_Q = spherical_bessel_transform(data.grid, data.projector_jg[j], state.l, low_Q)
        size = np.abs(exact_Q).max()
        errors.append(np.abs(transform(radial, state.l, filtered.radius, low_Q) - exact_Q).max() / size)
        errors.append(np.abs(transform(radial, state.l, filtered.radius, high_Q)).max() / size)
    assert max(errors) <= filtered.error * 1.01 + 1e-6
    assert 0.7 * filtered.error < max(errors) and filtered.error <= 1e-3


def test_cutting_a_projector_that_is_not_filtered_is_worse(dataset):
    """The exact projector aliases more than the filtered one, though it ends at the matching radius by itself."""
    data = dataset("Si")
    filtered = filtered_projectors(data, LIMITS, 3e-4)
    high_Q, low_Q = np.linspace(LIMITS.alias, 2 * LIMITS.alias, 90), np.linspace(0, LIMITS.orbital, 60)
    aliased = []
    for f_g, state in zip(data.projector_jg, data.states, strict=True):
        size = np.abs(spherical_bessel_transform(data.grid, f_g, state.l, low_Q)).max()
        aliased.append(np.abs(spherical_bessel_transform(data.grid, f_g, state.l, high_Q)).max() / size)
    assert max(aliased) > 3 * filtered.error


@pytest.mark.slow
def test_accuracy_asks_for_larger_spheres_and_a_finer_grid_for_smaller_ones(dataset):
    data = dataset("O")
    radius = [filtered_projectors(data, LIMITS, accuracy).radius for accuracy in (1e-2, 1e-3, 1e-4)]
    assert radius[0] < radius[1] < radius[2]
    assert filtered_projectors(data, WaveLimits(4.3, 13.0), 1e-4).radius < radius[2]


def test_functions_end_smoothly(dataset):
    """Value and slope vanish at the radius, so that energies have derivatives when points of the grid come in."""
    filtered = filtered_projectors(dataset("Si"), LIMITS, 1e-3)
    for radial in filtered.radial_j:
        size = np.abs(radial(np.linspace(0, filtered.radius, 200))).max()
        assert abs(radial(filtered.radius)) < 1e-12 * size
        assert abs(radial(filtered.radius, 1)) < 1e-4 * size


def test_limits_of_a_skewed_cell(crystal):
    """The shortest vector of the lattice reciprocal to the grid points, by brute force over points."""
    structure, grids = crystal("si_bent"), GridSizes((18, 18, 18), (36, 36, 36))
    limits = wave_limits(structure, grids, 8.0)
    assert limits.orbital == 4.0
    step_cv = structure.lattice_cv / 18
    shortest = np.linalg.norm(2 * np.pi * np.linalg.inv(step_cv).T, axis=1).min()  # fcc: the primitive ones
    assert limits.alias == pytest.approx(shortest - 4.0)


@pytest.mark.slow
def test_accuracy_out_of_reach_is_an_error(dataset):
    with pytest.raises(InputError, match=r"projectors of Si reach an accuracy of .* not the 1.0e-09 of ROPT.*LREAL"):
        filtered_projectors(dataset("Si"), LIMITS, 1e-9)
