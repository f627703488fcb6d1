"""Orbitals inside a sphere about an atom, as a few numbers for each angular momentum.

Inside a sphere of radius R about an atom the all-electron orbital of angular momentum L = (l, m) is

    ψ_L(r) = ψ̃_L(r) + Σ_j P_jL (φ_j(r) - φ̃_j(r)).

ψ̃_L consists of j_l(q r) with q up to the cutoff, and few functions b_y(r) span these within the sphere: the left
singular functions of j_l(q r) as a matrix between r and q, of which about q_max R / π matter.  With c_yL = <b_y Y_L|ψ̃>
and the difference of partial waves split into its part along the b and a rest,

    ψ_L = Σ_y b_y (c_yL + Σ_j <b_y|φ_j - φ̃_j> P_jL) + Σ_x e_x Σ_j X_xj P_jL

in orthonormal functions, so that the charge inside the sphere is the sum of the squares of these numbers.
Equations: docs/equations/projections.md.  Source of the functions: D. Slepian, Bell Syst. Tech. J. 43, 3009 (1964).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from scipy.interpolate import CubicSpline

from eigenwerk.dft.paw.radial import interpolate, spherical_bessel
from eigenwerk.dft.paw.radial_table import TABLE_STEP, RadialTable
from eigenwerk.dft.paw.setup import Setup
from eigenwerk.parallel.runtime import Runtime

HIGHEST_L = 3
"""Angular momenta s, p, d, f: all that files in VASP's formats have names for."""

NEGLIGIBLE = 1e-5
"""Squared singular values below this, relative to the largest one, are left out: they are of functions whose norm is
outside the sphere."""

PIECES, NODES = 100, 6
"""The sphere is cut into about so many pieces at points of the data set's grid, each with so many Gauss points."""


@dataclass(frozen=True, eq=False)
class SphereWaves:
    """The functions of one species' spheres.

    radius: bohr; l_y: angular momentum of each function b, in order of l; table: ∫ r² j_l(q r) b_y(r) dr;
    mixing_lzj: for each l the numbers that projections P add, rows z for the b of that l and behind them for the rest
    e, columns for the channels of that l; channel_lj: which channels these are; reference_lz: a direction in the space
    of the numbers z, that of the first partial wave, whose sign and phase stand for the orbital's.
    """

    radius: float
    l_y: tuple[int, ...]
    table: RadialTable
    mixing_lzj: tuple[torch.Tensor, ...]
    channel_lj: tuple[np.ndarray, ...]
    reference_lz: tuple[torch.Tensor, ...]

    @property
    def count(self) -> int:
        """Functions b of one atom, with all m."""
        return sum(2 * l + 1 for l in self.l_y)


def sphere_waves(setup: Setup, radius: float, qmax: float, runtime: Runtime) -> SphereWaves:
    """The functions of spheres of a radius (bohr) for waves up to qmax (bohr⁻¹)."""
    dataset = setup.dataset
    r_x, weight_x = _points(dataset.grid.r_g, radius)
    q_Q, weight_Q = _gauss(0.0, qmax, 16 + int(qmax * radius))
    table_q = np.arange(0.0, qmax + 4 * TABLE_STEP, TABLE_STEP)
    root_x = np.sqrt(weight_x) * r_x
    ae_jx = interpolate(dataset.grid, dataset.ae_partial_wave_jg, r_x) * root_x
    change_jx = ae_jx - interpolate(dataset.grid, dataset.pseudo_partial_wave_jg, r_x) * root_x
    l_y, transform_yQ, mixing, channels, references = [], [], [], [], []
    for l in range(HIGHEST_L + 1):
        wave_xQ = root_x[:, None] * spherical_bessel(l, np.multiply.outer(r_x, q_Q)) * (np.sqrt(weight_Q) * q_Q)
        function_xy, size_y, _ = np.linalg.svd(wave_xQ, full_matrices=False)
        function_xy = function_xy[:, size_y**2 > NEGLIGIBLE * size_y[0] ** 2]
        channel_j = np.flatnonzero(np.array(setup.l_j) == l)
        along_yj = function_xy.T @ change_jx[channel_j].T
        rest_xj = change_jx[channel_j].T - function_xy @ along_yj
        rest_xz, size_z, turn_zj = np.linalg.svd(rest_xj, full_matrices=False)
        rest_zj = size_z[:, None] * turn_zj
        l_y += [l] * function_xy.shape[1]
        transform_yQ.append((function_xy.T * root_x) @ spherical_bessel(l, np.multiply.outer(r_x, table_q)))
        mixing.append(runtime.tensor(np.concatenate([along_yj, rest_zj])))
        channels.append(channel_j)
        basis_xz = np.concatenate([function_xy, rest_xz], axis=1)
        # without partial waves of this l, the function that is largest in the sphere
        reference_x = ae_jx[channel_j[0]] if len(channel_j) else function_xy[:, 0]
        references.append(runtime.tensor(basis_xz.T @ reference_x))
    table = RadialTable.of(TABLE_STEP, CubicSpline(table_q, np.concatenate(transform_yQ).T).c, runtime)
    return SphereWaves(radius, tuple(l_y), table, tuple(mixing), tuple(channels), tuple(references))


def _points(r_g: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights on 0 ... radius, as fine near the nucleus as the grid of the data set."""
    inside_g = r_g[(r_g > 0) & (r_g < radius)]
    edge_x = np.concatenate([[0.0], inside_g[:: max(1, len(inside_g) // PIECES)], [radius]])
    # beyond the data set's grid, and where it is wide, waves want their points all the same
    parts = [_gauss(low, high, NODES) for low, high in pairwise(edge_x)]
    return np.concatenate([r_x for r_x, _ in parts]), np.concatenate([weight_x for _, weight_x in parts])


def _gauss(low: float, high: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre points and weights of an interval."""
    node_x, weight_x = np.polynomial.legendre.leggauss(count)
    half = 0.5 * (high - low)
    return 0.5 * (low + high) + half * node_x, half * weight_x
