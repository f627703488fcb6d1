"""The tables of a report as rows of words and formatted numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eigenwerk.io.vasp.output.record import IonicStep, StepRecord
from eigenwerk.io.vasp.vasprun_reader import VasprunFile
from eigenwerk.perf.profile import Profile
from eigenwerk.shown import for_page
from eigenwerk.view.report.page import table

SMALL_SHARE = 0.005
"""Phases that took less of the time are left out."""

Rows = list[tuple[str, str]]


def cell_rows(found: VasprunFile) -> Rows:
    """Lengths, angles and volume of the last cell."""
    lattice_cv = found.last.lattice_cv
    length_c = np.linalg.norm(lattice_cv, axis=1)
    unit_cv = lattice_cv / length_c[:, None]
    angles = [np.degrees(np.arccos(np.clip(unit_cv[i] @ unit_cv[j], -1, 1))) for i, j in ((1, 2), (0, 2), (0, 1))]
    volume, atoms = abs(float(np.linalg.det(lattice_cv))), len(found.symbols)
    rows = [
        ("atoms", str(atoms)),
        ("a, b, c", f"{', '.join(f'{length:.5f}' for length in length_c)} Å"),
        ("α, β, γ", f"{', '.join(f'{angle:.3f}' for angle in angles)}°"),
        ("volume", f"{volume:.4f} Å³ ({volume / atoms:.4f} per atom)"),
    ]
    return rows + [(f"vector {c + 1}", "  ".join(f"{x + 0.0:.6f}" for x in lattice_cv[c]) + " Å") for c in range(3)]


def atom_table(found: VasprunFile, moment_a: np.ndarray | None) -> str:
    """Places, and forces and moments where there are any."""
    last = found.last
    heads = ["", "", "s1", "s2", "s3", "x (Å)", "y (Å)", "z (Å)"]
    heads += [] if last.forces_av is None else ["Fx (eV/Å)", "Fy", "Fz"]
    heads += [] if moment_a is None else ["moment (μB)"]
    place_av = last.scaled_ac @ last.lattice_cv
    rows = []
    for a, symbol in enumerate(found.symbols):
        row = [str(a + 1), symbol, *(f"{s:.6f}" for s in last.scaled_ac[a]), *(f"{x:.5f}" for x in place_av[a])]
        row += [] if last.forces_av is None else [f"{round(float(x), 5) + 0.0:.5f}" for x in last.forces_av[a]]
        row += [] if moment_a is None else [f"{round(float(moment_a[a]), 4) + 0.0:.4f}"]
        rows.append(row)
    return table(heads, rows)


def kpoint_rows(found: VasprunFile) -> list[list[str]]:
    """Reduced coordinates and weights."""
    return [
        [str(k), *(f"{x + 0.0:.6f}" for x in point_c), f"{weight:.6f}"]
        for k, (point_c, weight) in enumerate(zip(found.point_kc, found.weight_k, strict=True), start=1)
    ]


def energy_rows(found: VasprunFile) -> list[tuple[str, str, str]]:
    """Energies of the last ionic step."""
    last, atoms = found.last, len(found.symbols)
    rows = [
        ("free energy", last.free_energy, 8), ("extrapolated to zero smearing", last.energy_zero, 8),
        ("without the entropy term", last.energy_without_entropy, 8),
        ("kinetic energy of the ions", last.kinetic, 8), ("conserved energy", last.conserved, 8),
        ("free energy of all electrons", last.absolute_energy, 6),
    ]  # fmt: skip
    return [
        (name, f"{value:.{digits}f}", f"{value / atoms:.{digits}f}")
        for name, value, digits in rows if value is not None
    ]  # fmt: skip


def component_rows(found: VasprunFile) -> Rows:
    """Parts of the energy."""
    return [(name.replace("_", " "), f"{value:.6f}") for name, value in found.last.components.items()]


def stress_rows(step: IonicStep) -> list[list[str]]:
    """Three rows in kB."""
    assert step.stress_vv is not None
    return [[name, *(f"{x + 0.0:.3f}" for x in row)] for name, row in zip("xyz", step.stress_vv, strict=True)]


def step_table(steps: Sequence[StepRecord]) -> str:
    """Steps of self-consistency."""
    residual = any(step.density_residual is not None for step in steps)
    moment = any(step.moment is not None for step in steps)
    heads = ["step", "free energy (eV)", "change (eV)"]
    heads += ["residual (electrons)"] if residual else []
    heads += ["moment (μB)"] if moment else []
    rows = []
    for step in steps:
        row = [str(step.step), f"{step.free_energy:.8f}", "" if step.step == 1 else f"{step.change:.2e}"]
        row += ["" if step.density_residual is None else f"{step.density_residual:.2e}"] if residual else []
        row += ["" if step.moment is None else f"{step.moment:.4f}"] if moment else []
        rows.append([*row, f"{step.seconds:.2f}"])
    return table([*heads, "time (s)"], rows)


def ionic_table(steps: Sequence[IonicStep]) -> str:
    """Ionic steps; those that did not converge are red."""
    rows, marked = [], []
    lowest = min(step.free_energy for step in steps)
    for number, step in enumerate(steps, start=1):
        free, force = step.free_energy, step.force
        rows.append([
            str(number), f"{free:.8f}", f"{1000 * (free - lowest):.3f}", "" if force is None else f"{force:.5f}",
            "" if step.pressure is None else f"{step.pressure:.3f}",
            f"{abs(float(np.linalg.det(step.lattice_cv))):.4f}", str(len(step.steps)),
        ])  # fmt: skip
        marked.append(not step.converged)
    heads = ("step", "free energy (eV)", "from the lowest (meV)", "largest force (eV/Å)", "pressure (GPa)",
             "volume (Å³)", "SCF steps")  # fmt: skip
    return table(heads, rows, marked)


def band_rows(bands: Mapping[str, Any]) -> tuple[Rows, list[list[str]]]:
    """The gap of a path and its edges; effective masses."""
    gap = bands["gap_eV"]
    rows = [("path", f"{bands['source']}, {len(bands['kpoints'])} k-points")]
    doubt = "" if bands["converged"] else ", NOT CONVERGED"
    rows.append(("residuals", f"below {bands['residual_eV']:.1e} eV{doubt}"))
    if gap["metal"]:
        rows.append(("gap", "none: bands cross the Fermi level"))
    elif gap["gap"] is not None:
        rows.append(("gap", f"{gap['gap']:.4f} eV, {gap['kind']}"))
        rows.append(("direct gap", f"{gap['direct_gap']:.4f} eV"))
        for key, name in (("top", "valence band top"), ("bottom", "conduction band bottom")):
            point = " ".join(f"{x + 0.0:.4g}" for x in gap[key]["point_c"])
            rows.append((name, f"{gap[key]['energy']:.4f} eV at ({point}), band {gap[key]['band']}"))
    masses = [
        [mass["carrier"], mass["towards"], str(mass["band"]), f"{mass['mass']:.3f} ± {max(mass['error'], 0.001):.3f}"]
        for mass in bands["effective_masses_me"]
    ]
    return rows, masses


def phase_table(found: Profile) -> str:
    """Seconds of the phases with bars; the mean over ranks."""
    whole = float(found.elapsed_p.mean())
    rows = [(phase.path, float(phase.second_p.mean())) for phase in found.phases]
    rows = [(path, seconds) for path, seconds in rows if seconds >= SMALL_SHARE * whole]
    lines = "".join(
        f'<tr><td style="padding-left:{1.2 * (len(path) - 1):.1f}rem">{for_page(path[-1])}</td>'
        f'<td class="n">{seconds:.2f}</td>'
        f'<td class="n">{100 * seconds / whole:.0f} %</td>'
        f'<td><span class="bar" style="width:{12 * seconds / whole:.2f}rem"></span></td></tr>'
        for path, seconds in rows
    )
    return (
        '<div class="scroll"><table><thead><tr><th>phase</th><th class="n">s</th><th class="n">share</th><th></th></tr>'
        f"</thead><tbody>{lines}</tbody></table></div>"
    )
