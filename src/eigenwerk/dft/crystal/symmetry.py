"""Symmetry operations of a crystal as integer matrices in lattice coordinates.

An operation takes the point with fractional coordinates x (a column) to W x + t.  W is an integer matrix, so products,
inverses and the action on k-points are exact; Cartesian matrices are derived.  Equations: docs/equations/symmetry.md.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from eigenwerk.dft.crystal.lattice_points import image_indices, integer_points
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry_search import cartesian, lattice_strain, search_operations
from eigenwerk.errors import InputError
from eigenwerk.units import BOHR_ANGSTROM

LEVELS = (-1, 0, 1, 2, 3)

ASYMMETRY = 1e-3
"""Bohr by which atoms that move may miss the places that operations give them: rounding leaves a millionth of it."""


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A group of symmetry operations x -> W x + t of a crystal.

    rotation_occ: (o, 3, 3) int, W acting on fractional columns; the first operation is the identity.
    translation_oc: (o, 3) fractional, in [0, 1).
    atom_map_oa: (o, a) int, atom a is moved onto atom atom_map_oa[o, a] (or a lattice image of it).
    time_reversal: whether k and -k count as the same.
    spin_flip_o: (o,) bool; True: the operation maps spin up onto spin down, n_s(W x + t) = n_{1-s}(x).
    spacegroup: international symbol and number of the operations without spin flip; point_group: of all operations.
    level: the ISYM value that was asked for.  lattice_cv: (3, 3), bohr, the lattice of the operations.
    notes: what a user should know, one sentence each.
    """

    rotation_occ: np.ndarray
    translation_oc: np.ndarray
    atom_map_oa: np.ndarray
    time_reversal: bool
    spin_flip_o: np.ndarray
    spacegroup: str
    point_group: str
    level: int
    lattice_cv: np.ndarray
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in _ARRAY_KINDS.items():
            array: np.ndarray = np.array(getattr(self, name), dtype=kind)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def order(self) -> int:
        """Number of operations, pure translations and spin-flipping ones included."""
        return len(self.rotation_occ)

    @property
    def rotation_ovv(self) -> np.ndarray:
        """Cartesian matrices R = A^T W A^-T for column vectors (A: rows are lattice vectors), orthogonal.

        A lattice that is symmetric only within the tolerance gives an R that is orthogonal only within it; the nearest
        orthogonal matrix is returned.
        """
        left, _, right = np.linalg.svd(cartesian(self.rotation_occ, self.lattice_cv))
        return left @ right

    @property
    def reciprocal_occ(self) -> np.ndarray:
        """Integer matrices W^-T: k' = reciprocal_occ[o] @ k is the rotated k in fractional coordinates."""
        inverse_occ = np.rint(np.linalg.inv(self.rotation_occ)).astype(np.int64)
        return inverse_occ.transpose(0, 2, 1)


_ARRAY_KINDS = {
    "rotation_occ": np.int64,
    "translation_oc": np.float64,
    "atom_map_oa": np.int64,
    "spin_flip_o": np.bool_,
    "lattice_cv": np.float64,
}


def find_symmetry(structure: Structure, tolerance_bohr: float, level: int) -> Symmetry:
    """The operations that leave a crystal and its collinear starting moments unchanged, or flip all moments.

    spglib proposes the operations of the crystal with |moment| as part of the species; each is then checked here:
    every atom lands within twice the tolerance of an atom of its kind, and all moments are kept (spin_flip False) or
    all reversed (spin_flip True).  Translations become averages over the atoms, which close the group exactly.
    Source of the search: A. Togo, I. Tanaka, arXiv:1808.01590.

    tolerance_bohr: how far positions and lattice may be off.  level: ISYM; -1 nothing, 0 only k ~ -k, 1 to 3 all.
    Raises InputError for an unknown level or a tolerance that is not positive.
    """
    if level not in LEVELS:
        raise InputError(f"ISYM = {level} is unknown. Use -1 (off), 0 (k and -k only), 1, 2 or 3.")
    if not 0.0 < tolerance_bohr < np.inf:
        raise InputError(f"The symmetry tolerance SYMPREC is {tolerance_bohr} bohr. It must be a positive number.")
    symmetry = no_symmetry(structure, level)
    if level >= 1:
        found = search_operations(structure, tolerance_bohr)
        if found is None:
            return replace(symmetry, notes=("The symmetry search failed; only the identity is used.",))
        symmetry = replace(symmetry, **{field.name: getattr(found, field.name) for field in fields(found)})
    return symmetry


def no_symmetry(structure: Structure, level: int = -1) -> Symmetry:
    """The identity alone, with k ~ -k for every level but -1."""
    return Symmetry(
        rotation_occ=np.eye(3)[None],
        translation_oc=np.zeros((1, 3)),
        atom_map_oa=np.arange(len(structure.symbols))[None],
        time_reversal=level >= 0,
        spin_flip_o=np.zeros(1),
        spacegroup="P1 (1)",
        point_group="1",
        level=level,
        lattice_cv=structure.lattice_cv,
    )


def subgroup(symmetry: Symmetry, keep_o: np.ndarray, *notes: str) -> Symmetry:
    """The marked operations, which must form a group; notes are appended, labels stay those of the crystal."""
    return replace(
        symmetry,
        rotation_occ=symmetry.rotation_occ[keep_o],
        translation_oc=symmetry.translation_oc[keep_o],
        atom_map_oa=symmetry.atom_map_oa[keep_o],
        spin_flip_o=symmetry.spin_flip_o[keep_o],
        notes=symmetry.notes + notes,
    )


def _those(symmetry: Symmetry, keep_o: np.ndarray, why: str) -> Symmetry:
    """The marked operations, with a note why others are not used; the same object where all are marked."""
    dropped = int((~keep_o).sum())
    return subgroup(symmetry, keep_o, f"{dropped} {why}") if dropped else symmetry


def keeps_points(symmetry: Symmetry, point_kc: np.ndarray) -> np.ndarray:
    """Which operations map a set of different k-points onto itself, alone or combined with k -> -k; (o,) of bool.

    They are a group, the stabiliser of the set."""
    integer_kc, denominator = integer_points(np.asarray(point_kc, dtype=np.float64))
    matrix_xcc, class_o = np.unique(symmetry.reciprocal_occ, axis=0, return_inverse=True)
    signs = (1, -1) if symmetry.time_reversal else (1,)
    closed_sx = [(image_indices(integer_kc, denominator, sign * matrix_xcc) >= 0).all(axis=1) for sign in signs]
    kept_o: np.ndarray = np.any(closed_sx, axis=0)[class_o.reshape(-1)]
    return kept_o


def without_spin_flips(symmetry: Symmetry) -> Symmetry:
    """The operations that keep the spin; for a fixed total moment or when only one spin channel is meant."""
    return _those(symmetry, ~symmetry.spin_flip_o, "operations that exchange the spins are not used.")


def with_field(symmetry: Symmetry, structure: Structure, axis: int) -> Symmetry:
    """The operations that an electric field across the planes of a lattice axis leaves: those that keep its sense."""
    normal_v = structure.reciprocal_cv[axis]
    kept_o = np.abs(symmetry.rotation_ovv @ normal_v - normal_v).max(axis=1) < 1e-6 * np.linalg.norm(normal_v)
    return _those(symmetry, kept_o, "operations that turn the electric field are not used.")


def keeping_fixed(symmetry: Symmetry, free_ac: np.ndarray | None) -> Symmetry:
    """The operations under which atoms move as selective dynamics lets them: free directions become free ones.

    Others hold for the start only: a slab whose lower half is fixed loses its mirror with the first step.
    free_ac: (a, 3) of bool, which direct coordinates move; all if None.
    """
    if free_ac is None or np.all(free_ac) or not np.any(free_ac):
        return symmetry
    free_ac = np.asarray(free_ac, dtype=bool)
    # W takes a free direction c of atom a into the directions d of its image with W_dc ≠ 0
    into_oac = ((symmetry.rotation_occ[:, None] != 0) & free_ac[None, :, None, :]).any(axis=-1)
    free_oac = free_ac[symmetry.atom_map_oa]
    as_many_oa = free_oac.sum(axis=-1) == free_ac.sum(axis=-1)
    keep_o = (as_many_oa & ~(into_oac & ~free_oac).any(axis=-1)).all(axis=-1)
    return _those(symmetry, keep_o, "operations are not used: selective dynamics does not keep them.")


def keeping_strains(symmetry: Symmetry, strain_mvv: np.ndarray) -> Symmetry:
    """The operations that turn strains a cell may follow into such strains; (m, 3, 3), orthonormal by Tr AB.

    A cubic crystal that may only grow along z has the operations of a tetragonal one.
    """
    if not 0 < len(strain_mvv) < 6:
        return symmetry
    rotation_ovv = symmetry.rotation_ovv[:, None]
    turned_omx = (rotation_ovv @ strain_mvv @ rotation_ovv.swapaxes(-1, -2)).reshape(symmetry.order, -1, 9)
    free_mx = strain_mvv.reshape(-1, 9)
    keep_o = np.abs(turned_omx - turned_omx @ free_mx.T @ free_mx).max(axis=(1, 2)) < 1e-4
    return _those(symmetry, keep_o, "operations are not used: the cell may not follow what they ask.")


def deviation(symmetry: Symmetry, structure: Structure) -> float:
    """How far an operation takes an atom from the atom that it is to land on, or a lattice vector off its length, bohr;
    the largest.  Of one operation for each rotation, and of pure translations: all others are products of these, and
    perfect supercells have thousands."""
    rotation_occ = symmetry.rotation_occ
    _, first_x = np.unique(rotation_occ, axis=0, return_index=True)
    some = np.union1d(first_x, np.flatnonzero((rotation_occ == np.eye(3)).all(axis=(1, 2))))
    image_oac = structure.scaled_ac @ rotation_occ[some].transpose(0, 2, 1) + symmetry.translation_oc[some, None]
    offset_oac = image_oac - structure.scaled_ac[symmetry.atom_map_oa[some]]
    distance_oa = np.linalg.norm((offset_oac - np.round(offset_oac)) @ structure.lattice_cv, axis=-1)
    strain = lattice_strain(rotation_occ[first_x], structure.lattice_cv)
    return max(float(distance_oa.max()), strain * float(np.linalg.norm(structure.lattice_cv, axis=1).max()))


def require_kept(symmetry: Symmetry, structure: Structure) -> None:
    """Raise RuntimeError where atoms that move have left operations that they were to keep."""
    if (away := deviation(symmetry, structure)) > ASYMMETRY:
        raise RuntimeError(
            f"the atoms have left the symmetry of the start by {away * BOHR_ANGSTROM:.1e} Å, which the run was to "
            "keep: a fault of eigenwerk, please report it. ISYM = 0 does without symmetry."
        )


def kept(symmetry: Symmetry, structure: Structure) -> Symmetry:
    """The operations that atoms which have moved still have."""
    if deviation(symmetry, structure) <= ASYMMETRY:
        return symmetry
    each_o = np.eye(symmetry.order, dtype=bool)
    return subgroup(symmetry, np.array([deviation(subgroup(symmetry, one_o), structure) <= ASYMMETRY
                                        for one_o in each_o]))  # fmt: skip


def symmetrise_positions(structure: Structure, symmetry: Symmetry) -> Structure:
    """Positions averaged over the group: x_b = 1/o sum_o (W_o x_a + t_o) with b = map_o(a), near the given x_b."""
    shift_ac = np.zeros_like(structure.scaled_ac)
    for rotation_cc, translation_c, map_a in zip(
        symmetry.rotation_occ, symmetry.translation_oc, symmetry.atom_map_oa, strict=True
    ):
        offset_ac = structure.scaled_ac @ rotation_cc.T + translation_c - structure.scaled_ac[map_a]
        shift_ac[map_a] += offset_ac - np.round(offset_ac)
    return replace(structure, scaled_ac=structure.scaled_ac + shift_ac / symmetry.order)


def symmetrise_lattice(structure: Structure, symmetry: Symmetry) -> Structure:
    """The lattice strained, without rotation, so that every W preserves lengths and angles exactly.

    The metric g = A A^T becomes its average g' = 1/o sum_o W^T g W; then A' = A F with F = F^T and A F^2 A^T = g'.
    """
    rotation_occ = symmetry.rotation_occ.astype(np.float64)
    metric_cc = structure.lattice_cv @ structure.lattice_cv.T
    average_cc = (rotation_occ.transpose(0, 2, 1) @ metric_cc @ rotation_occ).mean(axis=0)
    inverse_vc = np.linalg.inv(structure.lattice_cv)
    value_v, vector_vv = np.linalg.eigh(inverse_vc @ average_cc @ inverse_vc.T)
    strain_vv = (vector_vv * np.sqrt(value_v)) @ vector_vv.T
    return replace(structure, lattice_cv=structure.lattice_cv @ strain_vv)


def equivalent_axes(symmetry: Symmetry) -> list[tuple[int, ...]]:
    """Groups of lattice axes that the operations mix; axes of one group need the same number of grid points."""
    linked_cc = (symmetry.rotation_occ != 0).any(axis=0)
    for _ in range(2):  # paths between three axes have at most two steps
        linked_cc = linked_cc | linked_cc.T | (linked_cc @ linked_cc)
    return sorted({tuple(int(d) for d in np.flatnonzero(linked_cc[c])) for c in range(3)})


def translation_denominators(symmetry: Symmetry) -> tuple[int, int, int]:
    """Per axis the smallest n <= 12 with n t_c integer for all operations (to 1e-4), or 1 where there is none.

    A grid whose dimension is a multiple of n along c, and equal along equivalent axes, is mapped onto itself.
    """
    smallest = [1, 1, 1]
    for c in range(3):
        for n in range(1, 13):
            multiple_o = n * symmetry.translation_oc[:, c]
            if (abs(multiple_o - np.round(multiple_o)) < 1e-4).all():
                smallest[c] = n
                break
    return smallest[0], smallest[1], smallest[2]
