"""What `eigenwerk run` says, as plain lines: heading, table of steps, summary."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk import __version__
from eigenwerk.cli.moving.found import found_lines
from eigenwerk.cli.moving.words import motion_rows
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.runs.quantities.report import RunResult
from eigenwerk.dft.runs.run_report import description, level_rows, spin_words, vacuum_rows
from eigenwerk.io.vasp.output.record import StepRecord
from eigenwerk.io.vasp.output.weights.projections import L_COLUMNS
from eigenwerk.record.traffic import hidden_travel
from eigenwerk.shown import counted

MANY_ATOMS = 20
"""Above this number of atoms the tables of forces and moments are left to the files."""

SMALL_SHARE = 0.01
"""Phases that took less of the time than this are not listed."""

NO_FORCE = 1e-4
"""Forces below this (eV/Å) are noise, mostly zero by symmetry."""

SMEARED = 1e-3
"""An entropy term (eV per cell) above this means that levels are filled in parts."""

UNRELIABLE = ", NOT RELIABLE without convergence"


# -- heading -----------------------------------------------------------------------------------------------------------


def heading(inputs: Inputs, folder: Path) -> list[str]:
    """What is about to be computed; rows about threads, or ranks and devices, are to follow."""
    return [f"eigenwerk {__version__}: {folder}", "", *labelled([*description(inputs), *motion_rows(inputs)])]


def threads_row(used: int, available: int) -> str:
    """How many threads of how many cores compute."""
    rest = f" (of {available}; for a cell of this size more would wait for each other)" if used < available else ""
    return counted(used, "thread") + rest


def labelled(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Aligned rows; a label that repeats is shown once."""
    lines = []
    for label, group in groupby(rows, key=lambda row: row[0]):
        for place, (_, text) in enumerate(group):
            lines.append(f"  {'' if place else label:<11}{text}".rstrip())
    return lines


# -- steps -------------------------------------------------------------------------------------------------------------


def step_heading(spin: bool) -> list[str]:
    """Two lines above the table of steps."""
    moment = f"{'moment':>10}" if spin else ""
    unit = f"{'µB':>10}" if spin else ""
    return [
        f"{'step':>5}{'free energy':>20}{'change':>13}{'residual':>12}{moment}{'time':>9}",
        f"{'':>5}{'eV':>20}{'eV':>13}{'electrons':>12}{unit}{'s':>9}",
    ]


def step_row(step: StepRecord) -> str:
    """One line of the table."""
    change = "" if step.step == 1 else f"{step.change:.2e}"
    residual = "" if step.density_residual is None else f"{step.density_residual:.2e}"
    moment = "" if step.moment is None else _column(step.moment, 10)
    return f"{step.step:>5}{step.free_energy:>20.8f}{change:>13}{residual:>12}{moment}{step.seconds:>9.2f}"


# -- summary -----------------------------------------------------------------------------------------------------------


def summary(result: RunResult, folder: Path, files: Sequence[str]) -> list[str]:
    """Everything about a run that a person wants to see at its end; the status line comes apart from this."""
    parts = (_energies, _charged, _levels, _vacuum, _bands, _moments, _charges, _forces, _stress, _ionic_history,
        _times)
    lines = [line for part in parts if (found := part(result)) for line in (*found, "")]
    lines += [f"Files in {folder}", f"  {'  '.join(files)}"]
    return lines


def _energies(result: RunResult) -> list[str]:
    if result.fixed_density:
        return []
    atoms = len(result.symbols)
    rows = [("free energy", result.free_energy), ("extrapolated to zero smearing", result.energy_zero)]
    rows.append(("without the entropy term", result.energy_without_entropy))
    lines = [f"  {name:<32}{energy:>18.8f} eV{energy / atoms:>18.8f} eV/atom" for name, energy in rows]
    if result.dispersion is not None:
        lines.append(f"  {'of it dispersion correction':<32}{result.dispersion:>18.8f} eV")
    if result.non_local is not None:
        lines.append(f"  {'non-local correlation, in all':<32}{result.non_local:>18.8f} eV")
    lines.append(f"  {'free energy of all electrons':<32}{result.absolute_energy:>18.6f} eV")
    return ["Energy (relative to the atoms of the data sets)", *lines]


def _ionic_history(result: RunResult) -> list[str]:
    return [] if result.ionic_history is None else found_lines(result.ionic_history)


def _levels(result: RunResult) -> list[str]:
    gap = result.gap
    if result.fixed_density and result.bands is not None:  # whose gap follows
        return [f"Fermi level {result.fermi_level:.4f} eV"]
    rows = _rows(level_rows(gap, result.fermi_level, len(result.eig_skn), result.separate_levels))
    if gap.metal:
        return [f"Electrons: {_without_gap(result)}", *rows]
    if gap.gap is None:
        return ["Electrons: all bands are filled, so no gap is known (NBANDS)", *rows]
    smeared = abs(result.free_energy - result.energy_without_entropy) > SMEARED
    filled = "levels beside the gap partly filled by smearing" if smeared else "an insulator or semiconductor"
    return [f"Electrons: {filled}", *rows]


def _without_gap(result: RunResult) -> str:
    if result.separate_levels:
        return "NUPDOWN holds electrons of one spin above empty levels of the other"
    return "no gap, as in a metal" if result.gap.partly_filled else "a metal"


def _rows(rows: Sequence[tuple[str, str]]) -> list[str]:
    return [f"  {label:<22}{words}" for label, words in rows]


def _charged(result: RunResult) -> list[str]:
    """Energies of a charged cell's background and images; none of them is in the energies above."""
    cell = result.values.get("charged")
    if cell is None:
        return []
    lines = [f"Charged cell: {cell.charge:+g} e in a uniform background, Madelung constant {cell.madelung:.6f}"]
    lines.append(f"  {'point charge in it':<34}{cell.background:>12.4f} eV, in the energies above")
    if cell.monopole is None:
        return [*lines, "  no correction is known for slabs and chains: their energy grows with the vacuum"]
    rows = [(f"Makov-Payne, first order (ε = {cell.epsilon:g})", cell.monopole),
            ("Makov-Payne, second order", cell.quadrupole)]  # fmt: skip
    lines += [f"  {name:<34}{value:>+12.4f} eV, not added" for name, value in rows if value is not None]
    if cell.alignment is None:
        return [*lines, "  potential alignment: from the neutral cell, by the potentials at cores in both OUTCARs"]
    instead = "" if cell.quadrupole is None else ", in place of the second order"
    return [*lines, f"  {'potential alignment':<34}{cell.alignment:>+12.4f} eV, not added{instead}"]


def _vacuum(result: RunResult) -> list[str]:
    """Levels in the vacuum of a slab; one where both sides are alike."""
    vacuum = result.values.get("vacuum")
    moments = [
        f"Dipole moment along axis {axis + 1}: {moment:.5f} e Å, from negative to positive"
        for axis, moment in (result.values.get("dipole") or {}).items()
    ]
    if vacuum is None:
        return moments
    about = f"Vacuum of {vacuum.thickness:.1f} Å along axis {vacuum.axis + 1}"
    return [*moments, about, *_rows(vacuum_rows(vacuum, result.fermi_level, result.gap))]


def _bands(result: RunResult) -> list[str]:
    """Along a path, or at a second list of k-points."""
    bands = result.bands
    if bands is None:
        return []
    lines = [f"Bands: {bands.source}, {len(bands.point_kc)} k-points"]
    gap, spins = bands.gap, len(result.eig_skn)
    if gap.metal:
        return [*lines, "  bands cross the Fermi level"]
    for name, edge in (("valence band top", gap.top), ("conduction band bottom", gap.bottom)):
        if edge is not None:
            lines.append(f"  {name:<22}{edge.energy:>12.4f} eV  at {bands.place(edge)}{spin_words(edge, spins)}")
    if gap.gap is not None:
        lines.append(f"  {'band gap':<22}{gap.gap:>12.4f} eV, {gap.kind}")
    if not gap.is_direct and gap.direct_at is not None:
        at = f"at {bands.place(gap.direct_at)}{spin_words(gap.direct_at, spins)}"
        lines.append(f"  {'direct gap':<22}{gap.direct_gap:>12.4f} eV  {at}")
    if bands.masses:
        lines.append("  effective masses along the path (electron masses)")
    for (carrier, towards, value), group in groupby(bands.masses, lambda m: (m.carrier, m.towards, round(m.mass, 3))):
        masses = list(group)
        numbers = ", ".join(str(mass.band) for mass in masses)
        where = f"{carrier}, band{'s' if len(masses) > 1 else ''} {numbers}, towards {towards}"
        error = max(0.001, *(mass.error for mass in masses))
        lines.append(f"    {where:<44}{value:>8.3f} ± {error:.3f}")
    return lines


def _moments(result: RunResult) -> list[str]:
    if result.moment is None:
        return []
    lines = [f"Magnetic moment: {_column(result.moment)} µB in the cell"]
    if result.moment_a is not None and len(result.symbols) <= MANY_ATOMS:
        lines.append("  inside the augmentation spheres (µB)")
        lines += [
            f"  {atom:>4} {symbol:<3}{_column(moment, 10)}"
            for atom, (symbol, moment) in enumerate(zip(result.symbols, result.moment_a, strict=True), start=1)
        ]
    return lines


def _charges(result: RunResult) -> list[str]:
    """Electrons by atom and angular momentum, if projections were asked for."""
    charges = result.charges
    if charges is None or (result.fixed_density and result.bands is not None):  # sums along a path mean nothing
        return []
    lines = [f"Electrons in spheres about the atoms; {charges.between:.4f} are in none"]
    if len(result.symbols) > MANY_ATOMS:
        return lines
    lines.append("       radius (Å)" + "".join(f"{name:>10}" for name in (*L_COLUMNS, "sum")))
    rows = zip(result.symbols, charges.radius_a, charges.electrons_al, strict=True)
    for atom, (symbol, radius, charge_l) in enumerate(rows, start=1):
        columns = "".join(_column(value, 10) for value in (*charge_l, charge_l.sum()))
        lines.append(f"  {atom:>4} {symbol:<3}{radius:7.3f}{columns}")
    return lines


def _forces(result: RunResult) -> list[str]:
    if result.forces_av is None or result.largest_force is None:
        return [] if result.fixed_density else ["Forces: not computed"]
    doubt = f" (error about {result.force_error:.0e})" if result.reliable and result.force_error else ""
    if result.largest_force < NO_FORCE:
        return [f"Forces: none above {NO_FORCE:g} eV/Å{doubt if result.reliable else UNRELIABLE}"]
    largest = int(np.linalg.norm(result.forces_av, axis=1).argmax())
    where = f"{result.largest_force:.4f} eV/Å on atom {largest + 1} ({result.symbols[largest]})"
    lines = [f"Forces: the largest is {where}{doubt if result.reliable else UNRELIABLE}"]
    if len(result.symbols) > MANY_ATOMS:
        return lines
    for atom, (symbol, force_v) in enumerate(zip(result.symbols, result.forces_av, strict=True), start=1):
        lines.append(f"  {atom:>4} {symbol:<3}{''.join(_column(component, 11) for component in force_v)}")
    return lines


def _stress(result: RunResult) -> list[str]:
    """The pressure, and the tensor in kB with the sign of VASP's files."""
    if result.stress_vv is None or result.pressure is None:
        return []
    part = result.pulay_pressure
    pulay = "" if not part else f", {part:{'.2g' if abs(part) < 10 else '.0f'}} of it from the limited basis (Pulay)"
    reliable = "" if result.reliable else UNRELIABLE
    lines = [f"Pressure: {round(result.pressure, 3) + 0.0:.3f} GPa{pulay}{reliable}"]
    lines.append("  stress (kB), positive where the cell wants to expand, as VASP has it")
    places = {"XX": (0, 0), "YY": (1, 1), "ZZ": (2, 2), "XY": (0, 1), "YZ": (1, 2), "ZX": (2, 0)}
    lines.append("  " + "".join(f"{name:>11}" for name in places))
    return [*lines, "  " + "".join(f"{round(-10 * result.stress_vv[p], 3) + 0.0:>11.3f}" for p in places.values())]


def _column(number: float, width: int = 0) -> str:
    """Four decimals, without the minus of a zero."""
    return f"{round(float(number), 4) + 0.0:>{width}.4f}"


def _times(result: RunResult) -> list[str]:
    """Phases that took more than SMALL_SHARE of the time, inner ones indented."""
    lines = [f"Time: {result.seconds:.1f} s with {counted(result.threads, 'thread')}, "
             f"{result.applications} applications of the Hamiltonian to an orbital, FFTs by {result.fft}"]  # fmt: skip
    for depth, phase in _phases(result.trace["phases"]):
        share = phase["seconds"] / result.seconds
        if share >= SMALL_SHARE:
            lines.append(_time_line("  " * depth + phase["name"], phase["seconds"], result.seconds))
    rest = result.seconds - sum(phase["seconds"] for phase in result.trace["phases"])
    lines.append(_time_line("everything else", rest, result.seconds))
    travel = hidden_travel(result.trace)
    if travel is not None:
        lines.append(
            f"  orbitals of other ranks were on their way to exact exchange on rank 0 for {travel[0]:.2f} s, "
            f"{100 * travel[1]:.0f} % of that hidden by work on pairs"
        )
    return lines


def _time_line(name: str, seconds: float, total: float) -> str:
    return f"  {name:<22}{seconds:>10.2f} s{100 * seconds / total:>7.0f} %"


def _phases(phases: Sequence[dict[str, Any]], depth: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    for phase in phases:
        yield depth, phase
        yield from _phases(phase["children"], depth + 1)
