"""From a State to the `RunResult` that people and programs get, in eV and Angstrom."""

from dataclasses import replace

import torch

from eigenwerk.dft.after.band_gap import band_gap
from eigenwerk.dft.basis.fftw import library
from eigenwerk.dft.calculation import GroundState
from eigenwerk.dft.runs.quantities.report import RunResult, RunSummary, SphereCharges
from eigenwerk.dft.scf.state import State
from eigenwerk.io.vasp.output.record import RunRecord
from eigenwerk.units import HARTREE_EV


def make_result(
    record: RunRecord, state: State, summary: RunSummary, ground_state: GroundState | None = None
) -> RunResult:
    """The result of a run from its record, its last state and its summary."""
    final = record.final
    fermi_s = [level * HARTREE_EV for level in state.occupations.fermi_level_s]
    return RunResult(
        **vars(summary), record=replace(record, fields={}, orbitals=None),
        gap=band_gap(final.eig_skn, final.occ_skn, record.kpoint_kc, fermi_s), charges=_charges(record, state),
        threads=torch.get_num_threads(), fft=library(), ground_state=ground_state,
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
