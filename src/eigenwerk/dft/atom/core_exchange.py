"""Exchange of valence electrons with the core for the interaction erfc(ωr)/r.

With core orbitals c and partial waves i, j of equal l and m,

    X_ij[w] = Σ_c Σ_LM G(L, l_i m, l_c m_c)² (φ_i u_c/r | w_L | φ_j u_c/r)

Data sets hold X of 1/r and no orbitals.  Of their matrix that of erf(ωr)/r with recomputed orbitals is taken away, so
that ω -> 0 is the data set's.  Whether these orbitals are those of the data set is seen by the matrix of 1/r that they
give: it has to be the same.
Source: J. Paier, R. Hirschl, M. Marsman and G. Kresse, J. Chem. Phys. 122, 234102 (2005), for X.
"""

import numpy as np

from eigenwerk.dft.atom.core_orbitals import CoreShell, core_orbitals
from eigenwerk.dft.paw.radial import integrate, long_ranged
from eigenwerk.dft.paw.setup import poisson
from eigenwerk.dft.paw.spherical import gaunt
from eigenwerk.errors import InputError
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.io.paw.radial_grid import RadialGrid

AGREEMENT = 2e-4
"""Share of √(X_ii X_jj) by which recomputed elements of X may miss those of the data set.  Of gpaw-data the sets up to
version 0.9 have up to 1.4e-6, later ones, made with another scheme, up to 9e-5, those that lack a shell 0.17 to 0.22.
"""


def screened_core_exchange(data: PawDataset, omega: float) -> np.ndarray:
    """X_jj of erfc(ωr)/r, hartree (for equal m), of a data set that has X; omega: bohr⁻¹.

    Raises InputError where the recomputed X of 1/r is not the data set's, and as `core_orbitals`.
    """
    given_jj, shells = data.exact_exchange_jj, core_orbitals(data)
    assert given_jj is not None
    if not shells:
        return given_jj
    _require_agreement(data, shells, given_jj)
    return np.asarray(given_jj - core_exchange(data, shells, omega))


def core_exchange(data: PawDataset, shells: tuple[CoreShell, ...], omega: float = 0.0) -> np.ndarray:
    """X_jj with these shells, hartree, of 1/r (omega = 0) or erf(ωr)/r; zero between different l."""
    l_j = [state.l for state in data.states]
    total_jj = np.zeros((len(l_j),) * 2)
    for shell in shells:
        r_g = np.where(data.grid.r_g > 0, data.grid.r_g, np.inf)
        pair_jg = data.ae_partial_wave_jg * (shell.u_g / r_g)
        weight_lL = _weights(max(l_j), shell.l)
        for L in range(weight_lL.shape[1]):
            weight_j = weight_lL[l_j, L]
            if weight_j.any():
                total_jj += weight_j * np.equal.outer(l_j, l_j) * _integrals(data.grid, pair_jg, L, omega)
    return total_jj


def disagreement(given_jj: np.ndarray, other_jj: np.ndarray) -> np.ndarray:
    """|X - X'| as a share of √(X_ii X_jj)."""
    scale_j = np.sqrt(given_jj.diagonal().clip(min=1e-12))
    return np.asarray(np.abs(given_jj - other_jj) / np.multiply.outer(scale_j, scale_j))


def _require_agreement(data: PawDataset, shells: tuple[CoreShell, ...], given_jj: np.ndarray) -> None:
    found_jj = core_exchange(data, shells)
    missed_jj = disagreement(given_jj, found_jj)
    worst = np.unravel_index(missed_jj.argmax(), missed_jj.shape)
    if missed_jj[worst] > AGREEMENT:
        i, j = (data.states[k].id for k in worst)
        names = " ".join(shell.name for shell in shells)
        raise InputError(
            f"{data.file}: the exchange of {data.symbol} with its core ({names}), recomputed for CORE_EXCHANGE = "
            f"Screened, is {found_jj[worst]:.5f} hartree between {i} and {j} with 1/r, that of the data set "
            f"{given_jj[worst]:.5f}: {100 * missed_jj[worst]:.2g} % off, {100 * AGREEMENT:g} % are allowed."
            f"{_lacking(data, shells, given_jj)} Choose another data set of the element (SETUPS), or remove "
            "CORE_EXCHANGE."
        )


def _lacking(data: PawDataset, shells: tuple[CoreShell, ...], given_jj: np.ndarray) -> str:
    """A sentence about a shell without which both agree."""
    for left_out in shells:
        others = tuple(shell for shell in shells if shell is not left_out)
        if disagreement(given_jj, core_exchange(data, others)).max() <= AGREEMENT:
            return f" Without {left_out.name} they agree: the data set lacks the exchange with this shell."
    return ""


def _weights(lmax: int, l_core: int) -> np.ndarray:
    """Σ_Mm_c G(LM, l m, l_c m_c)², the same for all m; (l, L)."""
    gaunt_iiL = gaunt(max(lmax, l_core), lmax + l_core)
    core = slice(l_core**2, (l_core + 1) ** 2)
    square_lL = [(gaunt_iiL[l * l, core] ** 2).sum(0) for l in range(lmax + 1)]
    return np.array([[row_L[L * L : (L + 1) ** 2].sum() for L in range(lmax + l_core + 1)] for row_L in square_lL])


def _integrals(grid: RadialGrid, pair_jg: np.ndarray, l: int, omega: float) -> np.ndarray:
    """(j|w_l|j') of 1/r or erf(ωr)/r; (j, j)."""
    if not omega:
        return integrate(grid, pair_jg[:, None] * poisson(grid, pair_jg, l))
    wave_jx = long_ranged(grid, pair_jg, l, omega)
    return np.asarray(wave_jx @ wave_jx.T)
