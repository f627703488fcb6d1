"""`eigenwerk converge`: how energies, forces and pressure change with cutoff, k-points and smearing.

Exit codes: 0 done, 2 bad input, 3 a calculation did not converge, or no setting is good enough.
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
from eigenwerk.errors import ConvergenceError, InputError
from eigenwerk.io.vasp.elements import formula
from eigenwerk.view.series_plot import converge_figure

if TYPE_CHECKING:
    from eigenwerk.dft.runs.series.convergence import SettingSeries
    from eigenwerk.dft.runs.series.points import SeriesPoint

DOCUMENT = "converge.json"
CAUTION = (
    "These are errors of total energies with one setting varied and the others as in the folder. Differences of",
    "energy between structures with the same settings are mostly less in error, forces and pressure not.",
)

Values = str | None
Encut = Annotated[Values, typer.Option("--encut", metavar="A:B:STEP", help="Cutoffs in eV; or a list A,B,C.")]
Kpoints = Annotated[
    Values, typer.Option("--kpoints", metavar="A:B:STEP", help="Divisions of the finest axis; or KSPACING below 1.")
]
Sigma = Annotated[Values, typer.Option("--sigma", metavar="A:B:STEP", help="Widths of the smearing in eV.")]
Target = Annotated[float, typer.Option("--tolerance", metavar="MEV", help="Error of the energy, meV per atom.")]


def converge(
    command: typer.Context,
    folder: Folder = Path("."),
    encut: Encut = None,
    kpoints: Kpoints = None,
    sigma: Sigma = None,
    tolerance: Target = 5.0,
    output: Output = None,
    plot: Plot = None,
    no_plot: NoPlot = False,
    device: Device = "auto",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Vary cutoff, k-points or smearing, one at a time, and say which settings are good enough.

    Without options: four cutoffs and four meshes around those of the folder, with the cost said first. Prints
    differences of energy, forces and pressure to the best setting, and estimates what that one still lacks. Writes
    converge.json and converge.png; the folder's own results are neither read nor touched. After Ctrl-C the same
    command goes on from what is in converge.json.

    Exit codes: 0 done; 2 bad input; 3 a calculation did not converge, or no setting keeps --tolerance.
    """
    if not 0 < tolerance < 1e6:
        raise InputError(f"--tolerance {tolerance:g}: the error must be above zero, in meV per atom.")
    voice, target = Voice(as_json), output or folder
    inputs = read_inputs(folder)
    inputs.raise_on_errors()
    require_options(target, plot, device)
    planned = _planned(inputs, encut, kpoints, sigma, voice)
    if not dry_run:
        take_folder(command, target, voice)
    name, cutoff = formula(inputs.poscar.symbols), float(str(inputs.setting("ENCUT")))
    voice(f"{name}: {inputs.kpoints.source}, ENCUT = {cutoff:g} eV")
    voice(*(f"{series.name}: {', '.join(setting.words for setting in series.settings)}" for series in planned))
    voice(*cost_lines([setting.inputs for series in planned for setting in series.settings], device), "")
    if dry_run:
        return
    from eigenwerk.dft.runs.series.convergence import compute_series
    from eigenwerk.dft.runs.series.points import finished_points, mark_of

    known = finished_points(target / DOCUMENT)
    marks = [mark_of(setting.inputs) for series in planned for setting in series.settings]
    voice(*reused(sum(mark in known for mark in marks), len(marks), target / DOCUMENT))
    done: list[SettingSeries] = []

    def on_point(so_far: "SettingSeries", point: "SeriesPoint") -> None:
        voice(_row(so_far.settings[-1].words, point))
        series = [*(one.as_dict() for one in done), so_far.as_dict() | {"complete": False}]
        write_document(target / DOCUMENT, _document(series, interrupted=True))

    with one_rank(device) as runtime, kept_when_interrupted(target / DOCUMENT, finished_points, voice):
        for one in planned:
            done.append(compute_series(one, runtime, on_point, known))
    document = _document([series.as_dict() for series in done])
    write_document(target / DOCUMENT, document)
    _tell(done, tolerance, voice)
    finish_series(document, target / DOCUMENT, voice, no_plot, plot, lambda: converge_figure(document, name))
    if not all(series.complete and series.sufficient(tolerance / 1000) is not None for series in done):
        raise typer.Exit(ConvergenceError.exit_code)


def _tell(done: "list[SettingSeries]", tolerance: float, voice: Voice) -> None:
    """Errors of all settings, what to take, and what is doubtful about it."""
    from eigenwerk.dft.runs.series.convergence import remarks

    for series in done:
        voice("", *_table(series), "", *_recommended(series, tolerance))
        for text in remarks(series):
            voice.warn(text)
    voice("", *CAUTION)


def _document(series: list[dict[str, Any]], interrupted: bool = False) -> dict[str, Any]:
    return {"format": "eigenwerk-converge", "version": 1, "interrupted": interrupted, "series": series}


def _planned(
    inputs: Inputs, encut: Values, kpoints: Values, sigma: Values, voice: Voice
) -> "list[SettingSeries]":  # fmt: skip
    """What was asked for, or cutoffs and meshes."""
    from eigenwerk.dft.runs.series.convergence import cutoffs, meshes, smearings, values_of

    if encut is None and kpoints is None and sigma is None:
        found = [cutoffs(inputs), meshes(inputs)]
        if found[1] is None:
            voice("k-points are left alone: the folder has Gamma alone, or a list. For a mesh, --kpoints varies it.")
        return [one for one in found if one is not None]
    makers = ((cutoffs, encut, "--encut"), (meshes, kpoints, "--kpoints"), (smearings, sigma, "--sigma"))
    made = [maker(inputs, values_of(words, option)) for maker, words, option in makers if words is not None]
    return [one for one in made if one is not None]


def _row(words: str, point: "SeriesPoint") -> str:
    if point.energy is None:
        return f"{words:>16}  {point.status}"
    ended = "" if point.converged else "  NOT CONVERGED"
    return f"{words:>16}  {point.kpoints:5} k-points {point.energy:16.7f} eV  {point.steps:3} steps{ended}"


def _table(series: "SettingSeries") -> list[str]:
    """Differences to the best setting."""
    rows = series.as_dict()["settings"]
    lines = [
        f"{series.name:>16}        energy   to the best    estimated     force   pressure        -TS",
        f"{'':>16}     (eV/atom)    (meV/atom)        error    (eV/Å)      (GPa)  (meV/atom)",
    ]
    for row in rows:
        if not row["converged"]:
            lines.append(f"{row['words']:>16}  not converged")
            continue
        energy, change = row["energy_eV_per_atom"], 1000 * row["difference_to_best_eV_per_atom"]
        error, entropy = 1000 * row["estimated_error_eV_per_atom"], 1000 * row["entropy_term_eV"] / row["atoms"]
        force, pressure = (_number(row[name]) for name in ("force_change_eV_per_A", "pressure_change_GPa"))
        lines.append(
            f"{row['words']:>16} {energy:13.6f} {change:13.3f} {error:12.3f} {force:>9} {pressure:>10} {entropy:11.3f}"
        )
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _recommended(series: "SettingSeries", tolerance: float) -> list[str]:
    """What to take for the error that was asked for, and for others."""
    rest, how = series.remainder()
    lines = [f"{series.name}: the best setting may still lack {1000 * rest:.3g} meV per atom ({how})"]
    for target in sorted({tolerance, 10.0, 5.0, 1.0}, reverse=True):
        place = series.sufficient(target / 1000)
        if place is None:
            lines.append(f"  error of {target:g} meV per atom: none of these settings; go on with better ones")
            continue
        setting, error = series.settings[place], 1000 * series.errors()[place]
        mark = "  <- recommended" if target == tolerance else ""
        lines.append(f"  error of {target:g} meV per atom: {setting.words} (estimated error {error:.2g}){mark}")
    return lines
