"""Internal coordinates (stretches, bends, torsions) of a structure, with stiffnesses by rule of thumb.

Two atoms at a distance r, whose covalent radii add up to R, share a bond of strength w = exp(-γ (r - R)); an atom's
bonds together, n, tell how many neighbours it has, and a bond among many is softer:

    k_stretch = K w / n̄,  K = 80 eV/Å² min(1, (1.5 Å / R)^2.5)

with n̄ the mean of (1 + n⁴)^¼ at both ends.  The form is that of R. Lindh et al., Chem. Phys. Lett. 241, 423 (1995),
an exponential of distances that needs no list of bonds; numbers for all elements in place of three rows.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from eigenwerk.motion.relaxation.hessian.neighbours import Pairs, covalent_radii, near_pairs


@dataclass(frozen=True, eq=False)
class Rows:
    """∂q_x/∂z of coordinates with the same number of atoms: index_xy: entries of z, value_xy, stiffness_x, kind_x."""

    index_xy: np.ndarray
    value_xy: np.ndarray
    stiffness_x: np.ndarray
    kind_x: np.ndarray

    @property
    def width(self) -> int:
        """How many entries of z a coordinate depends on."""
        return self.index_xy.shape[1]

    def squares(self, size: int, weight_x: np.ndarray | None = None) -> np.ndarray:
        """Σ_x k_x w_x (∂q_x/∂z)(∂q_x/∂z)ᵀ, (size, size); w: 1 unless given."""
        weight = self.stiffness_x if weight_x is None else self.stiffness_x * weight_x
        value = self.value_xy[:, :, None] * (self.value_xy * weight[:, None])[:, None, :]
        where = self.index_xy[:, :, None] * size + self.index_xy[:, None, :]
        return np.bincount(where.ravel(), value.ravel(), minlength=size * size).reshape(size, size)

    def transposed(self, along_x: np.ndarray, size: int) -> np.ndarray:
        """Σ_x a_x ∂q_x/∂z."""
        return np.bincount(self.index_xy.ravel(), (self.value_xy * along_x[:, None]).ravel(), minlength=size)


GAMMA = 3.75
"""1/Å."""

REACH = 2.2
"""Å beyond the covalent radii, where the weakest stretches end."""

STRETCH, BEND, TORSION = 80.0, 3.5, 0.6
"""eV/Å², eV and eV: scales of stiffnesses."""

ORDER = 1.5
"""Power of the strength of a bond by which torsions about it are stiff."""

CROWDED = 1.75
"""Power of the number of neighbours, beyond four, by which bends grow softer."""

WEAK = 0.15
"""Strength at which a stretch counts as half a bond, half a weak contact."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Internal coordinates of one kind (t atoms each) as gradients.

    atom_xt; place_xtv: of the atoms' images, Å; slope_xtv: derivative of the coordinate by their positions, 1 or 1/Å;
    stiffness_x: eV/Å² or eV; kind_x: (number, of a class of similar coordinates).
    """

    atom_xt: np.ndarray
    place_xtv: np.ndarray
    slope_xtv: np.ndarray
    stiffness_x: np.ndarray
    kind_x: np.ndarray


def _fade(value: np.ndarray, least: float) -> np.ndarray:
    """value where it is large, 0 below least, without a jump between."""
    return np.where(value > least, value - least * np.exp(-(value - least) / least), 0.0)


@dataclass(frozen=True, eq=False)
class _Bonds:
    """All pairs, both directions, in order of the first atom, from starts_a[first] on; their strengths w; n̄ of each
    atom; once: one direction of each pair."""

    pairs: Pairs
    sum_x: np.ndarray
    strength_x: np.ndarray
    count_a: np.ndarray
    species_a: np.ndarray
    place_av: np.ndarray
    starts_a: np.ndarray
    once_x: np.ndarray


def internal_coordinates(lattice_cv: np.ndarray, scaled_ac: np.ndarray, symbols: tuple[str, ...]) -> list[Coordinates]:
    """Stretches, bends and torsions of an arrangement.  Raises ValueError for a cell without room."""
    radius_a = covalent_radii(symbols)
    names = sorted(set(symbols))
    pairs = near_pairs(lattice_cv, scaled_ac, radius_a, REACH)
    sums = radius_a[pairs.first] + radius_a[pairs.second]
    beyond = pairs.length - sums
    strength = np.exp(-GAMMA * np.maximum(beyond, -0.5)) * (1 - (np.maximum(beyond, 0) / REACH) ** 4)
    count = np.bincount(pairs.first, strength, minlength=len(symbols))
    bonds = _Bonds(
        pairs, sums, strength, (1 + count**4) ** 0.25, np.array([names.index(symbol) for symbol in symbols]),
        scaled_ac @ lattice_cv, np.searchsorted(pairs.first, np.arange(len(symbols) + 1)),
        (pairs.first < pairs.second) | ((pairs.first == pairs.second) & _forward(pairs.image_xc)),
    )  # fmt: skip
    parts = [_stretches(bonds), *_bends(bonds), *_torsions(bonds)]
    return [part for part in parts if len(part.stiffness_x)]


def _stretches(bonds: _Bonds) -> Coordinates:
    once, pairs = bonds.once_x, bonds.pairs
    unit = pairs.vector_xv[once] / pairs.length[once, None]
    first, second, strength = pairs.first[once], pairs.second[once], bonds.strength_x[once]
    scale = STRETCH * np.minimum(1, (1.5 / bonds.sum_x[once]) ** 2.5)
    stiffness = scale * strength * 2 / (bonds.count_a[first] + bonds.count_a[second])
    bonded = strength**2 / (strength**2 + WEAK**2)
    low, high = np.sort([bonds.species_a[first], bonds.species_a[second]], axis=0)
    kind = (1 << 16) + 256 * low + high
    place = bonds.place_av[first]
    return Coordinates(
        np.tile(np.stack([first, second], axis=1), (2, 1)),
        np.tile(np.stack([place, place + pairs.vector_xv[once]], axis=1), (2, 1, 1)),
        np.tile(np.stack([-unit, unit], axis=1), (2, 1, 1)),
        np.concatenate([stiffness * bonded, stiffness * (1 - bonded)]),
        np.concatenate([kind, kind + (1 << 24)]),
    )


def _forward(image_xc: np.ndarray) -> np.ndarray:
    """Whether the first number of each row that is not 0 is positive."""
    weights = image_xc @ np.array([1e6, 1e3, 1.0])
    return weights > 0


def _bends(bonds: _Bonds) -> list[Coordinates]:
    """Angles at the first atoms of two pairs; near 180° both directions across the line, in part."""
    pairs = bonds.pairs
    share = np.minimum(bonds.strength_x, 2.0) / np.maximum(bonds.count_a[pairs.first] / 4, 1) ** CROWDED
    left, right = [], []
    for begin, end in pairwise(bonds.starts_a):
        strong = begin + np.nonzero(share[begin:end] > 0.02)[0]
        one, other = np.triu_indices(len(strong), 1)
        left.append(strong[one])
        right.append(strong[other])
    one, other = np.concatenate(left), np.concatenate(right)
    weight = _fade(share[one] * share[other], 0.01)
    one, other, weight = one[weight > 0], other[weight > 0], weight[weight > 0]
    centre = pairs.first[one]
    u, v = (pairs.vector_xv[x] / pairs.length[x, None] for x in (one, other))
    p, q = pairs.length[one, None], pairs.length[other, None]
    cosine = np.clip((u * v).sum(axis=1), -1, 1)[:, None]
    atom = np.stack([pairs.second[one], centre, pairs.second[other]], axis=1)
    place = bonds.place_av[centre]
    places = np.stack([place + pairs.vector_xv[one], place, place + pairs.vector_xv[other]], axis=1)
    kind = (2 << 16) + bonds.species_a[centre]
    stiffness = BEND * weight
    straight = np.clip((-cosine[:, 0] - 0.90) / (0.98 - 0.90), 0, 1)
    straight = straight**2 * (3 - 2 * straight)
    sine = np.sqrt(np.maximum(1 - cosine**2, 1e-12))
    da, dc = (cosine * u - v) / (sine * p), (cosine * v - u) / (sine * q)
    bent = straight < 1
    parts = [
        Coordinates(
            atom[bent], places[bent], np.stack([da, -da - dc, dc], axis=1)[bent],
            (stiffness * (1 - straight))[bent], kind[bent],
        )
    ]  # fmt: skip
    line = straight > 0
    if line.any():
        along = (u - v)[line]
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        helper = np.eye(3)[np.argmin(np.abs(along), axis=1)]
        across = np.cross(along, helper)
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        for direction in (across, np.cross(along, across)):
            da, dc = direction / p[line], direction / q[line]
            slope = np.stack([da, -da - dc, dc], axis=1)
            parts.append(Coordinates(atom[line], places[line], slope, (stiffness * straight)[line], kind[line]))
    return parts


def _torsions(bonds: _Bonds) -> list[Coordinates]:
    """Dihedral angles about bonds between atoms of at most about four neighbours."""
    pairs, strength, count = bonds.pairs, bonds.strength_x, bonds.count_a
    share = np.minimum(strength, 1.0) * np.clip((6.5 - count[pairs.first]) / 2, 0, 1)
    share = share * np.clip((6.5 - count[pairs.second]) / 2, 0, 1)
    end = np.minimum(strength, 1.0)
    strong = np.nonzero(end > 0.1)[0]
    first = np.searchsorted(pairs.first[strong], np.arange(len(count) + 1))
    middle = np.nonzero(bonds.once_x & (share > 0.1))[0]
    j, k = pairs.first[middle], pairs.second[middle]
    rights = first[k + 1] - first[k]
    number = (first[j + 1] - first[j]) * rights
    which = np.repeat(np.arange(len(middle)), number)  # of the middles, for each torsion
    place = np.arange(len(which)) - np.repeat(np.cumsum(number) - number, number)
    one, other = strong[first[j[which]] + place // rights[which]], strong[first[k[which]] + place % rights[which]]
    middle, axis = middle[which], pairs.vector_xv[middle[which]]
    a, d = pairs.vector_xv[one], axis + pairs.vector_xv[other]
    weight = _fade(end[one], 0.1) * _fade(end[other], 0.1) * _fade(share[middle], 0.1)
    weight *= (np.linalg.norm(a - axis, axis=1) > 1e-3) & (np.linalg.norm(d, axis=1) > 1e-3)
    for vector, of in ((a, -axis), (d - axis, axis)):
        cosine = (vector * of).sum(axis=1) / np.linalg.norm(vector, axis=1) / np.linalg.norm(axis, axis=1)
        weight = weight * np.clip((0.95 - np.abs(cosine)) / 0.10, 0, 1)
    total = np.bincount(which, weight, minlength=len(number))[which]
    weight = weight * TORSION * strength[middle] ** ORDER / np.maximum(total, 1.0)
    keep = weight > 0
    if not keep.any():
        return []
    one, other, middle, a, d, axis, weight = (x[keep] for x in (one, other, middle, a, d, axis, weight))
    atom = np.stack([pairs.second[one], pairs.first[middle], pairs.second[middle], pairs.second[other]], axis=1)
    origin = bonds.place_av[pairs.first[middle]]
    place = np.stack([origin + a, origin, origin + axis, origin + d], axis=1)
    return [Coordinates(atom, place, _torsion_slopes(place), weight, np.full(len(atom), 3 << 16))]


def _torsion_slopes(place_xtv: np.ndarray) -> np.ndarray:
    """Derivatives of dihedral angles; A. Blondel and M. Karplus, J. Comput. Chem. 17, 1132 (1996)."""
    f = place_xtv[:, 0] - place_xtv[:, 1]
    g = place_xtv[:, 1] - place_xtv[:, 2]
    h = place_xtv[:, 3] - place_xtv[:, 2]
    a, b = np.cross(f, g), np.cross(h, g)
    length = np.linalg.norm(g, axis=1)[:, None]
    aa, bb = (a * a).sum(axis=1)[:, None], (b * b).sum(axis=1)[:, None]
    fg, hg = (f * g).sum(axis=1)[:, None], (h * g).sum(axis=1)[:, None]
    first, last = -length / aa * a, length / bb * b
    mixed = fg / (aa * length) * a - hg / (bb * length) * b
    return np.stack([first, -first + mixed, -mixed - last, last], axis=1)
