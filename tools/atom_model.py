"""The free atom in a PAW data set's own pseudo-Hamiltonian: eigenvalues against the plane-wave cutoff.

For each l, with the frozen potential of the reference atom (hartree, bohr; functions of r only):
  H = -½∇² + ṽ(r) + Σ |p_j> dH_jj' <p_j'|,   S = 1 + Σ |p_j> dS_jj' <p_j'|
  ṽ = v_H[ñ + ñ_c + Q g_0] + v_xc[ñ + ñ_c] + v̄,   v = v_H[n + n_c] - Z/r + v_xc[n + n_c]
  dS_jj' = <φ_j|φ_j'> - <φ~_j|φ~_j'>,   dH_jj' = ΔT_jj' + <φ_j|v|φ_j'> - <φ~_j|ṽ|φ~_j'>
(for a spherical atom in its reference state the compensation-charge terms of dH cancel), in the basis of
spherical waves j_l(q_n r) with j_l(q_n R) = 0 and q_n²/2 below the cutoff: what plane waves are in a crystal.
At full cutoff the eigenvalues must be those written in the data set: a test of the whole reading.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.special import spherical_jn

from eigenwerk.dft.paw.radial import integrate
from eigenwerk.dft.paw.setup import poisson
from eigenwerk.io.paw.dataset import PawDataset

Array = NDArray[np.float64]
Y00 = 1 / np.sqrt(4 * np.pi)
RADIUS = 25.0
"""Radius of the sphere of the spherical waves, bohr; bound states have decayed there."""


@dataclass(frozen=True, eq=False)
class Channel:
    """Matrices of one l over spherical waves in order of q (q_n), before any cutoff, and the states to find."""

    l: int
    q_n: Array
    hamiltonian_nn: Array
    overlap_nn: Array
    occupations: tuple[float, ...]
    energies: tuple[float, ...]


def channels(data: PawDataset, q_max: float, confinement: float = 0.0) -> list[Channel]:
    """One channel for each l with occupied states, spherical waves up to q_max (1/bohr).

    confinement: ω of an added potential ½ω²r² (hartree), which squeezes the atom as neighbours would.
    """
    wall_g = 0.5 * confinement**2 * data.grid.r_g**2
    potential_g, ae_potential_g = (v_g + wall_g for v_g in _potentials(data))
    occupied = [state for state in data.states if state.f > 0]
    return [_channel(data, l, potential_g, ae_potential_g, q_max) for l in sorted({s.l for s in occupied})]


def eigenvalues(channel: Channel, cutoff: float) -> Array:
    """Lowest eigenvalues (hartree) with the waves up to a cutoff (hartree); inf for states without a wave."""
    n = int(np.searchsorted(channel.q_n**2 / 2, cutoff, side="right"))
    wanted = len(channel.occupations)
    if n < wanted:
        return np.full(wanted, np.inf)
    return np.asarray(
        eigh(
            channel.hamiltonian_nn[:n, :n],
            channel.overlap_nn[:n, :n],
            eigvals_only=True,
            subset_by_index=(0, wanted - 1),
        )
    )


def _channel(data: PawDataset, l: int, potential_g: Array, ae_potential_g: Array, q_max: float) -> Channel:
    index = [j for j, state in enumerate(data.states) if state.l == l]
    d_overlap_jj, d_hamiltonian_jj = _one_centre(data, index, potential_g, ae_potential_g)
    zero_n = _bessel_zeros(l, int(q_max * RADIUS / np.pi))
    q_n = zero_n / RADIUS
    r_x, weight_x = _gauss_panels(np.concatenate([np.linspace(0, 4, 41), np.linspace(4, RADIUS, 64)[1:]]))
    norm_n = np.sqrt(2 / RADIUS**3) / np.abs(spherical_jn(l + 1, zero_n))
    wave_nx = norm_n[:, None] * spherical_jn(l, np.outer(q_n, r_x))

    def at(f_g: Array) -> Array:
        return np.asarray(CubicSpline(data.grid.r_g, f_g, axis=-1)(r_x))

    local_nn = (wave_nx * (at(potential_g) * r_x**2 * weight_x)) @ wave_nx.T
    projection_jn = (at(data.projector_jg[index]) * (r_x**2 * weight_x)) @ wave_nx.T
    # Bound states come in order of n; channels have one entry for each state of this l up to the last occupied.
    states = sorted((data.states[j] for j in index if data.states[j].n is not None), key=lambda s: s.n or 0)
    last = max(k for k, state in enumerate(states) if state.f > 0)
    return Channel(
        l=l,
        q_n=q_n,
        hamiltonian_nn=np.diag(q_n**2 / 2) + local_nn + projection_jn.T @ d_hamiltonian_jj @ projection_jn,
        overlap_nn=np.eye(len(q_n)) + projection_jn.T @ d_overlap_jj @ projection_jn,
        occupations=tuple(state.f for state in states[: last + 1]),
        energies=tuple(state.e if state.e is not None else np.nan for state in states[: last + 1]),
    )


def _one_centre(data: PawDataset, index: list[int], potential_g: Array, ae_potential_g: Array) -> tuple[Array, Array]:
    """dS and dH of one l; integrated to just beyond the matching radii, where both kinds of wave agree."""
    radius = 1.2 * max(state.rc or 0.0 for state in data.states)
    inside_g = data.grid.r_g < radius
    ae_jg, ps_jg = data.ae_partial_wave_jg[index] * inside_g, data.pseudo_partial_wave_jg[index] * inside_g

    def matrix(potential: Array | float, wave_jg: Array) -> Array:
        return integrate(data.grid, wave_jg[:, None] * wave_jg[None] * potential)

    d_overlap_jj = matrix(1.0, ae_jg) - matrix(1.0, ps_jg)
    d_potential_jj = matrix(ae_potential_g, ae_jg) - matrix(potential_g, ps_jg)
    return d_overlap_jj, data.kinetic_energy_difference_jj[np.ix_(index, index)] + d_potential_jj


def _potentials(data: PawDataset) -> tuple[Array, Array]:
    """ṽ(r) and v(r) of the neutral reference atom, without Y_00, (g,) each."""
    r_g, grid = data.grid.r_g, data.grid
    occupation_j = np.array([state.f for state in data.states])
    ps_g = occupation_j @ data.pseudo_partial_wave_jg**2 / (4 * np.pi) + Y00 * data.pseudo_core_density_g
    ae_g = occupation_j @ data.ae_partial_wave_jg**2 / (4 * np.pi) + Y00 * data.ae_core_density_g
    shape_g = _shape(data)
    charge = -4 * np.pi * integrate(grid, ps_g) / (4 * np.pi * integrate(grid, shape_g))
    potential_g = poisson(grid, ps_g + charge * shape_g, 0) + xc_potential(data.functional, r_g, ps_g)
    ae_potential_g = poisson(grid, ae_g, 0) + xc_potential(data.functional, r_g, ae_g)
    nucleus_g = np.zeros_like(r_g)
    nucleus_g[1:] = -data.Z / r_g[1:]
    return potential_g + Y00 * data.zero_potential_g, ae_potential_g + nucleus_g


def _shape(data: PawDataset) -> Array:
    """k(r) of the compensation charge, not normalised."""
    x_g = data.grid.r_g / data.shape.rc
    if data.shape.kind == "gauss":
        return np.exp(-(x_g**2))
    if data.shape.kind == "sinc":
        return np.where(x_g < 1, np.sinc(x_g) ** 2, 0.0)
    raise NotImplementedError(f"shape function {data.shape.kind}")


def xc_potential(functional: str, r_g: Array, n_g: Array) -> Array:
    """v_xc = ∂e/∂n - r^-2 d(r² ∂e/∂n')/dr of a spherical density; derivatives of e(n, n') by complex steps."""
    n_g = np.maximum(n_g, 1e-14)
    slope_g = CubicSpline(r_g, n_g)(r_g, 1)
    step = 1e-30
    v_g = energy_density(functional, n_g + 1j * step * n_g, slope_g).imag / (step * n_g)
    if functional != "LDA":
        flux_g = energy_density(functional, n_g, slope_g + 1j * step).imag / step
        v_g[1:] -= CubicSpline(r_g, flux_g * r_g**2)(r_g[1:], 1) / r_g[1:] ** 2
        v_g[0] = v_g[1]
    return np.where(n_g > 1e-11, v_g, 0.0)


def energy_density(functional: str, n: Array, slope: Array) -> Array:
    """Energy density e(n, |∇n|), spin-unpolarised: PW92 and its PBE relatives.

    Sources: Perdew and Wang, PRB 45, 13244 (1992); Perdew, Burke, Ernzerhof, PRL 77, 3865 (1996);
    Zhang and Yang, PRL 80, 890 (1998); Hammer, Hansen, Norskov, PRB 59, 7413 (1999).
    """
    rs = (3 / (4 * np.pi * n)) ** (1 / 3)
    a, a1, b1, b2, b3, b4 = 0.0310907, 0.21370, 7.5957, 3.5876, 1.6382, 0.49294
    root = np.sqrt(rs)
    correlation = -2 * a * (1 + a1 * rs) * np.log(1 + 1 / (2 * a * root * (b1 + root * (b2 + root * (b3 + root * b4)))))
    exchange = -0.75 * (3 / np.pi * n) ** (1 / 3)
    if functional == "LDA":
        return n * (exchange + correlation)
    fermi = (3 * np.pi**2 * n) ** (1 / 3)
    s2 = (slope / (2 * fermi * n)) ** 2
    beta, gamma, mu = 0.06672455060314922, (1 - np.log(2)) / np.pi**2, 0.06672455060314922 * np.pi**2 / 3
    kappa = {"PBE": 0.804, "RPBE": 0.804, "revPBE": 1.245}[functional]
    if functional == "RPBE":
        enhancement = 1 + kappa * (1 - np.exp(-mu * s2 / kappa))
    else:
        enhancement = 1 + kappa - kappa / (1 + mu * s2 / kappa)
    t2 = slope**2 * np.pi / (16 * fermi * n**2)
    coefficient = beta / gamma / np.expm1(-correlation / gamma)
    ratio = (1 + coefficient * t2) / (1 + coefficient * t2 + coefficient**2 * t2**2)
    return n * (exchange * enhancement + correlation + gamma * np.log1p(beta / gamma * t2 * ratio))


def _bessel_zeros(l: int, count: int) -> Array:
    """The first zeros of j_l, from the interlacing of those of j_0 (kπ), j_1, ..."""
    zeros = [k * np.pi for k in range(1, count + l + 1)]
    for order in range(1, l + 1):
        zeros = [brentq(lambda x, order=order: spherical_jn(order, x), a, b, xtol=1e-13) for a, b in pairwise(zeros)]
    return np.array(zeros)


def _gauss_panels(edge_x: Array) -> tuple[Array, Array]:
    node_x, gauss_x = np.polynomial.legendre.leggauss(10)
    half_x, middle_x = np.diff(edge_x) / 2, (edge_x[1:] + edge_x[:-1]) / 2
    return (middle_x[:, None] + half_x[:, None] * node_x).ravel(), (half_x[:, None] * gauss_x).ravel()
