"""From a KPOINTS file, or KSPACING, to irreducible k-points, and to those whose bands are wanted besides."""

from dataclasses import dataclass, replace

import numpy as np

from eigenwerk.dft.crystal.k_path import PathLine, path_kpoints
from eigenwerk.dft.crystal.kpoints import (
    KPoints,
    explicit,
    generated_kpoints,
    mesh_from_length,
    mesh_from_spacing,
    mesh_kpoints,
)
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.crystal.tetrahedra import TETRAHEDRA, Tetrahedra
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.kpoints import KpointsFile
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.shown import counted

TETRAHEDRON_REMEDY = "Set ISMEAR = 0 with SIGMA = 0.05, or write a mesh of at least four points."

SAME_WEIGHT = 1e-4
"""Weights of k-points written by hand may miss those of their tetrahedra by this much, in silence."""

WHOLE_ZONE = 0.01
"""Volumes of tetrahedra written by hand may miss that of the Brillouin zone by this share, in silence."""


def with_tetrahedra(
    kpoints: KPoints, structure: Structure, file: KpointsFile | None, incar: Incar, findings: Findings
) -> KPoints:
    """The k-points with tetrahedra, where ISMEAR asks for them; an error where there can be none."""
    listed = file is not None and file.tetrahedra is not None
    if incar.get("ISMEAR") not in TETRAHEDRA:
        if file is not None and listed:
            findings.note(file.file, f"the list of tetrahedra is not used: ISMEAR = {incar.get('ISMEAR')} is without")
        return kpoints
    try:
        if file is not None and listed:
            return _listed_tetrahedra(kpoints, file, findings)
        return kpoints.with_tetrahedra(structure)
    except InputError as error:
        findings.add(incar.problem("ISMEAR", str(error), TETRAHEDRON_REMEDY))
        return kpoints


def _listed_tetrahedra(kpoints: KPoints, file: KpointsFile, findings: Findings) -> KPoints:
    """The points of a list with its tetrahedra, which say what each point stands for."""
    assert file.tetrahedra is not None
    count_T, corner_Tc = file.tetrahedra[:, 0], file.tetrahedra[:, 1:]
    filled = float(count_T.sum()) * file.tetrahedron_volume
    if abs(filled - 1.0) > WHOLE_ZONE:
        message = f"the tetrahedra fill {filled:.4g} of the Brillouin zone; their volumes are scaled to fill it once"
        findings.warn(file.file, message, "Check their number, degeneracies and volume.")
    tetrahedra = Tetrahedra(corner_Tc, count_T / count_T.sum())
    weight_k = tetrahedra.weight_of_points(len(kpoints.point_kc))
    bare = np.flatnonzero(weight_k == 0.0)
    if len(bare):
        raise InputError(f"k-point {bare[0] + 1} of {file.file} is a corner of none of its tetrahedra")
    if np.abs(weight_k - kpoints.weight_k).max() > SAME_WEIGHT:
        findings.note(file.file, "the k-points take their weights from the tetrahedra; those of the list differ")
    return replace(kpoints, weight_k=weight_k, tetrahedra=tetrahedra)


@dataclass(frozen=True, eq=False)
class WeightlessPoints:
    """k-points of weight zero in a list: no density is made of them, their bands are found in the final potential.

    place_k: their places in the list, in which the others keep their order.
    """

    kpoints: KPoints
    place_k: np.ndarray


def kpoints_of_file(file: KpointsFile, poscar: Poscar, structure: Structure, symmetry: Symmetry) -> KPoints:
    """All k-points of a KPOINTS file, the weights of a list as they are."""
    if file.kind == "mesh" and file.mesh is not None:
        return mesh_kpoints(file.mesh, file.shift, file.gamma_centred, symmetry)
    if file.kind == "auto" and file.length is not None:
        return mesh_kpoints(mesh_from_length(structure, file.length), (0.0, 0.0, 0.0), True, symmetry)
    point_kc = file.reciprocal(poscar.lattice_cv, poscar.scale)
    if file.kind == "generalised":
        return generated_kpoints(point_kc, file.shift, symmetry)
    if file.kind == "line":
        return _path(file, point_kc, symmetry)
    weight_k = np.ones(len(point_kc)) if file.weights_k is None else file.weights_k
    source = f"list of {counted(len(point_kc), 'point')} in {file.file}"
    if not weight_k.any():
        return replace(
            explicit(point_kc, np.ones(len(point_kc)), symmetry, source), weight_k=weight_k, label_k=file.labels
        )
    return replace(explicit(point_kc, weight_k, symmetry, source), label_k=file.labels)


def _path(file: KpointsFile, point_kc: np.ndarray, symmetry: Symmetry) -> KPoints:
    lines = [
        PathLine(point_kc[place], point_kc[place + 1], file.labels[place], file.labels[place + 1])
        for place in range(0, len(point_kc), 2)
    ]
    source = f"path of {counted(len(lines), 'line')} in {file.file}"
    return path_kpoints(lines, file.points_per_line, symmetry, source)


def self_consistent(
    kpoints: KPoints, file: KpointsFile, exact_exchange: bool = False
) -> tuple[KPoints, WeightlessPoints | None]:
    """The points that make the density, and those of weight zero.  InputError where there is nothing to make it of.

    exact_exchange: whether bands need orbitals of a mesh, too, so that no density can be kept.
    """
    kept = ", or set ICHARG = 11 beside eigenwerk.h5 of an earlier run."
    if file.kind == "line":
        remedy = "Write a mesh here and the path to KPOINTS_OPT"
        hybrids = ", or its points with weight 0 behind those of the mesh, with their weights, here: bands of a hybrid "
        hybrids += "come with its self-consistent run (LHFCALC)."
        raise InputError(
            f"{file.file} line 3: this is a path for a band structure, which makes no density. "
            f"{remedy}{hybrids if exact_exchange else kept}"
        )
    weighted_k = kpoints.weight_k > 0
    if weighted_k.all():
        return kpoints, None
    if file.tetrahedra is not None:
        raise InputError(
            f"{file.file}: a list with tetrahedra cannot have k-points of weight 0. Put those into KPOINTS_OPT."
        )
    count = int((~weighted_k).sum())
    if count == len(weighted_k):
        raise InputError(
            f"{file.file}: {'the only k-point has' if count == 1 else f'all {count} k-points have'} weight 0, so that "
            "no density can be made of them. Put the points of a mesh with their weights before them"
            f"{'.' if exact_exchange else kept}"
        )
    rest = kpoints.point_kc[~weighted_k]
    labels = kpoints.label_k or ("",) * len(weighted_k)
    weightless = replace(
        explicit(rest, np.ones(count), kpoints.symmetry, f"{counted(count, 'point')} of weight 0 in {file.file}"),
        label_k=tuple(label for label, weighted in zip(labels, weighted_k, strict=True) if not weighted),
    )
    source = f"list of {counted(len(weighted_k) - count, 'point')} in {file.file}"
    made = explicit(kpoints.point_kc[weighted_k], kpoints.weight_k[weighted_k], kpoints.symmetry, source)
    return made, WeightlessPoints(weightless, np.flatnonzero(~weighted_k))


def kpoints_of_spacing(spacing: float, gamma_centred: bool, structure: Structure, symmetry: Symmetry) -> KPoints:
    """The mesh of KSPACING (1/Å, with the factor 2π)."""
    return mesh_kpoints(mesh_from_spacing(structure, spacing), (0.0, 0.0, 0.0), gamma_centred, symmetry)
