"""From a KPOINTS file, or KSPACING, to irreducible k-points."""

from dataclasses import replace

import numpy as np

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
from eigenwerk.dft.inputs.findings import Findings
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.incar import Incar
from eigenwerk.io.vasp.kpoints import KpointsFile
from eigenwerk.io.vasp.poscar import Poscar

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


def kpoints_of_file(file: KpointsFile, poscar: Poscar, structure: Structure, symmetry: Symmetry) -> KPoints:
    """The k-points that a KPOINTS file asks for; InputError for forms that have no ground state to give."""
    if file.kind == "line":
        raise InputError(
            f"{file.file} line 3: this is a path for a band structure, and bands are not available yet. "
            "Write a mesh for the ground state."
        )
    if file.kind == "mesh" and file.mesh is not None:
        return mesh_kpoints(file.mesh, file.shift, file.gamma_centred, symmetry)
    if file.kind == "auto" and file.length is not None:
        return mesh_kpoints(mesh_from_length(structure, file.length), (0.0, 0.0, 0.0), True, symmetry)
    point_kc = file.reciprocal(poscar.lattice_cv, poscar.scale)
    if file.kind == "generalised":
        return generated_kpoints(point_kc, file.shift, symmetry)
    return _listed(file, point_kc, symmetry)


def _listed(file: KpointsFile, point_kc: np.ndarray, symmetry: Symmetry) -> KPoints:
    weight_k = np.ones(len(point_kc)) if file.weights_k is None else file.weights_k
    weightless = np.flatnonzero(weight_k == 0.0)
    if len(weightless):
        raise InputError(
            f"{file.file}: {len(weightless)} of {len(point_kc)} k-points have weight 0 (the first is number "
            f"{weightless[0] + 1}). Such points serve band structures, which are not available yet. Remove them."
        )
    return explicit(point_kc, weight_k, symmetry, f"list of {len(point_kc)} points in {file.file}")


def kpoints_of_spacing(spacing: float, gamma_centred: bool, structure: Structure, symmetry: Symmetry) -> KPoints:
    """The mesh of KSPACING (1/Å, with the factor 2π)."""
    return mesh_kpoints(mesh_from_spacing(structure, spacing), (0.0, 0.0, 0.0), gamma_centred, symmetry)
