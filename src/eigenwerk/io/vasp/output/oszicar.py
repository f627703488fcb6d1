"""Write OSZICAR: one line per step of self-consistency, one line for the result.

The columns stand where VASP puts them; docs/formats/oszicar.md gives widths and meanings.
"""

import math
from pathlib import Path

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.vasp.output.record import RunRecord, StepRecord

_HEAD = "       N       E                     dE             d eps       ncg     rms          rms(c)\n"


def write_oszicar(path: str | Path, record: RunRecord) -> None:
    """Write the OSZICAR of a single-point run.  Raises InputError if the file cannot be written."""
    text = _HEAD + "".join(_step_line(step) for step in record.steps) + _result_line(record)
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")


def _step_line(step: StepRecord) -> str:
    """`DAV:   9    -0.675766178893E+02    0.36145E-01   -0.17189E-01  3304   0.256E+00    0.398E-01`."""
    line = f"{step.algorithm}:{step.step:4d}   {fortran(step.free_energy, 12):>20s}   {fortran(step.change, 5):>12s}"
    line += f"   {fortran(step.band_energy_change, 5):>12s} {step.applications:5d}  {fortran(step.residual, 3):>10s}"
    return line + ("" if step.density_residual is None else f"   {fortran(step.density_residual, 3):>10s}") + "\n"


def _result_line(record: RunRecord) -> str:
    """`   1 F= -.108E+02 E0= -.108E+02  d E =0.0E+00  mag=  0.0000`.

    In a run without ionic steps, d E is the entropy term F - E.
    """
    final = record.final
    line = f"   1 F= {_short(final.free_energy, 8)} E0= {_short(final.energy_zero, 8)}"
    line += f"  d E ={_short(final.free_energy - final.energy_without_entropy, 6)}"
    return line + ("" if final.moment is None else f"  mag={final.moment:11.4f}") + "\n"


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
