"""Which files with fields on grids INCAR asks for, and how large they become; whether there is a WAVECAR (no torch:
`check` asks)."""

from dataclasses import dataclass, replace
from math import prod

from eigenwerk.dft.basis.grids import GridSizes
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.motion_kind import FIXED
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.dft.settings.tags_in_force import tell_idle
from eigenwerk.errors import InputError
from eigenwerk.functionals.functional import TAU
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.output.volumetric import bytes_of
from eigenwerk.io.vasp.problem import Problem
from eigenwerk.io.vasp.tags.base import show

FILES = {
    ("LCHARG",): ("CHGCAR", "CHG"),
    ("LVHAR", "LVTOT"): ("LOCPOT",),
    ("LAECHG",): ("AECCAR0", "AECCAR1", "AECCAR2"),
    ("LELF",): ("ELFCAR",),
}
"""Tags of which one is enough -> the files that they mean."""

MOST_PARCHG = 50
"""Files of densities of bands that one run may be asked for: all are in memory before they are written."""

UP_TO = 100_000_000
"""Bytes up to which WAVECAR is written without being asked for: the same orbitals are in eigenwerk.h5."""


def wanted_fields(incar: Incar) -> tuple[str, ...]:
    """Names of the files; CHGCAR of a density that is kept is that of the run that made it."""
    asked = tuple(name for tags, names in FILES.items() if any(incar.get(tag) for tag in tags) for name in names)
    return tuple(name for name in asked if incar.get("ICHARG") not in FIXED or name not in FILES["LCHARG",])


def asked_fields(incar: Incar) -> frozenset[str]:
    """Fields that densities carry for these files."""
    return frozenset({TAU} if incar.get("LELF") else ())


OF_PARCHG = ("NBMOD", "EINT", "IBAND", "KPUSE", "LSEPB", "LSEPK")
"""Tags that choose what LPARD writes."""


@dataclass(frozen=True)
class BandSelection:
    """Orbitals of which PARCHG holds the density.

    bands, points: from 0, empty for all; window: of energies in eV, relative to the Fermi level or not, its upper end
    None for that level; per_band, per_point: a file for each.
    """

    bands: tuple[int, ...] = ()
    points: tuple[int, ...] = ()
    window: tuple[float, float | None] | None = None
    relative: bool = False
    per_band: bool = False
    per_point: bool = False


def band_selection(incar: Incar, bands: int, points: int) -> BandSelection | None:
    """What LPARD asks for; bands, points: how many there are.  Raises InputError for what is not there."""
    if not incar.get("LPARD"):
        return None
    mode, window = incar.values.get("NBMOD", -1), incar.values.get("EINT")
    chosen = {tag: _numbers(incar, tag, most) for tag, most in (("IBAND", bands), ("KPUSE", points))}
    made = BandSelection(
        chosen["IBAND"], chosen["KPUSE"], None, mode == -3, bool(incar.get("LSEPB")), bool(incar.get("LSEPK"))
    )
    files = (len(made.bands) or bands if made.per_band else 1) * (len(made.points) or points if made.per_point else 1)
    if files > MOST_PARCHG:
        raise InputError(
            f"INCAR line {incar.line_of['LPARD']}: up to {files} files of densities of bands, more than {MOST_PARCHG}. "
            "Choose with IBAND and KPUSE, or remove LSEPB or LSEPK."
        )
    if isinstance(window, tuple) and (mode in (-2, -3) or not made.bands):
        if len(window) > 2 or (len(window) == 2 and window[1] < window[0]):
            raise InputError(f"INCAR line {incar.line_of['EINT']}: EINT = {show(window)}: expected one energy, or the "
                             "lower and the upper end of a window.")  # fmt: skip
        return replace(made, bands=(), window=(float(window[0]), float(window[1]) if len(window) == 2 else None))
    if mode == 0 or made.bands:
        return made
    raise InputError(
        f"INCAR line {incar.line_of['LPARD']}: LPARD = .TRUE. needs bands. Set IBAND = 4 5, or EINT = -1 0 with "
        "NBMOD = -3 (relative to the Fermi level), or NBMOD = 0 for all."
    )


def _numbers(incar: Incar, tag: str, most: int) -> tuple[int, ...]:
    """A list of numbers from 1, as places from 0."""
    given = incar.values.get(tag, ())
    assert isinstance(given, tuple)
    wrong = [number for number in given if not 1 <= number <= most]
    if wrong:
        what = "NBANDS" if tag == "IBAND" else "the number of k-points"
        raise InputError(f"INCAR line {incar.line_of[tag]}: {tag} has {wrong[0]}, and {what} is {most}.")
    return tuple(sorted({int(number) - 1 for number in given}))


def check_field_files(incar: Incar, bands: int, kpoints: KPoints, findings: Findings) -> None:
    """What LPARD chooses must be there; words about tags that act with it only, and about sums over a path."""
    with findings.collecting(incar.file):
        band_selection(incar, bands, len(kpoints.point_kc))
    if not incar.get("LPARD"):
        tell_idle(incar, (("LPARD = .TRUE.", OF_PARCHG),), findings)
    findings.add(*sums_over_path(incar, kpoints.samples_zone))


def sums_over_path(incar: Incar, sampled: bool) -> list[Problem]:
    """A warning where a file sums over k-points that do not sample the zone, and keeps a density that does."""
    if sampled or incar.get("ICHARG") not in FIXED:
        return []
    return [
        incar.problem(
            tag, "of a path or list it is a sum over its k-points as if they sampled the zone",
            "Set it in the run that makes the density.", severity="warning",
        )
        for tag in ("LELF",) if incar.get(tag)
    ]  # fmt: skip


def keeps_orbitals(incar: Incar, sampled: bool, size: int) -> bool:
    """Whether the orbitals in a density that is kept are kept as well, of all k-points at once: for forces, which a
    mesh has (sampled), for files that are made of them, or for a WAVECAR of so many bytes."""
    return sampled or bool(incar.get("LELF") or incar.get("LPARD")) or wants_wavecar(incar, size)


def field_sizes(incar: Incar, parameters: Parameters, grids: GridSizes) -> dict[str, int]:
    """Bytes of each, without atoms and occupancies."""
    found = {}
    for name in wanted_fields(incar):
        one = name.startswith("AECCAR") or (name == "LOCPOT" and incar.get("LVHAR"))
        points = prod(grids.wave if name == "ELFCAR" else grids.fine)
        found[name] = (1 if one else parameters.spins) * bytes_of(points, name == "CHG")
    if incar.get("LPARD") and not incar.get("LSEPB") and not incar.get("LSEPK"):
        found["PARCHG"] = parameters.spins * bytes_of(prod(grids.fine))
    return found


def wants_wavecar(incar: Incar, size: int) -> bool:
    """LWAVE = .TRUE. writes it whatever its size in bytes, .FALSE. never; without LWAVE it is written up to a size.

    LH5 = .TRUE. asks for HDF5 instead, which eigenwerk.h5 is.
    """
    if incar.get("LH5"):
        return False
    return bool(incar.values.get("LWAVE", size <= UP_TO))
