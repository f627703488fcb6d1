"""Exact exchange inside the spheres: what partial waves have more than pair densities with compensation charges.

With occupancies D of one spin, M_ij,kl half the difference of the integrals (φ_iφ_j|φ_kφ_l) and the same of smooth
waves with compensation charges, X the exchange with the core as data sets store it, and α the share of exact exchange,

    E_vv = -α g Σ_aσ Σ_ijkl D_ik M_ij,kl D_jl,   E_cv = -α Σ_aσ Σ_ij X_ij D_ij,   E_cc = α Σ_a E_x(core)

(g D = all electrons without spin polarisation).  For a screened interaction M is that of erfc(ωr)/r: of erf(ωr)/r
there is taken away

    (a|b) = 8 ∫ exp(-k²/4ω²) A(k) B(k) dk,   A(k) = ∫ r² j_l(kr) a(r) dr inside the matching radius.

X and E_x(core) of data sets are those of 1/r, and taken as they are: a constant for each atom but for what differs
between the valence electrons near it.  With CORE_EXCHANGE = Screened X is that of the functional's interaction
(dft/atom/core_exchange.py); E_x(core), a constant, stays.
Source: J. Paier, R. Hirschl, M. Marsman and G. Kresse, J. Chem. Phys. 122, 234102 (2005).
"""

from typing import ClassVar, Self

import numpy as np
import torch

from eigenwerk.dft.atom.core_exchange import screened_core_exchange
from eigenwerk.dft.density.kinds.occupancy import OCCUPANCY
from eigenwerk.dft.exchange.pairs.pair_grid import pair_wave
from eigenwerk.dft.exchange.pairs.pair_shape import PairShape
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.radial import integrate, long_ranged
from eigenwerk.dft.paw.setup import Setup, coulomb_difference, matching_radius
from eigenwerk.dft.terms.term import Charges, Contribution, Scene, Term
from eigenwerk.errors import InputError


class OneCentreExchange(Term):
    """The one-centre part of exact exchange of all atoms, and that with their cores."""

    words: ClassVar = {
        "exact exchange in spheres": "of valence electrons, what that of the smooth orbitals lacks",
        "exact exchange with cores": "of valence electrons", "exact exchange of cores": "a constant",
    }  # fmt: skip
    needs = frozenset({OCCUPANCY})

    @classmethod
    def of(cls, scene: Scene) -> Self | None:
        """With a hybrid that has a share of exact exchange."""
        given, hybrid = scene.parameters, scene.parameters.hybrid
        if hybrid is None or not hybrid.fraction:
            return None
        return cls(scene.atoms, hybrid.fraction, hybrid.screening, given.pair_precision, given.core_screened)

    def __init__(
        self, atoms: PawAtoms, fraction: float, omega: float, precision: str = "Normal", core_screened: bool = False
    ):
        """fraction: α; omega: screening, bohr⁻¹, 0 for none; precision: of pair densities (`PAIR_FACTOR`);
        core_screened: whether the exchange with the core is screened, too.

        Raises InputError for data sets without exchange with the core, or whose core cannot be recomputed.
        """
        runtime, species = atoms.runtime, atoms.layout.species
        self.fraction = fraction
        self._core = fraction * sum(one.count * core_exchange(one.setup) for one in species)
        core_omega = omega if core_screened else 0.0
        core_list = [valence_core_exchange(one.setup, core_omega) for one in species]
        self._valence_core_ij = [runtime.tensor(-fraction * core_ij) for core_ij in core_list]
        # M as a matrix between (i, k) and (j, l)
        self._pair_xx = [
            runtime.tensor(_pairs_crossed(exchange_integrals(one.setup, omega, shape), one.setup.projector_count))
            for one in species
            for shape in [PairShape.of(one.setup, pair_wave(atoms.basis, precision))]
        ]

    def __call__(self, charges: Charges) -> Contribution:
        """The three energies and ∂E/∂D."""
        energies, blocks = [], []
        per_spin = 1 / charges.density.spin.degeneracy
        for block_saij, pair_xx, core_ij in zip(charges.blocks, self._pair_xx, self._valence_core_ij, strict=True):
            flat_sax = block_saij.real.flatten(2)
            field_sax = (-self.fraction * per_spin) * (flat_sax @ pair_xx)
            energies.append(torch.stack([(flat_sax * field_sax).sum(), (block_saij.real * core_ij).sum()]))
            blocks.append((2 * field_sax).view_as(block_saij.real) + core_ij)
        valence, core = torch.stack(energies).sum(0)
        energy_e = torch.stack([valence, core, torch.full_like(core, self._core)])
        return Contribution(tuple(self.words), energy_e, blocks={OCCUPANCY: blocks})


def valence_core_exchange(setup: Setup, omega: float = 0.0) -> np.ndarray:
    """X_ij, hartree, of 1/r (omega = 0) or erfc(ωr)/r.

    Raises InputError if the data set does not have it, or no core orbitals can be found for it.
    """
    x_jj = setup.dataset.exact_exchange_jj
    if x_jj is None:
        raise _missing(setup, "of valence electrons with the core (exact_exchange_X_matrix)")
    if omega:
        x_jj = screened_core_exchange(setup.dataset, omega)
    same_ij = np.equal.outer(setup.L_i, setup.L_i)
    return np.asarray(x_jj[setup.j_i[:, None], setup.j_i] * same_ij)


def core_exchange(setup: Setup) -> float:
    """E_x of the core, hartree.  Raises InputError if the data set does not have it."""
    if setup.dataset.core_core_exchange is None:
        raise _missing(setup, "of the core (exact_exchange)")
    return setup.dataset.core_core_exchange


def _missing(setup: Setup, what: str) -> InputError:
    return InputError(
        f"{setup.dataset.file}: the data set of {setup.symbol} does not hold the exact exchange {what}, which LHFCALC "
        "needs. Use a data set of gpaw-data, or set LHFCALC = .FALSE."
    )


def exchange_integrals(setup: Setup, omega: float, shape: PairShape) -> np.ndarray:
    """M_ij,kl, hartree, of 1/r (omega = 0) or erfc(ωr)/r; (i·i, i·i).  shape: of the compensation charges."""
    total_xx = np.zeros_like(setup.coulomb_xx)
    for l in range(2 * max(setup.l_j) + 1):
        shape_g = _shape(setup, l, shape)
        part_qq = coulomb_difference(setup.pairs, l, shape_g)
        if omega:
            part_qq = part_qq - _long_ranged(setup, omega, l, shape_g)
        for expand_qx in setup.expand_Lqx[l * l : (l + 1) ** 2]:
            total_xx += expand_qx.T @ part_qq @ expand_qx
    return total_xx


def _shape(setup: Setup, l: int, shape: PairShape) -> np.ndarray | None:
    """The charge of unit multipole, with the quadrature of the radial grid; None where pairs have none."""
    if l > setup.shape.lmax:
        return None
    grid = setup.pairs.grid
    shape_g = shape.radial(l, grid.r_g) * grid.r_g**l
    return np.asarray(shape_g / integrate(grid, shape_g, l))


def _long_ranged(setup: Setup, omega: float, l: int, shape_g: np.ndarray | None) -> np.ndarray:
    """What erf(ωr)/r gives to M between pairs of channels of angular momentum l; (q, q)."""
    pairs = setup.pairs
    grid = pairs.grid
    inside_g = grid.r_g <= matching_radius(setup.dataset)
    pseudo_qg = pairs.pseudo_qg * inside_g
    if shape_g is not None:
        pseudo_qg = pseudo_qg + np.multiply.outer(integrate(grid, pairs.ae_qg - pairs.pseudo_qg, l), shape_g)
    ae_qx, pseudo_qx = (long_ranged(grid, f_qg, l, omega) for f_qg in (pairs.ae_qg * inside_g, pseudo_qg))
    return np.asarray(0.5 * (ae_qx @ ae_qx.T - pseudo_qx @ pseudo_qx.T))


def _pairs_crossed(integral_xx: np.ndarray, count: int) -> np.ndarray:
    """M_ij,kl -> M_ik,jl."""
    integral_ijkl = integral_xx.reshape((count,) * 4)
    return np.ascontiguousarray(integral_ijkl.transpose(0, 2, 1, 3).reshape(count**2, count**2))
