"""Which files with fields on grids INCAR asks for, and how large they become (no torch: `check` asks)."""

from math import prod

from eigenwerk.dft.parameters import Parameters
from eigenwerk.io.vasp.incar import Incar
from eigenwerk.io.vasp.output.volumetric import bytes_of


def wanted_fields(incar: Incar) -> tuple[str, ...]:
    """Names of the files."""
    return ("CHGCAR", "CHG") if incar.get("LCHARG") else ()


def field_sizes(incar: Incar, parameters: Parameters, fine: tuple[int, int, int]) -> dict[str, int]:
    """Bytes of each, without atoms and occupancies; fine: points of the density grid."""
    return {name: parameters.spins * bytes_of(prod(fine), name == "CHG") for name in wanted_fields(incar)}
