"""What OUTCAR says before the first step: program, data sets, sizes, tags in force, cell, k-points, plane waves."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from eigenwerk.io.vasp.output.oszicar import fortran
from eigenwerk.io.vasp.output.record import RunRecord
from eigenwerk.io.vasp.output.xml.vasprun_parameters import parameters_in_force

RULE = f"\n\n{'-' * 104}\n\n\n"
"""Between the parts; readers of plane-wave counts look for exactly this."""

_TAGS = (
    (
        "Startparameter for this run:",
        ("NWRITE", "PREC", "ISTART", "ICHARG", "ISPIN", "LNONCOLLINEAR", "LSORBIT", "INIWAV", "LASPH", "METAGGA"),
    ),
    (
        "Electronic Relaxation 1",
        ("ENCUT", "NELM", "NELMIN", "NELMDL", "EDIFF", "LREAL", "ROPT", "LMAXPAW", "LMAXMIX", "ADDGRID"),
    ),
    (
        "Ionic relaxation",
        (
            *("EDIFFG", "NSW", "NBLOCK", "KBLOCK", "IBRION", "MDALGO", "NFREE", "ISIF", "ISYM", "SYMPREC", "POTIM"),
            *("TEBEG", "TEEND", "SMASS", "PSTRESS"),
        ),
    ),
    ("DOS related values:", ("EMIN", "EMAX", "ISMEAR", "SIGMA", "LORBIT")),
    (
        "Electronic relaxation 2 (details)",
        ("IALGO", "ALGO", "LDIAG", "IMIX", "AMIX", "BMIX", "AMIX_MAG", "BMIX_MAG", "AMIN", "MAXMIX", "TIME"),
    ),
    ("Write flags", ("LWAVE", "LCHARG", "LVTOT", "LVHAR", "LELF", "LH5")),
    ("Dipole corrections", ("LMONO", "LDIPOL", "IDIPOL", "EPSILON", "EFIELD")),
    ("Exchange correlation treatment:", ("GGA", "LHFCALC", "AEXX", "HFSCREEN", "CORE_EXCHANGE", "IVDW")),
    ("DFT+U:", ("LDAU", "LDAUTYPE", "LDAUL", "LDAUU", "LDAUJ")),
)
"""Tags with plain values, where VASP has them.  Free text (SYSTEM) and NBANDS, NELECT, NUPDOWN have other places."""


def header(record: RunRecord) -> Iterator[str]:
    """All of it, up to the first step."""
    tags = parameters_in_force(record)
    tags["ENCUT"] = tags["ENMAX"]
    yield _program(record)
    yield _species(record)
    yield f" POSCAR: {_one_line(record.title)}\n"
    yield _dimensions(record)
    yield f" SYSTEM =  {_one_line(str(tags['SYSTEM']))}\n POSCAR =  {_one_line(record.title)}\n\n"
    for title, names in _TAGS:
        lines = "".join(_tag(name, tags.get(name)) for name in names)
        yield f" {title}\n{lines}\n" if lines else ""
    yield _electrons(record)
    yield RULE + cell(record, record.ionic_steps[0].lattice_cv) + "\n\n"
    yield _kpoints(record)
    yield _positions(record)
    yield from _plane_waves(record)
    yield " molecular dynamics for ions\n" if tags["IBRION"] == 0 and tags["NSW"] > 0 else ""


def _program(record: RunRecord) -> str:
    """Who wrote this; VASP's name stands here only as that of the layout."""
    text = f" eigenwerk {record.version}   in the layout of VASP's OUTCAR; it holds what eigenwerk computed, no more\n"
    text += "" if record.stamp is None else f" {record.stamp}\n"
    text += f"\n executed on date {record.start:%Y.%m.%d  %H:%M:%S}\n"
    return text + f" running on {record.ranks:4d} total cores\n" + RULE


def _species(record: RunRecord) -> str:
    """The data sets, twice: ASE takes the first half of all lines with POTCAR:."""
    titles = "".join(f" POTCAR:    {species.title}\n" for species in record.species)
    text = f" INCAR:\n{titles}\n"
    for species in record.species:
        text += f" POTCAR:    {species.title}\n   VRHFIN ={species.element}: \n   TITEL  = {species.title}\n"
        text += f"   POMASS = {species.mass:8.3f}; ZVAL   = {species.valence:8.3f}    mass and valenz\n\n"
    return text


def _dimensions(record: RunRecord) -> str:
    """Numbers of everything; ASE takes the third word of the first line for k-points, the last one for bands."""
    points, bands = len(record.weight_k), record.final.eig_skn.shape[2]
    text = f"{RULE} Dimension of arrays:\n   k-points           NKPTS = {points:6d}   k-points in BZ     "
    text += f"NKDIM = {points:6d}   number of bands    NBANDS= {bands:6d}\n"
    text += f"   number of dos      NEDOS = {len(record.final.dos.energy_x):6d}   "
    text += f"number of ions     NIONS = {len(record.symbols):6d}\n"
    if record.basis is not None:
        wave, fine = record.basis.wave_grid, record.basis.fine_grid
        text += f"   total plane-waves  NPLWV = {int(np.prod(wave)):6d}\n"
        text += "   dimension x,y,z NGX = {:5d} NGY = {:5d} NGZ = {:5d}\n".format(*wave)
        text += "   dimension x,y,z NGXF= {:5d} NGYF= {:5d} NGZF= {:5d}\n".format(*fine)
    counts = "".join(f" {species.count:5d}" for species in record.species)
    return text + f"   ions per type =          {counts}\n\n"


def _tag(tag: str, value: Any) -> str:
    """A tag in force; nothing if it is not."""
    if value is None or value == "":
        return ""
    rest = {"ISPIN": "spin polarized calculation?", "ENCUT": "eV", "NELM": "# of ELM steps"}.get(tag, "")
    return entry(tag, _text(value), rest)


def _text(value: Any) -> str:
    """A value as VASP prints one: T, 12, 0.1E-05, words."""
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, float):
        plain = f"{value:.4f}"
        return plain if value == 0 or abs(float(plain) - value) < 1e-6 * abs(value) else fortran(value, 8)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return " ".join(_text(part) for part in value)
    return _one_line(str(value))


def _electrons(record: RunRecord) -> str:
    """Masses, valences, electrons, volumes."""
    lattice_cv = record.ionic_steps[0].lattice_cv
    per_ion = abs(np.linalg.det(lattice_cv)) / len(record.symbols)
    text = "  Mass of Ions in am\n   POMASS =" + "".join(f" {species.mass:7.3f}" for species in record.species)
    text += "\n  Ionic Valenz\n   ZVAL   =" + "".join(f" {species.valence:7.3f}" for species in record.species)
    text += f"\n   NELECT = {float(record.parameters['NELECT']):12.4f}    total number of electrons\n"
    if "NUPDOWN" in record.parameters:
        text += f"   NUPDOWN= {float(record.parameters['NUPDOWN']):12.4f}    fix difference up-down\n"
    return text + f"\n  volume/ion in A        = {per_ion:14.4f}\n"


def cell(record: RunRecord, lattice_cv: np.ndarray) -> str:
    """Cutoff, volume, vectors of the lattice (Angstrom) and of its reciprocal (1/Angstrom, without 2 pi)."""
    reciprocal_cv = np.linalg.inv(lattice_cv).T
    text = f"  energy-cutoff  :  {float(record.parameters['ENCUT']):10.2f}\n"
    text += f"  volume of cell :  {abs(np.linalg.det(lattice_cv)):10.4f}\n"
    text += "      direct lattice vectors                    reciprocal lattice vectors\n"
    for vector, reciprocal in zip(lattice_cv, reciprocal_cv, strict=True):
        text += "  " + _numbers(vector, 14, 9) + "  " + _numbers(reciprocal, 14, 9) + "\n"
    lengths = np.linalg.norm(lattice_cv, axis=1), np.linalg.norm(reciprocal_cv, axis=1)
    return text + "\n  length of vectors\n  " + "  ".join(_numbers(length, 14, 9) for length in lengths) + "\n"


def _kpoints(record: RunRecord) -> str:
    """Twice, Cartesian and reciprocal; readers take the weights from the second list."""
    cartesian_kv = record.kpoint_kc @ np.linalg.inv(record.ionic_steps[0].lattice_cv).T
    name = "" if record.generation is None else f"{record.generation.kind} mesh"
    text = f"\n k-points in units of 2pi/SCALE and weight: {name}\n" + _weighted(cartesian_kv, record.weight_k)
    text += f" \n k-points in reciprocal lattice and weights: {name}\n"
    return text + _weighted(record.kpoint_kc, record.weight_k)


def _weighted(point_kv: np.ndarray, weight_k: np.ndarray) -> str:
    rows = np.column_stack([point_kv, weight_k])
    return "  %12.8f %12.8f %12.8f   %12.8f\n" * len(rows) % tuple(rows.ravel().tolist())


def _positions(record: RunRecord) -> str:
    """Where the ions are at the start."""
    first = record.ionic_steps[0]
    row = "  %13.8f %13.8f %13.8f\n" * len(first.scaled_ac)
    text = " \n position of ions in fractional coordinates (direct lattice) \n"
    text += row % tuple(first.scaled_ac.ravel().tolist())
    text += " \n position of ions in cartesian coordinates  (Angst):\n"
    return text + row % tuple((first.scaled_ac @ first.lattice_cv).ravel().tolist())


def _plane_waves(record: RunRecord) -> Iterator[str]:
    """How many plane waves each k-point has, in a block that begins with exactly this rule."""
    if record.basis is None:
        yield RULE
        return
    yield RULE
    for k, (point_c, count) in enumerate(zip(record.kpoint_kc, record.basis.count_k, strict=True), start=1):
        yield f" k-point {k:4d} :  {_numbers(point_c, 8, 4)}  plane waves:  {count:6d}\n"
    most, least = int(record.basis.count_k.max()), int(record.basis.count_k.min())
    yield f"\n maximum and minimum number of plane-waves :    {most:6d}   {least:6d}\n"
    yield f"\n maximum number of plane-waves:    {most:6d}\n{RULE}"


def _numbers(values: Iterable[float], width: int, digits: int) -> str:
    """Numbers in columns that never run into each other."""
    return "".join(f" {value:{width - 1}.{digits}f}" for value in values)


def _one_line(words: str) -> str:
    return " ".join(words.split())


def banner(words: str, width: int, before: int) -> str:
    """A line of dashes with words in it."""
    return f"{'-' * before}{words}".ljust(width, "-")


def entry(name: str, value: str, rest: str = "") -> str:
    """A tag and its value: `   ISPIN  =      2    spin polarized calculation?`."""
    return f"   {name:<7}= {value:>10}    {rest}".rstrip() + "\n"
