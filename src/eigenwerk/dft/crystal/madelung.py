"""The potential of a lattice of point charges in a uniform background that makes it neutral.

    φ(r) = Σ_R erfc(η|r-R|)/|r-R| + 4π/Ω Σ_{g≠0} exp(-g²/4η²)/g² cos(g·r) - π/(Ωη²),   mean of φ over the cell = 0

Source: P. P. Ewald, Ann. Phys. 369, 253 (1921).  The Madelung constant α of a cell says it at a charge, without the
charge's own 1/r: φ = -α/L, L = Ω^(1/3); α = 2.837297 for a simple cubic cell.
"""

import math
from itertools import product

import numpy as np

_REACH = 6.5
"""Both sums end where erfc and the Gaussian are below 1e-18."""


def point_charge_potential(lattice_cv: np.ndarray, place_v: np.ndarray | None = None) -> float:
    """φ at a place (3,), or at the charge itself (None) without its own 1/r; lengths in bohr, per unit charge, hartree.

    A place must not be a lattice point.
    """
    eta = _split(lattice_cv)
    volume, reciprocal_cv = abs(np.linalg.det(lattice_cv)), 2 * np.pi * np.linalg.inv(lattice_cv).T
    at_v = np.zeros(3) if place_v is None else np.asarray(place_v)
    # by its nearest image or one near that: the sums reach as far beyond
    scaled_c = at_v @ reciprocal_cv.T / (2 * np.pi)
    at_v = (scaled_c - np.rint(scaled_c)) @ lattice_cv
    distance_x = np.linalg.norm(_images(lattice_cv, eta) - at_v, axis=1)
    if place_v is None:
        distance_x = distance_x[distance_x > 0]
    wave_xv, square_x = _waves(reciprocal_cv, eta)
    near = float((erfc(eta * distance_x) / distance_x).sum())
    far = float((np.exp(-square_x / (4 * eta**2)) / square_x * np.cos(wave_xv @ at_v)).sum())
    own = 2 * eta / np.sqrt(np.pi) if place_v is None else 0.0
    return near + 4 * np.pi / volume * far - np.pi / (volume * eta**2) - own


def point_charge_strain(lattice_cv: np.ndarray) -> np.ndarray:
    """∂φ/∂ε_vw at the charge itself, without its own 1/r, for a strain r -> (1 + ε) r of the lattice; (3, 3), hartree.

    η is kept: φ does not depend on it.
    """
    eta, volume = _split(lattice_cv), abs(np.linalg.det(lattice_cv))
    wave_xv, square_x = _waves(2 * np.pi * np.linalg.inv(lattice_cv).T, eta)
    far_x = 4 * np.pi / volume * np.exp(-square_x / (4 * eta**2)) / square_x
    by_length_x = 2 * far_x * (1 / (4 * eta**2) + 1 / square_x)
    by_volume = np.pi / (volume * eta**2) - far_x.sum()
    far_vv = (wave_xv.T * by_length_x) @ wave_xv + by_volume * np.eye(3)
    return np.asarray(screened_images_strain(lattice_cv, eta) + far_vv)


def screened_images(lattice_cv: np.ndarray, omega: float) -> float:
    """Σ_R erfc(ωR)/R over the lattice without R = 0, hartree; by φ where images are many."""
    if omega < _split(lattice_cv):
        volume = abs(np.linalg.det(lattice_cv))
        _, square_x = _waves(2 * np.pi * np.linalg.inv(lattice_cv).T, omega)
        far = 4 * np.pi / volume * float((np.exp(-square_x / (4 * omega**2)) / square_x).sum())
        rest = np.pi / (volume * omega**2) + 2 * omega / np.sqrt(np.pi)
        return float(point_charge_potential(lattice_cv) - far + rest)
    distance_x = np.linalg.norm(_images(lattice_cv, omega), axis=1)
    distance_x = distance_x[distance_x > 0]
    return float((erfc(omega * distance_x) / distance_x).sum())


def screened_images_strain(lattice_cv: np.ndarray, omega: float) -> np.ndarray:
    """Its derivative by a strain of the lattice, (3, 3)."""
    image_xv = _images(lattice_cv, omega)
    distance_x = np.linalg.norm(image_xv, axis=1)
    image_xv, distance_x = image_xv[distance_x > 0], distance_x[distance_x > 0]
    slope_x = -erfc(omega * distance_x) / distance_x**2
    slope_x -= 2 * omega / np.sqrt(np.pi) * np.exp(-((omega * distance_x) ** 2)) / distance_x
    return np.asarray((image_xv.T * (slope_x / distance_x)) @ image_xv)


def erfc(x_x: np.ndarray) -> np.ndarray:
    """Without scipy, which `eigenwerk check` has not the time to load."""
    return np.array([math.erfc(x) for x in x_x.tolist()])


def _split(lattice_cv: np.ndarray) -> float:
    """η: both sums are equally long."""
    return float(np.sqrt(np.pi) / abs(np.linalg.det(lattice_cv)) ** (1 / 3))


def _images(lattice_cv: np.ndarray, eta: float) -> np.ndarray:
    """Lattice points of the sum in space."""
    return _points(lattice_cv, _REACH / eta + np.linalg.norm(lattice_cv, axis=1).sum() / 2)


def _waves(reciprocal_cv: np.ndarray, eta: float) -> tuple[np.ndarray, np.ndarray]:
    """Wave vectors of the other sum, without zero, and their squares."""
    wave_xv = _points(reciprocal_cv, 2 * eta * _REACH)
    square_x = (wave_xv**2).sum(axis=1)
    return wave_xv[square_x > 0], square_x[square_x > 0]


def madelung_constant(lattice_cv: np.ndarray) -> float:
    """α of a cell: a point charge q has the energy -q² α / 2L, L = Ω^(1/3), among its images in the background."""
    return -point_charge_potential(lattice_cv) * abs(np.linalg.det(lattice_cv)) ** (1 / 3)


def _points(lattice_cv: np.ndarray, radius: float) -> np.ndarray:
    """All lattice points within a radius, and some more; (x, 3)."""
    steps = np.floor(radius * np.linalg.norm(np.linalg.inv(lattice_cv), axis=0)).astype(int)
    index_xc = np.array(list(product(*(range(-n, n + 1) for n in steps))))
    return index_xc @ lattice_cv
