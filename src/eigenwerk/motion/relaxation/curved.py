"""Steps along curves: atoms that turn about each other keep their distances.

A quadratic model in Cartesian coordinates takes a molecule that turns for one that grows.  Two things mend that: a step
is bent until bonds and the distances of second neighbours change as it says to first order; and gradients and steps
of other points are turned with the surroundings of each atom before they are compared.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from eigenwerk.motion.relaxation.chart import Chart
from eigenwerk.motion.relaxation.hessian.internal import Rows
from eigenwerk.motion.relaxation.hessian.model import confined
from eigenwerk.motion.relaxation.hessian.neighbours import covalent_radii, near_pairs
from eigenwerk.motion.relaxation.hessian.products import MANY_ATOMS, HessianProducts, solved

BOND_REACH = 0.9
"""Å beyond the covalent radii, up to which pairs are kept together."""

SOFTNESS = 0.05
"""Weight of straightness against that of a bond of strength 1."""

ROUNDS = 6

BEND_TOLERANCE = 1e-4
"""Of the equations of a round, of many atoms."""


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Pairs of atoms that keep near each other: bonds and second neighbours, each pair once.

    chart; first_x, second_x; image_xv: Å, in the lattice of the start, added to the second; weight_x: 1 for a bond.
    """

    chart: Chart
    first_x: np.ndarray
    second_x: np.ndarray
    image_xv: np.ndarray
    weight_x: np.ndarray

    def vectors(self, z: np.ndarray) -> np.ndarray:
        """From the first to the second of each pair in the lattice of the start, (x, 3)."""
        place = z[:-6].reshape(-1, 3)
        return place[self.second_x] - place[self.first_x] + self.image_xv

    def lengths(self, z: np.ndarray) -> np.ndarray:
        """Å, in the strained lattice."""
        return np.linalg.norm(self.vectors(z) @ self.chart.deformation(z), axis=1)

    def slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the lengths: by the second's position (x, 3), minus those by the first's; by η, (x, 6)."""
        deform = self.chart.deformation(z)
        inner = self.vectors(z)
        real = inner @ deform
        unit = real / np.linalg.norm(real, axis=1, keepdims=True)
        strain = np.einsum("xv,mvw,xw->xm", inner, self.chart.deformation_changes(z), unit)
        return unit @ deform.T, strain

    def bent(self, z: np.ndarray, step: np.ndarray) -> np.ndarray:
        """A place near z + step whose lengths are those of z and their changes along step to first order.

        Minimises Σ_x w_x (r_x(z') - r_x - r_x' s)² + SOFTNESS |z' - z - s|² over what may change, by Gauss and Newton.
        """
        if not len(self.weight_x):
            return z + step
        by_place, by_strain = self.slopes(z)
        along = step[:-6].reshape(-1, 3)
        wanted = self.lengths(z) + ((along[self.second_x] - along[self.first_x]) * by_place).sum(axis=1)
        wanted = wanted + by_strain @ step[-6:]
        wanted = np.maximum(wanted, 0.5 * self.lengths(z))
        goal = z + step
        found = goal
        strained = self.chart.atoms * 10.0
        penalty = SOFTNESS * np.concatenate([np.ones(len(z) - 6), np.full(6, strained)])
        index = np.concatenate([3 * x[:, None] + np.arange(3) for x in (self.second_x, self.first_x)], axis=1)
        for _ in range(ROUNDS):
            missing = wanted - self.lengths(found)
            by_place, by_strain = self.slopes(found)
            rows = Rows(
                np.concatenate([index, np.broadcast_to(len(z) - 6 + np.arange(6), (len(missing), 6))], axis=1),
                np.concatenate([by_place, -by_place, by_strain], axis=1), self.weight_x, index[:, 0] * 0,
            )  # fmt: skip
            right = rows.transposed(self.weight_x * missing, len(z)) + penalty * (goal - found)
            change = self._change(rows, right, penalty)
            found = found + change
            if np.abs(change).max() < 1e-4:
                break
        return found

    def _change(self, rows: Rows, right: np.ndarray, penalty: np.ndarray) -> np.ndarray:
        """(Σ_x w_x r_x' r_x'ᵀ + penalty)⁻¹ right, of what may change."""
        project = self.chart.project
        if self.chart.atoms < MANY_ATOMS:
            matrix = confined(rows.squares(len(right)) + np.diag(penalty), penalty, self.chart)
            return project(np.linalg.solve(matrix, project(right)))
        normal = HessianProducts([rows], [self.weight_x], penalty)
        return solved(normal, normal.preconditioner(), right, project, BEND_TOLERANCE)

    def turns(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """How the surroundings of each atom have turned, (a, 3, 3) as v @ turn: from the way its neighbours lie."""
        old, new = self.vectors(before), self.vectors(after)
        atoms = self.chart.atoms
        outer = self.weight_x[:, None, None] * old[:, :, None] * new[:, None, :]
        near = np.zeros((atoms, 3, 3))
        np.add.at(near, self.first_x, outer)
        np.add.at(near, self.second_x, outer)
        both = near.copy()
        share = self.weight_x[:, None, None]
        np.add.at(both, self.first_x, share * near[self.second_x])
        np.add.at(both, self.second_x, share * near[self.first_x])
        both += 0.1 * np.eye(3)
        left, _, right = np.linalg.svd(both)
        left[:, :, -1] *= np.sign(np.linalg.det(left @ right))[:, None]
        return left @ right


def skeleton(chart: Chart, z: np.ndarray, scaled_ac: np.ndarray, symbols: tuple[str, ...]) -> Skeleton:
    """Bonds and second neighbours at z.  Raises ValueError for a cell without room."""
    radius_a = covalent_radii(symbols)
    pairs = near_pairs(chart.lattice_cv @ chart.deformation(z), scaled_ac, radius_a, BOND_REACH)
    beyond = np.maximum(pairs.length - radius_a[pairs.first] - radius_a[pairs.second], 0)
    weight = (1 - (beyond / BOND_REACH) ** 2) ** 2 * np.exp(-3 * beyond)
    starts = np.searchsorted(pairs.first, np.arange(len(symbols) + 1))
    first, second, image, strength = [pairs.first], [pairs.second], [pairs.image_xc], [weight]
    for begin, end in pairwise(starts):
        one, other = np.triu_indices(end - begin, 1)
        one, other = one + begin, other + begin
        product = 0.1 * weight[one] * weight[other]
        first.append(pairs.second[one])
        second.append(pairs.second[other])
        image.append(pairs.image_xc[other] - pairs.image_xc[one])
        strength.append(product)
    strength[0] = weight / 2
    keep = np.concatenate(strength) > 1e-3
    return Skeleton(
        chart, np.concatenate(first)[keep], np.concatenate(second)[keep],
        (np.concatenate(image) @ chart.lattice_cv)[keep], np.concatenate(strength)[keep],
    )  # fmt: skip
