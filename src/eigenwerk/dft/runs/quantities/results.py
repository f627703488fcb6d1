"""From a State to the `RunResult` that people and programs get, in eV and Angstrom."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from eigenwerk.dft.after.band_gap import band_gap
from eigenwerk.dft.after.band_structure import BandStructure
from eigenwerk.dft.basis.fftw import library
from eigenwerk.dft.calculation import GroundState
from eigenwerk.dft.runs.quantities.report import IonicHistory, RunResult, SphereCharges
from eigenwerk.dft.scf.state import State
from eigenwerk.io.vasp.output.record import RunRecord
from eigenwerk.units import HARTREE_EV


@dataclass(frozen=True)
class RunSummary:
    """What is known of the way of a run, apart from its physics: see the fields of `RunResult`."""

    interrupted: bool
    seconds: float
    trace: Mapping[str, Any]
    files: Mapping[str, Path]
    unwritten: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    folder: Path = Path()
    fixed_density: bool = False
    bands: BandStructure | None = None
    bands_converged: bool = True
    ionic_history: IonicHistory | None = None


def make_result(
    record: RunRecord, state: State, summary: RunSummary, ground_state: GroundState | None = None
) -> RunResult:
    """The result of a run from its record, its last state and its summary."""
    final, last = record.final, record.last
    fermi_s = [level * HARTREE_EV for level in state.occupations.fermi_level_s]
    gap = band_gap(final.eig_skn, final.occ_skn, record.kpoint_kc, fermi_s)
    arrived = summary.ionic_history is None or summary.ionic_history.finished
    return RunResult(
        converged=last.converged and summary.bands_converged and arrived, interrupted=summary.interrupted,
        status=final.status, symbols=record.symbols,
        free_energy=last.free_energy, energy_zero=last.energy_zero,
        energy_without_entropy=last.energy_without_entropy,
        absolute_energy=state.energies.absolute_free * HARTREE_EV, components=last.components,
        fermi_level=final.fermi_level, separate_levels=final.separate_levels, gap=gap,
        kpoint_kc=record.kpoint_kc, weight_k=record.weight_k,
        eig_skn=final.eig_skn, occ_skn=final.occ_skn, forces_av=last.forces_av, moment=last.moment,
        force_error=last.force_error, stress_vv=None if last.stress_vv is None else -last.stress_vv / 10,
        pulay_pressure=None if last.pulay is None else last.pulay / 10, moment_a=last.moment_a, steps=last.steps,
        warnings=summary.warnings, notes=summary.notes, advice=summary.advice, seconds=summary.seconds,
        threads=torch.get_num_threads(), fft=library(), trace=summary.trace, files=summary.files,
        unwritten=summary.unwritten, folder=summary.folder,
        stamp=record.stamp, vacuum=final.vacuum, dipole=final.dipole, charged=final.charged,
        core_potentials_eV=None if final.core_potentials is None else final.core_potentials.value_a,
        ground_state=ground_state,
        charges=_charges(record, state), projections=final.projections,
        fixed_density=summary.fixed_density, bands=summary.bands,
        ionic_history=summary.ionic_history, electrons_converged=None if summary.ionic_history is None
        else last.converged,
    )  # fmt: skip


def _charges(record: RunRecord, state: State) -> SphereCharges | None:
    """Electrons by atom and l, if there are projections."""
    charge_xal, projections = record.last.charge_xal, record.final.projections
    if charge_xal is None or projections is None:
        return None
    return SphereCharges(
        projections.radius_a, charge_xal[0], charge_xal[1] if len(charge_xal) == 2 else None,
        float(state.filling_skn.sum()) - float(charge_xal[0].sum()),
    )  # fmt: skip
