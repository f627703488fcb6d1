"""The search for symmetry operations: proposals of spglib, checked and made exact here.

Arrays only; `symmetry.find_symmetry` is the door.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import spglib

from eigenwerk.dft.crystal.structure import Structure

MOMENT_TOLERANCE = 1e-4
"""Starting moments that differ by less (Bohr magnetons) are the same moment."""

_FINEST = 24
"""Space-group translations, seen from a symmetric origin, are multiples of 1/24 at the finest."""

_BOXES = 9973.3717
"""Boxes along a lattice axis, by which the partners of atoms are looked up."""

_SPGLIB_ERROR: type[Exception] = getattr(spglib, "SpglibError", RuntimeError)  # older versions return None instead


@dataclass(frozen=True, eq=False)
class FoundOperations:
    """What the search found; arrays and labels as in `symmetry.Symmetry`."""

    rotation_occ: np.ndarray
    translation_oc: np.ndarray
    atom_map_oa: np.ndarray
    spin_flip_o: np.ndarray
    spacegroup: str
    point_group: str
    notes: tuple[str, ...]


def search_operations(structure: Structure, tolerance: float) -> FoundOperations | None:
    """Operations that map atoms onto atoms of their kind and keep or reverse all moments; None if spglib fails.

    tolerance: bohr; every atom must land within twice of it on an atom.  The result is a group, the identity first.
    """
    proposal = _propose(structure, tolerance)
    if proposal is None:
        return None
    rotation_occ, translation_oc = proposal
    map_oa = _atom_maps(structure, rotation_occ, translation_oc)
    translation_oc, deviation_o = _average_translations(structure, rotation_occ, translation_oc, map_oa)
    onto_o = (np.sort(map_oa, axis=1) == np.arange(map_oa.shape[1])).all(axis=1) & (deviation_o <= 2.0 * tolerance)
    kept_o, flipped_o = _moments(structure, map_oa)
    good_o = onto_o & (kept_o | flipped_o)
    good_o[good_o] = _closed(rotation_occ[good_o], map_oa[good_o])
    order_o = np.flatnonzero(good_o)
    identity_o = (rotation_occ[order_o] == np.eye(3)).all(axis=(1, 2)) & (map_oa[order_o, 0] == 0)
    order_o = np.concatenate([order_o[identity_o], order_o[~identity_o]])
    flip_o = (flipped_o & ~kept_o)[order_o]
    rotation_occ, translation_oc = rotation_occ[order_o], _tidy(translation_oc[order_o])
    magnetic = int((onto_o & ~(kept_o | flipped_o)).sum())
    loose = len(good_o) - magnetic - len(order_o)
    return FoundOperations(
        rotation_occ,
        translation_oc,
        map_oa[order_o],
        flip_o,
        *_labels(structure, rotation_occ, translation_oc, flip_o),
        notes=_notes(structure, rotation_occ, magnetic, loose),
    )


def cartesian(rotation_occ: np.ndarray, lattice_cv: np.ndarray) -> np.ndarray:
    """R = A^T W A^-T for column vectors; rows of A are lattice vectors.  Orthogonal if the lattice is symmetric."""
    return lattice_cv.T @ rotation_occ @ np.linalg.inv(lattice_cv.T)


def lattice_strain(rotation_occ: np.ndarray, lattice_cv: np.ndarray) -> float:
    """By which part a lattice misses being symmetric: how far R stretches, at most."""
    return float(np.abs(np.linalg.svd(cartesian(rotation_occ, lattice_cv), compute_uv=False) - 1.0).max())


def _propose(structure: Structure, tolerance: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Rotations and translations from spglib, or None if it finds nothing.

    A left-handed lattice A with positions x is the same crystal as the right-handed -A with -x: W stays, t -> -t.
    """
    sign = 1.0 if np.linalg.det(structure.lattice_cv) > 0 else -1.0
    lattice, scaled = (sign * structure.lattice_cv).tolist(), (sign * structure.scaled_ac).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            dataset = spglib.get_symmetry_dataset((lattice, scaled, _kinds(structure)), symprec=tolerance)
        except _SPGLIB_ERROR:
            return None
    if dataset is None:
        return None
    return np.asarray(dataset.rotations, dtype=np.int64), sign * np.asarray(dataset.translations)


def _kinds(structure: Structure) -> list[int]:
    """A number per atom, equal for atoms that some operation may exchange: same kind, same |moment|."""
    size_a = np.zeros(len(structure.symbols)) if structure.magmom_a is None else np.abs(structure.magmom_a)
    moments = np.rint(size_a / MOMENT_TOLERANCE).astype(int).tolist()
    labels = list(zip(structure.kinds, structure.symbols, moments, strict=True))
    number = {label: x + 1 for x, label in enumerate(dict.fromkeys(labels))}
    return [number[label] for label in labels]


def _atom_maps(structure: Structure, rotation_occ: np.ndarray, translation_oc: np.ndarray) -> np.ndarray:
    """(o, a): the nearest atom of the same kind to the image of each atom.

    Large perfect supercells have thousands of operations, so only one operation per rotation and the pure translations
    are searched; the others are products of the two.
    """
    kind_a = np.array(_kinds(structure))
    _, first_o, class_o = np.unique(rotation_occ, axis=0, return_index=True, return_inverse=True)
    first_o = first_o[class_o.reshape(-1)]
    pure_x = np.flatnonzero((rotation_occ == np.eye(3)).all(axis=(1, 2)))
    map_oa = np.empty((len(rotation_occ), len(kind_a)), dtype=np.int64)
    for o in sorted(set(first_o.tolist()) | set(pure_x.tolist())):
        map_oa[o] = _nearest(structure, kind_a, rotation_occ[o], translation_oc[o])
    for o in sorted(set(range(len(rotation_occ))) - set(first_o.tolist()) - set(pure_x.tolist())):
        offset_xc = translation_oc[o] - translation_oc[first_o[o]] - translation_oc[pure_x]
        pure = pure_x[np.argmin(np.abs(offset_xc - np.round(offset_xc)).sum(axis=1))]
        map_oa[o] = map_oa[pure][map_oa[first_o[o]]]
    return map_oa


def _nearest(
    structure: Structure, kind_a: np.ndarray, rotation_cc: np.ndarray, translation_c: np.ndarray
) -> np.ndarray:
    """(a,): the atom of the same kind closest to W x + t in fractional coordinates; a true partner is at almost 0."""
    image_ac = structure.scaled_ac @ rotation_cc.T + translation_c
    map_a = _same_box(structure.scaled_ac, image_ac, kind_a)
    if map_a is not None:
        return map_a
    map_a = np.empty(len(kind_a), dtype=np.int64)
    for kind in np.unique(kind_a):
        atoms = np.flatnonzero(kind_a == kind)
        distance_aa = np.zeros((len(atoms), len(atoms)))
        for c in range(3):
            offset_aa = structure.scaled_ac[atoms, c] - image_ac[atoms, c, None]
            distance_aa += np.abs(offset_aa - np.rint(offset_aa))
        map_a[atoms] = atoms[np.argmin(distance_aa, axis=1)]
    return map_a


def _same_box(scaled_ac: np.ndarray, image_ac: np.ndarray, kind_a: np.ndarray) -> np.ndarray | None:
    """The atom of the same kind in the same small box as each image; None unless every image has exactly one.

    Boxes are so small that the atom in one is the nearest; pairs that a face parts are left to the long way.
    """
    box_a, image_box_a = (_box_numbers(x_ac, kind_a) for x_ac in (scaled_ac, image_ac))
    order = np.argsort(box_a)
    place_a = np.searchsorted(box_a[order], image_box_a).clip(max=len(order) - 1)
    map_a = order[place_a]
    alone = (np.diff(box_a[order]) != 0).all()
    return map_a if alone and (box_a[map_a] == image_box_a).all() else None


def _box_numbers(scaled_ac: np.ndarray, kind_a: np.ndarray) -> np.ndarray:
    """A number for the box (and kind) of each atom; no simple fraction lies on a face of `_BOXES` boxes."""
    wrapped_ac = scaled_ac - np.floor(scaled_ac + 1e-6)
    index_ac = np.floor(wrapped_ac * _BOXES + 0.5).astype(np.int64)
    return ((kind_a * 2**14 + index_ac[:, 0]) * 2**14 + index_ac[:, 1]) * 2**14 + index_ac[:, 2]


def _average_translations(
    structure: Structure, rotation_occ: np.ndarray, translation_oc: np.ndarray, map_oa: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """t = 1/a sum_a (x_map(a) - W x_a), and the largest distance in bohr between an image and its atom."""
    average_oc = np.empty_like(translation_oc)
    deviation_o = np.empty(len(rotation_occ))
    for o, (rotation_cc, translation_c, map_a) in enumerate(zip(rotation_occ, translation_oc, map_oa, strict=True)):
        offset_ac = structure.scaled_ac[map_a] - structure.scaled_ac @ rotation_cc.T - translation_c
        offset_ac -= np.round(offset_ac)
        average_oc[o] = translation_c + offset_ac.mean(axis=0)
        rest_av = (offset_ac - offset_ac.mean(axis=0)) @ structure.lattice_cv
        deviation_o[o] = np.linalg.norm(rest_av, axis=1).max()
    return average_oc, deviation_o


def _tidy(translation_oc: np.ndarray) -> np.ndarray:
    """Translations in [0, 1); exact multiples of 1/24 if all of them are to 1e-8, so that rounding noise goes.

    All or none: the mixture would no longer close.
    """
    snapped_oc = np.round(translation_oc * _FINEST) / _FINEST
    if np.abs(snapped_oc - translation_oc).max() < 1e-8:
        translation_oc = snapped_oc
    wrapped_oc = translation_oc - np.floor(translation_oc)
    return np.where(wrapped_oc > 1.0 - 1e-12, 0.0, wrapped_oc)


def _moments(structure: Structure, map_oa: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per operation: are all moments kept, are all reversed."""
    if structure.magmom_a is None:
        return np.ones(len(map_oa), dtype=bool), np.zeros(len(map_oa), dtype=bool)
    image_oa = structure.magmom_a[map_oa]
    kept_o = (np.abs(image_oa - structure.magmom_a) <= MOMENT_TOLERANCE).all(axis=1)
    flipped_o = (np.abs(image_oa + structure.magmom_a) <= MOMENT_TOLERANCE).all(axis=1)
    return kept_o, flipped_o


def _closed(rotation_occ: np.ndarray, map_oa: np.ndarray) -> np.ndarray:
    """Marks a subset that is a group, by leaving out operations whose products are missing, worst first.

    An operation is known by its rotation and by where it takes atom 0, so products are compared as integers.  If the
    set holds every rotation equally often, it is enough to multiply it by one operation per rotation and the pure
    translations: these generate as many operations as there are.
    """
    unique_xcc, class_o = np.unique(rotation_occ, axis=0, return_inverse=True)
    class_o = class_o.reshape(-1)
    table_xx = _product_table(unique_xcc)
    member_xa = np.zeros((len(unique_xcc) + 1, map_oa.shape[1]), dtype=bool)  # the last row is "no such rotation"
    member_xa[class_o, map_oa[:, 0]] = True

    def missing(o: int) -> np.ndarray:
        return ~member_xa[table_xx[class_o[o], class_o], map_oa[o][map_oa[:, 0]]]

    keep_o = np.ones(len(rotation_occ), dtype=bool)
    pure_x = np.flatnonzero((rotation_occ == np.eye(3)).all(axis=(1, 2)))
    first_x = np.unique(class_o, return_index=True)[1]
    balanced = len(pure_x) * len(unique_xcc) == len(rotation_occ)
    if balanced and not any(missing(o).any() for o in (*pure_x, *first_x)):
        return keep_o
    while True:
        missing_o = np.array([(missing(o) & keep_o).sum() * keep_o[o] for o in range(len(keep_o))])
        if not missing_o.any():
            return keep_o
        worst = int(np.argmax(missing_o))
        keep_o[worst] = False
        member_xa[class_o[worst], map_oa[worst, 0]] = False


def _product_table(unique_xcc: np.ndarray) -> np.ndarray:
    """(x, x): which matrix of the list is the product of two of them, -1 if none."""
    place = {matrix.tobytes(): x for x, matrix in enumerate(unique_xcc)}
    product_xxcc = unique_xcc[:, None] @ unique_xcc[None]
    return np.array([[place.get(matrix.tobytes(), -1) for matrix in row] for row in product_xxcc])


def _labels(
    structure: Structure, rotation_occ: np.ndarray, translation_oc: np.ndarray, flip_o: np.ndarray
) -> tuple[str, str]:
    """Space group of the operations without spin flip, point group of all; '?' where spglib has no answer."""
    sign = 1.0 if np.linalg.det(structure.lattice_cv) > 0 else -1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            kind = spglib.get_spacegroup_type_from_symmetry(
                rotation_occ[~flip_o], sign * translation_oc[~flip_o], lattice=sign * structure.lattice_cv
            )
            point = spglib.get_pointgroup(np.unique(rotation_occ, axis=0))
        except _SPGLIB_ERROR:
            return "?", "?"
    spacegroup = "?" if kind is None else f"{kind.international_short} ({kind.number})"
    return spacegroup, "?" if point is None else str(point[0]).strip()


def _notes(structure: Structure, rotation_occ: np.ndarray, magnetic: int, loose: int) -> tuple[str, ...]:
    notes = []
    if magnetic:
        notes.append(f"{magnetic} operations of the crystal are not used: they change the starting moments.")
    if loose:
        notes.append(f"{loose} proposed operations are not used: they hold only loosely (SYMPREC).")
    strain = lattice_strain(rotation_occ, structure.lattice_cv)
    if strain > 1e-7:
        notes.append(f"The lattice is symmetric only to a relative {strain:.1e}; give more digits.")
    return tuple(notes)
