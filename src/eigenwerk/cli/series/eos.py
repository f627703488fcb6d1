"""`eigenwerk eos`: energies of scaled cells, and the equation of state through them.

Exit codes: 0 done, 2 bad input, 3 a point did not converge, or the minimum is not between the points.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenwerk.cli.series.words import (
    AsJson,
    Device,
    DryRun,
    Folder,
    NoPlot,
    Output,
    Plot,
    Voice,
    cost_lines,
    finish_series,
    kept_when_interrupted,
    one_rank,
    require_options,
    reused,
    take_folder,
    write_document,
)
from eigenwerk.dft.inputs.inputs import Inputs, read_inputs
from eigenwerk.errors import ConvergenceError
from eigenwerk.io.vasp.elements import formula
from eigenwerk.view.series_plot import eos_figure, eos_title

if TYPE_CHECKING:
    from eigenwerk.dft.runs.series.eos import VolumeSeries
    from eigenwerk.dft.runs.series.points import SeriesPoint

DOCUMENT = "eos.json"

Range = Annotated[float, typer.Option("--range", metavar="X", help="Volumes from 1 - X to 1 + X of POSCAR's.")]
Points = Annotated[int, typer.Option("--points", metavar="N", help="How many volumes, in equal steps.")]


def eos(
    command: typer.Context,
    folder: Folder = Path("."),
    reach: Range = 0.06,
    points: Points = 7,
    output: Output = None,
    plot: Plot = None,
    no_plot: NoPlot = False,
    device: Device = "auto",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Compute energies of scaled cells and fit volume, bulk modulus and its derivative (Birch-Murnaghan, third order).

    All volumes have the k-points and ENCUT of the folder; atoms keep their places in the cell, whose shape is kept.
    EDIFF is lowered to 1E-7 eV per atom if it is larger. Free energies are fitted, each corrected for the plane waves
    that its cell has more or less than the mean of its cutoff; pressures from the stress stand beside those of the
    curve. Writes eos.json and eos.png; the folder's own results are neither read nor touched.
    After Ctrl-C the same command goes on from the points in eos.json.

    Exit codes: 0 done; 2 bad input; 3 a point did not converge, or the minimum is not between the points.
    """
    voice, target = Voice(as_json), output or folder
    inputs = read_inputs(folder)
    inputs.raise_on_errors()
    require_options(target, plot, device)
    from eigenwerk.dft.runs.series.eos import equation_of_state, vacuum_doubt, volumes
    from eigenwerk.dft.runs.series.points import finished_points, mark_of

    series = volumes(inputs, reach, points)
    if not dry_run:
        take_folder(command, target, voice)
    voice(f"{formula(inputs.poscar.symbols)}: {_described(inputs)}")
    voice(*cost_lines([changed for _, changed in series], device))
    if stretched := vacuum_doubt(inputs):
        voice.warn(stretched)
    if dry_run:
        return
    voice("", "   volume     free energy")
    voice("     (Å³)            (eV)  steps  began with")
    known = finished_points(target / DOCUMENT)
    voice(*reused(len(known.keys() & {mark_of(changed) for _, changed in series}), len(series), target / DOCUMENT))

    def on_point(so_far: "VolumeSeries", point: "SeriesPoint") -> None:
        voice(_row(point))
        write_document(target / DOCUMENT, so_far.as_dict() | {"interrupted": True, "complete": False})

    with one_rank(device) as runtime, kept_when_interrupted(target / DOCUMENT, finished_points, voice):
        found = equation_of_state(inputs, series, runtime, on_point, known)
    document = found.as_dict() | {"interrupted": False}
    write_document(target / DOCUMENT, document)
    _tell(found, document, voice)
    title = f"{formula(inputs.poscar.symbols)}: {eos_title(document)}"
    finish_series(document, target / DOCUMENT, voice, no_plot, plot, lambda: eos_figure(document, title))
    if not found.complete:
        raise typer.Exit(ConvergenceError.exit_code)


def _tell(found: "VolumeSeries", document: dict[str, Any], voice: Voice) -> None:
    """The equation of state, and what is doubtful about it."""
    from eigenwerk.dft.runs.series.eos import doubts, pressure_mismatch

    voice("", *_table(document), "", *_summary(document))
    worst, _ = pressure_mismatch(found)
    if worst is not None:
        voice(f"stress and curve  their pressures differ by {worst:.3f} GPa at most, the Pulay estimate taken off")
    for text in doubts(found):
        voice.warn(text)


def _described(inputs: Inputs) -> str:
    cutoff = float(str(inputs.setting("ENCUT")))
    return f"{inputs.poscar.volume:.4f} Å³, ENCUT = {cutoff:g} eV, {inputs.kpoints.source}"


def _row(point: "SeriesPoint") -> str:
    if point.energy is None:
        return f"{point.volume:9.4f}  {point.status}"
    began = "the neighbour's state" if point.kept else "atoms"
    ended = "" if point.converged else "  NOT CONVERGED"
    return f"{point.volume:9.4f} {point.energy:15.7f} {point.steps:6}  {began}{ended}"


def _table(document: dict[str, Any]) -> list[str]:
    """Energies and pressures side by side."""
    points, fit, atoms = document["points"], document["birch_murnaghan"], document["atoms"]
    known = [point["smooth_free_energy_eV"] for point in points if point["converged"]]
    zero = fit["energy_eV"] if fit else min(known, default=0.0)
    magnet = any(point["moment_muB"] is not None for point in points)
    lines = [
        "   length     volume     energy       pressure (GPa) of" + ("   moment" if magnet else ""),
        "    scale  (Å³/atom)  (meV/atom)  stress - Pulay   curve" + ("     (μB)" if magnet else ""),
    ]
    for point in points:
        if not point["converged"]:
            lines.append(f"{point['length_scale']:9.5f} {point['volume_A3'] / atoms:10.4f}  not converged")
            continue
        energy = 1000 * (point["smooth_free_energy_eV"] - zero) / atoms
        pressure = point["pressure_GPa"]
        stress = f"{'-':>15}" if pressure is None else f"{pressure - (point['pulay_pressure_GPa'] or 0.0):15.3f}"
        curve = f"{'-':>8}" if point["curve_pressure_GPa"] is None else f"{point['curve_pressure_GPa']:8.3f}"
        moment = f"{point['moment_muB']:9.3f}" if magnet and point["moment_muB"] is not None else ""
        lines.append(
            f"{point['length_scale']:9.5f} {point['volume_A3'] / atoms:10.4f} {energy:11.3f} {stress} {curve}{moment}"
        )
    return lines


def _summary(document: dict[str, Any]) -> list[str]:
    """The parameters with their errors, which are those of the fit alone."""
    fit, atoms = document["birch_murnaghan"], document["atoms"]
    if fit is None:
        return ["no equation of state"]
    rows = [
        ("V0", fit["volume_A3"] / atoms, fit["volume_error_A3"] / atoms, "Å³ per atom"),
        ("length scale", fit["length_scale"], fit["length_scale_error"], "times the lattice vectors of POSCAR"),
        ("B0", fit["bulk_modulus_GPa"], fit["bulk_modulus_error_GPa"], "GPa"),
        ("B0'", fit["bulk_modulus_derivative"], fit["bulk_modulus_derivative_error"], ""),
        ("E0", fit["energy_eV"] / atoms, fit["energy_error_eV"] / atoms, "eV per atom"),
    ]
    lines = [f"{name:<17} {value:12.5f} ± {error:.5f} {unit}".rstrip() for name, value, error, unit in rows]
    return [*lines, f"{'residual':<17} {1000 * fit['residual_eV'] / atoms:12.5f} meV per atom, root mean square"]
