"""Forces and strain of the exact exchange of pairs at fixed coefficients and projections of the orbitals.

    E_x = -α/2 Σ_m f_m w_k g Σ_n w_n 1/Ω Σ_G v(q+G) |N_nm(q+G)|²,   N = Ω ρ = ∫ ψ̃_n* ψ̃_m + Σ_aL Q_nm,aL Ω g_aL(q+G)

Atoms move the charges g_aL at the points of the grid, and a strain changes them; of all pairs only

    S_aL(r) = Σ_nm f_m w_k g w_n Re Q*_nm,aL V_nm(r) exp(iq·r)      at the points of each atom's sphere

enters, and is made in one go for both:

    F_a = α Σ_L ∫ S_aL ∂g_aL/∂R_a,      ∂E_x/∂ε = -α { ∂/∂ε [1/2 Σ_G v(q+G) W(q+G) / Ω] + Σ_aL ∫ S_aL ∂(Ω g_aL)/∂ε / Ω }

with W(q+G) = Σ f_m w_k g w_n |N_nm|² over n and m of each q: the integral of the smooth orbitals stays, q+G becomes
(1 - ε)(q+G).  v is differentiated by q+G automatically; beside this it changes where it depends on the cell: v(0) of a
probe charge, radii.  Projections follow by the pencils, Σ_n of what V_x puts between projectors.
Equations: docs/equations/exchange.md.
"""

import numpy as np
import torch

from eigenwerk.dft.basis.lattice import square
from eigenwerk.dft.density import filled_bands
from eigenwerk.dft.exchange.mesh_orbitals import MeshOrbitals, MeshPart, blocks_of
from eigenwerk.dft.exchange.operator import ExchangeOperator, Share, Sharing, alone
from eigenwerk.dft.terms.term import OrbitalDerivatives
from eigenwerk.parallel.block_sizes import EXCHANGE_GRID_BYTES


def exchange_derivatives(
    operator: ExchangeOperator, sources: MeshOrbitals, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor
) -> OrbitalDerivatives:
    """-∂E_x/∂R at fixed projections, over all ranks, ∂E_x/∂ε of this rank's orbitals, and the pencils of projectors.

    filling_skn = w_k g f: of all points, in host memory.  One FFT there and back for each pair of occupied orbitals.
    """
    used, pencil_sknI = filled_bands(filling_skn.flatten(0, 1)), operator.pencils(coeff_sknG, filling_skn)
    basis, charges = operator.basis, operator.pairs.charges
    slope_y, strain_vv = charges.no_table_slopes(), filling_skn.new_zeros((3, 3), device=coeff_sknG.device)
    most = 2 * max(1, EXCHANGE_GRID_BYTES // (16 * operator.pairs.points))
    with basis.runtime.trace.span("exact exchange"):
        shares = list(operator.shares(coeff_sknG, filling_skn))
        for s in range(len(coeff_sknG)):
            here = [(one, operator.sharing(one), torch.zeros_like(one.rows_1bI[0])) for one in shares if one.s == s]
            for part in sources.parts(s):
                for one, shared, rows_bI in here:
                    for n in blocks_of(one.x_1bW.shape[1], most if shared is not None else most // 2):
                        found_bI, by_wave, slope_of_bands_y = _of_bands(operator, part, one, n, shared)
                        rows_bI[n] += found_bI
                        if by_wave:  # a rank may have no occupied orbitals
                            strain_vv += _strain(operator, by_wave)
                            slope_y += slope_of_bands_y
            for one, _, rows_bI in here:
                pencil_sknI[one.s, one.k] = operator.pencil(one, rows_bI, used)
        force_av = basis.runtime.world.sum(operator.fraction * charges.forces(slope_y))
        strain_vv = -operator.fraction * (strain_vv + charges.strain(slope_y))
        return OrbitalDerivatives(force_av, strain_vv, pencil_sknI)


def _of_bands(
    operator: ExchangeOperator, sources: MeshPart, one: Share, n: slice, shared: Sharing | None
) -> tuple[torch.Tensor, dict[tuple[float, ...], torch.Tensor], torch.Tensor]:
    """Of some bands in the exchange with all: coefficients of rows without the factor -α, W on the grid by wave vector,
    and S at the points of spheres."""
    basis, x_here, rows_here, filling_t = operator.basis, one.x_1bW[:, n], one.rows_1bI[:, n], one.filling_b[n]
    if shared is not None:
        x_here, rows_here = x_here * shared.scale_b[n, None], rows_here * shared.scale_b[n, None]
    elif basis.form.real:  # each on a grid of its own
        x_here, rows_here = alone(x_here), alone(rows_here)
    targets = operator.targets(one.k, x_here, rows_here)
    if shared is not None:
        filling_t = torch.ones_like(filling_t[: len(targets.u_tR)])
    by_wave = dict[tuple[float, ...], torch.Tensor]()
    slope_y = operator.pairs.charges.no_table_slopes()
    for block in sources.blocks(one.s, operator.partners(one.k), operator.source_block()):
        found = operator.pairs.add_derivatives(block, operator.table(one.k, block), targets, filling_t)
        slope_y += found.slope_y
        for point, square_R in zip(block.points, found.square_qR, strict=True):
            key = tuple((basis.point_kc[one.k] - point.point_c).tolist())
            by_wave[key] = by_wave[key] + square_R if key in by_wave else square_R
    rows_bI = operator.rows(one.k, targets.out_tI, rows_here.shape[1])
    if shared is not None:
        return rows_bI * shared.inverse_b[n, None], by_wave, slope_y
    return rows_bI[:: 2 if basis.form.real else 1], by_wave, slope_y


def _strain(operator: ExchangeOperator, by_wave: dict[tuple[float, ...], torch.Tensor]) -> torch.Tensor:
    """∂/∂ε of the first term in braces; by_wave: W N² on the grid, by wave vector."""
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
    strain_vv = weights[0].new_zeros((3, 3))
    for (wave_Gc, given_Gv), weight_G in zip(parts, weights, strict=True):
        vector_Gv = given_Gv.detach().requires_grad_()
        total = (weight_G * kernel.of_waves(wave_Gc, square(vector_Gv))).sum()
        (slope_Gv,) = torch.autograd.grad(total, vector_Gv)
        by_cell_vv = kernel.cell_strain(wave_Gc, square(given_Gv), weight_G)
        strain_vv += by_cell_vv - slope_Gv.mT @ given_Gv - total.detach() * torch.eye(3).to(by_cell_vv)
    return strain_vv
