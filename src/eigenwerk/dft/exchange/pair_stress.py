"""What a strain does to the exact exchange of pairs at fixed coefficients of the orbitals.

    E_x = -α/2 Σ_m f_m w_k g Σ_n w_n 1/Ω Σ_G v(q+G) |N_nm(q+G)|²,   N = Ω ρ = ∫ ψ̃_n* ψ̃_m + Σ_aL Q_nm,aL Ω g_aL(q+G)

The integral of the smooth orbitals stays, q+G becomes (1 - ε)(q+G), the charges at the points of the grid change; with
sums over n and m of each q

    W(q+G) = Σ f_m w_k g w_n |N_nm|²
    ∂E_x/∂ε = -α { ∂/∂ε [1/2 Σ_G v(q+G) W(q+G) / Ω] + Σ f_m w_k g w_n Re Σ_aL Q*_nm,aL ∫ V_nm ∂(Ω g_aL)/∂ε / Ω }

v is differentiated by q+G automatically; beside this it changes where it depends on the cell: v(0) of a probe charge,
radii.  Projections follow the strain by the pencils, as they do for forces.  Equations: docs/equations/exchange.md.
"""

import torch

from eigenwerk.dft.basis.lattice import square
from eigenwerk.dft.density import filled_bands
from eigenwerk.dft.exchange.mesh_orbitals import MeshOrbitals, MeshPoint
from eigenwerk.dft.exchange.operator import ExchangeOperator, Share, alone
from eigenwerk.dft.exchange.pairs import PairWaves, Targets, blocks_of
from eigenwerk.dft.terms.term import OrbitalStrain
from eigenwerk.parallel.block_sizes import EXCHANGE_GRID_BYTES


def exchange_strain(
    operator: ExchangeOperator, sources: MeshOrbitals, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor
) -> OrbitalStrain:
    """∂E_x/∂ε of this rank's orbitals at fixed projections, hartree, and the pencils of the projectors.

    filling_skn = w_k g f: of all points, in host memory.  One FFT there and back for each pair of occupied orbitals.
    """
    used, pencil_sknI = filled_bands(filling_skn.flatten(0, 1)), operator.pencils(coeff_sknG, filling_skn)
    strain_vv = filling_skn.new_zeros((3, 3), device=coeff_sknG.device)
    most = max(1, EXCHANGE_GRID_BYTES // (16 * operator.pairs.points))
    with operator.basis.runtime.trace.span("exact exchange"):
        for one in operator.shares(coeff_sknG, filling_skn):
            rows = [one.rows_1bI[0, :0]]
            for n in blocks_of(one.x_1bW.shape[1], most):
                rows_bI, part_vv = _of_bands(operator, sources, one, n)
                rows.append(rows_bI)
                strain_vv -= operator.fraction * part_vv
            pencil_sknI[one.s, one.k] = operator.pencil(one, torch.cat(rows), used)
    return OrbitalStrain(strain_vv, pencil_sknI)


def _of_bands(
    operator: ExchangeOperator, sources: MeshOrbitals, one: Share, n: slice
) -> tuple[torch.Tensor, torch.Tensor]:
    """Of some bands in the exchange with all: coefficients of rows and the strain, both without the factor -α."""
    basis, x_here, rows_here = operator.basis, one.x_1bW[:, n], one.rows_1bI[:, n]
    if basis.form.real:  # each on a grid of its own
        x_here, rows_here = alone(x_here), alone(rows_here)
    u_1tR = operator.sphere_map.problems(slice(one.k, one.k + 1)).to_grid(x_here)
    targets = Targets.of(u_1tR[0].flatten(1), operator.fields(one.k, rows_here), operator.pairs.dtype)
    strain_vv = one.filling_b.new_zeros((3, 3))
    for point in operator.partners(one.k):
        strain_vv += _of_point(operator, sources, one, point, targets, one.filling_b[n])
    rows_bI = operator.rows(one.k, targets.out_tI, rows_here.shape[1])
    return rows_bI[:: 2 if basis.form.real else 1], strain_vv


def _of_point(
    operator: ExchangeOperator, sources: MeshOrbitals, one: Share, point: MeshPoint, targets: Targets,
    filling_t: torch.Tensor,
) -> torch.Tensor:  # fmt: skip
    """In the exchange with the orbitals of one point of the mesh; coefficients of projectors are added to targets."""
    pairs = operator.pairs
    waves = pairs.waves(operator.basis.point_kc[one.k] - point.point_c)
    square_G, strain_vv = waves.vector_Gv.new_zeros(len(waves.place_G)), filling_t.new_zeros((3, 3))
    for block in sources.blocks(one.s, point, operator.source_block()):
        charges_nIL = pairs.charges_of_sources(block.proj_nI)
        pair_ntA = pairs.charges_of_pairs(charges_nIL, targets.proj_tI)
        density_xR = pairs.densities(pairs.orbitals(block), targets.u_tR, pair_ntA, waves)
        weight_x = (block.weight_n[:, None] * filling_t).flatten()
        square_xG = density_xR.index_select(1, waves.place_G).abs().to(torch.float64).square()
        square_G += weight_x @ square_xG
        field_xR = pairs.potentials(density_xR, waves)
        integral_ntA = pairs.integrals(pairs.charges, field_xR, waves).view_as(pair_ntA)
        pairs.collect(charges_nIL, integral_ntA, block.weight_n, targets.out_tI)
        for (v, w), charges in pairs.charge_strains.items():
            change_xA = pairs.integrals(charges, field_xR, waves)
            strain_vv[v, w] += ((pair_ntA.flatten(0, 1).conj() * change_xA).real.sum(1) * weight_x).sum()
            strain_vv[w, v] = strain_vv[v, w]
    return strain_vv + _strain(operator, waves, square_G / pairs.points**2)


def _strain(operator: ExchangeOperator, waves: PairWaves, square_G: torch.Tensor) -> torch.Tensor:
    """∂/∂ε of the first term in braces; square_G: W."""
    pairs, kernel = operator.pairs, operator.pairs.kernel
    vector_Gv = waves.vector_Gv.detach().requires_grad_()
    weight_G = 0.5 / pairs.volume * square_G
    total = (weight_G * kernel.of_waves(waves.wave_Gc, square(vector_Gv))).sum()
    (slope_Gv,) = torch.autograd.grad(total, vector_Gv)
    by_cell_vv = kernel.cell_strain(waves.wave_Gc, square(waves.vector_Gv), weight_G)
    return by_cell_vv - slope_Gv.mT @ waves.vector_Gv - float(total.detach()) * torch.eye(3).to(by_cell_vv)
