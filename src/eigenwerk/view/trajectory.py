"""What a trajectory says of structure and motion: distances of pairs, square displacements, velocities by time.

Sources: M. P. Allen, D. J. Tildesley, Computer Simulation of Liquids, 2nd ed. (2017), chapters 2.7 and 8; averages over
all origins of time by Fourier transforms as in V. Calandrini et al., Collection SFN 12, 201 (2011).
"""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.hdf5.hdf5_guard import read_guarded
from eigenwerk.io.hdf5.hdf5_tree import DamageFound
from eigenwerk.io.vasp.elements import SYMBOLS
from eigenwerk.lattice_reduction import heights

SHORTEST = 5.0
"""Distances, Å, up to which pairs are counted at least; half the smallest height of the cell, if that is more."""

MOST_FRAMES = 200
"""Of which pairs are counted, spread over the trajectory."""

WIDTH = 0.05
"""Of a bin of distances, Å."""


THINNEST, LEAST_VOLUME = 0.5, 0.5
"""Å between opposite faces of a cell, Å³ for each atom: matter at hundreds of GPa has more."""

FARTHEST, FASTEST, HEAVIEST = 1e5, 1e3, 1e3
"""Å, Å/fs and u that no atom of a calculation reaches."""

MOST_DISTANCES = 2 * 10**9
"""So many are measured for one picture, by fewer frames where atoms are many: about a minute."""

AT_ONCE = 2 * 10**6
"""Distances in memory together."""


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
    box, position, velocity = (f"particles/atoms/{name}" for name in ("box/edges", "position", "velocity"))
    species, mass = "particles/atoms/species", "particles/atoms/mass"
    names = [*(f"{group}/value" for group in (box, position, velocity)), f"{position}/time", species, mass]
    try:
        with open(path, "rb") as file:
            found = read_guarded(file, "datasets", names)
    except (OSError, DamageFound) as error:
        raise _no_trajectory(path, str(error)) from error
    missing = [name for name in names if name not in found and not name.startswith(velocity)]
    if missing:
        raise _no_trajectory(path, f"{missing[0]} is missing")
    if found[f"{position}/time"]["unit"] != "fs":
        raise InputError(f"{path} holds no dynamics: its steps have no times.")
    value = {name: np.asarray(one["value"]) for name, one in found.items()}
    if wrong := _nonsense(
        value[f"{position}/time"], value[f"{box}/value"], value[f"{position}/value"], value.get(f"{velocity}/value"),
        value[species], value[mass],
    ):  # fmt: skip
        raise _no_trajectory(path, wrong)
    return ReadTrajectory(
        value[f"{position}/time"].astype(float), value[f"{box}/value"].astype(float),
        value[f"{position}/value"].astype(float), value.get(f"{velocity}/value"),
        tuple(SYMBOLS[number - 1] for number in value[species]), value[mass].astype(float),
    )  # fmt: skip


def _no_trajectory(path: Path, why: str) -> InputError:
    return InputError(
        f"{path} is no trajectory in the layout of H5MD, or is damaged ({why}). Take another copy, or compute it again."
    )


def _nonsense(
    time_t: np.ndarray, lattice_tcv: np.ndarray, position_tav: np.ndarray, velocity_tav: np.ndarray | None,
    species_a: np.ndarray, mass_a: np.ndarray,
) -> str:  # fmt: skip
    """What atoms on their way cannot be, in words; empty if all is well."""
    steps, atoms = len(time_t) if time_t.ndim == 1 else 0, len(species_a) if species_a.ndim == 1 else 0
    shapes: dict[str, tuple[np.ndarray, tuple[int, ...]]] = {
        "box": (lattice_tcv, (steps, 3, 3)), "position": (position_tav, (steps, atoms, 3)), "mass": (mass_a, (atoms,)),
    }  # fmt: skip
    if velocity_tav is not None:
        shapes["velocity"] = velocity_tav, (steps, atoms, 3)
    if not steps or not atoms:
        return "there are no steps or no atoms"
    for name, (value, shape) in shapes.items():
        if value.shape != shape:
            return f"{name} has the shape {value.shape}, and {steps} steps of {atoms} atoms need {shape}"
        if value.dtype.kind not in "fiu" or not np.isfinite(value).all():
            return f"{name} holds something that is no number"
    if not np.isfinite(time_t).all() or (np.diff(time_t) <= 0).any():
        return "its times do not rise"
    if species_a.dtype.kind not in "iu" or not ((species_a >= 1) & (species_a <= len(SYMBOLS))).all():
        return "an atomic number is that of no element"
    if not ((mass_a > 0) & (mass_a < HEAVIEST)).all():
        return f"a mass is not between 0 and {HEAVIEST:g} u"
    if not (np.abs(position_tav) < FARTHEST).all() or not (np.abs(lattice_tcv) < FARTHEST).all():
        return f"an atom or a lattice vector is {FARTHEST:g} Å away, or farther"
    if velocity_tav is not None and not (np.abs(velocity_tav) < FASTEST).all():
        return f"an atom is as fast as {FASTEST:g} Å/fs, or faster"
    volume = float(np.abs(np.linalg.det(lattice_tcv.astype(float))).min())
    if (
        not volume > LEAST_VOLUME * atoms
        or min(heights(lattice_cv.astype(float)).min() for lattice_cv in lattice_tcv) < THINNEST
    ):
        return f"a cell is thinner than {THINNEST:g} Å, or has less than {LEAST_VOLUME:g} Å³ for an atom"
    return ""


def pair_distributions(found: ReadTrajectory) -> tuple[np.ndarray, dict[tuple[str, str], np.ndarray], float]:
    """g(r) of each pair of elements: pairs at a distance, over those of atoms spread evenly; all images count.

    Returns distances r (middles of bins, Å), g by pair, and half the smallest height of the cell: beyond it atoms meet
    images of their neighbours.
    """
    frames = _spread(len(found.time_t), MOST_FRAMES)
    half = float(min(heights(found.lattice_tcv[t]).min() for t in frames)) / 2
    bins = int(max(SHORTEST, half) / WIDTH)
    edge_x = WIDTH * np.arange(bins + 1)
    dearest = max(_images(found.lattice_tcv[t], edge_x[-1]) for t in frames) * len(found.symbols) ** 2
    if dearest > MOST_DISTANCES:
        raise InputError(
            f"{len(found.symbols)} atoms in such a cell have {dearest:.2g} distances, and a picture is made of "
            f"{MOST_DISTANCES:.0e} at most. Leave this picture out."
        )
    frames = _spread(len(found.time_t), min(MOST_FRAMES, int(MOST_DISTANCES / dearest)))
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


def _spread(steps: int, most: int) -> np.ndarray:
    """Numbers of at most so many steps, from the first to the last."""
    return np.unique(np.linspace(0, steps - 1, min(steps, most)).astype(int))


def _reach(lattice_cv: np.ndarray, farthest: float) -> np.ndarray:
    return np.asarray(np.floor(farthest / heights(lattice_cv) + 0.5).astype(int))


def _images(lattice_cv: np.ndarray, farthest: float) -> int:
    """How many cells are looked into."""
    return int(np.prod(2 * _reach(lattice_cv, farthest) + 1))


def _counts(first_ac: np.ndarray, second_ac: np.ndarray, lattice_cv: np.ndarray, edge_x: np.ndarray) -> np.ndarray:
    """Pairs by distance, all images within the last edge, without an atom and itself."""
    found_x = np.zeros(len(edge_x) - 1)
    reach_c, some = _reach(lattice_cv, edge_x[-1]), max(1, AT_ONCE // len(second_ac))
    for start in range(0, len(first_ac), some):
        between_xc = (second_ac[None] - first_ac[start : start + some, None]).reshape(-1, 3)
        between_xc = between_xc - np.round(between_xc)
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
