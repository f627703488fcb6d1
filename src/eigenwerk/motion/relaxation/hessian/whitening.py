"""Vectors in units in which the model of second derivatives is one, so that changes of the gradient can be compared.

B = L Lᵀ of the model with factors 1.  Of many atoms L is that of the blocks of B on its diagonal, one for each atom and
one for strains: what is compared is weighted a little differently, and no matrix is needed.
"""

from dataclasses import dataclass

import numpy as np

from eigenwerk.motion.relaxation.hessian.model import ModelHessian
from eigenwerk.motion.relaxation.hessian.products import MANY_ATOMS, Apply


@dataclass(frozen=True, eq=False)
class Whitening:
    """white: L⁻¹ v of columns (z, r); inverse_trace: Σ 1 / B_zz."""

    white: Apply
    inverse_trace: float


def whitening(model: ModelHessian) -> Whitening:
    """Of a model."""
    ones = np.ones(len(model.kinds) + 1)
    if model.atoms < MANY_ATOMS:
        matrix = model.matrix(ones)
        lower = np.linalg.cholesky(matrix)
        return Whitening(lambda v: np.linalg.solve(lower, v), float(np.sum(1 / np.diagonal(matrix))))
    products = model.products_with(ones)
    atom_avw, strain = products.blocks
    lower_avw, lower = np.linalg.cholesky(atom_avw), np.linalg.cholesky(strain)

    def white(v: np.ndarray) -> np.ndarray:
        ions = np.linalg.solve(lower_avw, v[:-6].reshape(len(lower_avw), 3, -1))
        return np.concatenate([ions.reshape(v[:-6].shape), np.linalg.solve(lower, v[-6:])])

    return Whitening(white, float(np.sum(1 / products.diagonal)))
