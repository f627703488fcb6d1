"""Which files with fields on grids INCAR asks for, and how large they become; whether there is a WAVECAR (no torch:
`check` asks)."""

from math import prod

from eigenwerk.dft.basis.grids import GridSizes
from eigenwerk.dft.inputs.restart import FIXED
from eigenwerk.dft.parameters import Parameters
from eigenwerk.io.vasp.incar import Incar
from eigenwerk.io.vasp.output.volumetric import bytes_of

FILES = {
    ("LCHARG",): ("CHGCAR", "CHG"),
    ("LVHAR", "LVTOT"): ("LOCPOT",),
    ("LAECHG",): ("AECCAR0", "AECCAR1", "AECCAR2"),
    ("LELF",): ("ELFCAR",),
}
"""Tags of which one is enough -> the files that they mean."""

UP_TO = 100_000_000
"""Bytes up to which WAVECAR is written without being asked for: the same orbitals are in eigenwerk.h5."""


def wanted_fields(incar: Incar) -> tuple[str, ...]:
    """Names of the files; none where the density is kept: its files are those of the run that made it."""
    if incar.get("ICHARG") in FIXED:
        return ()
    return tuple(name for tags, names in FILES.items() if any(incar.get(tag) for tag in tags) for name in names)


def field_sizes(incar: Incar, parameters: Parameters, grids: GridSizes) -> dict[str, int]:
    """Bytes of each, without atoms and occupancies."""
    found = {}
    for name in wanted_fields(incar):
        one = name.startswith("AECCAR") or (name == "LOCPOT" and incar.get("LVHAR"))
        points = prod(grids.wave if name == "ELFCAR" else grids.fine)
        found[name] = (1 if one else parameters.spins) * bytes_of(points, name == "CHG")
    return found


def wants_wavecar(incar: Incar, size: int) -> bool:
    """LWAVE = .TRUE. writes it whatever its size in bytes, .FALSE. never; without LWAVE it is written up to a size.

    LH5 = .TRUE. asks for HDF5 instead, which eigenwerk.h5 is.
    """
    if incar.get("LH5"):
        return False
    return bool(incar.values.get("LWAVE", size <= UP_TO))
