"""Write REPORT: energies and temperature of each step of molecular dynamics, in the lines that scripts look for.

docs/formats/files.md says what each number is.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.kept_text import KeptText
from eigenwerk.io.vasp.output.oszicar import fortran
from eigenwerk.io.vasp.output.record import IonicStep, RunRecord

_KEPT = KeptText()
_RULE = " " + "=" * 60 + "\n"


def is_dynamics(record: RunRecord) -> bool:
    """Whether atoms move with a temperature."""
    return record.last.kinetic is not None or any(one.kinetic is not None for one in record.ionic_steps)


def write_report(path: str | Path, record: RunRecord) -> None:
    """Write the REPORT of a run.  Raises InputError if the file cannot be written."""
    with replacing(path) as new:
        new.write_text("".join(_pieces(record)), encoding="utf-8")


def _pieces(record: RunRecord) -> Iterator[str]:
    """A head with the tags of the run, and each ionic step that is over."""
    yield f" {record.stamp or 'eigenwerk'}\n\n"
    for tag in ("MDALGO", "SMASS", "POTIM", "TEBEG", "TEEND", "RANDOM_SEED"):
        if record.parameters.get(tag) is not None:
            yield f"   {tag} = {record.parameters[tag]}\n"
    begin, end = (float(record.parameters.get(tag) or 0.0) for tag in ("TEBEG", "TEEND"))
    end = begin if record.parameters.get("TEEND") is None else end
    steps = max(int(record.parameters.get("NSW", 1)), 1)
    for number, ionic in enumerate(record.ionic_steps, start=1):
        if ionic.kinetic is not None:
            wanted = begin + (end - begin) * min(number / steps, 1.0)
            yield _KEPT.of(ionic, (number, wanted), partial(_step, number, ionic, wanted))


def _step(number: int, ionic: IonicStep, wanted: float) -> Iterator[str]:
    """E_tot is the conserved quantity, E_pot the free energy; EPS and ES are the thermostat's energies."""
    yield f"\n{_RULE}          MD step No. {number:6d}\n{_RULE}\n"
    yield "   >Energies\n           E_tot             E_pot             E_kin             EPS               ES\n"
    energies = (ionic.total, ionic.free_energy, ionic.kinetic, ionic.thermostat_kinetic, ionic.thermostat)
    yield "  e_b>" + "".join(f" {fortran(value or 0.0, 8):>17}" for value in energies) + "\n\n"
    yield "   >Temperature\n                T_sim       T_inst\n"
    yield f" tmprt> {wanted:12.3f} {ionic.temperature or 0.0:12.3f}\n"
