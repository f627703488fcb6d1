"""The result of a run that is over, from the files in its folder.

vasprun.xml says what was found, of eigenwerk's runs of all versions and of VASP's own.  eigenwerk.h5 of the same save
has the digits that it lacks, bands.json the bands along a path.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk.dft.after.analyses.table import NOTHING
from eigenwerk.dft.after.band_gap import band_gap
from eigenwerk.dft.after.band_structure import BandStructure
from eigenwerk.dft.after.levels import BANDS, GAP, SPHERES
from eigenwerk.dft.inputs.restart import STATE_FILE
from eigenwerk.dft.runs.quantities.report import IonicHistory, RunResult, RunSummary
from eigenwerk.dft.runs.saving.ionic_tree import IN_ENGINE
from eigenwerk.dft.runs.saving.output_folder import BANDS_FILE
from eigenwerk.dft.settings.motion_kind import DYNAMICS, FIXED, METHODS, PATH, RELAXATION, VIBRATIONS
from eigenwerk.errors import InputError
from eigenwerk.io.bounded import MEGABYTE, read_json
from eigenwerk.io.hdf5.hdf5_state import read_state
from eigenwerk.io.quantity import Values, numbers_of
from eigenwerk.io.run_stamp import RunStamp, stamp_of
from eigenwerk.io.vasp.elements import MASSES
from eigenwerk.io.vasp.output.record import FinalRecord, IonicStep, RunRecord, RunReport, SpeciesRecord
from eigenwerk.io.vasp.vasprun_reader import VasprunFile, read_vasprun
from eigenwerk.units import HARTREE_EV

LARGEST = 500 * MEGABYTE
"""Bytes of bands.json that are read."""


def read_run(folder: str | Path) -> RunResult:
    """What a folder says of its run.

    Raises InputError without a vasprun.xml, for one that is cut off or damaged and for one without levels.
    """
    folder = Path(folder)
    path = next((folder / name for name in ("vasprun.xml", "vasprun.xml.gz") if (folder / name).is_file()), None)
    if path is None:
        raise InputError(
            f"{folder}: no vasprun.xml in this folder. Give the output folder of a run; a result that was computed "
            "without a folder is in memory only."
        )
    found, stamp = read_vasprun(path), stamp_of(path)
    if found.eig_skn is None or found.occ_skn is None or found.dos is None or found.fermi_level is None:
        raise InputError(f"{path}: it holds no levels or no density of states, which results need. Run it again.")
    exact, tags = _exact(folder / STATE_FILE, stamp), {name: _value(text) for name, text in found.parameters.items()}
    steps = tuple(_ionic(found, x, exact) for x in range(len(found.steps)))
    report = found.run_report or RunReport()
    record = RunRecord(
        version=found.generator.get("version", ""), start=_start(found), title="".join(found.incar.get("SYSTEM", "")),
        incar={name: _value(text) for name, text in found.incar.items()}, parameters=tags, kpoint_kc=found.point_kc,
        weight_k=found.weight_k, symbols=found.symbols, species=_species(found), ionic_steps=steps,
        final=_final(found, exact, _bands(folder / BANDS_FILE, stamp)), stamp=stamp, run_report=found.run_report,
    )  # fmt: skip
    summary = RunSummary(
        converged=found.reached is not False, interrupted=False, threads=0, fft="", trace={}, folder=folder,
        seconds=float(np.nansum([one.seconds for step in found.steps for one in step.steps])),
        files={entry.name: entry for entry in sorted(folder.iterdir()) if stamp and stamp_of(entry) == stamp},
        warnings=report.warnings, notes=report.notes, advice=report.advice, fixed_density=tags.get("ICHARG") in FIXED,
        ionic_history=_history(tags, record, found.reached is not False),
    )  # fmt: skip
    return RunResult.of(record, summary)


def _value(text: str) -> Any:
    """Of a tag: a number or truth value where it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"T": True, "F": False}.get(text, text)


def _exact(path: Path, stamp: RunStamp | None) -> dict[str, Any]:
    """The groups of a state that are results; nothing where it is of another save than the other files."""
    if stamp is None or stamp_of(path) != stamp:
        return {}
    return read_state(path, only=["bands", "results", "ionic_steps"])


def _ionic(found: VasprunFile, x: int, exact: Mapping[str, Any]) -> IonicStep:
    """An ionic step, with the digits of the state where vasprun.xml has the number too."""
    step = found.steps[x]
    of_engine = {name: _of_step(exact.get("ionic_steps", {}), column, x) for column, name in IN_ENGINE.items()}
    if step is found.last:
        of_engine |= {name: exact.get("results", {}).get(name) for name in ("moment_a", "force_error")}
    return replace(step, **{
        one.name: one.in_files(of_engine[one.name]) for one in numbers_of(IonicStep)
        if of_engine.get(one.name) is not None and getattr(step, one.name) is not None
    })  # fmt: skip


def _of_step(columns: Mapping[str, Any], column: str, x: int) -> Any:
    value_x = columns.get(column)
    return None if value_x is None or x >= len(value_x) or np.isnan(value_x[x]).any() else value_x[x]


def _species(found: VasprunFile) -> tuple[SpeciesRecord, ...]:
    runs = [(symbol, len(list(some))) for symbol, some in groupby(found.symbols)]
    return tuple(
        SpeciesRecord(count, symbol, MASSES.get(symbol, np.nan), np.nan, found.titles.get(symbol, symbol))
        for symbol, count in runs
    )  # fmt: skip


def _final(found: VasprunFile, exact: Mapping[str, Any], bands: BandStructure | None) -> FinalRecord:
    assert found.eig_skn is not None and found.occ_skn is not None and found.dos is not None
    eig_skn, occ_skn, fermi_level = found.eig_skn, found.occ_skn, found.fermi_level or 0.0
    fermi_s, more = [fermi_level] * len(eig_skn), exact.get("bands")
    if more is not None and more["eig_skn"].shape == eig_skn.shape:  # points of weight zero are not in the state
        eig_skn, occ_skn = more["eig_skn"] * HARTREE_EV, more["occ_skn"]
        fermi_level = float(more["fermi_level"]) * HARTREE_EV
        fermi_s = [level * HARTREE_EV for level in more["fermi_level_s"]]
    status = found.status or f"read from {found.path.name} of {found.generator.get('program', '?')}"
    gap = band_gap(eig_skn, occ_skn, found.point_kc, fermi_s)
    values = Values({GAP: gap, SPHERES: None, BANDS: bands}) | NOTHING
    return FinalRecord(fermi_level, eig_skn, occ_skn, status, found.dos, values=values)


def _bands(path: Path, stamp: RunStamp | None) -> BandStructure | None:
    """Those of bands.json, if it is of the same save.  Raises InputError if it is damaged."""
    if not path.is_file() or stamp is None or stamp_of(path) != stamp:
        return None
    try:
        return BandStructure.of_dict(read_json(path, LARGEST))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: not a whole document of eigenwerk ({error}). Compute it again.") from error


def _history(tags: Mapping[str, Any], record: RunRecord, finished: bool) -> IonicHistory | None:
    kind = tags.get("IBRION")
    if not tags.get("NSW") or kind == -1 or tags.get("ICHARG") in FIXED:
        return None
    name = VIBRATIONS if kind in (5, 6) else DYNAMICS if kind == 0 else RELAXATION if kind in METHODS else PATH
    return IonicHistory(name, record.final.status, finished, record.ionic_steps)


def _start(found: VasprunFile) -> datetime:
    """When the run began, as far as the file says it."""
    words = f"{found.generator.get('date', '')} {found.generator.get('time', '')}".strip()
    try:
        return datetime.strptime(words, "%Y %m %d %H:%M:%S")
    except ValueError:
        return datetime.fromtimestamp(found.path.stat().st_mtime)
