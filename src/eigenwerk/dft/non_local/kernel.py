"""The kernel between nodes of the mesh of q, by wave number: phi_uw(k) = int phi(q_u, q_w, r) exp(i k·r) d³r.

At each k the integral over r runs in x = k r, whose waves all have one length:

    phi_uw(k) = 4 pi / k³ int x sin x phi(q_u, q_w, x/k) dx

with the end of `dion`; where phi has its features, close to r = 0 or far away, points lie dense or phi is smooth.  So
it is right at any k: 0 at k = 0 of Dion's, and -12 (4 pi/9)³ / r⁶ at large distances.  Between values of k splines in
ln(1 + k/k_0) interpolate.  The table is made once, in some ten seconds, and kept with compiled kernels
(`parallel/kernels/cache.py`), named by the text of these formulas and numbers.
"""

import sys
from dataclasses import dataclass
from functools import cache, cached_property
from inspect import getsource
from math import ceil, log, log1p, pi
from types import ModuleType

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.special import erfc

from eigenwerk.dft.non_local import dion
from eigenwerk.dft.non_local.dion import END, ORDER, OUTER, WIDTH, DionTable, quadrature
from eigenwerk.functionals.non_local import DION, MESHES, Mesh
from eigenwerk.parallel.kernels.cache import cached

Array = NDArray[np.float64]

LEAST, STEP, LONGEST = 0.02, 0.02, 60.0
"""k_0 and the last k, bohr⁻¹, and the distance of values of k in ln(1 + k/k_0)."""

NEAREST = 1e-5
"""Length of the first interval of x."""

RADII = 800
"""Values of r, equal in the logarithm, from which phi of two q is interpolated."""

LOW, HIGH = 1e-6, 1e7
"""The first and last of them, bohr."""


@dataclass(frozen=True)
class KernelTable:
    """phi_uw(k) of one kernel as cubics of t = ln(1 + k/k_0)/STEP between whole numbers.

    cubic_xpx: (interval, power, pair u <= w), lowest power first.
    """

    mesh: Mesh
    cubic_xpx: Array

    @cached_property
    def pair_uw(self) -> NDArray[np.int64]:
        """The pair of two nodes, (u, u)."""
        count = self.mesh.count
        pair_uw = np.zeros((count, count), dtype=np.int64)
        rows, columns = np.tril_indices(count)
        pair_uw[rows, columns] = pair_uw[columns, rows] = np.arange(len(rows))
        return pair_uw

    def places(self, length_g: torch.Tensor) -> torch.Tensor:
        """t of wave numbers in bohr⁻¹, beyond the table its end."""
        return (torch.log1p(length_g / LEAST) / STEP).clamp(max=len(self.cubic_xpx) - 1e-9)

    def place_slope(self, length_g: torch.Tensor) -> torch.Tensor:
        """dt/dk."""
        return 1 / (STEP * (LEAST + length_g))

    def at(self, length_k: Array) -> Array:
        """phi_uw(k), (k, u, u), in bohr³ (Dion's) or the units of its weights; plain."""
        place_k = self.places(torch.from_numpy(length_k)).numpy()
        interval_k = place_k.astype(np.int64)
        power_kp = (place_k - interval_k)[:, None] ** np.arange(4)
        return np.asarray(np.einsum("kp,kpx->kx", power_kp, self.cubic_xpx[interval_k])[:, self.pair_uw])


def wave_numbers() -> Array:
    """The values of k."""
    return LEAST * np.expm1(STEP * np.arange(ceil(log1p(LONGEST / LEAST) / STEP) + 1))


def make_table(kind: str) -> KernelTable:
    """Of one kind of kernel, from its formula."""
    mesh, number_k = MESHES[kind], wave_numbers()
    table = DionTable() if kind == DION else None
    radius_x = np.geomspace(LOW, HIGH, RADII)
    value_pk = []
    for u, one in enumerate(mesh.values):
        for other in mesh.values[: u + 1]:
            if table is not None:
                phi_x = table(one * radius_x, other * radius_x)
            else:
                phi_x = rvv10_kernel(one * radius_x**2, other * radius_x**2)
            value_pk.append(transform(radius_x, phi_x, number_k))
    value_kp = np.array(value_pk).T
    if kind == DION:
        value_kp[0] = 0.0  # exactly; of the smallest q, whose reach is beyond all radii, the integral is far from it
    place_k = np.arange(len(number_k), dtype=float)
    spline = CubicSpline(place_k, value_kp)
    return KernelTable(mesh, np.ascontiguousarray(spline.c[::-1].swapaxes(0, 1)))


def rvv10_kernel(one_x: Array, other_x: Array) -> Array:
    """-3/2 / ((a + 1)(b + 1)(a + b + 2)), a and b: q r² of both points."""
    return -1.5 / ((one_x + 1) * (other_x + 1) * (one_x + other_x + 2))


@cache
def _waves() -> tuple[Array, Array]:
    """x and the weights of the integral over it."""
    point_x, weight_x = quadrature(NEAREST, OUTER, END + 5 * WIDTH, ORDER)
    return point_x, weight_x * 0.5 * erfc((point_x - END) / WIDTH) * point_x * np.sin(point_x)


def transform(radius_x: Array, phi_x: Array, number_k: Array) -> Array:
    """phi(k) of phi(r); radii equal in the logarithm from LOW to HIGH, beyond which phi is as it is there."""
    spline, (point_x, weight_x) = CubicSpline(np.log(radius_x), phi_x), _waves()
    far = number_k > 0
    value_k = np.zeros_like(number_k)
    radius_kx = point_x / number_k[far, None]
    phi_kx = spline(np.log(radius_kx.clip(LOW, HIGH)))
    value_k[far] = (phi_kx @ weight_x) * 4 * pi / number_k[far] ** 3
    log_x, log_weight_x = _logarithms()
    value_k[~far] = 4 * pi * (spline(log_x) * np.exp(3 * log_x)) @ log_weight_x
    return value_k


@cache
def _logarithms() -> tuple[Array, Array]:
    """ln r and weights of an integral over it, for k = 0."""
    edge_x = np.linspace(log(LOW), log(HIGH), RADII)
    point_x, weight_x = np.polynomial.legendre.leggauss(4)
    half_x, middle_x = 0.5 * np.diff(edge_x)[:, None], 0.5 * (edge_x[1:] + edge_x[:-1])[:, None]
    return (middle_x + half_x * point_x).ravel(), (half_x * weight_x).ravel()


@cache
def kernel_table(kind: str) -> KernelTable:
    """The table of a kernel, from the disk if it was made before."""
    description = "non-local correlation", kind, repr(MESHES[kind]), *(getsource(one) for one in _formulas())
    data = cached(description, lambda: make_table(kind).cubic_xpx.tobytes())
    mesh = MESHES[kind]
    pairs = mesh.count * (mesh.count + 1) // 2
    return KernelTable(mesh, np.frombuffer(data).reshape(-1, 4, pairs).copy())


def _formulas() -> tuple[ModuleType, ...]:
    return sys.modules[__name__], dion
