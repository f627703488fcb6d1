"""One species' PAW tables: what turns one-centre occupancies into energies.

Symbols (Blöchl, Phys. Rev. B 50, 17953 (1994); Kresse and Joubert, Phys. Rev. B 59, 1758 (1999);
notation of the compensation charges after Mortensen, Hansen, Jacobsen, Phys. Rev. B 71, 035109 (2005)):

    φ, φ̃        all-electron and pseudo partial wave           p̃   projector
    Δ_Lij       multipole moment of φ_i φ_j - φ̃_i φ̃_j          Δ_0  that of the cores and the nucleus
    g_L         compensation charge shape, unit multipole L
    D_ij        occupancy Σ_n f_n <ψ̃_n|p̃_i><p̃_j|ψ̃_n>

Axis i = (n, l, m) projector, j = (n, l) radial channel, q = pair of channels j1 <= j2.
"""

from dataclasses import dataclass
from functools import cached_property
from math import pi, sqrt

import numpy as np

from eigenwerk.dft.paw.radial import derivative, integrate
from eigenwerk.dft.paw.shape import degrees, radial, require_known
from eigenwerk.dft.paw.spherical import gaunt
from eigenwerk.io.paw.dataset import CompensationShape, PawDataset
from eigenwerk.io.paw.radial_grid import RadialGrid


@dataclass(frozen=True)
class RadialPairs:
    """Partial-wave products on the radial grid inside twice the augmentation radius.

    ae_qg, pseudo_qg: φ_j1 φ_j2 and φ̃_j1 φ̃_j2; core_g, pseudo_core_g: radial parts (density = f Y_00).
    """

    grid: RadialGrid
    ae_qg: np.ndarray
    pseudo_qg: np.ndarray
    core_g: np.ndarray
    pseudo_core_g: np.ndarray
    zero_g: np.ndarray

    @cached_property
    def derivatives(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """d/dr of (ae_qg, pseudo_qg, core_g, pseudo_core_g)."""
        grid = self.grid
        return (
            derivative(grid, self.ae_qg), derivative(grid, self.pseudo_qg), derivative(grid, self.core_g),
            derivative(grid, self.pseudo_core_g),
        )


@dataclass(frozen=True)
class Setup:
    """PAW tables of one data set, hartree and bohr.

    multipole_Lij (L, i, i): Δ; multipole_core: Δ_0; overlap_ij: sqrt(4π) Δ_0ij; kinetic_ij: kinetic
    energy differences; coulomb_0, coulomb_ij, coulomb_xx (i·i, i·i): constant, linear and quadratic
    parts of the one-centre electrostatic energy; zero_0, zero_ij: minus the zero-potential energy of
    the one-centre pseudo density; sphere_overlap_ij: <φ_i|φ_j> inside the matching radius;
    expand_Lqx (L, q, i·i): Gaunt expansion of occupancies; reference: energy from which those of its atoms are counted.
    """

    dataset: PawDataset
    l_j: tuple[int, ...]
    j_i: np.ndarray
    L_i: np.ndarray
    pairs: RadialPairs
    multipole_Lij: np.ndarray
    multipole_core: float
    kinetic_ij: np.ndarray
    coulomb_0: float
    coulomb_ij: np.ndarray
    coulomb_xx: np.ndarray
    zero_0: float
    zero_ij: np.ndarray
    sphere_overlap_ij: np.ndarray
    expand_Lqx: np.ndarray
    reference: float

    @cached_property
    def sphere_root_ij(self) -> np.ndarray:
        """√<φ_i|φ_j> inside the matching radius."""
        eig_i, u_ij = np.linalg.eigh(self.sphere_overlap_ij)
        return np.asarray((u_ij * np.sqrt(eig_i.clip(min=0.0))) @ u_ij.T)

    @property
    def symbol(self) -> str:
        """Chemical symbol."""
        return self.dataset.symbol

    @property
    def projector_count(self) -> int:
        """Number of projectors (n, l, m) of one atom."""
        return len(self.j_i)

    @property
    def parity_i(self) -> np.ndarray:
        """(-1)^l of every projector."""
        return (-1.0) ** np.array(self.l_j)[self.j_i]

    @property
    def overlap_ij(self) -> np.ndarray:
        """<φ_i|φ_j> - <φ̃_i|φ̃_j>, the correction to the overlap."""
        return sqrt(4 * pi) * self.multipole_Lij[0]

    @property
    def shape(self) -> CompensationShape:
        """Of the compensation charges."""
        return self.dataset.shape

    @cached_property
    def atom_occupancy_j(self) -> np.ndarray:
        """Electrons per channel of the neutral, spherical atom."""
        return np.array([max(state.f, 0.0) if state.n is not None else 0.0 for state in self.dataset.states])


def make_setup(dataset: PawDataset, reference: float | None = None) -> Setup:
    """Compute the tables of a data set.  Raises InputError for compensation charges of a shape that is not known.

    reference: energy of the reference atom, hartree (default: as the data set has it).
    """
    require_known(dataset)
    l_j = tuple(state.l for state in dataset.states)
    j_i = np.array([j for j, l in enumerate(l_j) for _ in range(2 * l + 1)])
    L_i = np.array([l * l + m for l in l_j for m in range(2 * l + 1)])
    pairs = _radial_pairs(dataset)
    lmax = 2 * max(l_j)
    expand_Lqx = _expansion(j_i, L_i, max(l_j), max(lmax, dataset.shape.lmax))
    electrostatics = _Electrostatics(dataset, pairs, lmax)
    i = len(j_i)
    l_L = np.array(degrees(dataset.shape.lmax))
    multipole_Lx = np.einsum("Lq,Lqx->Lx", electrostatics.multipole_lq[l_L], expand_Lqx[: len(l_L)])
    same = (L_i[:, None] == L_i[None, :]).astype(float)
    return Setup(
        dataset=dataset, l_j=l_j, j_i=j_i, L_i=L_i, pairs=pairs,
        multipole_Lij=multipole_Lx.reshape(len(l_L), i, i),
        multipole_core=electrostatics.multipole_core,
        kinetic_ij=dataset.kinetic_energy_difference_jj[j_i[:, None], j_i[None, :]] * same,
        coulomb_0=electrostatics.constant(),
        coulomb_ij=(electrostatics.linear_q() @ expand_Lqx[0]).reshape(i, i),
        coulomb_xx=_quadratic(electrostatics, expand_Lqx),
        zero_0=-float(integrate(pairs.grid, pairs.zero_g * pairs.pseudo_core_g)),
        zero_ij=-(integrate(pairs.grid, pairs.zero_g * pairs.pseudo_qg) @ expand_Lqx[0]).reshape(i, i),
        sphere_overlap_ij=sqrt(4 * pi) * (_sphere_overlap(dataset, pairs) @ expand_Lqx[0]).reshape(i, i),
        expand_Lqx=expand_Lqx,
        reference=dataset.ae_energy.total if reference is None else reference,
    )


def poisson(grid: RadialGrid, n_g: np.ndarray, l: int) -> np.ndarray:
    """Coulomb potential of n(r) Y_lm, with the quadrature of `integrate` on both sides of each point.

    v(r) = 4π/(2l+1) [r^-(l+1) ∫_0^r n s^(l+2) ds + r^l ∫_r^∞ n s^(1-l) ds], half of the point itself
    counted to each side.  The discrete form (a|b) is then exactly symmetric, and the charge outside the
    matching radius, the same for both kinds of waves, drops out of every difference to rounding, also
    for unbound waves that do not vanish at the end of the grid.

    n_g: (..., g).  Returns (..., g), hartree for unit charge; zero weight at r = 0.
    """
    r_g = np.where(grid.r_g > 0, grid.r_g, np.inf)
    inner_g = n_g * grid.r_g ** (l + 2) * grid.dr_g
    outer_g = n_g * grid.r_g * r_g ** float(-l) * grid.dr_g
    below_g = np.cumsum(inner_g, axis=-1) - 0.5 * inner_g
    above_g = np.cumsum(outer_g, axis=-1)
    above_g = above_g[..., -1:] - above_g + 0.5 * outer_g
    return 4 * pi / (2 * l + 1) * (below_g / r_g ** (l + 1) + above_g * grid.r_g**l)


def matching_radius(dataset: PawDataset) -> float:
    """Largest radius beyond which partial waves and pseudo partial waves agree, bohr."""
    return max(state.rc for state in dataset.states if state.rc is not None)


def _sphere_overlap(dataset: PawDataset, pairs: RadialPairs) -> np.ndarray:
    """∫ φ_j1 φ_j2 r² dr inside the matching radius; (q,)."""
    inside_g = pairs.grid.r_g <= matching_radius(dataset)
    return integrate(pairs.grid, pairs.ae_qg * inside_g)


def _radial_pairs(dataset: PawDataset) -> RadialPairs:
    full = dataset.grid
    # Twice the largest matching radius: beyond the radius both sets of functions agree, and the
    # Gaussian tails of the compensation charges are negligible at twice of it.
    stop = int(np.searchsorted(full.r_g, 2 * matching_radius(dataset)))
    grid = RadialGrid(r_g=full.r_g[:stop], dr_g=full.dr_g[:stop], eq=full.eq)
    j1, j2 = np.triu_indices(len(dataset.states))
    ae_jg, pseudo_jg = dataset.ae_partial_wave_jg[:, :stop], dataset.pseudo_partial_wave_jg[:, :stop]
    return RadialPairs(
        grid, ae_jg[j1] * ae_jg[j2], pseudo_jg[j1] * pseudo_jg[j2],
        dataset.ae_core_density_g[:stop], dataset.pseudo_core_density_g[:stop], dataset.zero_potential_g[:stop],
    )


def _expansion(j_i: np.ndarray, L_i: np.ndarray, lmax_i: int, lmax: int) -> np.ndarray:
    """T_Lq,ij = Gaunt(L, L_i, L_j) where q is the pair of channels of (i, j)."""
    count = j_i.max() + 1
    pair_jj = np.zeros((count, count), dtype=int)
    j1, j2 = np.triu_indices(count)
    pair_jj[j1, j2] = pair_jj[j2, j1] = np.arange(len(j1))
    q_ij = pair_jj[j_i[:, None], j_i[None, :]].ravel()
    gaunt_Lx = gaunt(lmax_i, lmax)[L_i[:, None], L_i[None, :]].reshape(len(q_ij), -1).T
    expand_Lqx = np.zeros((gaunt_Lx.shape[0], len(j1), len(q_ij)))
    expand_Lqx[:, q_ij, np.arange(len(q_ij))] = gaunt_Lx
    return expand_Lqx


class _Electrostatics:
    """Radial Coulomb integrals of one data set; (a|b)_l = ∫ r² a v_l[b] dr."""

    def __init__(self, dataset: PawDataset, pairs: RadialPairs, lmax: int):
        self.pairs, self.Z, self.lmax = pairs, dataset.Z, lmax
        grid, lcomp = pairs.grid, dataset.shape.lmax
        self.shape_lg = np.array([radial(dataset.shape, l, grid.r_g) for l in range(lcomp + 1)])
        self.shape_potential_lg = np.array([poisson(grid, self.shape_lg[l], l) for l in range(lcomp + 1)])
        self.multipole_lq = np.array([integrate(grid, pairs.ae_qg - pairs.pseudo_qg, l) for l in range(lcomp + 1)])
        core = integrate(grid, pairs.core_g - pairs.pseudo_core_g)
        self.multipole_core = float(core - self.Z / sqrt(4 * pi))
        self.core_potential_g = poisson(grid, pairs.core_g, 0)
        self.pseudo_core_potential_g = poisson(grid, pairs.pseudo_core_g, 0)

    def constant(self) -> float:
        """Energy of the all-electron core and nucleus minus that of the smooth core with its charge."""
        grid, p, charge = self.pairs.grid, self.pairs, self.multipole_core
        ae = 0.5 * integrate(grid, p.core_g * self.core_potential_g) - sqrt(4 * pi) * self.Z * integrate(
            grid, p.core_g, -1
        )
        pseudo = 0.5 * integrate(grid, p.pseudo_core_g * self.pseudo_core_potential_g)
        pseudo += charge * integrate(grid, p.pseudo_core_g * self.shape_potential_lg[0])
        pseudo += 0.5 * charge**2 * integrate(grid, self.shape_lg[0] * self.shape_potential_lg[0])
        return float(ae - pseudo)

    def linear_q(self) -> np.ndarray:
        """Energy per occupancy of a pair with cores, nucleus and their compensation charge."""
        grid, p, charge = self.pairs.grid, self.pairs, self.multipole_core
        ae_q = integrate(grid, p.ae_qg * self.core_potential_g) - sqrt(4 * pi) * self.Z * integrate(grid, p.ae_qg, -1)
        smooth_g = self.pseudo_core_potential_g + charge * self.shape_potential_lg[0]
        return ae_q - integrate(grid, p.pseudo_qg * smooth_g) - self.multipole_lq[0] * integrate(
            grid, self.shape_lg[0] * smooth_g
        )

    def quadratic_qq(self, l: int) -> np.ndarray:
        """Half the Coulomb energy between two pair densities of angular momentum l."""
        shape_g = self.shape_lg[l] if l < len(self.shape_lg) else None
        return coulomb_difference(self.pairs, l, shape_g)


def coulomb_difference(pairs: RadialPairs, l: int, shape_g: np.ndarray | None) -> np.ndarray:
    """Half the Coulomb energy between two pair densities, less that of smooth ones with compensation charges; (q, q).

    shape_g: of the charges of unit multipole l, None for none.
    """
    grid = pairs.grid
    weight_g = grid.r_g**2 * grid.dr_g
    ae_qq = (pairs.ae_qg * weight_g) @ poisson(grid, pairs.ae_qg, l).T
    pseudo_qq = (pairs.pseudo_qg * weight_g) @ poisson(grid, pairs.pseudo_qg, l).T
    if shape_g is not None:
        potential_g, moment_q = poisson(grid, shape_g, l), integrate(grid, pairs.ae_qg - pairs.pseudo_qg, l)
        cross_q = integrate(grid, pairs.pseudo_qg * potential_g)
        pseudo_qq = pseudo_qq + np.outer(moment_q, cross_q) + np.outer(cross_q, moment_q)
        pseudo_qq = pseudo_qq + integrate(grid, shape_g * potential_g) * np.outer(moment_q, moment_q)
    half_qq = 0.5 * (ae_qq - pseudo_qq)
    return np.asarray(0.5 * (half_qq + half_qq.T))


def _quadratic(electrostatics: _Electrostatics, expand_Lqx: np.ndarray) -> np.ndarray:
    """Σ_L T_L^T A_l T_L, shape (i·i, i·i)."""
    total_xx = np.zeros((expand_Lqx.shape[2],) * 2)
    for l in range(electrostatics.lmax + 1):
        kernel_qq = electrostatics.quadratic_qq(l)
        for expand_qx in expand_Lqx[l * l : (l + 1) ** 2]:
            total_xx += expand_qx.T @ kernel_qq @ expand_qx
    return total_xx
