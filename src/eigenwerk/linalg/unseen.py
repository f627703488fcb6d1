"""How many levels a Krylov space may have missed below the ones that were found in it.

Let u be an eigenvector of energy E, V the basis that Lanczos has built, q the next block and C = <q|H|V>.  From
V^T H u = E V^T u follows that what u has in V is fixed by what it has in q,

    V^T u = G(E) eta,   G(E) = (E - T)^-1 C^T,   eta = q^T u,   eta^T (1 + G^T G) eta <= 1,

as u has length one.  So its overlap with the start vectors, the rows G_0 of G that belong to them, is bounded: it lies
in the ellipsoid of G_0 (1 + G^T G)^-1 G_0^T.  (For one start vector the bound on the square is the Christoffel
function of the Lanczos polynomials, the largest weight that the moments allow at E.)  A level hides only if the start
vectors hold less of it than this, and of vectors of noise that has a probability, which shrinks with every product
and the faster the farther away E is from the levels that were found.  Times the density of levels, integrated over
the energies below the highest wanted level, this is the expected number of missed ones.

After a thick restart the block that was next takes the place of the start vectors in the new basis, and the bounds
multiply: c = G_0 eta, eta = G_1 eta_1, ...  docs/equations/lanczos.md.
"""

from itertools import pairwise

import numpy as np

AROUND = np.concatenate([[0.0], np.logspace(-7, 0, 36)])
"""Distances from a level, relative to half the way to the next one, at which the integral is cut."""


def remembered(eig_m: np.ndarray, start_bm: np.ndarray, coupling_pm: np.ndarray, number: int) -> np.ndarray:
    """What `expected_unseen` has to know of a basis that is given up at restart `number`, as columns (2 + 2 b, m): the
    number, Ritz values, start vectors and coupling in terms of Ritz vectors."""
    filled_bm = np.zeros_like(start_bm)
    filled_bm[: len(coupling_pm)] = coupling_pm
    return np.concatenate([np.full((1, len(eig_m)), float(number)), eig_m[None], start_bm, filled_bm])


def expected_unseen(
    eig_m: np.ndarray, start_bm: np.ndarray, coupling_pm: np.ndarray, past_xm: np.ndarray, wanted: int, variance: float
) -> float:
    """The expected number of levels below the highest wanted one that the space does not show.

    eig_m: Ritz values, rising, more than `wanted`.  start_bm, coupling_pm: the start vectors (after a restart: the
    block that was next then) and <q|H|V> in terms of Ritz vectors.  past_xm: of earlier bases, see `remembered`.
    variance: of the overlap of a start vector with any vector of length one.
    """
    energy_e, width_e, density = _energies(eig_m, wanted)
    gain_ebp = _gain(energy_e, eig_m, start_bm, coupling_pm)
    length_epp = np.eye(len(coupling_pm)) + _length(energy_e, eig_m, coupling_pm)
    for number in np.unique(past_xm[0])[::-1]:
        columns, count = past_xm[:, past_xm[0] == number], (len(past_xm) - 2) // 2
        past_ebb = _gain(energy_e, columns[1], columns[2 : 2 + count], columns[2 + count :])
        gain_ebp = past_ebb[:, :, : gain_ebp.shape[1]] @ gain_ebp
    ellipsoid_ebb = gain_ebp @ np.linalg.solve(length_epp, gain_ebp.transpose(0, 2, 1))
    axis_eb = np.linalg.eigvalsh((ellipsoid_ebb + ellipsoid_ebb.transpose(0, 2, 1)) / 2).clip(min=0.0)
    hidden_e = np.minimum(1.0, np.sqrt(2 * axis_eb / (np.pi * variance))).prod(axis=1)
    return float(density * (hidden_e * width_e).sum())


def _energies(eig_m: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Energies below the highest wanted level with the widths that they stand for, dense where levels are; and the
    mean density of levels, by those that were found and the next Ritz value."""
    span = max(float(eig_m[wanted] - eig_m[0]), 1e-9 * max(1.0, abs(float(eig_m[0]))))
    edges = np.concatenate([[eig_m[0] - span], eig_m[:wanted]])
    energies, widths = [], []
    for low, high in pairwise(edges):
        away_x = (high - low) / 2 * AROUND
        energies += [low + (away_x[1:] + away_x[:-1]) / 2, high - (away_x[1:] + away_x[:-1]) / 2]
        widths += [np.diff(away_x)] * 2
    energy_e, width_e = np.concatenate(energies), np.concatenate(widths)
    apart_e = ~np.isin(energy_e, eig_m) & (width_e > 0)
    return energy_e[apart_e], width_e[apart_e], wanted / span


def _gain(energy_e: np.ndarray, eig_m: np.ndarray, start_bm: np.ndarray, coupling_pm: np.ndarray) -> np.ndarray:
    """G_0(E), (e, b, p)."""
    inverse_em = 1 / _away(energy_e, eig_m)
    return np.einsum("bm,em,pm->ebp", start_bm, inverse_em, coupling_pm, optimize=True)


def _length(energy_e: np.ndarray, eig_m: np.ndarray, coupling_pm: np.ndarray) -> np.ndarray:
    """G^T G, (e, p, p)."""
    inverse_em = 1 / _away(energy_e, eig_m) ** 2
    return np.einsum("pm,em,qm->epq", coupling_pm, inverse_em, coupling_pm, optimize=True)


def _away(energy_e: np.ndarray, eig_m: np.ndarray) -> np.ndarray:
    """E - theta, nowhere zero."""
    away_em = energy_e[:, None] - eig_m
    return np.where(away_em == 0, np.finfo(float).eps * max(1.0, float(np.abs(eig_m).max())), away_em)
