"""What the input says of the search that a run adds to a free atom (`dft/runs/open_shells`), told beforehand."""

from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.settings.dataset import DataSet, has_choices
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.mixing import smallest_sloshing_g
from eigenwerk.dft.settings.motion_kind import FIXED
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.io.vasp.input.incar import Incar

WITHOUT_SYMMETRY = (None, 0, -1)
"""ISYM with which other fillings are looked for in every box."""

GIVEN = -2
"""ISMEAR of occupations that are given."""


def is_in_a_box(structure: Structure, kpoints: KPoints) -> bool:
    """Whether the atoms are a molecule, with orbitals of one k-point."""
    return len(kpoints.point_kc) == 1 and smallest_sloshing_g(structure) > 0


def refills(parameters: Parameters) -> bool:
    """Whether other fillings of an open shell are tried: two spins, occupations that are found, no exact exchange."""
    exact = parameters.hybrid is not None and bool(parameters.hybrid.fraction)
    return parameters.spins == 2 and parameters.ismear != GIVEN and not exact


def check_fillings(
    parameters: Parameters, structure: Structure, kpoints: KPoints, datasets: dict[str, DataSet], incar: Incar,
    findings: Findings,
) -> None:  # fmt: skip
    """A note that a free atom with an open d or f shell takes several times the usual steps."""
    if len(structure.symbols) != 1 or not is_in_a_box(structure, kpoints) or not refills(parameters):
        return
    if incar.values.get("ICHARG") in FIXED or incar.values.get("ISYM") not in WITHOUT_SYMMETRY:
        return
    symbol = structure.symbols[0]
    if has_choices(datasets[symbol].header.states):
        message = f"an atom of {symbol} alone: other fillings of its open shell are tried"
        findings.note("POSCAR", f"{message}, in three to seven times the steps of one")
