"""What a strain does to the exact exchange of pairs at fixed coefficients of the orbitals.

    E_x = -α/2 Σ_m f_m w_k g Σ_n w_n 1/Ω Σ_G v(q+G) |N_nm(q+G)|²,   N = Ω ρ = ∫ ψ̃_n* ψ̃_m + Σ_aL Q_nm,aL Ω g_aL(q+G)

The integral of the smooth orbitals stays, q+G becomes (1 - ε)(q+G), and with sums over n and m of each q

    W(q+G) = Σ f_m w_k g w_n |N_nm|²,   Z_aL(q+G) = Σ f_m w_k g w_n v N*_nm Q_nm,aL
    ∂E_x/∂ε = -α ∂/∂ε { 1/2 Σ_G v(q+G) W(q+G) / Ω + Re Σ_aL Z_aL g_aL(q+G) Ω / Ω₀ }

(Ω₀ the volume as it is, Ω g_aL depends on q+G alone).  What stands in braces is differentiated by q+G automatically;
beside this v changes where it depends on the cell: v(0) of a probe charge, radii.  Projections follow the strain by
the pencils, as they do for forces.  Equations: docs/equations/exchange.md.
"""

import torch

from eigenwerk.dft.basis.lattice import square
from eigenwerk.dft.density import filled_bands
from eigenwerk.dft.exchange.mesh_orbitals import MeshOrbitals, MeshPoint
from eigenwerk.dft.exchange.operator import ExchangeOperator, Share, alone
from eigenwerk.dft.exchange.pairs import HARMONICS, PairWaves, Targets, blocks_of
from eigenwerk.dft.terms.term import OrbitalStrain
from eigenwerk.parallel.block_sizes import EXCHANGE_GRID_BYTES


def exchange_strain(
    operator: ExchangeOperator, sources: MeshOrbitals, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor
) -> OrbitalStrain:
    """∂E_x/∂ε of this rank's orbitals at fixed projections, hartree, and the pencils of the projectors.

    filling_skn = w_k g f: of all points, in host memory.  One FFT for each pair of occupied orbitals.
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
    u_1tR = basis.sphere_map.problems(slice(one.k, one.k + 1)).to_grid(x_here)
    targets = Targets.of(u_1tR[0].flatten(1), operator.fields(one.k, rows_here))
    strain_vv = one.filling_b.new_zeros((3, 3))
    for point in operator.stars.mesh:
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
    square_S, moment_AS = torch.zeros_like(waves.kernel_S), torch.zeros_like(waves.charge_AS)
    for block in sources.blocks(one.s, point, operator.source_block(len(targets.u_tR))):
        charges_nIL = pairs.charges_of_sources(block.proj_nI)
        pair_ntA = pairs.charges_of_pairs(charges_nIL, targets.proj_tI)
        _, pair_ntS = pairs.densities(block.u_nR, targets.u_tR, pair_ntA, waves)
        weight_nt = block.weight_n[:, None] * filling_t
        square_S += torch.einsum("nt,nts->s", weight_nt, pair_ntS.abs().square())
        pair_ntS.mul_(waves.kernel_S)
        pairs.collect(charges_nIL, pairs.integrals(pair_ntS, waves), block.weight_n, targets.out_tI)
        moment_AS += (pair_ntA * weight_nt[..., None]).flatten(0, 1).mT @ pair_ntS.flatten(0, 1).conj()
    return _strain(operator, waves, square_S, moment_AS)


def _strain(
    operator: ExchangeOperator, waves: PairWaves, square_S: torch.Tensor, moment_AS: torch.Tensor
) -> torch.Tensor:
    """∂/∂ε of what stands in braces; square_S, moment_AS: W/Ω² and Z/Ω."""
    pairs, kernel = operator.pairs, operator.pairs.kernel
    vector_Sv = waves.vector_Sv.detach().requires_grad_()
    weight_S = 0.5 * pairs.volume * square_S
    total = (weight_S * kernel.of_waves(waves.wave_Sc, square(vector_Sv))).sum()
    for species in pairs.atoms.layout.species:
        turned_LS = sum(
            moment_AS[HARMONICS * int(a) : HARMONICS * int(a + 1)] * pairs.phases(waves.wave_Sc, int(a))
            for a in species.atom_a
        )
        total = total + (turned_LS * pairs.shapes(species.setup, vector_Sv)).real.sum()
    (slope_Sv,) = torch.autograd.grad(total, vector_Sv)
    by_volume = float((weight_S * waves.kernel_S).sum())
    by_cell_vv = kernel.cell_strain(waves.wave_Sc, square(waves.vector_Sv), weight_S)
    return by_cell_vv - slope_Sv.mT @ waves.vector_Sv - by_volume * torch.eye(3).to(by_cell_vv)
