"""Forces on a band of images, by ASE's nudged elastic band.

On image i, with the improved tangent τ, the force F and springs k between neighbours,

    F_i = F - (F·τ) τ + k (|R_{i+1} - R_i| - |R_i - R_{i-1}|) τ,        climbing image: F - 2 (F·τ) τ

Sources: G. Henkelman and H. Jónsson, J. Chem. Phys. 113, 9978 (2000); G. Henkelman, B. P. Uberuaga and H. Jónsson,
J. Chem. Phys. 113, 9901 (2000).  Needs the package ase.
"""

from dataclasses import dataclass

import numpy as np

from eigenwerk.errors import InputError


@dataclass(frozen=True, eq=False)
class BandForces:
    """force_xav: on the images between the end points, projected, eV/Å; along_xav: their tangents; tangent_x: force
    along the path on all images, eV/Å, with those of the end points along the way to their neighbours; spring_x: of the
    springs along the path; distance_x: of each image from the first along the band, Å; highest: number of the highest
    image between the ends."""

    force_xav: np.ndarray
    along_xav: np.ndarray
    tangent_x: np.ndarray
    spring_x: np.ndarray
    distance_x: np.ndarray
    highest: int


def require_ase(what: str) -> None:
    """Raise InputError if the package ase is missing."""
    try:
        import ase  # noqa: F401
    except ModuleNotFoundError as error:
        raise InputError(
            f"{what} needs the Python package ase, which is not installed. Install by:  pip install 'eigenwerk[ase]'"
        ) from error


def nudged_forces(
    lattice_cv: np.ndarray, position_xav: np.ndarray, energy_x: np.ndarray, force_xav: np.ndarray, spring: float,
    climb: bool,
) -> BandForces:  # fmt: skip
    """position_xav, energy_x, force_xav: of all images, both end points among them, Å, eV and eV/Å; spring: eV/Å²."""
    from ase import Atoms
    from ase.calculators.singlepoint import SinglePointCalculator
    from ase.mep.neb import NEB, NEBState

    images = []
    for position_av, energy, force_av in zip(position_xav, energy_x, force_xav, strict=True):
        # ASE looks at positions only, whatever the atoms are
        image = Atoms("X" * len(position_av), position_av, cell=lattice_cv, pbc=True)
        image.calc = SinglePointCalculator(image, energy=float(energy), forces=force_av)
        images.append(image)
    band = NEB(images, k=spring, climb=climb, method="improvedtangent")
    found_xav = np.array(band.get_forces()).reshape(len(images) - 2, -1, 3)
    state = NEBState(band, images, np.array(energy_x, dtype=float))
    springs = [state.spring(number) for number in range(len(images) - 1)]
    tangents = [springs[0].t / springs[0].nt]
    for number in range(1, len(images) - 1):
        before, behind = springs[number - 1], springs[number]
        tangents.append(band.neb_method.get_tangent(state, before, behind, number))
    tangents.append(springs[-1].t / springs[-1].nt)
    length_x = np.array([spring.nt for spring in springs])
    return BandForces(
        found_xav, np.array(tangents[1:-1]),
        np.array([float(np.vdot(f, t)) for f, t in zip(force_xav, tangents, strict=True)]),
        np.concatenate([[0.0], spring * np.diff(length_x), [0.0]]), np.concatenate([[0.0], np.cumsum(length_x)]),
        int(state.imax),
    )  # fmt: skip
