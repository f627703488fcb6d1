"""What a trajectory says of structure and motion: distances of pairs, square displacements, velocities by time.

Sources: M. P. Allen, D. J. Tildesley, Computer Simulation of Liquids, 2nd ed. (2017), chapters 2.7 and 8; averages over
all origins of time by Fourier transforms as in V. Calandrini et al., Collection SFN 12, 201 (2011).
"""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import h5py
import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.elements import SYMBOLS
from eigenwerk.lattice_reduction import heights

SHORTEST = 5.0
"""Distances, Å, up to which pairs are counted at least; half the smallest height of the cell, if that is more."""

MOST_FRAMES = 200
"""Of which pairs are counted, spread over the trajectory."""

WIDTH = 0.05
"""Of a bin of distances, Å."""


@dataclass(frozen=True, eq=False)
class ReadTrajectory:
    """Of trajectory.h5: times t, lattice vectors, unfolded positions and velocities (t, a, 3) or None; Å and fs.

    symbols, mass_a: of the atoms.
    """

    time_t: np.ndarray
    lattice_tcv: np.ndarray
    position_tav: np.ndarray
    velocity_tav: np.ndarray | None
    symbols: tuple[str, ...]
    mass_a: np.ndarray


def read_trajectory(path: Path) -> ReadTrajectory:
    """Of dynamics.  Raises InputError if the file cannot be read, or holds something else."""
    try:
        with h5py.File(path) as file:
            atoms = file["particles/atoms"]
            position, velocity = atoms["position"], atoms.get("velocity")
            if position["time"].attrs.get("unit") != "fs":
                raise InputError(f"{path} holds no dynamics: its steps have no times.")
            return ReadTrajectory(
                position["time"][:], atoms["box/edges/value"][:], position["value"][:],
                None if velocity is None else velocity["value"][:],
                tuple(SYMBOLS[number - 1] for number in atoms["species"]), atoms["mass"][:],
            )  # fmt: skip
    except (OSError, KeyError, ValueError, TypeError, IndexError, RuntimeError) as error:
        raise InputError(f"{path} is no trajectory in the layout of H5MD, or is damaged ({error}).") from error


def pair_distributions(found: ReadTrajectory) -> tuple[np.ndarray, dict[tuple[str, str], np.ndarray], float]:
    """g(r) of each pair of elements: pairs at a distance, over those of atoms spread evenly; all images count.

    Returns distances r (middles of bins, Å), g by pair, and half the smallest height of the cell: beyond it atoms meet
    images of their neighbours.
    """
    frames = np.unique(np.linspace(0, len(found.time_t) - 1, min(len(found.time_t), MOST_FRAMES)).astype(int))
    half = float(min(heights(found.lattice_tcv[t]).min() for t in frames)) / 2
    bins = int(max(SHORTEST, half) / WIDTH)
    edge_x = WIDTH * np.arange(bins + 1)
    shell_x = 4 / 3 * np.pi * np.diff(edge_x**3)
    elements = tuple(dict.fromkeys(found.symbols))
    places = {name: np.array([symbol == name for symbol in found.symbols]) for name in elements}
    pairs = [(one, other) for n, one in enumerate(elements) for other in elements[n:]]
    total = {pair: np.zeros(bins) for pair in pairs}
    for t in frames:
        lattice_cv = found.lattice_tcv[t]
        scaled_ac = np.linalg.solve(lattice_cv.T, found.position_tav[t].T).T
        volume = abs(np.linalg.det(lattice_cv))
        for one, other in pairs:
            counted_x = _counts(scaled_ac[places[one]], scaled_ac[places[other]], lattice_cv, edge_x)
            total[one, other] += counted_x * volume / (shell_x * places[one].sum() * places[other].sum())
    return edge_x[:-1] + WIDTH / 2, {pair: value_x / len(frames) for pair, value_x in total.items()}, half


def _counts(first_ac: np.ndarray, second_ac: np.ndarray, lattice_cv: np.ndarray, edge_x: np.ndarray) -> np.ndarray:
    """Pairs by distance, all images within the last edge, without an atom and itself."""
    between_xc = (second_ac[None] - first_ac[:, None]).reshape(-1, 3)
    between_xc = between_xc - np.round(between_xc)
    reach_c = np.floor(edge_x[-1] / heights(lattice_cv) + 0.5).astype(int)
    found_x = np.zeros(len(edge_x) - 1)
    for image_c in product(*(range(-reach, reach + 1) for reach in reach_c)):
        distance_x = np.linalg.norm((between_xc + image_c) @ lattice_cv, axis=1)
        found_x += np.histogram(distance_x[distance_x > 1e-6], edge_x)[0]
    return found_x


def square_displacements(found: ReadTrajectory) -> dict[str, np.ndarray]:
    """<|r(t₀ + t) - r(t₀)|²> of each element over its atoms and all t₀, Å²; the centre of mass is at rest."""
    centre_tv = np.einsum("a,tav->tv", found.mass_a, found.position_tav) / found.mass_a.sum()
    moved_tav = found.position_tav - centre_tv[:, None]
    moved_tav = moved_tav - moved_tav[0]
    square_ta = (moved_tav**2).sum(2)
    steps = len(square_ta)
    # Σ over k of |r_k|² + |r_(k+t)|², from the sums of the first and the last ones
    sums_ta = np.concatenate([np.zeros((1, square_ta.shape[1])), square_ta.cumsum(0)])
    lag_t = np.arange(steps)
    both_ta = sums_ta[steps - lag_t] + sums_ta[-1] - sums_ta[lag_t]
    msd_ta = both_ta / (steps - lag_t)[:, None] - 2 * autocorrelation(moved_tav)
    return _by_element(msd_ta, found.symbols)


def velocity_autocorrelations(found: ReadTrajectory) -> dict[str, np.ndarray]:
    """<v(t₀)·v(t₀ + t)> / <v²> of each element over its atoms and all t₀."""
    if found.velocity_tav is None:
        return {}
    by_element = _by_element(autocorrelation(found.velocity_tav), found.symbols)
    return {name: value_t / value_t[0] for name, value_t in by_element.items() if value_t[0] > 0}


def autocorrelation(value_tav: np.ndarray) -> np.ndarray:
    """Σ_v <x(t₀) x(t₀ + t)> over all t₀, (t, a), by Fourier transforms with as many zeros behind."""
    steps = len(value_tav)
    spectrum = np.fft.rfft(value_tav, 2 * steps, axis=0)
    sums_tav = np.fft.irfft(np.abs(spectrum) ** 2, 2 * steps, axis=0)[:steps]
    return np.asarray(sums_tav.sum(2) / (steps - np.arange(steps))[:, None])


def _by_element(value_ta: np.ndarray, symbols: tuple[str, ...]) -> dict[str, np.ndarray]:
    return {
        name: value_ta[:, [symbol == name for symbol in symbols]].mean(1) for name in dict.fromkeys(symbols)
    }  # fmt: skip
