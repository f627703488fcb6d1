"""Write OSZICAR: one line per step of self-consistency, one line for the result of each ionic step.

The columns stand where VASP puts them; docs/formats/oszicar.md gives widths and meanings.
"""

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.kept_text import KeptText
from eigenwerk.io.vasp.output.record import IonicStep, RunRecord, StepRecord

_KEPT = KeptText()
_HEAD = "       N       E                     dE             d eps       ncg     rms          rms(c)\n"


def write_oszicar(path: str | Path, record: RunRecord) -> None:
    """Write the OSZICAR of a run.  Raises InputError if the file cannot be written."""
    with replacing(path) as new:
        new.write_text("".join(_pieces(record)), encoding="utf-8")


def _pieces(record: RunRecord) -> Iterator[str]:
    """The steps of self-consistency of each ionic step and its line."""
    moving = len(record.ionic_steps) > 1 or int(record.parameters.get("NSW", 0)) > 0
    before = 0.0
    for number, ionic in enumerate(record.ionic_steps, start=1):
        yield _head(record, number)
        base = before if moving else ionic.energy_without_entropy
        yield _KEPT.of(ionic, (number, base), partial(_ionic_step, number, ionic, base))
        before = ionic.free_energy


def _ionic_step(number: int, ionic: IonicStep, before: float) -> Iterator[str]:
    yield from map(_step_line, ionic.steps)
    if ionic.dispersion is not None:
        yield f"       Edisp (eV)  {ionic.dispersion:.8f}\n"  # without a colon, by which readers know steps
    if ionic.non_local is not None:
        yield f"       Ec_nl (eV)  {ionic.non_local:.8f}\n"
    yield _result_line(number, ionic, before) if ionic.kinetic is None else _dynamics_line(number, ionic)


def _head(record: RunRecord, number: int) -> str:
    """The names of the columns; the first ones with the mark of the run, which readers take for names of no column."""
    return _HEAD if record.stamp is None or number > 1 else f"{_HEAD.rstrip()}      {record.stamp}\n"


def _step_line(step: StepRecord) -> str:
    """`DAV:   9    -0.675766178893E+02    0.36145E-01   -0.17189E-01  3304   0.256E+00    0.398E-01`."""
    line = f"{step.algorithm}:{step.step:4d}   {fortran(step.free_energy, 12):>20s}   {fortran(step.change, 5):>12s}"
    line += f"   {fortran(step.band_energy_change, 5):>12s} {step.applications:5d}  {fortran(step.residual, 3):>10s}"
    return line + ("" if step.density_residual is None else f"   {fortran(step.density_residual, 3):>10s}") + "\n"


def _result_line(number: int, ionic: IonicStep, before: float) -> str:
    """`   1 F= -.108E+02 E0= -.108E+02  d E =0.0E+00  mag=  0.0000`.

    d E is the change of F from the ionic step before; in a run without ionic steps the entropy term F - E.
    """
    line = f"{number:4d} F= {_short(ionic.free_energy, 8)} E0= {_short(ionic.energy_zero, 8)}"
    line += f"  d E ={_short(ionic.free_energy - before, 6)}"
    return line + _moment(ionic)


def _dynamics_line(number: int, ionic: IonicStep) -> str:
    """`    1 T=  2000. E= -.322E+03 F= -.338E+03 E0= -.338E+03  EK= 0.16287E+02 SP= 0.00E+00 SK= 0.00E+00`.

    Energies have eight digits.  E is the conserved quantity; SP and SK are the energies of the thermostat.
    """
    line = f"{number:5d} T={ionic.temperature or 0.0:6.0f}. E= {_short(ionic.total, 8)}"
    line += f" F= {_short(ionic.free_energy, 8)} E0= {_short(ionic.energy_zero, 8)}"
    line += f"  EK= {fortran(ionic.kinetic or 0.0, 5)}"
    line += f" SP= {_short(ionic.thermostat or 0.0, 2)} SK= {_short(ionic.thermostat_kinetic or 0.0, 2)}"
    return line + _moment(ionic)


def _moment(ionic: IonicStep) -> str:
    return ("" if ionic.moment is None else f"  mag={ionic.moment:11.4f}") + "\n"


def fortran(value: float, digits: int) -> str:
    """A number as Fortran's E format writes it, with a mantissa between 0.1 and 1: -0.675766178893E+02."""
    if not math.isfinite(value):
        return str(value)
    mantissa, exponent = f"{abs(value):.{digits - 1}e}".split("e")
    power = int(exponent) + 1 if value else 0
    return f"{'-' if value < 0 else ''}0.{mantissa.replace('.', '')}E{power:+03d}"


def _short(value: float, digits: int) -> str:
    """The same in the columns of the last line, where a minus sign takes the place of the leading zero."""
    written = fortran(value, digits)
    return written.replace("-0.", "-.", 1)
