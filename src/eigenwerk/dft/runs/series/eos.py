"""Energy by volume: calculations of scaled cells, the curve through them, and what speaks against it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from eigenwerk.dft.crystal.structure import vacuum
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.runs.series.birch_murnaghan import FEWEST, EquationOfState, fit
from eigenwerk.dft.runs.series.points import SeriesPoint, compute
from eigenwerk.dft.runs.series.variants import fixed_points, require_series, sharp_enough, variant
from eigenwerk.dft.scf.state import State
from eigenwerk.errors import InputError
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.units import BOHR_ANGSTROM, EV_PER_ANGSTROM3_GPA

TOLERANCE = 1e-7
"""Largest EDIFF, eV for each atom: energies of the points differ by millielectronvolts, and B1 hangs on their third
differences."""

LARGEST_RANGE = 0.3

MOST = 30
"""Points of one curve; more are taken for a mistake."""

MAGNETIC = 0.1
"""Moment, Bohr magnetons for each atom, that counts as one."""

JUMP = 0.2
"""Change of the moments between neighbours, Bohr magnetons for each atom, that means another state if all other changes
are below a third of it."""

FORCE, SHEAR = 0.02, 0.5
"""eV/Å and GPa: larger forces, or stresses off the mean, say that a relaxed crystal would be another one."""

VACUUM = 6.0
"""Å; a wider layer without atoms is no part of a crystal."""

PRESSURE_AGREEMENT = 0.05
"""Pressure from stress and from the curve may differ by this share of B0 times the range of volumes."""

PULAY_ERROR = 0.25
"""Of the estimate of the Pulay stress (docs/equations/stress.md)."""

LOW_CUTOFF = 0.05
"""Pulay stress over B0 from which on a cutoff is called low."""


@dataclass(frozen=True, eq=False)
class VolumeSeries:
    """The points in order of volume, and the curve through those that converged, per cell in eV and Å³.

    The curve is that of smooth energies (`SeriesPoint.smooth_energy`), which have no jumps where plane waves come and
    go.
    scale_x: of lengths; found: None if there is no curve with a minimum; volume: of the folder's own cell.
    """

    scale_x: tuple[float, ...]
    points: tuple[SeriesPoint, ...]
    found: EquationOfState | None
    volume: float

    @property
    def used(self) -> list[SeriesPoint]:
        """Points that the curve is made of."""
        return [point for point in self.points if point.converged]

    @property
    def bracketed(self) -> bool:
        """Whether the minimum lies between points: neither the lowest point nor that of the curve is at an end."""
        energies, used = [_energy(point) for point in self.used], self.used
        if self.found is None or not 0 < int(np.argmin(energies)) < len(used) - 1:
            return False
        return used[0].volume < self.found.v0 < used[-1].volume

    @property
    def complete(self) -> bool:
        """Whether all points converged and the minimum is between them."""
        return self.bracketed and len(self.used) == len(self.points)

    @property
    def scale0(self) -> float | None:
        """Lengths at the minimum over those of the folder."""
        return None if self.found is None else float((self.found.v0 / self.volume) ** (1 / 3))

    def curve_pressures(self) -> np.ndarray | None:
        """-dE/dV at the points, GPa."""
        if self.found is None:
            return None
        return self.found.pressure(np.array([point.volume for point in self.points])) * EV_PER_ANGSTROM3_GPA

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON, with units in the names."""
        pressures = self.curve_pressures()
        rows = []
        for number, (scale, point) in enumerate(zip(self.scale_x, self.points, strict=True)):
            curve = None if pressures is None else float(pressures[number])
            smooth = {"smooth_free_energy_eV": point.smooth_energy}
            rows.append({"length_scale": scale, "curve_pressure_GPa": curve, **smooth, **point.as_dict()})
        return {
            "format": "eigenwerk-eos", "version": 1, "complete": self.complete, "bracketed": self.bracketed,
            "atoms": self.points[0].atoms if self.points else None, "folder_volume_A3": self.volume,
            "birch_murnaghan": None if self.found is None else _fit_document(self.found, self.volume),
            "points": rows, "warnings": list(doubts(self)),
        }  # fmt: skip


def _fit_document(found: EquationOfState, volume: float) -> dict[str, Any]:
    e0, v0, b0, b1 = found.error
    scale = (found.v0 / volume) ** (1 / 3)
    return {
        "energy_eV": found.e0, "energy_error_eV": e0, "volume_A3": found.v0, "volume_error_A3": v0,
        "length_scale": scale, "length_scale_error": scale * v0 / (3 * found.v0),
        "bulk_modulus_GPa": found.b0 * EV_PER_ANGSTROM3_GPA,
        "bulk_modulus_error_GPa": b0 * EV_PER_ANGSTROM3_GPA,
        "bulk_modulus_derivative": found.b1, "bulk_modulus_derivative_error": b1, "residual_eV": found.residual,
    }  # fmt: skip


def volumes(inputs: Inputs, reach: float, count: int) -> list[tuple[float, Inputs]]:
    """(scale of lengths, folder) for volumes from 1 - reach to 1 + reach of the folder's, in equal steps.

    All with the same k-points, ENCUT and bands.  Raises InputError for a range or number that gives no curve.
    """
    require_series(inputs)
    if not 0 < reach <= LARGEST_RANGE:
        raise InputError(f"--range {reach:g}: the volume is to change by more than 0 and at most {LARGEST_RANGE:g}.")
    if count < FEWEST:
        raise InputError(
            f"--points {count}: the curve has four parameters; at least {FEWEST} points give an error too."
        )
    if count > MOST:
        raise InputError(
            f"--points {count}: at most {MOST} volumes are computed, and 7 to 11 make a good curve. Give fewer."
        )
    tags = sharp_enough(inputs, TOLERANCE * len(inputs.poscar.symbols))
    tags |= {"ENCUT": repr(float(str(inputs.setting("ENCUT")))), "NBANDS": inputs.size.bands}
    points, made = fixed_points(inputs), []
    for share in np.linspace(1 - reach, 1 + reach, count):
        scale = float(round(share, 12) ** (1 / 3))
        changed = variant(inputs, tags, points, scale)
        changed.raise_on_errors()
        made.append((scale, changed))
    return made


def vacuum_doubt(inputs: Inputs) -> str:
    """Words about a cell with vacuum, which scaling stretches as well; empty for a crystal."""
    widest = float(vacuum(inputs.structure).max()) * BOHR_ANGSTROM
    if widest < VACUUM:
        return ""
    return (
        f"the cell has {widest:.1f} Å without atoms: scaled volumes stretch this vacuum too, and B0 per volume of the "
        "cell means nothing for a slab or a molecule"
    )


def equation_of_state(
    inputs: Inputs, series: list[tuple[float, Inputs]], runtime: Runtime,
    on_point: Callable[[VolumeSeries, SeriesPoint], None], known: Mapping[str, SeriesPoint] | None = None,
) -> VolumeSeries:  # fmt: skip
    """Compute the series of `volumes`, from the volume of the folder outwards, and fit the smooth free energies.

    on_point is called after each with the series so far; known: points that need not be computed, by `mark_of` them.
    """
    found: dict[int, SeriesPoint] = {}
    middle, first = len(series) // 2, None
    state: State | None = None
    for number in (*range(middle, len(series)), *reversed(range(middle))):
        if number == middle - 1:
            state = first
        point, following = compute(series[number][1], runtime, state, known)
        state = following or state
        first = following if number == middle else first
        found[number] = point
        points = tuple(found[place] for place in sorted(found))
        scales = tuple(series[place][0] for place in sorted(found))
        so_far = VolumeSeries(scales, points, _fit(points), inputs.poscar.volume)
        on_point(so_far, point)
    return so_far


def _fit(points: tuple[SeriesPoint, ...]) -> EquationOfState | None:
    used = [point for point in points if point.converged]
    if len(used) < FEWEST:
        return None
    return fit(np.array([point.volume for point in used]), np.array([_energy(point) for point in used]))


def _energy(point: SeriesPoint) -> float:
    assert point.smooth_energy is not None, "it has converged"
    return point.smooth_energy


def doubts(series: VolumeSeries) -> Iterator[str]:
    """What the numbers of a curve do not say, in words with what to do."""
    lost = [point for point in series.points if not point.converged]
    for point in lost:
        yield f"the point at {point.volume:.4f} Å³ is left out of the curve: {point.status}"
    used = series.used
    if len(used) < FEWEST:
        points = f"{len(used)} point{'s' if len(used) != 1 else ''}"
        yield f"{points} converged, and a curve needs {FEWEST}: there is none"
        return
    if not series.bracketed:
        yield _not_bracketed(series)
    yield from _changes(used)
    yield from _shape(series)
    yield from dict.fromkeys(text for point in used for text in point.warnings)


def _not_bracketed(series: VolumeSeries) -> str:
    used = series.used
    lowest = used[int(np.argmin([_energy(point) for point in used]))]
    if series.found is None:
        return (
            f"no minimum: the curve through energies from {used[0].volume:.3f} to {used[-1].volume:.3f} Å³ has none. "
            "Look at the energies; change the scale factor of POSCAR, or ask for a larger --range"
        )
    side = "smaller" if series.found.v0 < series.volume else "larger"
    return (
        f"the minimum is not between the points (lowest energy at {lowest.volume:.3f} Å³, of {used[0].volume:.3f} to "
        f"{used[-1].volume:.3f}): it lies at a {side} volume, and what the curve says of it is an extrapolation. "
        f"Multiply the scale factor of POSCAR by {series.scale0:.3f} and begin again"
    )


def _changes(used: list[SeriesPoint]) -> Iterator[str]:
    """A magnet that loses its moment, or an insulator that becomes a metal, has two curves and not one."""
    if used[0].moment_a is not None:
        size_x = [float(np.abs(point.moment_a).mean()) for point in used if point.moment_a is not None]
        if min(size_x) < MAGNETIC < max(size_x):
            yield (
                f"the magnetic state changes: moments of {size_x[0]:.2f} to {size_x[-1]:.2f} μB per atom from the "
                "smallest to the largest volume, with and without them. The points lie on two curves; compute each "
                "state by itself (MAGMOM, NUPDOWN, ISPIN = 1) or a smaller --range"
            )
        elif jump := _jump(size_x):
            one, two = used[jump - 1].volume, used[jump].volume
            yield (
                f"moments jump from {size_x[jump - 1]:.2f} to {size_x[jump]:.2f} μB per atom between {one:.2f} and "
                f"{two:.2f} Å³: the points lie on two curves. Compute each state by itself (MAGMOM, NUPDOWN) or a "
                "smaller --range"
            )
        elif any(_reversed(one, two) for one, two in pairwise(used)):
            yield "the order of the moments changes between points: they lie on different curves; set MAGMOM or NUPDOWN"
    kinds = {point.metal for point in used}
    if len(kinds) == 2:
        insulating = [f"{point.volume:.2f}" for point in used if not point.metal]
        gaps = ", ".join(insulating)
        yield f"a metal at some volumes and not at others (gap at {gaps} Å³): the curve may have a kink"


def _jump(size_x: list[float]) -> int:
    """Place of the point behind the one large change between neighbours; 0 if the moments change evenly."""
    change_x = np.abs(np.diff(size_x))
    largest = int(np.argmax(change_x))
    others = np.delete(change_x, largest)
    return largest + 1 if change_x[largest] > JUMP and change_x[largest] > 3 * others.max(initial=0.0) else 0


def _reversed(one: SeriesPoint, two: SeriesPoint) -> bool:
    """Whether the pattern of up and down is another one; all turned over is the same."""
    if one.moment_a is None or two.moment_a is None:
        return False
    large_a = (np.abs(one.moment_a) > MAGNETIC) & (np.abs(two.moment_a) > MAGNETIC)
    sign_a = np.sign(one.moment_a * two.moment_a)[large_a]
    return bool(len(sign_a)) and abs(int(sign_a.sum())) != len(sign_a)


def _shape(series: VolumeSeries) -> Iterator[str]:
    """Whether atoms or the shape of the cell would move, and whether stress and curve agree."""
    found, used = series.found, series.used
    if found is None:
        return
    middle = min(used, key=lambda point: abs(point.volume - found.v0))
    force = max(0.0 if p.forces_av is None else float(np.linalg.norm(p.forces_av, axis=1).max()) for p in used)
    if force > FORCE:
        yield f"forces reach {force:.3f} eV/Å: atoms keep their places in the cell, and a relaxed curve would be softer"
    if middle.stress_vv is not None:
        off = float(np.abs(middle.stress_vv - np.trace(middle.stress_vv) / 3 * np.eye(3)).max())
        if off > SHEAR:
            yield (
                f"stresses near the minimum differ by {off:.2f} GPa from their mean: the shape of the cell is kept, "
                "and a relaxed one would be another"
            )
    worst, allowed = pressure_mismatch(series)
    if worst is not None and worst > allowed:
        yield (
            f"pressure from stress (with the Pulay estimate) and from the curve differ by up to {worst:.2f} GPa: "
            "points lie on different curves, or ENCUT is too low for both (`eigenwerk converge` says how far)"
        )
    pulay = max((abs(point.pulay) for point in used if point.pulay is not None), default=0.0)
    if pulay > LOW_CUTOFF * found.b0 * EV_PER_ANGSTROM3_GPA:
        yield (
            f"ENCUT is low for these data sets: the Pulay stress is {pulay:.1f} GPa, of a bulk modulus of "
            f"{found.b0 * EV_PER_ANGSTROM3_GPA:.0f}. The curve is that of energies at this cutoff, and V0 and B0 will "
            "change with a larger one"
        )


def pressure_mismatch(series: VolumeSeries) -> tuple[float | None, float]:
    """Largest difference between both pressures, GPa, and what is allowed; None if there is no stress.

    The curve has a constant cutoff, the stress constant waves: their pressures differ by the Pulay stress, of which the
    estimate has an error.
    """
    pressures, found = series.curve_pressures(), series.found
    if pressures is None or found is None:
        return None, 0.0
    pairs = zip(series.points, pressures, strict=True)
    gaps = [abs(p.pressure - (p.pulay or 0.0) - value) for p, value in pairs if p.converged and p.pressure is not None]
    span = (series.used[-1].volume - series.used[0].volume) / found.v0
    error = PULAY_ERROR * max((abs(p.pulay) for p in series.used if p.pulay is not None), default=0.0)
    allowed = max(0.1, PRESSURE_AGREEMENT * found.b0 * EV_PER_ANGSTROM3_GPA * span, error)
    return (max(gaps) if gaps else None), allowed
