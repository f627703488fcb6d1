"""Energies, forces and pressure by cutoff, k-points or smearing, and which setting is good enough.

Errors are differences to the best setting of a series plus an estimate of what the best one still lacks.  For cutoffs
in equal steps whose last changes fall, d₂ < d₁, the rest of a geometric series, d₂ r / (1 - r) with r = d₂/d₁; in every
other case, k-points and smearing among them, the size of the last change.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from eigenwerk.dft.crystal.kpoints import mesh_from_spacing
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.runs.series.points import SeriesPoint, compute
from eigenwerk.dft.runs.series.variants import mesh_text, require_series, sharp_enough, variant
from eigenwerk.dft.scf.state import State
from eigenwerk.errors import InputError
from eigenwerk.parallel.runtime import Runtime

TOLERANCE = 1e-6
"""Largest EDIFF, eV for each atom."""

MOST = 30
"""Settings of one series; more are taken for a mistake."""

LARGEST_CUTOFF = 5000.0
TARGETS = (10.0, 5.0, 1.0)
"""Errors of the energy for which a setting is named, meV per atom."""


@dataclass(frozen=True, eq=False)
class SeriesSetting:
    """One setting of a series: the value of its tag, words for it, and the folder with it."""

    value: float
    words: str
    inputs: Inputs


@dataclass(frozen=True, eq=False)
class SettingSeries:
    """One setting varied, from the cheapest to the best; what was computed for it.

    name: "cutoff", "k-points" or "smearing"; points: in the order of settings, empty before they are computed.
    """

    name: str
    settings: tuple[SeriesSetting, ...]
    points: tuple[SeriesPoint, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether all converged."""
        return all(point.converged for point in self.points)

    def energies(self) -> np.ndarray:
        """eV per atom, NaN for points that did not converge; by smearing those extrapolated to none."""
        extrapolated = self.name == "smearing"
        values = [point.energy_zero if extrapolated else point.energy for point in self.points]
        pairs = zip(values, self.points, strict=True)
        return np.array([value / p.atoms if value is not None and p.converged else np.nan for value, p in pairs])

    def remainder(self) -> tuple[float, str]:
        """What the best setting still lacks, eV per atom, and how that was estimated; NaN if nothing is known."""
        energies = self.energies()
        if len(energies) < 2 or not np.isfinite(energies[-2:]).all():
            return float("nan"), "unknown: the two best settings are needed"
        values, last = [setting.value for setting in self.settings], abs(float(energies[-1] - energies[-2]))
        if self.name == "cutoff" and len(energies) > 2 and np.isclose(values[-1] - values[-2], values[-2] - values[-3]):
            before = float(energies[-2] - energies[-3])
            ratio = float(energies[-1] - energies[-2]) / before if before else 0.0
            if 0.0 < ratio < 1.0:
                return last * ratio / (1 - ratio), "the last changes carried on as a geometric series"
        return last, "the size of the last change"

    def errors(self) -> np.ndarray:
        """Estimated error of each setting, eV per atom."""
        energies = self.energies()
        return np.abs(energies - energies[-1]) + self.remainder()[0]

    def sufficient(self, target: float) -> int | None:
        """Place of the cheapest setting that keeps an error (eV per atom), and beyond which all do; None without."""
        good = self.errors() <= target  # NaN is not
        place = len(good)
        while place and good[place - 1]:
            place -= 1
        return place if place < len(good) else None

    def force_changes(self) -> list[float | None]:
        """Largest change of a force to the best setting, eV/Å."""
        best = self.points[-1].forces_av
        return [
            None if point.forces_av is None or best is None or not point.converged
            else float(np.linalg.norm(point.forces_av - best, axis=1).max())
            for point in self.points
        ]  # fmt: skip

    def pressure_changes(self) -> list[float | None]:
        """Change of the pressure at fixed waves to the best setting, GPa."""
        best = self.points[-1].pressure
        return [
            None if point.pressure is None or best is None or not point.converged else point.pressure - best
            for point in self.points
        ]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON, with units in the names; `settings` in order, the best one last."""
        energies, (rest, how) = self.energies(), self.remainder()
        columns = zip(
            self.settings, self.points, energies, self.errors(), self.force_changes(), self.pressure_changes(),
            strict=True,
        )  # fmt: skip
        named = {target: self.sufficient(target / 1000) for target in TARGETS}
        return {
            "name": self.name, "complete": self.complete, "remaining_error_of_best_eV_per_atom": rest,
            "estimated_by": how,
            "settings": [
                {
                    "value": setting.value, "words": setting.words, "energy_eV_per_atom": float(energy),
                    "difference_to_best_eV_per_atom": float(energy - energies[-1]),
                    "estimated_error_eV_per_atom": float(error), "force_change_eV_per_A": force,
                    "pressure_change_GPa": pressure, **point.as_dict(),
                }
                for setting, point, energy, error, force, pressure in columns
            ],
            "sufficient": [
                {"error_meV_per_atom": target, "setting": None if place is None else self.settings[place].words}
                for target, place in named.items()
            ],
        }  # fmt: skip


def values_of(words: str, option: str) -> list[float]:
    """300:700:50, both ends included, or 300,400,500.  Raises InputError for anything else."""
    try:
        found = [float(part) for part in words.split(":" if ":" in words else ",")]
        if ":" in words:
            first, last, step = found
            count = min((last - first) / step * (1 + 1e-9), MOST) if np.isfinite(found).all() else 0
            found = [first + step * number for number in range(int(count) + 1)]
    except (ValueError, ZeroDivisionError):
        found = []
    found = sorted({round(float(value), 9) for value in found})
    if len(found) < 2 or len(found) > MOST or not np.isfinite(found).all() or found[0] <= 0:
        raise InputError(
            f"{option} {words[:60]}: no series of 2 to {MOST} numbers above zero. Write FIRST:LAST:STEP or A,B,C."
        )
    return found


def cutoffs(inputs: Inputs, values: Sequence[float] | None = None) -> SettingSeries:
    """The series of ENCUT (eV); by itself a quarter below that of the folder to half of it above."""
    given = float(str(inputs.setting("ENCUT")))
    if values is None:
        step = max(round(given / 4, -1), 10.0)
        values = [given - step, given, given + step, given + 2 * step]
    if max(values) > LARGEST_CUTOFF:
        raise InputError(f"--encut: {max(values):g} eV is above {LARGEST_CUTOFF:g}. Is the unit right?")
    made = [(value, f"ENCUT = {value:g}", {"ENCUT": repr(float(value))}, None) for value in sorted(values)]
    return _series("cutoff", inputs, made)


def smearings(inputs: Inputs, values: Sequence[float]) -> SettingSeries:
    """The series of SIGMA (eV), the smallest is the best."""
    if int(str(inputs.setting("ISMEAR"))) < -1:
        raise InputError(
            f"--sigma: ISMEAR = {inputs.setting('ISMEAR')} has no width that could be varied. Set ISMEAR to 1, 0 or -1."
        )
    made = [
        (value, f"SIGMA = {value:g}", {"SIGMA": repr(float(value))}, None) for value in sorted(values, reverse=True)
    ]
    return _series("smearing", inputs, made)


def meshes(inputs: Inputs, values: Sequence[float] | None = None) -> SettingSeries | None:
    """The series of meshes: whole numbers are divisions along the axis that has most of them in the folder, others in
    proportion; numbers below 1 are KSPACING.  By itself two less than the folder to four more; None for Gamma alone.

    Raises InputError for lists and generalised meshes.
    """
    own, file = inputs.kpoints.mesh, inputs.kpoints_file
    if own is None:
        if values is None:
            return None
        raise InputError("--kpoints: the folder has a list of k-points. Write a mesh to KPOINTS, which can be varied.")
    most = max(own)
    if values is None:
        if most == 1:
            return None
        values = [most + step for step in (-2, 0, 2, 4)] if most > 2 else [1, 2, 3, 4]
    if all(value < 1 for value in values):
        ordered = sorted(values, reverse=True)
        wanted = [(value, mesh_from_spacing(inputs.structure, value)) for value in ordered]
    elif all(float(value).is_integer() for value in values):
        wanted = [(value, _in_proportion(own, int(value))) for value in sorted(values)]
    else:
        raise InputError("--kpoints: give whole numbers (divisions), or numbers below 1 (KSPACING, 1/Å), not both.")
    centred = bool(inputs.setting("KGAMMA")) if file is None else file.gamma_centred
    shift = (0.0, 0.0, 0.0) if file is None else file.shift
    unique = {mesh: value for value, mesh in reversed(wanted)}  # spacings that make the same mesh
    ordered_meshes = [(value, mesh) for mesh, value in reversed(unique.items())]
    if len(ordered_meshes) < 2:
        raise InputError("--kpoints: all of these make the same mesh. Give numbers further apart.")
    made = [
        (value, f"{mesh[0]} x {mesh[1]} x {mesh[2]}", {"KSPACING": None}, mesh_text(mesh, centred, shift))
        for value, mesh in ordered_meshes
    ]
    return _series("k-points", inputs, made)


def _in_proportion(own: tuple[int, int, int], most: int) -> tuple[int, int, int]:
    """A mesh with `most` divisions where the folder has most; axes with one keep it."""
    first, second, third = (1 if n == 1 else max(1, ceil(n * most / max(own) - 1e-9)) for n in own)
    return first, second, third


Made = tuple[float, str, dict[str, Any], str | None]


def _series(name: str, inputs: Inputs, made: Sequence[Made]) -> SettingSeries:
    """Raises InputError for the first setting that cannot be computed."""
    require_series(inputs)
    sharp, settings = sharp_enough(inputs, TOLERANCE * len(inputs.poscar.symbols)), []
    for value, words, tags, kpoints in made:
        changed = variant(inputs, {**sharp, **tags}, kpoints)
        try:
            changed.raise_on_errors()
        except InputError as error:
            raise InputError(f"{words} cannot be computed.\n{error}") from error
        settings.append(SeriesSetting(float(value), words, changed))
    return SettingSeries(name, tuple(settings))


def compute_series(
    series: SettingSeries, runtime: Runtime, on_point: Callable[[SettingSeries, SeriesPoint], None],
    known: Mapping[str, SeriesPoint] | None = None,
) -> SettingSeries:  # fmt: skip
    """Compute all settings from the cheapest on, each from the state before.

    on_point is called after each with the series so far; known: points that need not be computed, by `mark_of` them.
    """
    points: list[SeriesPoint] = []
    state: State | None = None
    for setting in series.settings:
        point, following = compute(setting.inputs, runtime, state, known)
        state = following or state
        points.append(point)
        on_point(SettingSeries(series.name, series.settings[: len(points)], tuple(points)), point)
    return SettingSeries(series.name, series.settings, tuple(points))


def remarks(series: SettingSeries) -> Iterator[str]:
    """What a table of differences does not say."""
    for setting, point in zip(series.settings, series.points, strict=True):
        if not point.converged:
            yield f"{setting.words} is left out: {point.status}"
    moments = [float(np.abs(p.moment_a).mean()) for p in series.points if p.moment_a is not None and p.converged]
    if moments and min(moments) < 0.1 < max(moments):
        yield "some settings are magnetic and others not: their energies belong to different states (MAGMOM, NUPDOWN)"
    if len({point.metal for point in series.points if point.converged}) == 2:
        yield "a metal at some settings and not at others: energies change by more than they converge"
    yield from dict.fromkeys(text for point in series.points if point.converged for text in point.warnings)
