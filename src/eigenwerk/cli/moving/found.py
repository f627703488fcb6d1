"""What a motion has found, for the end of a run: one list of lines for each kind."""

from collections.abc import Sequence

import numpy as np

from eigenwerk.cli.moving.table import largest_force
from eigenwerk.dft.runs.quantities.report import IonicHistory
from eigenwerk.dft.settings.motion_kind import DIMER, DYNAMICS, RELAXATION
from eigenwerk.io.vasp.output.record import IonicStep
from eigenwerk.shown import counted

SMALL = 1e-6
"""Relative change of a cell that is none."""

DRIFT, CERTAIN, LEAST = 1.0, 3.0, 20
"""A drift above so many meV per atom and ps is worth a warning, if in the time of the run it comes to so many times the
root mean square about the line, of so many points."""


def found_lines(ionic_history: IonicHistory) -> list[str]:
    """Of the ionic steps that are over."""
    steps = [ionic for ionic in ionic_history.steps if ionic.forces_av is not None]
    if not steps:
        return []
    if ionic_history.kind == RELAXATION:
        return [*_relaxation(steps), *_best(ionic_history), *_unconverged(steps)]
    if ionic_history.kind == DYNAMICS:
        return [*_dynamics(steps, float(ionic_history.more.get("time_step_fs", 0.0))), *_unconverged(steps)]
    if ionic_history.kind == DIMER:
        return [*_dimer(steps), *_unconverged(steps)]
    return ionic_history.text.splitlines()


def _unconverged(steps: Sequence[IonicStep]) -> list[str]:
    count = sum(not ionic.converged for ionic in steps)
    return [f"  {counted(count, 'ionic step')} did not converge: see the remarks above, and OUTCAR"] if count else []


def _row(label: str, words: str) -> str:
    return f"  {label:<22}{words}"


# -- relaxation --------------------------------------------------------------------------------------------------------


def _relaxation(steps: Sequence[IonicStep]) -> list[str]:
    first, last = steps[0], steps[-1]
    lines = [f"Relaxation: {counted(len(steps), 'ionic step')}"]
    lines.append(_row("energy gained", f"{first.free_energy - last.free_energy:.6f} eV"))
    before, after = largest_force(first), largest_force(last)
    if before is not None and after is not None:
        lines.append(_row("largest force", f"{before:.4f} at first, {after:.4f} eV/Å now"))
    if last.largest_stress is not None and first.largest_stress is not None:
        lines.append(_row("largest stress", f"{first.largest_stress:.2f} at first, {last.largest_stress:.2f} kbar now"))
    lines.append(_row("farthest atom", f"{_farthest(first, last):.4f} Å from where it was"))
    return lines + _cell(first, last)


def _best(ionic_history: IonicHistory) -> list[str]:
    """Steps that were better than the last one, whose structure CONTCAR holds, where that is not at rest."""
    if ionic_history.finished:
        return []
    lines, last, count = [], ionic_history.steps[-1], len(ionic_history.steps)
    lowest, smallest = ionic_history.lowest("free_energy"), ionic_history.lowest("largest_force")
    if lowest is not None and lowest < count:
        energy = ionic_history.steps[lowest - 1].free_energy
        lines.append(_row("lowest energy", f"{energy:.6f} eV in ionic step {lowest}, now {last.free_energy:.6f} eV"))
    if smallest is not None and smallest < count:
        force = ionic_history.steps[smallest - 1].largest_force
        lines.append(_row("smallest force", f"{force:.4f} eV/Å in ionic step {smallest}"))
    return [*lines, *(["  CONTCAR holds the last step; XDATCAR and vasprun.xml hold all"] if lines else [])]


def _dimer(steps: Sequence[IonicStep]) -> list[str]:
    first, last = steps[0], steps[-1]
    lines = [f"Dimer: {counted(len(steps), 'point')}"]
    lines.append(_row("energy", f"{last.free_energy - first.free_energy:+.6f} eV from the first point"))
    if last.largest_force is not None:
        lines.append(_row("largest force", f"{last.largest_force:.4f} eV/Å"))
    if last.curvature is not None:
        lines.append(_row("curvature", f"{last.curvature:.4f} eV/Å² along its direction, which CONTCAR has"))
    return [*lines, _row("farthest atom", f"{_farthest(first, last):.4f} Å from where it was")]


def _farthest(first: IonicStep, last: IonicStep) -> float:
    """Largest displacement relative to the cell and to the mean of all atoms, Å."""
    moved_ac = last.scaled_ac - first.scaled_ac
    return float(np.linalg.norm((moved_ac - moved_ac.mean(axis=0)) @ last.lattice_cv, axis=1).max())


def _cell(first: IonicStep, last: IonicStep) -> list[str]:
    """Lengths, angles and volume, if the cell has changed."""
    if np.allclose(first.lattice_cv, last.lattice_cv, rtol=0, atol=SMALL * np.abs(first.lattice_cv).max()):
        return []
    lengths, angles = _shape(last.lattice_cv)
    old, new = (abs(float(np.linalg.det(ionic.lattice_cv))) for ionic in (first, last))
    shape = f"{', '.join(f'{x:.4f}' for x in lengths)} Å; {', '.join(f'{x:.2f}' for x in angles)}°"
    return [_row("cell", shape), _row("volume", f"{new:.4f} Å³, {100 * (new / old - 1):+.2f} %")]


def _shape(lattice_cv: np.ndarray) -> tuple[list[float], list[float]]:
    lengths = np.linalg.norm(lattice_cv, axis=1)
    unit_cv = lattice_cv / lengths[:, None]
    cosines = [unit_cv[1] @ unit_cv[2], unit_cv[0] @ unit_cv[2], unit_cv[0] @ unit_cv[1]]
    return lengths.tolist(), np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))).tolist()


# -- dynamics ----------------------------------------------------------------------------------------------------------


def _dynamics(steps: Sequence[IonicStep], time_step: float) -> list[str]:
    lines = [f"Molecular dynamics: {counted(len(steps), 'point')}, {(len(steps) - 1) * time_step:g} fs"]
    heat = _known([ionic.temperature for ionic in steps])
    if len(heat):
        lines.append(_row("temperature", f"{heat.mean():.1f} K in the mean, from {heat.min():.1f} to {heat.max():.1f}"))
    lines += _conserved(steps, time_step)
    pressure = _known([one.pressure for one in steps])
    if len(pressure):
        lines.append(_row("pressure", f"{pressure.mean():.3f} GPa in the mean, without that of the atoms' motion"))
    volume = np.array([abs(float(np.linalg.det(one.lattice_cv))) for one in steps])
    if np.ptp(volume) > SMALL * volume[0]:
        words = f"{volume.mean():.3f} Å³ in the mean, from {volume.min():.3f} to {volume.max():.3f}"
        lines.append(_row("volume", words))
    return lines


def _conserved(steps: Sequence[IonicStep], time_step: float) -> list[str]:
    """By how much the conserved quantity has changed, and the slope of the line through it."""
    value = _known([ionic.conserved for ionic in steps])
    if len(value) != len(steps) or len(steps) < 2:
        return []
    per_atom = 1000 * value / len(steps[0].scaled_ac)
    most = np.abs(per_atom - per_atom[0]).max()
    words = f"changed by {per_atom[-1] - per_atom[0]:.3f} meV per atom, at most by {most:.3f}"
    if len(steps) < 3 or time_step <= 0:
        return [_row("conserved quantity", words)]
    time_x = time_step * np.arange(len(steps)) / 1000
    line = np.polyfit(time_x, per_atom, 1)
    slope, scatter = float(line[0]), float(np.std(per_atom - np.polyval(line, time_x)))
    lines = [_row("conserved quantity", f"{words}; drift {slope:.2f} meV per atom and ps")]
    if abs(slope) > DRIFT and len(steps) >= LEAST and abs(slope) * time_x[-1] > CERTAIN * scatter:
        lines.append(_row("", "this drift is large: try a smaller EDIFF, then a shorter POTIM or a higher ENCUT"))
    return lines


def _known(values: Sequence[float | None]) -> np.ndarray:
    return np.array([value for value in values if value is not None])
