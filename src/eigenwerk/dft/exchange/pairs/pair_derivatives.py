"""Forces and strain of the exact exchange of pairs at fixed coefficients and projections of the orbitals.

    E_x = -α/2 Σ_m f_m w_k g Σ_n w_n 1/Ω Σ_G v(q+G) |N_nm(q+G)|²,   N = Ω ρ = ∫ ψ̃_n* ψ̃_m + Σ_aL Q_nm,aL Ω g_aL(q+G)

Atoms move the charges g_aL at the points of the grid, and a strain changes them; of all pairs only

    S_aL(r) = Σ_nm f_m w_k g w_n Re Q*_nm,aL V_nm(r) exp(iq·r)      at the points of each atom's sphere

enters, and is made in one go for both:

    F_a = α Σ_L ∫ S_aL ∂g_aL/∂R_a,      ∂E_x/∂ε = -α { ∂/∂ε [1/2 Σ_G v(q+G) W(q+G) / Ω] + Σ_aL ∫ S_aL ∂(Ω g_aL)/∂ε / Ω }

with W(q+G) = Σ f_m w_k g w_n |N_nm|² over n and m of each q, which gives E_x, too: the integral of the smooth orbitals
stays, q+G becomes (1 - ε)(q+G).  v is differentiated by q+G automatically; beside this it changes where it depends on
the cell: v(0) of a probe charge, radii.  Projections follow by the pencils, Σ_n of what V_x puts between projectors.
Equations: docs/equations/exchange.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.dft.basis.lattice import square
from eigenwerk.dft.density.kinds.kind import filled_bands
from eigenwerk.dft.exchange.kernels.pair_loops import PairTable
from eigenwerk.dft.exchange.operator import ExchangeOperator, RootOccupations, Share, alone
from eigenwerk.dft.exchange.pairs.mesh_orbitals import MeshOrbitals, MeshPart, SourceBlock, blocks_of
from eigenwerk.dft.exchange.pairs.mesh_points import MeshPoint
from eigenwerk.dft.exchange.pairs.pair_fields import Mirror, PairDerivatives, PairFields, Targets
from eigenwerk.dft.exchange.pairs.pair_symmetry import OwnPoint, done_once, paired_bands, pays
from eigenwerk.dft.terms.term import OrbitalDerivatives
from eigenwerk.parallel.memory.block_sizes import EXCHANGE_GRID_BYTES

ByWave = dict[tuple[float, ...], torch.Tensor]
"""W on the grid by wave vector."""


def exchange_derivatives(
    operator: ExchangeOperator, sources: MeshOrbitals, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor
) -> OrbitalDerivatives:
    """-∂E_x/∂R at fixed projections, over all ranks, ∂E_x/∂ε of this rank's orbitals, and the pencils of projectors.

    filling_skn = w_k g f: of all points, in host memory.  One FFT there and back for each pair of occupied orbitals, or
    for two of them where that pays (pair_symmetry.py).
    """
    used, pencil_sknI = filled_bands(filling_skn.flatten(0, 1)), operator.pencils(coeff_sknG, filling_skn)
    basis, charges = operator.basis, operator.pairs.charges
    slope_y, strain_vv = charges.no_table_slopes(), filling_skn.new_zeros((3, 3), device=coeff_sknG.device)
    energy = filling_skn.new_zeros((), device=coeff_sknG.device)
    with basis.runtime.trace.span("exact exchange"):
        shares = list(operator.shares(coeff_sknG, filling_skn))
        for s in range(len(coeff_sknG)):
            here, of_shares = [one for one in shares if one.s == s], _of_shares
            if pays(operator, sources, s, used):
                of_shares = _of_shares_once
            rows_xbI, slope_of_spin_y, of_waves = of_shares(operator, sources, here)
            slope_y += slope_of_spin_y
            strain_vv += of_waves.strain_vv
            energy += of_waves.energy
            for one, rows_bI in zip(here, rows_xbI, strict=True):
                pencil_sknI[one.s, one.k] = operator.pencil(one, rows_bI, used)
        force_av = basis.runtime.world.sum(operator.fraction * charges.forces(slope_y))
        strain_vv = -operator.fraction * (strain_vv + charges.strain(slope_y))
        total = -operator.fraction * float(basis.runtime.world.sum(energy))
        return OrbitalDerivatives(force_av, strain_vv, pencil_sknI, total)


@dataclass
class OfWaves:
    """1/2 Σ v W / Ω of the waves of pairs, hartree, and its ∂/∂ε, the first term in braces; without the factor -α."""

    energy: torch.Tensor
    strain_vv: torch.Tensor

    def add(self, energy: torch.Tensor, strain_vv: torch.Tensor) -> None:
        """Those of other waves."""
        self.energy += energy
        self.strain_vv += strain_vv


SpinDerivatives = tuple[list[torch.Tensor], torch.Tensor, OfWaves]
"""Of the points of one spin: coefficients of rows without the factor -α; S at the points of spheres; of waves."""


def _of_shares(operator: ExchangeOperator, sources: MeshOrbitals, shares: Sequence[Share]) -> SpinDerivatives:
    """In the exchange with all, some bands at a time."""
    slope_y, of_waves = operator.pairs.charges.no_table_slopes(), _no_waves(shares)
    most = 2 * max(1, EXCHANGE_GRID_BYTES // (16 * operator.pairs.points))
    here = [(one, operator.sharing(one), torch.zeros_like(one.rows_1bI[0])) for one in shares]
    for part in sources.parts(shares[0].s):
        for one, shared, rows_bI in here:
            for n in blocks_of(one.x_1bW.shape[1], most if shared is not None else most // 2):
                found_bI, by_wave, slope_of_bands_y = _of_bands(operator, part, one, n, shared)
                rows_bI[n] += found_bI
                if by_wave:  # a rank may have no occupied orbitals
                    of_waves.add(*_energy_and_strain(operator, by_wave))
                    slope_y += slope_of_bands_y
    return [rows_bI for *_, rows_bI in here], slope_y, of_waves


def _of_shares_once(operator: ExchangeOperator, sources: MeshOrbitals, shares: Sequence[Share]) -> SpinDerivatives:
    """The same, each pair once."""
    s, kinds = shares[0].s, [operator.sharing(one) for one in shares]
    part = sources.own_part(s)
    points = [_own_point(operator, part, one, shared) for one, shared in zip(shares, kinds, strict=True)]
    work = _Derivatives(operator, len(points))
    back_kbI = done_once(operator, sources, s, points, work)
    rows_xbI, of_waves = list[torch.Tensor](), _no_waves(shares)
    for here, one, shared, by_wave, back_bI in zip(points, shares, kinds, work.by_wave_k, back_kbI, strict=True):
        rows_bI = _rows(operator, here.targets, one, slice(0, one.x_1bW.shape[1]), shared)
        rows_bI[: here.paired] += back_bI[: here.paired]
        rows_xbI.append(rows_bI)
        if by_wave:
            of_waves.add(*_energy_and_strain(operator, by_wave))
    return rows_xbI, work.slope_y, of_waves


def _no_waves(shares: Sequence[Share]) -> OfWaves:
    nothing_vv = torch.zeros((3, 3), dtype=torch.float64, device=shares[0].x_1bW.device)
    return OfWaves(nothing_vv.new_zeros(()), nothing_vv)


def _targets(
    operator: ExchangeOperator, one: Share, n: slice, shared: RootOccupations | None
) -> tuple[Targets, torch.Tensor, int]:
    """Some bands on the grid, without room for fields; w_k g f of each; bands on a grid."""
    x_here, rows_here, filling_t = one.x_1bW[:, n], one.rows_1bI[:, n], one.filling_b[n]
    bands = operator.basis.form.orbitals_on_grid if shared is not None else 1
    if shared is not None:
        x_here, rows_here = x_here * shared.scale_b[n, None], rows_here * shared.scale_b[n, None]
    elif operator.basis.form.real:  # each on a grid of its own
        x_here, rows_here = alone(x_here), alone(rows_here)
    fields = operator.on_grid(one.k, x_here, rows_here)
    if shared is not None:
        filling_t = torch.ones_like(filling_t[: len(fields.u_tR)])
    kind = operator.basis.runtime.complex
    nothing_tR = fields.u_tR.new_empty((len(fields.u_tR), 0), dtype=kind)
    targets = Targets(fields.u_tR, fields.proj_tI, nothing_tR, torch.zeros_like(fields.proj_tI, dtype=kind))
    return targets, filling_t, bands


def _rows(
    operator: ExchangeOperator, targets: Targets, one: Share, n: slice, shared: RootOccupations | None
) -> torch.Tensor:
    """Coefficients of rows of the bands of `_targets`."""
    count = n.stop - n.start
    if shared is not None:
        return operator.rows(one.k, targets.out_tI, count) * shared.inverse_b[n, None]
    if operator.basis.form.real:
        return operator.rows(one.k, targets.out_tI, 2 * count)[::2]
    return operator.rows(one.k, targets.out_tI, count)


def _of_bands(
    operator: ExchangeOperator, sources: MeshPart, one: Share, n: slice, shared: RootOccupations | None
) -> tuple[torch.Tensor, ByWave, torch.Tensor]:
    """Of some bands in the exchange with all: coefficients of rows without the factor -α, W by wave vector, and S at
    the points of spheres."""
    targets, filling_t, _ = _targets(operator, one, n, shared)
    by_wave, slope_y = ByWave(), operator.pairs.charges.no_table_slopes()
    for block in sources.blocks(one.s, operator.partners(one.k), operator.source_block()):
        found = operator.pairs.add_derivatives(block, operator.table(one.k, block), targets, filling_t)
        slope_y += found.slope_y
        _add_squares(operator, one.k, block, found, by_wave)
    return _rows(operator, targets, one, n, shared), by_wave, slope_y


def _add_squares(
    operator: ExchangeOperator, k: int, block: SourceBlock, found: PairDerivatives, by_wave: ByWave
) -> None:
    for point, square_R in zip(block.points, found.square_qR, strict=True):
        key = tuple((operator.basis.point_kc[k] - point.point_c).tolist())
        by_wave[key] = by_wave[key] + square_R if key in by_wave else square_R


def _own_point(operator: ExchangeOperator, part: MeshPart, one: Share, shared: RootOccupations | None) -> OwnPoint:
    """With the bands that hold electrons as targets."""
    k = operator.basis.own_k.start + one.k
    point = operator.stars.plain[k]
    targets, filling_t, bands = _targets(operator, one, slice(0, one.x_1bW.shape[1]), shared)
    paired = paired_bands(operator, part, one.s, point)
    # f times the weight of the point in the mesh, in place of w_k g f
    factor_t1 = filling_t[: paired // bands, None] * (point.weight / _filling_of_one(operator, k))
    weighted = PairFields(targets.u_tR[:0],
        targets.proj_tI[: paired // bands] * factor_t1.to(targets.proj_tI.real.dtype))
    return OwnPoint(one.k, point, targets, bands, paired, weighted, filling_t)


def _filling_of_one(operator: ExchangeOperator, k: int) -> float:
    """w_k g of an irreducible point."""
    return float(operator.basis.kpoints.weight_k[k]) * operator.basis.spin.degeneracy


class _Derivatives:
    """What changes with atoms and cell, of pairs (n, m) and (m, n) at once: they have the same ρ but for the sign of
    waves, so that twice the weight is all; rows of both."""

    def __init__(self, operator: ExchangeOperator, points: int):
        self.operator, self.pairs = operator, operator.pairs
        self.slope_y = operator.pairs.charges.no_table_slopes()
        self.by_wave_k = [ByWave() for _ in range(points)]

    def plain(self, here: OwnPoint, sources: SourceBlock, table: PairTable, t: slice) -> None:
        self._add(here, sources, table, t, 1.0, None)

    def both(
        self, here: OwnPoint, there: MeshPoint, sources: SourceBlock, table: PairTable, t: slice, mirror: Mirror
    ) -> None:
        plain, first_k = self.operator.stars.plain[there.irreducible], self.operator.basis.own_k.start
        of_here, of_there = (_filling_of_one(self.operator, k) for k in (first_k + here.k, there.irreducible))
        back = here.point.weight * of_there / (plain.weight * of_here)
        weighted_tI = here.weighted.proj_tI[here.grids(t)] * (there.weight / plain.weight)
        self._add(here, sources, table, t, 1 + back, (weighted_tI, mirror.out_nI))

    def _add(
        self, here: OwnPoint, sources: SourceBlock, table: PairTable, t: slice, times: float,
        mirrored: tuple[torch.Tensor, torch.Tensor] | None,
    ) -> None:  # fmt: skip
        assert here.filling_t is not None
        some = here.grids(t)
        targets, filling_t = here.targets.some(some), here.filling_t[some] * times
        found = self.pairs.add_derivatives(sources, table, targets, filling_t, mirrored)
        self.slope_y += found.slope_y
        _add_squares(self.operator, here.k, sources, found, self.by_wave_k[here.k])

    def mirror(self, sources: SourceBlock) -> Mirror:
        return Mirror(sources.proj_nI.new_zeros((len(sources.u_nR), 0)), torch.zeros_like(sources.proj_nI))

    def vectors(self, mirror: Mirror, k: int) -> torch.Tensor:
        return self.operator.stars.rows(mirror.out_nI, k)

    def width(self, rank: int) -> int:
        return self.operator.atoms.layout.projector_count


def _energy_and_strain(operator: ExchangeOperator, by_wave: ByWave) -> tuple[torch.Tensor, torch.Tensor]:
    """Those of `OfWaves`; by_wave: W N² on the grid, by wave vector."""
    pairs, kernel = operator.pairs, operator.pairs.kernel
    waves = [pairs.waves(np.array(q_c)) for q_c in by_wave]
    weights = [
        0.5 / (pairs.volume * pairs.points**2) * square_R[one.place_G]
        for one, square_R in zip(waves, by_wave.values(), strict=True)
    ]
    # an interaction with a long range takes waves of one shift at a time
    if kernel.long_range is None:
        parts = [(np.concatenate([one.wave_Gc for one in waves]), torch.cat([one.vector_Gv for one in waves]))]
        weights = [torch.cat(weights)]
    else:
        parts = [(one.wave_Gc, one.vector_Gv) for one in waves]
    energy, strain_vv = weights[0].new_zeros(()), weights[0].new_zeros((3, 3))
    for (wave_Gc, given_Gv), weight_G in zip(parts, weights, strict=True):
        vector_Gv = given_Gv.detach().requires_grad_()
        total = (weight_G * kernel.of_waves(wave_Gc, square(vector_Gv))).sum()
        (slope_Gv,) = torch.autograd.grad(total, vector_Gv)
        energy = energy + total.detach()
        by_cell_vv = kernel.cell_strain(wave_Gc, square(given_Gv), weight_G)
        strain_vv += by_cell_vv - slope_Gv.mT @ given_Gv - total.detach() * torch.eye(3).to(by_cell_vv)
    return energy, strain_vv
