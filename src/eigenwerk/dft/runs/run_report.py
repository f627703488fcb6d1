"""What a run is and what it found, as rows of a label and words: the terminal and the files say the same (no torch)."""

from collections.abc import Iterator, Sequence

import numpy as np

from eigenwerk.dft.after.band_gap import BandEdge, BandGap
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.settings.declared import setting_rows
from eigenwerk.dft.settings.parameters import Parameters, filling_words, method_title
from eigenwerk.io.vasp.elements import formula
from eigenwerk.io.vasp.output.potentials import VacuumLevels
from eigenwerk.io.vasp.output.record import IonicStep, RunRecord, RunReport
from eigenwerk.shown import counted
from eigenwerk.units import HARTREE_EV

FLAT = 2e-3
"""Levels of both sides of a vacuum (eV) that differ by less are one."""

UNSURE, NET = 0.1, 0.1
"""Error of forces, and sum of them over all atoms, eV/Å, from which on a result says so."""

FALSE_PRESSURE = 10.0
"""Pulay stress in kB from which on a cell that follows its stress says so: a hundredth of the volume in solids of 100
GPa."""

Row = tuple[str, str]


def run_report(
    inputs: Inputs, record: RunRecord, doubts: Sequence[str], notes: Sequence[str], advice: Sequence[str], reached: bool
) -> RunReport:
    """All of it for the files of a run; doubts: warnings about the result, which follow those about the input."""
    final = record.final
    gap = final.values.get("gap")
    found = level_rows(gap, final.fermi_level, len(final.eig_skn), final.separate_levels)
    vacuum, moment_c = final.values.get("vacuum"), final.values.get("dipole") or {}
    if vacuum is not None:
        found += vacuum_rows(vacuum, final.fermi_level, gap)
    found += [(f"dipole moment along axis {c + 1}", f"{p:.5f} e Å") for c, p in moment_c.items()]
    settings = [(one.tag, f"{one.text} {one.unit}".strip(), one.origin) for one in inputs.settings]
    warnings = [str(problem) for problem in inputs.problems if problem.severity == "warning"]
    return RunReport(
        tuple(description(inputs)), tuple(settings), tuple((label, words.strip()) for label, words in found),
        (*warnings, *doubts), tuple(notes), tuple(advice), reached,
    )  # fmt: skip


# -- before ------------------------------------------------------------------------------------------------------------


def description(inputs: Inputs) -> list[Row]:
    """What is to be computed."""
    parameters, kpoints, symmetry = inputs.parameters, inputs.kpoints, inputs.symmetry
    cutoff = f"cutoff {parameters.cutoff * HARTREE_EV:g} eV, PREC = {parameters.precision}"
    spin = "two spin channels" if parameters.spins == 2 else "no spin"
    limited = "" if kpoints.has_crystal_symmetry else f", {kpoints.kept_operations} of them of the mesh of k-points"
    full = f" of {kpoints.full_count}" if kpoints.full_count != len(kpoints.point_kc) else ""
    filling = filling_words(parameters.ismear, parameters.width * HARTREE_EV)
    return [
        ("system", f"{formula(inputs.structure.symbols)}: {inputs.poscar.title.strip()}"),
        ("method", f"{method_title(parameters)}, {cutoff}, {spin}"),
        *setting_rows(parameters),
        ("electrons", f"{parameters.electrons:g} in {parameters.bands} bands, {filling}"),
        ("k-points", f"{kpoints.source}: {len(kpoints.point_kc)}{full}"),
        ("symmetry", f"{symmetry.spacegroup}, {counted(symmetry.order, 'operation')}{limited}"),
        *(("PAW data", line) for line in _datasets(inputs)),
        *_band_rows(inputs),
        ("stops when", _stop_words(inputs)),
    ]


def _band_rows(inputs: Inputs) -> Iterator[Row]:
    """What bands come besides."""
    where = "fixed" if inputs.fixed_density else "converged"
    for kpoints in inputs.bands.lists:
        yield "bands", f"{kpoints.source}: {len(kpoints.point_kc)}, in the {where} potential"


def _stop_words(inputs: Inputs) -> str:
    parameters = inputs.parameters
    if inputs.fixed_density:
        return f"all bands have converged in the fixed density, or after {counted(parameters.max_steps, 'sweep')}"
    return (
        f"the free energy is within {parameters.energy_tolerance * HARTREE_EV:g} eV, by its change and the residual, "
        f"or after {counted(parameters.max_steps, 'step')}"
    )


def _datasets(inputs: Inputs) -> Iterator[str]:
    for symbol, data in inputs.data.items():
        header = data.header
        yield f"{symbol}: {header.name}, {counted(header.valence, 'valence electron')}, md5 {header.md5}"


# -- after -------------------------------------------------------------------------------------------------------------


def level_rows(gap: BandGap, fermi_level: float, spins: int, separate: Sequence[float] = ()) -> list[Row]:
    """The gap of the k-points of a run with its edges, or the Fermi level; eV.

    separate: levels of both spins that no level separates.
    """
    if separate:
        words = "{:>12.4f} eV up, {:.4f} eV down: none lies between filled and empty levels of both".format(*separate)
        return [("Fermi levels", words)]
    if gap.metal:
        return [("Fermi level", f"{fermi_level:>12.4f} eV{partly_words(gap)}")]
    if gap.gap is None or gap.top is None or gap.bottom is None:
        return [] if gap.top is None else [("highest filled level", _edge_words(gap.top, spins))]
    rows = [
        ("band gap", f"{gap.gap:>12.4f} eV, {gap.kind} (on this mesh)"),
        ("valence band top", _edge_words(gap.top, spins)), ("conduction band bottom", _edge_words(gap.bottom, spins)),
    ]  # fmt: skip
    if not gap.is_direct and gap.direct_at is not None:
        rows.append(("direct gap", f"{gap.direct_gap:>12.4f} eV  at {_place(gap.direct_at, spins)}"))
    return rows


def partly_words(gap: BandGap) -> str:
    """What is filled in part at the Fermi level of a molecule or atom, ', ...'; empty without."""
    count = gap.partly_filled
    level = f"a degenerate level of {count} states" if count > 1 else "a level"
    return f", where {level} is filled in part" if count else ""


def _edge_words(edge: BandEdge, spins: int) -> str:
    return f"{edge.energy:>12.4f} eV  at {_place(edge, spins)}, band {edge.band}"


def _place(edge: BandEdge, spins: int) -> str:
    point = " ".join(f"{x + 0.0:.4g}" for x in edge.point_c)
    return f"k-point {edge.kpoint} ({point}){spin_words(edge, spins)}"


def spin_words(edge: BandEdge, spins: int) -> str:
    """In which channel an edge lies, if there are two."""
    return f", spin {'up' if edge.spin == 1 else 'down'}" if spins == 2 else ""


def vacuum_rows(vacuum: VacuumLevels, fermi_level: float, gap: BandGap) -> list[Row]:
    """The levels of both sides, one where they are alike: above the Fermi level of a metal, which is its work function,
    or above the filled states, where a Fermi level anywhere in the gap would mean nothing."""
    alike = abs(vacuum.field) < FLAT
    sides = [("", vacuum.below)] if alike else [(", upper side", vacuum.below), (", lower side", vacuum.above)]
    foot, words = fermi_level, "the Fermi level (work function)"
    if not gap.metal and gap.top is not None:
        foot, words = gap.top.energy, "the valence band top (ionization energy by levels)"
    return [(f"level{side}", f"{level:>12.4f} eV, {level - foot:.4f} eV above {words}") for side, level in sides]


# -- doubts about it ---------------------------------------------------------------------------------------------------


def doubts_about(
    last: IonicStep, parameters: Parameters, filling: Sequence[str], follows_basis: bool = False
) -> tuple[str, ...]:
    """Warnings about a result: those about its occupations, and what is wrong with its forces and with a cell that
    follows its stress at fixed plane waves (follows_basis)."""
    if not last.converged:
        return tuple(filling)
    field = parameters.dipole is not None and parameters.dipole.force != 0
    cell = cell_doubts(last.pulay) if follows_basis else ()
    return (*filling, *force_doubts(last.forces_av, last.force_error, field, parameters.precision), *cell)


def cell_doubts(pulay: float | None) -> Iterator[str]:
    """What a cell that follows its stress is not good for; pulay: the Pulay stress in its pressure, kB."""
    if pulay is not None and abs(pulay) > FALSE_PRESSURE:
        yield (
            f"The cell follows the stress at fixed plane waves, of which some {abs(pulay):.0f} kB are due to their "
            f"limited number (Pulay, an estimate good to a quarter): it is {'smaller' if pulay < 0 else 'larger'} than "
            "where its energies at this ENCUT are lowest. Use `eigenwerk relax`, or set PULAY_CORRECTION = .TRUE., or "
            "a larger ENCUT."
        )


def force_doubts(
    forces_av: np.ndarray | None, error: float | None, field: bool, precision: str = "Normal"
) -> Iterator[str]:
    """What forces of a self-consistent density are not good for; eV/Å.  field: whether an electric field pulls;
    precision: PREC."""
    if forces_av is None:
        return
    if error is not None and error > UNSURE:
        yield (
            f"The forces have an error of about {error:.1g} eV/Å, for the density is not self-consistent enough for "
            "them, and the pressure one that is not known. Set EDIFF a hundred times smaller."
        )
    net = float(np.linalg.norm(np.sum(forces_av, axis=0)))
    if net > NET and not field:
        yield (
            f"The forces add up to {net:.2f} eV/Å in place of zero: the grid is coarse for these data sets, and "
            "energies depend on where atoms are between its points. Set "
            f"{'' if precision == 'Accurate' else 'PREC = Accurate, or '}a larger ENCUT."
        )
