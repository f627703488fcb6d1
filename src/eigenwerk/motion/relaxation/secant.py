"""What changes of the gradient tell about second derivatives."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from eigenwerk.motion.relaxation.hessian.model import PRIOR_WIDTH, ModelHessian
from eigenwerk.motion.relaxation.hessian.products import MANY_ATOMS, Apply

LEAST_CURVATURE = 0.2
"""Share of the expected curvature along a step that is kept where the surface shows less (Powell's damping)."""

STABLE = 0.1
"""Share of the expected curvature along a step below which its change of the gradient teaches nothing about factors."""

MODEL_ERROR = 0.08
"""Relative error of the model's second derivatives that is expected when its factors are learnt."""

FADING = 0.8
"""Weight of a change against the one after it, for the factors."""


Project = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Secant:
    """A step s and the change y of the gradient along it; error: of y, eV/Å, the largest of a component."""

    step_z: np.ndarray
    change_z: np.ndarray
    error: float


def learnt_factors(model: ModelHessian, secants: list[Secant], project: Project) -> np.ndarray:
    """Factors of the kinds by least squares, whose logarithms are expected near 0.

    Minimises Σ_i w_i |B^(-1/2) (y_i - Σ_k c_k H_k s_i)|² / (MODEL_ERROR² s_i B s_i) + Σ_k (ln c_k / PRIOR_WIDTH)² over
    ln c by Gauss and Newton; B is the model with factors 1.
    """
    logs = np.zeros(len(model.kinds) + 1)
    if not secants:
        return np.exp(logs)
    units = whitening(model)
    columns, weights = [], []
    for age, secant in enumerate(reversed(secants)):
        product = project(model.products(secant.step_z))
        expected = secant.step_z @ product.sum(axis=0)
        if secant.step_z @ secant.change_z < STABLE * expected:
            continue  # not the neighbourhood of a minimum
        noise = secant.error**2 * units.inverse_trace
        weights.append(np.sqrt(FADING**age / (MODEL_ERROR**2 * expected + noise + 1e-12)))
        columns.append(np.concatenate([product, secant.change_z[None]]))
    if not columns:
        return np.exp(logs)
    white = units.white(np.concatenate(columns).T).reshape(len(model.floor_z), len(columns), -1)
    white = (white * np.array(weights)[:, None]).reshape(-1, white.shape[2])
    design, target = white[:, :-1], white[:, -1]
    normal, right = design.T @ design, design.T @ target
    for _ in range(20):
        factor = np.exp(logs)
        slope = factor * (normal @ factor - right) + logs / PRIOR_WIDTH**2
        curve = normal * factor * factor[:, None] + np.diag(1 / PRIOR_WIDTH**2 + 0 * logs)
        change = -np.linalg.solve(curve, slope)
        change *= min(1.0, 1.0 / max(np.abs(change).max(), 1e-300))
        logs = np.clip(logs + change, -3, 3)
        if np.abs(change).max() < 1e-6:
            break
    return np.exp(logs)


Update = tuple[np.ndarray, float, np.ndarray, float]
"""y, y s, p = H s and p s of H ← H + y yᵀ / y s - p pᵀ / p s."""


def updates(times: Apply, secants: list[Secant], project: Project) -> Iterator[Update]:
    """BFGS updates of a positive definite matrix, one after the other, damped where the curvature is too small.

    times: the matrix, which has to hold all updates before when the next one is asked for.
    """
    for secant in secants:
        s = project(secant.step_z)
        y = secant.change_z
        product = times(s)
        expected, seen = float(s @ product), float(s @ y)
        if expected <= 0 or secant.error * np.linalg.norm(s) > 0.5 * expected:
            continue  # noise alone
        if seen < LEAST_CURVATURE * expected:
            share = (1 - LEAST_CURVATURE) * expected / (expected - seen)
            y = share * y + (1 - share) * product
            seen = float(s @ y)
        yield y, seen, product, expected


@dataclass(frozen=True, eq=False)
class Whitening:
    """Units in which the model of second derivatives is one, so that changes of the gradient can be compared.

    B = L Lᵀ of the model with factors 1; of many atoms L is that of the blocks of B on its diagonal, one for each atom
    and one for strains: what is compared is weighted a little differently, and no matrix is needed.
    white: L⁻¹ v of columns (z, r); inverse_trace: Σ 1 / B_zz.
    """

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
