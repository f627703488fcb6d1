"""What projectors do to forces and stress: occupancies D and overlap S follow the atoms by P_ni = <p̃_i|ψ̃_n>.

F_a = -2 Re Σ_n f_n Σ_ij P*_ni (ΔH_ij - ε_n ΔS_ij) ∂P_nj/∂R_a, the Pulay force of all terms, ΔH = ∂E/∂D.  The same with
a strain in place of R_a is their part of the stress.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch

from eigenwerk.dft.density.kinds.kind import filled_bands
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.one_centre import OneCentreMatrix, projections

STRAIN_NUMBERS = 2**22
"""Numbers of the projectors of the k-points whose strain is worked on together (bounds memory)."""

BANDS_PER_BATCH = 64
"""Bands whose orbitals and projection derivatives are held together (bounds memory)."""


def projector_forces(
    atoms: PawAtoms, dH_sx: torch.Tensor, coeff_sknG: torch.Tensor, eig_skn: torch.Tensor, filling_skn: torch.Tensor,
    more_sknI: torch.Tensor | None = None,
) -> torch.Tensor:  # fmt: skip
    """What this rank's orbitals give to the sum over all, (a, 3); eig_skn and filling_skn: of all k-points.

    more_sknI: what terms of the orbitals add to the pencils (`OrbitalDerivatives`).
    """
    counts_a, device = atoms.layout.projectors_a, coeff_sknG.device
    gradient_Iv = torch.zeros((atoms.layout.projector_count, 3), dtype=atoms.runtime.real, device=device)
    pencils = Pencils(atoms, dH_sx, coeff_sknG, eig_skn, filling_skn, more_sknI)
    for s, k in np.ndindex(*coeff_sknG.shape[:2]):
        weights = [(x_knG[0], pencil_knI[0]) for x_knG, pencil_knI in pencils(s, slice(k, k + 1))]
        for v in range(3):
            slope_products = _slope(atoms, k, v)
            for x_nG, pencil_nI in weights:
                gradient_Iv[:, v] += slope_products(pencil_nI, x_nG)
    atom_I = torch.as_tensor(np.repeat(np.arange(len(counts_a)), counts_a), device=device)
    return gradient_Iv.new_zeros((len(counts_a), 3)).index_add_(0, atom_I, -gradient_Iv)


class Pencils:
    """f_n Σ_j (ΔH_ij - ε_n ΔS_ij) P_nj of this rank's orbitals; eig_skn and filling_skn: of all k-points."""

    def __init__(
        self, atoms: PawAtoms, dH_sx: torch.Tensor, coeff_sknG: torch.Tensor, eig_skn: torch.Tensor,
        filling_skn: torch.Tensor, more_sknI: torch.Tensor | None = None,
    ):  # fmt: skip
        self.atoms, self.coeff_sknG, self.more_sknI = atoms, coeff_sknG, more_sknI
        self.dH = OneCentreMatrix(atoms.layout, atoms.even(dH_sx), atoms.basis.form.dtype)
        self.dS = OneCentreMatrix(atoms.layout, atoms.overlap_x[None], atoms.basis.form.dtype)
        own_k, device = atoms.basis.own_k, coeff_sknG.device
        self.eig_skn, self.filling_skn = (value[:, own_k].to(device) for value in (eig_skn, filling_skn))
        self.filled = filled_bands(self.filling_skn)

    def __call__(self, s: int, k: slice) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Of some k-points, filled bands in batches: orbitals (k, n, G) and what stands above, (k, n, I)."""
        for first in range(0, self.filled, BANDS_PER_BATCH):
            n = slice(first, min(first + BANDS_PER_BATCH, self.filled))
            x_knG = self.coeff_sknG[s, k, n]
            proj_knI = self.atoms.runtime.bands.sum(projections(x_knG, self.atoms.projector_kIG[k]))
            pencil_knI = self.dH.times(proj_knI, s) - self.eig_skn[s, k, n, None] * self.dS.times(proj_knI)
            pencil_knI = self.filling_skn[s, k, n, None] * pencil_knI
            yield x_knG, pencil_knI if self.more_sknI is None else pencil_knI + self.more_sknI[s, k, n]


def projector_strain(
    atoms: PawAtoms, strained: PawAtoms, dH_sx: torch.Tensor, coeff_sknG: torch.Tensor, eig_skn: torch.Tensor,
    filling_skn: torch.Tensor, more_sknI: torch.Tensor | None = None,
) -> torch.Tensor:  # fmt: skip
    """A number with the strain derivative of Σ_n f_n Σ_ij P*_ni (ΔH_ij - ε_n ΔS_ij) P_nj of this rank's orbitals.

    strained: the atoms in a cell that can be differentiated; P(ε) is that of the same coefficients.  more_sknI: as for
    forces.
    """
    total, count_k = eig_skn.new_zeros((), device=coeff_sknG.device), coeff_sknG.shape[1]
    pencils = Pencils(atoms, dH_sx, coeff_sknG, eig_skn, filling_skn, more_sknI)
    step = max(1, STRAIN_NUMBERS // max(1, atoms.projector_kIG[0].numel()))
    for k in (slice(start, start + step) for start in range(0, count_k, step)):
        weight_kIG = torch.zeros_like(atoms.projector_kIG[k])
        for s in range(len(coeff_sknG)):
            for x_knG, pencil_knI in pencils(s, k):
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
