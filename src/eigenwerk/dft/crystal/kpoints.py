"""Meshes of k-points and their reduction by symmetry.

Points are fractional, k_v = sum_c k_c b_cv.  Meshes are ordered with the first axis fastest, 0 before the negative
half, and the irreducible point of a star is its first point in that order.  A mesh is reduced by those operations that
map it onto itself; densities are averaged over all of the crystal.  Equations: docs/equations/symmetry.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from eigenwerk.dft.crystal.lattice_points import image_indices, integer_points
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry, keeps_points, subgroup
from eigenwerk.dft.crystal.tetrahedra import FEWEST_POINTS, Tetrahedra, row_echelon, tetrahedra_of_mesh
from eigenwerk.errors import InputError
from eigenwerk.units import BOHR_ANGSTROM

Mesh = tuple[int, int, int]
Shift = tuple[float, float, float]
NO_SHIFT: Shift = (0.0, 0.0, 0.0)
SAME_POINT = 1e-9
"""Largest distance of 2k from integers that counts as zero."""

MOST_POINTS = 250_000
"""A larger mesh is taken for a mistake in the input."""


@dataclass(frozen=True, eq=False)
class KPoints:
    """The k-points of a calculation.

    point_kc: (k, 3) fractional, irreducible.  weight_k: (k,), sum 1; for both spins alike.
    mesh, shift: numbers of a regular mesh (the shift in steps of the mesh), None and zeros for a list.
    full_count: points before the reduction.  source: where the points come from, in words.
    symmetry: the operations of the crystal, the ones to symmetrise with, whatever the points are.
    kept_o: (o,) of bool, which of them map a mesh onto itself; None for a list.
    irreducible_of_full: (full,) index into point_kc of each full point; None for a list.
    operation_of_full, reversed_of_full: (full,) the operation o (and whether k -> -k follows) that makes the full point
    from its irreducible one, k_full = +-W_o^-T k up to a reciprocal lattice vector; None for a list.
    cells_cc: (3, 3) integers, the inverse of the steps of a mesh in reciprocal lattice vectors; None for a list.
    tetrahedra: what fills the zone between the points, if it was asked for.
    label_k: names of points of a list or path, '' without; line_k: (k,) which straight line of a path each point lies
    on, None if there is no path.
    """

    point_kc: np.ndarray
    weight_k: np.ndarray
    mesh: Mesh | None
    shift: Shift
    full_count: int
    irreducible_of_full: np.ndarray | None
    source: str
    symmetry: Symmetry
    operation_of_full: np.ndarray | None = None
    reversed_of_full: np.ndarray | None = None
    label_k: tuple[str, ...] = ()
    line_k: np.ndarray | None = None
    cells_cc: np.ndarray | None = None
    tetrahedra: Tetrahedra | None = None
    kept_o: np.ndarray | None = None

    @property
    def kept_operations(self) -> int:
        """How many of the operations map the mesh onto itself; of a list, all."""
        return self.symmetry.order if self.kept_o is None else int(self.kept_o.sum())

    @property
    def has_crystal_symmetry(self) -> bool:
        """Whether all operations map the mesh onto itself, or it is a list, which stands for stars of points."""
        return self.kept_operations == self.symmetry.order

    @property
    def full_kc(self) -> np.ndarray:
        """All points of a mesh in their order, made of the irreducible ones; of a list, these."""
        if self.irreducible_of_full is None or self.operation_of_full is None or self.reversed_of_full is None:
            return self.point_kc
        matrix_kcc = self.symmetry.reciprocal_occ[self.operation_of_full]
        made_kc = np.einsum("kcd,kd->kc", matrix_kcc, self.point_kc[self.irreducible_of_full])
        return wrapped(np.where(self.reversed_of_full[:, None], -made_kc, made_kc))

    def of_kept_operations(self) -> "KPoints":
        """The same mesh in a crystal that has its operations alone."""
        if self.kept_o is None or self.has_crystal_symmetry:
            return self
        made = reduce_mesh(self.full_kc, subgroup(self.symmetry, self.kept_o), self.mesh, self.shift, self.source)
        return replace(made, cells_cc=self.cells_cc, tetrahedra=self.tetrahedra)

    @property
    def samples_zone(self) -> bool:
        """Whether sums over the points mean something: not on a path, and not for a list, of which nobody knows."""
        return self.irreducible_of_full is not None or self.tetrahedra is not None

    def with_tetrahedra(self, structure: Structure) -> "KPoints":
        """The same points of a mesh with the tetrahedra between them.

        Raises InputError for a list without tetrahedra, or fewer points than one tetrahedron has corners.
        """
        if self.tetrahedra is not None:
            return self
        if self.cells_cc is None or self.irreducible_of_full is None:
            raise InputError(f"the {self.source} has no tetrahedra")
        if self.full_count < FEWEST_POINTS:
            count = f"{self.full_count} point{'s' if self.full_count > 1 else ''}"
            raise InputError(f"the {self.source} has {count}, and tetrahedra need at least {FEWEST_POINTS}")
        flip_o, flip_of_full = self.symmetry.spin_flip_o, None
        if self.operation_of_full is not None and flip_o[self.operation_of_full].any():
            flip_of_full = flip_o[self.operation_of_full]
        made = tetrahedra_of_mesh(self.cells_cc, structure.reciprocal_cv, self.irreducible_of_full, flip_of_full)
        return replace(self, tetrahedra=made)

    @property
    def allow_real_orbitals(self) -> bool:
        """Whether 2k is a lattice vector at every point: Gamma, corners and face centres of the zone."""
        twice_kc = 2 * self.point_kc
        return bool((np.abs(twice_kc - np.rint(twice_kc)) < SAME_POINT).all())


def monkhorst_pack(mesh: Mesh, shift: Shift = NO_SHIFT, gamma_centred: bool = True) -> np.ndarray:
    """All points of a regular mesh, (k, 3) fractional in (-1/2, 1/2].

    Gamma-centred: k_c = (n_c + s_c) / N_c; Monkhorst-Pack: k_c = (n_c + s_c + (1 - N_c)/2) / N_c, which for even N_c is
    half a step away from Gamma.  n_c = 0 ... N_c - 1, first axis fastest.
    Source: H. J. Monkhorst, J. D. Pack, Phys. Rev. B 13, 5188 (1976); VASP wiki, KPOINTS.

    shift: s_c in steps of the mesh.  Raises InputError for a mesh below 1 or numbers that are not finite.
    """
    _check_mesh(mesh, shift)
    axes = [_axis(count, step, gamma_centred) for count, step in zip(mesh, shift, strict=True)]
    third, second, first = np.meshgrid(*reversed(axes), indexing="ij")
    return np.stack([first, second, third], axis=-1).reshape(-1, 3)


def generated_mesh(generator_cc: np.ndarray, shift: Shift = NO_SHIFT) -> np.ndarray:
    """All points (modulo reciprocal lattice vectors) of a mesh spanned by three vectors, (k, 3) fractional.

    k = sum_d (n_d + s_d) g_d with rows g_d = generator_cc[d] in fractional coordinates.  The mesh must contain the
    reciprocal lattice, so the inverse of generator_cc is a matrix of integers and |det| of it the number of points.
    Raises InputError otherwise.
    """
    generator_cc = np.asarray(generator_cc, dtype=np.float64)
    if generator_cc.shape != (3, 3) or not np.isfinite(generator_cc).all() or abs(np.linalg.det(generator_cc)) < 1e-9:
        raise InputError(f"The generating vectors {generator_cc.tolist()} of the k-mesh span no volume.")
    inverse_cc = np.linalg.inv(generator_cc)
    integer_cc = np.rint(inverse_cc).astype(np.int64)
    if np.abs(inverse_cc - integer_cc).max() > 1e-4:
        raise InputError(
            f"The mesh spanned by {generator_cc.tolist()} does not contain the reciprocal lattice vectors; its inverse "
            f"{inverse_cc.round(4).tolist()} must consist of integers."
        )
    size_c = np.abs(np.diag(row_echelon(integer_cc)))
    _check_mesh(_as_triple(size_c), shift)
    third, second, first = np.meshgrid(*(np.arange(size) for size in size_c[::-1]), indexing="ij")
    step_kc = np.stack([first, second, third], axis=-1).reshape(-1, 3)
    return wrapped((step_kc + np.asarray(shift)) @ np.linalg.inv(integer_cc))


def mesh_from_spacing(structure: Structure, spacing_per_angstrom: float) -> Mesh:
    """KSPACING: N_c = max(1, ceil(|b_c| / spacing)) with b_c including 2 pi; spacing in 1/angstrom.

    An excess below 1e-6 is rounding noise and adds no point.  Raises InputError unless the spacing is positive.
    """
    if not 0.0 < spacing_per_angstrom < np.inf:
        raise InputError(f"KSPACING = {spacing_per_angstrom} must be a positive number (1/angstrom).")
    ratio_c = _reciprocal_lengths(structure) / spacing_per_angstrom
    return _as_mesh([max(1, ceil(ratio - 1e-6)) for ratio in ratio_c], f"KSPACING = {spacing_per_angstrom}")


def mesh_from_length(structure: Structure, length_angstrom: float) -> Mesh:
    """KPOINTS "Auto": N_c = int(max(1, R_k |b_c| / 2 pi + 1/2)), a Gamma-centred mesh; R_k in angstrom.

    Raises InputError unless the length is positive.
    """
    if not 0.0 < length_angstrom < np.inf:
        raise InputError(f"The automatic k-mesh length {length_angstrom} must be a positive number (angstrom).")
    ratio_c = length_angstrom * _reciprocal_lengths(structure) / (2.0 * np.pi)
    return _as_mesh([int(max(1.0, ratio + 0.5 + 1e-6)) for ratio in ratio_c], f"length {length_angstrom}")


def mesh_kpoints(mesh: Mesh, shift: Shift, gamma_centred: bool, symmetry: Symmetry) -> KPoints:
    """A regular mesh reduced by symmetry: `monkhorst_pack`, then `reduce_mesh`, with a description."""
    kind = "Gamma-centred" if gamma_centred else "Monkhorst-Pack"
    shifted = f", shift {shift[0]:g} {shift[1]:g} {shift[2]:g}" if any(shift) else ""
    source = f"{kind} {mesh[0]} x {mesh[1]} x {mesh[2]} mesh{shifted}"
    full_kc = monkhorst_pack(mesh, shift, gamma_centred)
    return replace(reduce_mesh(full_kc, symmetry, mesh, shift, source), cells_cc=np.diag(mesh))


def generated_kpoints(generator_cc: np.ndarray, shift: Shift, symmetry: Symmetry) -> KPoints:
    """The same of `generated_mesh`."""
    full_kc = generated_mesh(generator_cc, shift)
    reduced = reduce_mesh(full_kc, symmetry, source=f"generalised mesh of {len(full_kc)} points")
    return replace(reduced, cells_cc=np.rint(np.linalg.inv(generator_cc)).astype(np.int64))


def reduce_mesh(
    point_kc: np.ndarray,
    symmetry: Symmetry,
    mesh: Mesh | None = None,
    shift: Shift = NO_SHIFT,
    source: str = "list of all points",
) -> KPoints:
    """The irreducible points of a full set of equally weighted points, in integer arithmetic.

    Operations (alone or with k -> -k) that do not map the set onto itself make no stars (`KPoints.kept_o`): each of
    them would find other points, whose energies are in no sum.  The stars of the remaining group give the weights,
    w = (points in the star) / (all points).

    point_kc: (k, 3) fractional, all different modulo 1.  Raises InputError for equal points.
    """
    point_kc = _checked_points(point_kc)
    integer_kc, denominator = integer_points(point_kc)
    if len(np.unique(integer_kc, axis=0)) < len(integer_kc):
        raise InputError("The list of k-points holds a point twice (up to a reciprocal lattice vector). Remove one.")
    kept_o = keeps_points(symmetry, point_kc)
    orbits = orbits_of(integer_kc, denominator, subgroup(symmetry, kept_o))
    return KPoints(
        point_kc=point_kc[orbits.first],
        weight_k=np.bincount(orbits.orbit_k) / len(point_kc),
        mesh=mesh,
        shift=shift,
        full_count=len(point_kc),
        irreducible_of_full=orbits.orbit_k,
        source=source,
        symmetry=symmetry,
        operation_of_full=np.flatnonzero(kept_o)[orbits.operation_k],
        reversed_of_full=orbits.reversed_k,
        kept_o=kept_o,
    )


@dataclass(frozen=True, eq=False)
class Orbits:
    """How operations part a set of points: first, the first point of each orbit; orbit_k, which orbit each point is in;
    operation_k, reversed_k: the operation (and whether k -> -k follows) that makes it of the first one."""

    first: np.ndarray
    orbit_k: np.ndarray
    operation_k: np.ndarray
    reversed_k: np.ndarray


def orbits_of(integer_kc: np.ndarray, denominator: int, symmetry: Symmetry) -> Orbits:
    """The orbits of different points (`integer_points`) under a group that maps the set onto itself."""
    matrix_xcc, operation_x, reversed_x = star_matrices(symmetry)
    image_xk = image_indices(integer_kc, denominator, matrix_xcc)
    closed_x = (image_xk >= 0).all(axis=1)  # an operation may need k -> -k
    image_xk, operation_x, reversed_x = image_xk[closed_x], operation_x[closed_x], reversed_x[closed_x]
    first_k = image_xk.min(axis=0)
    irreducible, orbit_k = np.unique(first_k, return_inverse=True)
    maker_k = np.argmax(image_xk[:, first_k] == np.arange(len(integer_kc)), axis=0)
    return Orbits(irreducible, orbit_k.reshape(-1), operation_x[maker_k], reversed_x[maker_k])


def explicit(point_kc: np.ndarray, weight_k: np.ndarray, symmetry: Symmetry, source: str = "explicit list") -> KPoints:
    """A list of points and weights as given; weights are scaled to sum 1, zero weights are allowed.

    The density of a list is symmetrised with all operations of the crystal.  That is the density of the symmetric set
    in which every point shares its weight with its star, and eigenvalues are the same on a star: a list that is the
    irreducible wedge of a mesh gives the mesh, and a full list gives itself.  A list meant to sample unsymmetrically
    needs ISYM <= 0.

    Raises InputError for wrong shapes, numbers that are not finite, negative weights, or only zero weights.
    """
    point_kc = _checked_points(point_kc)
    weight_k = np.asarray(weight_k, dtype=np.float64)
    if weight_k.shape != (len(point_kc),):
        raise InputError(f"There are {len(point_kc)} k-points but weights of shape {weight_k.shape}.")
    if not np.isfinite(weight_k).all() or (weight_k < 0.0).any() or weight_k.sum() == 0.0:
        raise InputError("The weights of the k-points must be finite, not negative, and not all zero.")
    return KPoints(
        point_kc=point_kc,
        weight_k=weight_k / weight_k.sum(),
        mesh=None,
        shift=NO_SHIFT,
        full_count=len(point_kc),
        irreducible_of_full=None,
        source=source,
        symmetry=symmetry,
    )


def _axis(count: int, shift: float, gamma_centred: bool) -> np.ndarray:
    """One axis of a mesh: (n + offset) / N with 0 <= offset < 1, wrapped to (-1/2, 1/2]."""
    offset = shift + (0.0 if gamma_centred else 0.5 * (1 - count))
    offset -= np.floor(offset + 1e-12)
    return wrapped((np.arange(count) + max(offset, 0.0)) / count)


def wrapped(point_kc: np.ndarray) -> np.ndarray:
    """Coordinates moved into (-1/2, 1/2]."""
    return point_kc - np.ceil(point_kc - 0.5 - 1e-12)


def star_matrices(symmetry: Symmetry) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different matrices +-W^-T (identity first, plus before minus), their operations, and the minus flags."""
    unique_xcc, first_x = np.unique(symmetry.reciprocal_occ, axis=0, return_index=True)
    order = np.argsort(first_x)
    matrix_xcc, operation_x = unique_xcc[order], first_x[order]
    reversed_x = np.zeros(len(matrix_xcc), dtype=bool)
    if not symmetry.time_reversal:
        return matrix_xcc, operation_x, reversed_x
    return (
        np.concatenate([matrix_xcc, -matrix_xcc]),
        np.concatenate([operation_x, operation_x]),
        np.concatenate([reversed_x, ~reversed_x]),
    )


def _reciprocal_lengths(structure: Structure) -> np.ndarray:
    """|b_c| with 2 pi, in 1/angstrom."""
    return np.linalg.norm(structure.reciprocal_cv, axis=1) / BOHR_ANGSTROM


def _as_mesh(counts: list[int], reason: str) -> Mesh:
    mesh = _as_triple(counts)
    if mesh[0] * mesh[1] * mesh[2] > MOST_POINTS:
        raise InputError(f"{reason} gives {mesh[0]} x {mesh[1]} x {mesh[2]} k-points. Is the unit right?")
    return mesh


def _as_triple(counts: Sequence[int] | np.ndarray) -> Mesh:
    return int(counts[0]), int(counts[1]), int(counts[2])


def _check_mesh(mesh: Mesh, shift: Shift) -> None:
    if len(mesh) != 3 or any(int(count) != count or count < 1 for count in mesh):
        raise InputError(f"The k-point mesh {tuple(mesh)} must be three whole numbers of at least 1, such as 4 4 4.")
    if mesh[0] * mesh[1] * mesh[2] > MOST_POINTS:
        raise InputError(f"The k-point mesh {tuple(mesh)} has more than {MOST_POINTS} points. Choose fewer.")
    if len(shift) != 3 or not np.isfinite(shift).all():
        raise InputError(f"The shift {tuple(shift)} of the k-point mesh must be three numbers.")


def _checked_points(point_kc: np.ndarray) -> np.ndarray:
    point_kc = np.asarray(point_kc, dtype=np.float64)
    if point_kc.ndim != 2 or point_kc.shape[1] != 3 or len(point_kc) == 0:
        raise InputError(f"The k-points have shape {point_kc.shape}; expected (points, 3) with at least one point.")
    if not np.isfinite(point_kc).all():
        raise InputError("The k-points contain numbers that are not finite.")
    return point_kc
