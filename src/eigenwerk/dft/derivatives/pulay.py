"""What plane waves beyond the cutoff would still change: the slope of the energy by E_cut, and the Pulay stress.

Coefficients of waves far out follow the orbitals, c_G = -r_G / (T_G - ε) with the residual r of the waves inside, so a
shell of them lowers the energy by Σ f |c_G|² (T_G - ε).  Inside the cutoff they have nearly the values of a complete
basis, and their sums over shells fall off smoothly; carried on to E_cut,

    dE/dE_cut ≈ -Σ_shell f |c_G|² (T_G - ε) / width,       p_Pulay = 2/3 (E_cut / Ω) dE/dE_cut.

p_Pulay is what the stress at fixed waves has too much of (G. P. Francis and M. C. Payne, J. Phys. Condens. Matter 2,
4395 (1990)).  An estimate, within a factor of two of differences of energies.
"""

import numpy as np
import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis

SHELL_EDGES = (0.7, 0.8, 0.9, 1.0)
"""Of E_cut; the slope is that of the line through the logarithms of the shells."""


def cutoff_slope(
    basis: PlaneWaveBasis, coeff_sknG: torch.Tensor, eig_skn: torch.Tensor, filling_skn: torch.Tensor
) -> float:
    """dE/dE_cut at fixed cell, without unit, of the free energy of all bands; arguments as `forces`."""
    device = coeff_sknG.device
    eig_skn, filling_skn = (value[:, basis.own_k].to(device) for value in (eig_skn, filling_skn))
    edges = torch.tensor(SHELL_EDGES, dtype=basis.runtime.real, device=device) * basis.cutoff
    sum_x = torch.zeros(len(SHELL_EDGES) + 1, dtype=basis.runtime.real, device=device)
    for coeff_knG, eig_kn, filling_kn in zip(coeff_sknG, eig_skn, filling_skn, strict=True):
        for coeff_nG, eig_n, filling_n, kinetic_G in zip(coeff_knG, eig_kn, filling_kn, basis.kinetic_kG, strict=True):
            square_nG = coeff_nG.abs().square()
            gain_G = kinetic_G * (filling_n @ square_nG) - (filling_n * eig_n) @ square_nG
            sum_x.index_add_(0, torch.bucketize(kinetic_G, edges), gain_G)
    # the waves on the cutoff itself may lie beyond it by rounding
    shell_x = basis.runtime.world.sum(sum_x).cpu().numpy()[1:]
    shell_x[-2] += shell_x[-1]
    return -_at_the_end(shell_x[:-1] / (np.diff(SHELL_EDGES) * basis.cutoff))


def _at_the_end(gain_x: np.ndarray) -> float:
    """An exponential through the shells that hold waves, at the cutoff."""
    centre_x = (np.array(SHELL_EDGES[1:]) + SHELL_EDGES[:-1]) / 2
    full = gain_x > 0
    if full.sum() < 2:
        return float(gain_x[-1])
    rate, start = np.polyfit(centre_x[full], np.log(gain_x[full]), 1)
    return float(np.exp(start + rate * SHELL_EDGES[-1]))


def pulay_pressure(basis: PlaneWaveBasis, slope: float) -> float:
    """p_Pulay in hartree per bohr³, negative: the pressure at fixed waves is too low by so much."""
    return 2 / 3 * basis.cutoff / float(basis.volume) * slope
