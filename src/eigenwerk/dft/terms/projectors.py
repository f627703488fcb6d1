"""What projectors do to forces and stress: occupancies D and overlap S follow the atoms by P_ni = <p̃_i|ψ̃_n>.

F_a = -2 Re Σ_n f_n Σ_ij P*_ni (ΔH_ij - ε_n ΔS_ij) ∂P_nj/∂R_a, the Pulay force of all terms, ΔH = ∂E/∂D.  The same with
a strain in place of R_a is their part of the stress.
"""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import torch

from eigenwerk.dft.density import filled_bands
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.one_centre import OneCentreMatrix, projections

STRAIN_NUMBERS = 2**22
"""Numbers of the projectors of the k-points whose strain is worked on together (bounds memory)."""

BANDS_PER_BATCH = 64
"""Bands whose orbitals and projection derivatives are held together (bounds memory)."""


def projector_forces(
    atoms: PawAtoms, dH_sx: torch.Tensor, coeff_sknG: torch.Tensor, eig_skn: torch.Tensor, filling_skn: torch.Tensor
) -> torch.Tensor:
    """What this rank's orbitals give to the sum over all, (a, 3); eig_skn and filling_skn: of all k-points."""
    counts_a, device = atoms.layout.projectors_a, coeff_sknG.device
    gradient_Iv = torch.zeros((atoms.layout.projector_count, 3), dtype=atoms.runtime.real, device=device)
    for s, coeff_knG in enumerate(coeff_sknG):
        for k, coeff_nG in enumerate(coeff_knG):
            weights = list(pencils(atoms, dH_sx, s, k, coeff_nG, eig_skn, filling_skn))
            for v in range(3):
                slope_products = _slope(atoms, k, v)
                for n, weight_nI in weights:
                    gradient_Iv[:, v] += slope_products(weight_nI, coeff_nG[n])
    atom_I = torch.as_tensor(np.repeat(np.arange(len(counts_a)), counts_a), device=device)
    return gradient_Iv.new_zeros((len(counts_a), 3)).index_add_(0, atom_I, -gradient_Iv)


def pencils(
    atoms: PawAtoms, dH_sx: torch.Tensor, s: int, k: int, coeff_nG: torch.Tensor, eig_skn: torch.Tensor,
    filling_skn: torch.Tensor,
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:  # fmt: skip
    """f_n Σ_j (ΔH_ij - ε_n ΔS_ij) P_nj of the filled bands n of a k-point, batch by batch: (n, (n, I))."""
    dH = OneCentreMatrix(atoms.layout, atoms.even(dH_sx[s : s + 1]), atoms.basis.form.dtype)
    dS = OneCentreMatrix(atoms.layout, atoms.overlap_x[None], atoms.basis.form.dtype)
    eig_n, filling_n = (value[s, atoms.basis.own_k][k].to(coeff_nG.device) for value in (eig_skn, filling_skn))
    for n in torch.nonzero(filling_n.abs() > 1e-14).flatten().split(BANDS_PER_BATCH):
        proj_1nI = atoms.runtime.bands.sum(coeff_nG[n] @ atoms.projector_kIG[k].mH)[None]
        pencil_nI = dH.times(proj_1nI)[0] - eig_n[n, None] * dS.times(proj_1nI)[0]
        yield n, pencil_nI * filling_n[n, None]


def projector_strain(
    atoms: PawAtoms, strained: PawAtoms, dH_sx: torch.Tensor, coeff_sknG: torch.Tensor, eig_skn: torch.Tensor,
    filling_skn: torch.Tensor,
) -> torch.Tensor:  # fmt: skip
    """A number with the strain derivative of Σ_n f_n Σ_ij P*_ni (ΔH_ij - ε_n ΔS_ij) P_nj of this rank's orbitals.

    strained: the atoms in a cell that can be differentiated; P(ε) is that of the same coefficients.
    """
    total, count_k = eig_skn.new_zeros((), device=coeff_sknG.device), coeff_sknG.shape[1]
    dH = OneCentreMatrix(atoms.layout, atoms.even(dH_sx), atoms.basis.form.dtype)
    dS = OneCentreMatrix(atoms.layout, atoms.overlap_x[None], atoms.basis.form.dtype)
    eig_skn, filling_skn = (value[:, atoms.basis.own_k].to(coeff_sknG.device) for value in (eig_skn, filling_skn))
    filled = filled_bands(filling_skn)
    step = max(1, STRAIN_NUMBERS // max(1, atoms.projector_kIG[0].numel()))
    for k in (slice(start, start + step) for start in range(0, count_k, step)):
        projector_kIG = atoms.projector_kIG[k]
        weight_kIG = torch.zeros_like(projector_kIG)
        for s, first in product(range(len(coeff_sknG)), range(0, filled, BANDS_PER_BATCH)):
            n = slice(first, min(first + BANDS_PER_BATCH, filled))
            x_knG, eig_kn1, filling_kn1 = coeff_sknG[s, k, n], eig_skn[s, k, n, None], filling_skn[s, k, n, None]
            proj_knI = atoms.runtime.bands.sum(projections(x_knG, projector_kIG))
            pencil_knI = filling_kn1 * (dH.times(proj_knI, s) - eig_kn1 * dS.times(proj_knI))
            weight_kIG += pencil_knI.mT @ x_knG.conj()
        total = total + 2 * strained.projector_slopes(k, weight_kIG)
    return total


def _slope(atoms: PawAtoms, k: int, v: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Gives 2 Re Σ_n W*_nI ∂P_nI of one k-point and direction, (I,), for weights W (n, I) and orbitals (n, G)."""
    form, projector_GI = atoms.basis.form, atoms.projector_kIG[k].mH
    vector_G = form.slots(atoms.basis.wave_vector_khv[k].T)[v]
    if atoms.pairs is not None:
        pairs = atoms.pairs
        return lambda weighted_nI, coeff_nG: pairs.slope_products(weighted_nI, (coeff_nG * vector_G) @ projector_GI)
    if atoms.real_space is not None:
        sloping_GI = atoms.real_space.slope(v).vectors(atoms.basis.sphere_map, slice(k, k + 1))[0].mH
        return lambda weighted_nI, coeff_nG: 2 * (weighted_nI.conj() * (coeff_nG @ sloping_GI)).real.sum(0)
    return lambda weighted_nI, coeff_nG: 2 * (
        weighted_nI.conj() * (form.times_i(coeff_nG[None], vector_G[None])[0] @ projector_GI)
    ).real.sum(0)
