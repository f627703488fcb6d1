"""The crystal: lattice, atoms, starting moments.

Rows are vectors: `lattice_cv[c]` is the lattice vector a_c in bohr, and an atom at fractional position x sits at
r_v = sum_c x_c a_cv.
"""

from dataclasses import dataclass

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.lattice_reduction import reduced


@dataclass(frozen=True, eq=False)
class Structure:
    """A periodic arrangement of atoms.

    lattice_cv: (3, 3) lattice vectors as rows, bohr; either handedness.
    symbols: element symbols, one per atom.
    scaled_ac: (a, 3) fractional positions, kept as given (not wrapped into the cell).
    magmom_a: (a,) starting moments along the spin axis in Bohr magnetons, or None for a calculation without spin.
    kinds: a word per atom, the same for atoms that symmetry may exchange: their elements, unless atoms of one element
    differ in what they are given (+U).

    Raises InputError for wrong shapes, numbers that are not finite, no atoms, or lattice vectors in one plane.
    """

    lattice_cv: np.ndarray
    symbols: tuple[str, ...]
    scaled_ac: np.ndarray
    magmom_a: np.ndarray | None = None
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbols", tuple(str(symbol) for symbol in self.symbols))
        object.__setattr__(self, "kinds", tuple(self.kinds) or self.symbols)
        if not self.symbols:
            raise InputError("The structure has no atoms. Give at least one.")
        atoms = len(self.symbols)
        object.__setattr__(self, "lattice_cv", _checked("lattice vectors", self.lattice_cv, (3, 3)))
        object.__setattr__(self, "scaled_ac", _checked("positions", self.scaled_ac, (atoms, 3)))
        if self.magmom_a is not None:
            object.__setattr__(self, "magmom_a", _checked("starting moments", self.magmom_a, (atoms,)))
        if len(self.kinds) != atoms:
            raise InputError(f"There are {atoms} atoms but {len(self.kinds)} kinds. Give one word for each atom.")
        _check_volume(self.lattice_cv)

    @property
    def volume(self) -> float:
        """Cell volume |det a| in bohr^3, positive for either handedness."""
        return float(abs(np.linalg.det(self.lattice_cv)))

    @property
    def reciprocal_cv(self) -> np.ndarray:
        """Reciprocal lattice vectors as rows, a_i . b_j = 2 pi delta_ij, in 1/bohr."""
        return 2.0 * np.pi * np.linalg.inv(self.lattice_cv).T

    @property
    def positions_av(self) -> np.ndarray:
        """Cartesian positions in bohr, (a, 3)."""
        return self.scaled_ac @ self.lattice_cv

    @property
    def species(self) -> tuple[str, ...]:
        """The different element symbols in order of first appearance."""
        return tuple(dict.fromkeys(self.symbols))


def vacuum(structure: Structure) -> np.ndarray:
    """Thickness in bohr of the widest layer without atoms across each lattice axis, (3,)."""
    return empty_layers(structure.lattice_cv, structure.scaled_ac)


def empty_layers(lattice_cv: np.ndarray, scaled_ac: np.ndarray) -> np.ndarray:
    """The same of a list of positions, in the unit of the lattice.

    Along axis c the fractional coordinates leave gaps; a gap x is a layer of x 2π / |b_c|.
    """
    _, gap_c = widest_gaps(scaled_ac % 1.0)
    return np.asarray(gap_c / np.linalg.norm(np.linalg.inv(lattice_cv), axis=0))


CUBIC = 0.01
"""Edges of a box that is as good as cubic differ by this part at most, and their cosines."""


def is_cubic(lattice_cv: np.ndarray) -> bool:
    """Whether edges are alike and at right angles."""
    length_c = np.linalg.norm(lattice_cv, axis=1)
    cosine_cc = (lattice_cv @ lattice_cv.T) / np.outer(length_c, length_c) - np.eye(3)
    return bool(np.ptp(length_c) <= CUBIC * length_c.max() and np.abs(cosine_cc).max() <= CUBIC)


def away_from_vacuum(structure: Structure) -> np.ndarray:
    """Cartesian positions with each atom moved by lattice vectors so that the widest gaps lie outside all; (a, 3)."""
    wrapped_ac = structure.scaled_ac % 1.0
    first_c, _ = widest_gaps(wrapped_ac)
    return (wrapped_ac - first_c) % 1.0 @ structure.lattice_cv


def widest_gaps(wrapped_ac: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The coordinate after the widest gap of each axis, and its width; coordinates in 0..1."""
    sorted_ac = np.sort(wrapped_ac, axis=0)
    gap_ac = np.diff(np.concatenate([sorted_ac, sorted_ac[:1] + 1.0]), axis=0)
    after_c = (gap_ac.argmax(axis=0) + 1) % len(sorted_ac)
    return sorted_ac[after_c, np.arange(3)], gap_ac.max(axis=0)


def shortest(step_ac: np.ndarray) -> np.ndarray:
    """Fractional displacements to the nearest image, axis by axis."""
    return np.asarray(step_ac - np.rint(step_ac))


def shortest_distance(structure: Structure) -> tuple[int, int, float]:
    """The closest pair of atoms, periodic images included.

    Returns (i, j, d): atoms i <= j and their distance d in bohr; i == j when an atom's own image is closest.

    An image displaced by n cells is at |sum_c (x_c + n_c) a_c| >= 2 pi |x_c + n_c| / |b_c| for every c, so once one
    distance d is known only |x_c + n_c| <= d |b_c| / 2 pi can beat it.
    """
    lattice_cv = reduced(structure.lattice_cv)  # short vectors, so that few images are within reach
    scaled_ac = structure.scaled_ac % 1.0 @ structure.lattice_cv @ np.linalg.inv(lattice_cv)
    bound = float(np.linalg.norm(lattice_cv[0]))  # a distance that certainly occurs
    best = (0, 0, np.inf)
    for i in range(len(structure.symbols)):
        wrapped_ac = scaled_ac[i:] - scaled_ac[i]
        wrapped_ac = wrapped_ac - np.round(wrapped_ac)
        for image_c in _images(lattice_cv, bound):
            distance_a = np.linalg.norm((wrapped_ac + image_c) @ lattice_cv, axis=1)
            if not image_c.any():
                distance_a[0] = np.inf
            j = int(np.argmin(distance_a))
            if distance_a[j] < best[2]:
                best = (i, i + j, float(distance_a[j]))
        bound = min(bound, best[2])
    return best


def _images(lattice_cv: np.ndarray, distance: float) -> np.ndarray:
    """Integer cells (x, 3) that can hold an image within `distance` of an atom wrapped to |x_c| <= 1/2."""
    reach_c = distance * np.linalg.norm(np.linalg.inv(lattice_cv), axis=0)
    count_c = np.floor(reach_c + 0.5 + 1e-9).astype(int)
    axes = [np.arange(-count, count + 1) for count in count_c]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _checked(name: str, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A read-only float copy with the wanted shape and finite numbers."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The {name} are not numbers ({error}).") from error
    if array.shape != shape:
        raise InputError(f"The {name} have shape {array.shape}, expected {shape}.")
    if not np.isfinite(array).all():
        where = tuple(int(index) + 1 for index in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"The {name} contain {array[~np.isfinite(array)][0]} at entry {where}. Give finite numbers.")
    array.setflags(write=False)
    return array


def _check_volume(lattice_cv: np.ndarray) -> None:
    """Refuse vectors of length zero or in one plane: a volume below 1e-6 of the box with the same edges."""
    length_c = np.linalg.norm(lattice_cv, axis=1)
    volume = abs(np.linalg.det(lattice_cv))
    if not volume > 1e-6 * np.prod(length_c):
        lengths = ", ".join(f"{length:.6g}" for length in length_c)
        raise InputError(
            f"The lattice vectors span no volume: lengths {lengths} bohr, volume {volume:.3g} bohr^3. "
            "Check that no vector is zero and that they do not lie in one plane."
        )
