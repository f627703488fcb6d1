"""Planar averages of the electrostatic potential, and its levels in the vacuum of a slab.

    v(s) = Σ_n v(n b_c) exp(2πi n s)

along lattice axis c, s its fractional coordinate.  In a vacuum the average is flat, on either side of a slab; there an
electron at rest has that energy, and the work function is the level less the Fermi level.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.after.analysis import AfterScene, Analysis
from eigenwerk.dft.after.fields.potential import electrostatic
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.crystal.structure import Structure, vacuum, widest_gaps
from eigenwerk.dft.inputs.checks import VACUUM
from eigenwerk.dft.terms.dipole import Dipole
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.io.quantity import Quantity
from eigenwerk.io.vasp.output.potentials import VacuumLevels
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

PLACES, WIDTH = (0.35, 0.65), 0.1
"""Where in the vacuum each level is taken, and over which part of it the potential is averaged."""

POINTS = 40
"""Points of such an average."""


def planar_average(basis: PlaneWaveBasis, potential_g: torch.Tensor, axis: int, s_x: np.ndarray) -> np.ndarray:
    """The mean over planes at fractional coordinates s along an axis, in the units of the field; (x,)."""
    index_gc = basis.index_gc[: len(potential_g)].cpu().numpy()
    here_g = ~np.delete(index_gc, axis, axis=1).any(axis=1)
    weighted_g = (potential_g * basis.weight_g[: len(potential_g)]).cpu().numpy()[here_g]
    return np.asarray((np.exp(2j * np.pi * np.outer(s_x, index_gc[here_g, axis])) @ weighted_g).real)


def slab_axis(structure: Structure) -> int | None:
    """The axis of a structure that has a vacuum, if exactly one has."""
    empty = np.flatnonzero(vacuum(structure) * BOHR_ANGSTROM > VACUUM)
    return int(empty[0]) if len(empty) == 1 else None


def dipole_moment(potential: Potential, dipole: Dipole | None) -> dict[int, float] | None:
    """The moment along each axis of a correction, from negative to positive charge, e Å; None without one."""
    if dipole is None:
        return None
    moments = dipole.moments(potential.charges)
    return {axis: -moment * BOHR_ANGSTROM for axis, moment in zip(dipole.given.axes, moments, strict=True)}


def vacuum_levels(potential: Potential, axis: int, dipole: Dipole | None = None) -> VacuumLevels:
    """The levels on both sides of the vacuum along an axis."""
    basis = potential.charges.atoms.basis
    after_c, gap_c = widest_gaps(basis.structure.scaled_ac % 1.0)
    thickness = float(vacuum(basis.structure)[axis]) * BOHR_ANGSTROM
    window_x = WIDTH * (np.arange(POINTS) + 0.5 - POINTS / 2) / POINTS
    potential_g = electrostatic(potential)
    lines = [] if dipole is None or not dipole.given.in_potential else [dipole]
    side_x = [after_c[axis] - gap_c[axis] * (1 - place - window_x) for place in PLACES]
    below, above = (
        planar_average(basis, potential_g, axis, s_x).mean()
        + sum(dipole.line(potential.charges, axis, s_x).mean() for dipole in lines)
        for s_x in side_x
    )
    return VacuumLevels(axis, thickness, float(below) * HARTREE_EV, float(above) * HARTREE_EV)


def _levels_and_moment(scene: AfterScene) -> tuple[Any, ...]:
    axis = slab_axis(scene.state.structure)
    levels = None if axis is None else vacuum_levels(scene.potential, axis, scene.dipole)
    return levels, dipole_moment(scene.potential, scene.dipole)


def _in_document(levels: VacuumLevels, fermi_level: float) -> dict[str, Any]:
    level_x = [levels.below, levels.above]
    return {
        "axis": levels.axis + 1, "thickness_A": levels.thickness, "levels_eV": level_x,
        "work_functions_eV": [level - fermi_level for level in level_x],
    }  # fmt: skip


def _moments_in_document(moment_c: Mapping[int, float], _: float) -> dict[str, float]:
    return {str(axis + 1): moment for axis, moment in moment_c.items()}


ANALYSIS = Analysis(
    (
        Quantity("vacuum", "eV", entries={"vacuum": _in_document}),
        Quantity("dipole", "e Å", entries={"dipole_eA": _moments_in_document}),
    ),
    _levels_and_moment, place=1,
)  # fmt: skip
