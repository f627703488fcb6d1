"""What is told beforehand of the search that a run adds by itself to a free atom (`dft/runs/open_shells`)."""

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


def check_fillings(
    parameters: Parameters, structure: Structure, kpoints: KPoints, datasets: dict[str, DataSet], incar: Incar,
    findings: Findings,
) -> None:  # fmt: skip
    """A note that a free atom with an open d or f shell takes several times the usual steps."""
    alone = len(structure.symbols) == 1 and len(kpoints.point_kc) == 1 and smallest_sloshing_g(structure) > 0
    if not alone or parameters.spins != 2 or parameters.hybrid is not None or parameters.ismear == GIVEN:
        return
    if incar.values.get("ICHARG") in FIXED or incar.values.get("ISYM") not in WITHOUT_SYMMETRY:
        return
    symbol = structure.symbols[0]
    if has_choices(datasets[symbol].header.states):
        message = f"an atom of {symbol} alone: other fillings of its open shell are tried"
        findings.note("POSCAR", f"{message}, in three to seven times the steps of one")
