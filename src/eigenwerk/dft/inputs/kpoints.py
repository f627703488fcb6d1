"""From a KPOINTS file, or KSPACING, to irreducible k-points."""

import numpy as np

from eigenwerk.dft.crystal.kpoints import (
    KPoints,
    explicit,
    generated_mesh,
    mesh_from_length,
    mesh_from_spacing,
    mesh_kpoints,
    reduce_mesh,
)
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.kpoints import KpointsFile
from eigenwerk.io.vasp.poscar import Poscar


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
        full_kc = generated_mesh(point_kc, file.shift)
        return reduce_mesh(full_kc, symmetry, source=f"generalised mesh of {len(full_kc)} points")
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
