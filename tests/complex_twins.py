"""Vectors of real numbers beside the complex ones that they stand for, and what the Hamiltonian makes of both."""

from collections.abc import Iterable

import numpy as np
import torch

from eigenwerk.dft.basis.gathering import whole_orbitals
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian


def complex_twin(real: Calculation, complex_: Calculation, x_knG: torch.Tensor) -> torch.Tensor:
    """Real vectors as complex ones of the other basis, wherever that has their plane waves."""
    whole = whole_orbitals(real.runtime.grid, real.basis, x_knG[None])
    out_knG = torch.zeros((*x_knG.shape[:2], complex_.basis.mask_kG.shape[1]), dtype=torch.complex128)
    for k, count in enumerate(whole.count_k):
        place = {tuple(c): n for n, c in enumerate(complex_.basis.index_khc[k, :count].tolist())}
        order = [place[tuple(c)] for c in whole.index_kGc[k, :count].tolist()]
        out_knG[k][:, order] = torch.as_tensor(whole.coeff_sknG[0, k, :, :count])
    return out_knG


def operator_images(hamiltonian: Hamiltonian, x_knG: torch.Tensor) -> list[torch.Tensor]:
    """H x and S x of one application, S x alone, and H x preconditioned for bands between -1 and 1 hartree."""
    h_knG, s_knG = hamiltonian.apply(x_knG)
    eig_kn = torch.linspace(-1, 1, x_knG.shape[1]).expand(x_knG.shape[:2])
    return [h_knG, s_knG, hamiltonian.overlap(x_knG), hamiltonian.precondition(h_knG, eig_kn, x_knG)]


def assert_same_images(
    real: Calculation, complex_: Calculation, ours: Iterable[torch.Tensor], theirs: Iterable[torch.Tensor]
) -> None:
    """Images of real vectors are those of their twins."""
    for ours_knG, theirs_knG in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(complex_twin(real, complex_, ours_knG), theirs_knG, atol=1e-11)
