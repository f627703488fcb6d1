"""The exchange operator compressed to a few rows: exact for the orbitals it was applied to.

With W = V_x Φ and M = Φ†W, Hermitian and negative,

    V_x ≈ W M⁻¹ W† = -ξ ξ†,   ξ = W U λ^(-1/2),   -M = U λ U†

gives V_x Φ = W exactly, and costs two matrix products where V_x costs FFTs of all pairs.
Source: L. Lin, J. Chem. Theory Comput. 12, 2242 (2016), with eigenvectors of M in place of its Cholesky factor.
"""

import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.terms.term import LowRank
from eigenwerk.errors import ConvergenceError
from eigenwerk.linalg.shared_dense import SharedEigh

LEAST = 1e-12
"""Eigenvalues of -M below this share of the largest belong to orbitals that V_x does not feel."""

NEGATIVE = 1e-8
"""Eigenvalues of -M below zero by more than this share: there are negative occupations, or orbitals are not those of
the occupied space."""


def compressed(basis: PlaneWaveBasis, coeff_sknG: torch.Tensor, image_sknG: torch.Tensor) -> LowRank:
    """Rows of V_x from orbitals of this k-group and V_x of them, both on this rank's plane waves.

    Raises ConvergenceError if V_x is not negative between the orbitals.
    """
    runtime = basis.runtime
    eigh = SharedEigh(runtime.bands, runtime.trace)
    row_sknG = torch.empty_like(image_sknG)
    for s, (x_knG, w_knG) in enumerate(zip(coeff_sknG, image_sknG, strict=True)):
        m_knn = -runtime.bands.sum(x_knG.conj() @ w_knG.mT)
        value_kn, column_knn = eigh(0.5 * (m_knn + m_knn.mH))
        largest = float(value_kn.amax())
        if float(value_kn.amin()) < -NEGATIVE * largest:
            raise ConvergenceError(
                f"the exchange operator has an eigenvalue {-float(value_kn.amin()):.1e} hartree above zero between "
                f"the orbitals (the lowest is {-largest:.1e}): occupations must not be negative. Use ISMEAR = 0 or -1."
            )
        used_kn = value_kn > LEAST * largest
        scale_kn = used_kn / torch.where(used_kn, value_kn, 1).sqrt()
        row_sknG[s] = (column_knn * scale_kn[:, None].to(column_knn.dtype)).mT @ w_knG
    return negative(row_sknG)


def negative(row_skmG: torch.Tensor) -> LowRank:
    """-ξ ξ†."""
    unit_mm = torch.eye(row_skmG.shape[2], dtype=row_skmG.dtype, device=row_skmG.device)
    return LowRank(row_skmG, -unit_mm.expand(len(row_skmG), -1, -1))


def expectation(basis: PlaneWaveBasis, rows: LowRank, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor) -> float:
    """Σ filling <ψ|V|ψ> of the rows, hartree; filling = w_k g f of all points, in host memory."""
    filling_skn = filling_skn[:, basis.own_k].to(coeff_sknG.device)
    total = filling_skn.new_zeros(())
    for s, (x_knG, row_kmG) in enumerate(zip(coeff_sknG, rows.row_skmG, strict=True)):
        proj_knm = basis.runtime.bands.sum(x_knG.conj() @ row_kmG.mT)
        value_kn = ((proj_knm @ rows.weight_smm[s]) * proj_knm.conj()).real.sum(-1)
        total = total + (value_kn * filling_skn[s]).sum()
    # every band rank has the sum over plane waves
    return float(basis.runtime.grid.kpoints.sum(total))


def applied(basis: PlaneWaveBasis, rows: LowRank, coeff_sknG: torch.Tensor) -> torch.Tensor:
    """V of the rows applied to orbitals; (s, k, n, G)."""
    images = []
    for x_knG, row_kmG, weight_mm in zip(coeff_sknG, rows.row_skmG, rows.weight_smm, strict=True):
        proj_knm = basis.runtime.bands.sum(x_knG @ row_kmG.mH)
        images.append((proj_knm @ weight_mm.mT) @ row_kmG)
    return torch.stack(images)
