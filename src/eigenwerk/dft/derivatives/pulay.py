"""What plane waves beyond the cutoff would still change: the slope of the energy by E_cut, and the Pulay stress.

Coefficients of waves far out follow the orbitals, c_G = -r_G / (T_G - ε) with the residual r of the waves inside, so a
wave lowers the energy by g_G = Σ f |c_G|² (T_G - ε).  What the first waves beyond the cutoff would gain is nearly what
the last ones inside do.  With their mean ḡ, extrapolated to the cutoff, and N waves for each k-point,

    N = Ω (2 E_cut)^(3/2) / 6π²,     dE/dE_cut ≈ -3/2 N ḡ / E_cut,     p_Pulay = 2/3 (E_cut / Ω) dE/dE_cut = -N ḡ / Ω.

N is that of a sphere in a dense mesh, not the number of waves in these shells, which jumps in small cells.  p_Pulay is
what the stress at fixed waves has too much of (G. P. Francis and M. C. Payne, J. Phys. Condens. Matter 2, 4395 (1990)).
"""

import numpy as np
import torch

from eigenwerk.dft.basis.lattice import Lattice, square
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis

SHELL_EDGES = (0.88, 0.94, 1.0)
"""Of E_cut.  No wider: orbitals of d electrons have nodes among the waves, and the gain falls by ten and rises again
within a third of E_cut (copper at 300 eV)."""

STEEPEST = 0.25
"""The gain of the outer shell over that of the inner one is taken to be this at least: near a node it is no trend."""


def cutoff_slope(
    basis: PlaneWaveBasis, coeff_sknG: torch.Tensor, eig_skn: torch.Tensor, filling_skn: torch.Tensor
) -> float:
    """dE/dE_cut at fixed cell, without unit, of the free energy of all bands; arguments as `forces`."""
    device = coeff_sknG.device
    eig_skn, filling_skn = (value[:, basis.own_k].to(device) for value in (eig_skn, filling_skn))
    # shells are those of the spheres that the waves fill, in whatever cell they are now
    sphere = Lattice(torch.tensor(basis.sphere_cv), basis.runtime.device)
    at_khc = basis.index_khc + basis.runtime.tensor(basis.point_kc)[:, None]
    place_kG = basis.form.slots(0.5 * square(sphere.waves(at_khc)))
    edges = torch.tensor(SHELL_EDGES, dtype=basis.runtime.real, device=device) * basis.cutoff
    # the waves on the cutoff itself may lie beyond it by rounding
    shell_kG = torch.bucketize(place_kG, edges).clamp(max=len(SHELL_EDGES) - 1)
    sum_tx = torch.zeros(2, len(SHELL_EDGES), dtype=basis.runtime.real, device=device)
    for weight, mask_G, shell_G in zip(basis.weight_k[basis.own_k], basis.mask_kG, shell_kG, strict=True):
        sum_tx[0].index_add_(0, shell_G, weight * mask_G)
    for coeff_knG, eig_kn, filling_kn in zip(coeff_sknG, eig_skn, filling_skn, strict=True):
        for k, (coeff_nG, eig_n, filling_n) in enumerate(zip(coeff_knG, eig_kn, filling_kn, strict=True)):
            square_nG = coeff_nG.abs().square()
            gain_G = basis.kinetic_kG[k] * (filling_n @ square_nG) - (filling_n * eig_n) @ square_nG
            sum_tx[1].index_add_(0, shell_kG[k], gain_G * basis.mask_kG[k])
    count_x, gain_x = basis.runtime.world.sum(sum_tx).cpu().numpy()[:, 1:]
    waves = float(sphere.volume) * (2 * basis.cutoff) ** 1.5 / (6 * np.pi**2)
    return -1.5 * waves / basis.cutoff * _at_the_end(gain_x, count_x)


def _at_the_end(gain_x: np.ndarray, count_x: np.ndarray) -> float:
    """Gain of a wave at the cutoff: from the middle of the outer shell half a shell further."""
    inner, outer = (max(gain, 0.0) / count if count else 0.0 for gain, count in zip(gain_x, count_x, strict=True))
    return float(outer * np.clip(outer / inner, STEEPEST, 1 / STEEPEST) ** 0.5) if inner and outer else outer or inner


def pulay_pressure(basis: PlaneWaveBasis, slope: float) -> float:
    """p_Pulay in hartree per bohr³, negative: the pressure at fixed waves is too low by so much."""
    return 2 / 3 * basis.cutoff / float(basis.volume) * slope
