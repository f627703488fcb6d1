"""The kernel by wave number, and the file it is kept in."""

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

from eigenwerk.dft.non_local import kernel
from eigenwerk.dft.non_local.kernel import kernel_table, rvv10_kernel, transform
from eigenwerk.functionals.non_local import DION, RVV10


def test_a_gaussian_has_the_transform_of_a_gaussian():
    radius_x = np.geomspace(kernel.LOW, kernel.HIGH, kernel.RADII)
    number_k = np.array([0.0, 0.01, 0.5, 1.0, 3.0])
    found = transform(radius_x, np.exp(-(radius_x**2) / 2), number_k)
    np.testing.assert_allclose(found, (2 * np.pi) ** 1.5 * np.exp(-(number_k**2) / 2), rtol=1e-5, atol=1e-6)


def test_rvv10_between_two_nodes_is_the_integral_over_distances():
    table, k = kernel_table(RVV10), 0.7
    one, other = table.mesh.values[12], table.mesh.values[15]
    point_x, weight_x = leggauss(4000)
    r_x, weight_x = 200 * (point_x + 1), 200 * weight_x
    phi_x = rvv10_kernel(one * r_x**2, other * r_x**2)
    plain = 4 * np.pi * np.sum(weight_x * r_x**2 * np.sinc(k * r_x / np.pi) * phi_x)
    assert table.at(np.array([k]))[0, 12, 15] == pytest.approx(plain, rel=1e-5)


def test_the_kernel_is_symmetric_and_dion_s_holds_no_charge():
    table = kernel_table(DION)
    at = table.at(np.array([0.0, 0.003, 0.8, 20.0, 90.0]))
    np.testing.assert_array_equal(at, at.swapaxes(1, 2))
    assert np.abs(at[0, 1:, 1:]).max() < 1e-12 and np.abs(at[1, 8:, 8:]).max() < 1e-3
    # beyond the table its end, not nonsense
    np.testing.assert_allclose(at[4], table.at(kernel.wave_numbers()[-1:])[0], rtol=1e-6)


def test_a_table_comes_from_the_disk_the_second_time(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = []

    def make(kind):
        made.append(kind)
        return kernel.KernelTable(kernel.MESHES[kind], np.arange(2 * 4 * 210.0).reshape(2, 4, 210))

    monkeypatch.setattr(kernel, "make_table", make)
    first, second = (kernel.kernel_table.__wrapped__(RVV10) for _ in range(2))
    assert made == [RVV10] and len(list((tmp_path / "eigenwerk" / "kernels").iterdir())) == 1
    np.testing.assert_array_equal(first.cubic_xpx, second.cubic_xpx)
