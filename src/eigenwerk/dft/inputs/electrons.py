"""Electrons, spin, bands and occupations as the INCAR file asks for them."""

from collections.abc import Mapping
from math import fsum

import numpy as np

from eigenwerk.dft.dataset import DataSet, hund_moment
from eigenwerk.dft.default_bands import default_bands, fewest_bands
from eigenwerk.dft.inputs.findings import Findings
from eigenwerk.dft.inputs.settings import DEFAULT, Computed, line_of
from eigenwerk.io.vasp.incar import Incar
from eigenwerk.io.vasp.poscar import Poscar

NEUTRAL = 1e-8
"""A cell whose charge is smaller counts as neutral."""

SUM_TOLERANCE = 1e-4
"""Fixed occupations may miss the number of electrons by this much."""

FULL = 1e-6
"""Electrons short of filling all bands that are none."""

LARGEST_CHARGE = 4.0
"""Ions and charged defects rarely hold more; a cell of many atoms, like a doped metal, no more than one for each."""


def starting_moments(incar: Incar, poscar: Poscar, findings: Findings) -> tuple[np.ndarray | None, Computed]:
    """MAGMOM, one number for each atom, 1 by default; None without spin."""
    atoms = len(poscar.symbols)
    given = incar.values.get("MAGMOM")
    if incar.get("ISPIN") != 2:
        if given is not None and not incar.broken("ISPIN"):
            findings.add(incar.problem("MAGMOM", "accepted and ignored: it acts only with ISPIN = 2", severity="note"))
        return None, Computed(None)
    if not isinstance(given, tuple):
        return np.ones(atoms), Computed((1.0,) * atoms, DEFAULT)
    if len(given) != atoms:
        hint = " Three numbers for each atom belong to noncollinear magnetism." if len(given) == 3 * atoms else ""
        findings.add(
            incar.problem(
                "MAGMOM", f"there are {len(given)} moments for {atoms} atoms",
                f"Give one number for each atom; {atoms}*1 repeats a value.{hint}",
            )
        )  # fmt: skip
        return np.ones(atoms), Computed(None)
    if not any(given):
        message = "all starting moments are zero, so the result will not be magnetic"
        remedy = "Give moments somewhat larger than those expected, or set ISPIN = 1."
        findings.add(incar.problem("MAGMOM", message, remedy, severity="warning"))
    return np.array(given), Computed(given, line_of(incar, "MAGMOM"))


def electron_count(
    incar: Incar, poscar: Poscar, datasets: dict[str, DataSet], findings: Findings
) -> tuple[float | None, Computed]:
    """NELECT; by default the sum of the valences.  None if a data set is missing."""
    if set(poscar.symbols) - datasets.keys():
        return None, Computed(None)
    neutral = fsum(datasets[symbol].header.valence for symbol in poscar.symbols)
    given = incar.values.get("NELECT")
    if not isinstance(given, float):
        return neutral, Computed(neutral, "sum of the valences")
    charge = neutral - given
    if abs(charge) > NEUTRAL:
        message = (
            f"the data sets bring {neutral:g} electrons; the cell has charge {charge:+g}, balanced by a uniform "
            "background. Its energy depends on the size of the cell; corrections are said at the end, and added nowhere"
        )
        severity, remedy = "note", ""
        if abs(charge) > max(LARGEST_CHARGE, len(poscar.symbols)):
            what = "removed from" if charge > 0 else "added to"
            message += f". {abs(charge) / len(poscar.symbols):.3g} electrons {what} each atom are hardly meant: NELECT "
            message += "counts the valences of these data sets, which are not those of every POTCAR"
            severity, remedy = "warning", f"For a neutral cell remove the line, or set NELECT = {neutral:g}."
        findings.add(incar.problem("NELECT", message, remedy, severity))
    return given, Computed(given, line_of(incar, "NELECT"))


def fixed_moment(incar: Incar, electrons: float, findings: Findings) -> float | None:
    """NUPDOWN; None when it is free."""
    moment = incar.values.get("NUPDOWN")
    if not isinstance(moment, float) or moment < 0.0:
        return None
    if incar.get("ISPIN") != 2:
        if not incar.broken("ISPIN"):
            findings.add(incar.problem("NUPDOWN", "accepted and ignored: it acts only with ISPIN = 2", severity="note"))
        return None
    if moment > electrons:
        message = f"this is more than the {electrons:g} electrons"
        findings.add(incar.problem("NUPDOWN", message, "Set a smaller moment."))
        return None
    if incar.get("ISMEAR") == -2:
        message = "with ISMEAR = -2 the occupations fix the moment themselves"
        findings.add(incar.problem("NUPDOWN", message, "Remove NUPDOWN."))
        return None
    return moment


def likely_moment(
    incar: Incar, poscar: Poscar, datasets: Mapping[str, DataSet], moment_a: np.ndarray | None
) -> float:
    """Bohr magnetons that bands should have room for: the sum of |MAGMOM|, where it is not given at least what Hund's
    rule gives to open f shells; 0 without spin."""
    if moment_a is None:
        return 0.0
    size_a = np.abs(moment_a)
    if not incar.values.get("MAGMOM"):
        hund = {symbol: hund_moment(data.header.states, least_l=3) for symbol, data in datasets.items()}
        size_a = np.maximum(size_a, [hund.get(symbol, 0.0) for symbol in poscar.symbols])
    return float(size_a.sum())


def band_count(
    incar: Incar, poscar: Poscar, datasets: Mapping[str, DataSet], electrons: float, moment_a: np.ndarray | None,
    fixed: float | None, findings: Findings,
) -> tuple[int, Computed]:  # fmt: skip
    """NBANDS, the user's own or `default_bands`; too few are an error that names the numbers."""
    magnetic = likely_moment(incar, poscar, datasets, moment_a)
    # moments of an antiferromagnet may be there with full bands too
    uneven = moment_a is not None and abs(fsum(moment_a)) > FULL
    needed = fewest_bands(electrons, fixed or 0.0)
    default = max(default_bands(electrons, len(poscar.symbols), magnetic), needed)
    given = incar.values.get("NBANDS")
    if not isinstance(given, int):
        return default, Computed(default, "from the electrons and atoms")
    if given < needed:
        moment = f" with moment {fixed:g}" if fixed else ""
        message = f", but {electrons:g} electrons{moment} need at least {needed} bands"
        findings.add(incar.problem("NBANDS", message, f"Set NBANDS = {default}, or remove the line."))
    elif incar.get("ISMEAR") == -2:
        pass  # occupations are what the user writes
    elif uneven and fixed is None and abs(2 * given - electrons) < FULL:
        message = f"{given} bands of each spin are full with {electrons:g} electrons, so the moment can only be zero"
        remedy = f"Set NBANDS = {default}, or remove the line."
        findings.add(incar.problem("NBANDS", message, remedy, severity="warning"))
    elif given == needed:
        message = "there is no empty band: right for an insulator, wrong for a metal"
        findings.add(incar.problem("NBANDS", message, severity="note"))
    return given, Computed(given, line_of(incar, "NBANDS"))


def fixed_occupations(
    incar: Incar, electrons: float, bands: int, kpoints: int | None, findings: Findings
) -> tuple[tuple[float, ...], ...] | None:
    """FERWE and FERDO for ISMEAR = -2, one row for each spin channel; None for other smearings or after an error."""
    tags = ("FERWE", "FERDO") if incar.get("ISPIN") == 2 else ("FERWE",)
    if incar.get("ISMEAR") != -2:
        for tag in ("FERWE", "FERDO"):
            if tag in incar.values and not incar.broken("ISMEAR"):
                message = "accepted and ignored: it acts only with ISMEAR = -2"
                findings.add(incar.problem(tag, message, severity="note"))
        return None
    rows = [_occupation_row(incar, tag, bands, kpoints, findings) for tag in tags]
    found = tuple(row for row in rows if row is not None)
    if len(found) < len(tags):
        return None
    total = (2.0 if len(tags) == 1 else 1.0) * fsum(f for row in found for f in row)
    if abs(total - electrons) > SUM_TOLERANCE:
        message = f"the occupations hold {total:g} electrons, but there are {electrons:g}"
        findings.add(incar.problem("FERWE", message, f"Change the occupations, or set NELECT = {total:g}."))
    return found


def _occupation_row(
    incar: Incar, tag: str, bands: int, kpoints: int | None, findings: Findings
) -> tuple[float, ...] | None:
    """Occupations of one spin channel, one number for each band, or for each band of each k-point if these agree."""
    values = incar.values.get(tag)
    if not isinstance(values, tuple):
        if tag not in incar.raw:
            findings.add(incar.problem("ISMEAR", f"the tag {tag} is missing", f"Give {bands} occupations by {tag}."))
        return None
    wrong = [value for value in values if not 0.0 <= value <= 1.0]
    if wrong:
        message = f"the occupation {wrong[0]:g} is outside 0 to 1"
        findings.add(incar.problem(tag, message, "Occupations count one spin channel: 1 is full, also with ISPIN = 1."))
        return None
    if len(values) != bands and len(values) != bands * (kpoints or 1):
        points = f" at {kpoints} k-points" if kpoints and kpoints > 1 else ""
        message = f"there are {len(values)} occupations for {bands} bands{points}"
        findings.add(incar.problem(tag, message, f"Give {bands} numbers, or set NBANDS = {len(values)}."))
        return None
    rows = {values[start : start + bands] for start in range(0, len(values), bands)}
    if len(rows) > 1:
        message = "occupations that differ between k-points are not available"
        findings.add(incar.problem(tag, message, f"Give {bands} numbers, which then hold for all k-points."))
        return None
    return rows.pop()
