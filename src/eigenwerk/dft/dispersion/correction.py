"""What a dispersion correction is made of: its method and all of its numbers, in the engine's own units."""

from collections.abc import Mapping
from dataclasses import dataclass, field

D2, D3_ZERO, D3_BJ, D4 = "D2", "D3(zero)", "D3(BJ)", "D4"
METHODS = {1: D2, 10: D2, 11: D3_ZERO, 12: D3_BJ, 13: D4}
"""By IVDW."""


@dataclass(frozen=True)
class DispersionCorrection:
    """IVDW and VDW_*; bohr and hartree.

    method: one of METHODS; functional: the name by which its parameters were found, empty where all are given;
    parameters: by the names of the method's papers (s6, s8, s9, a1, a2, rs6, rs8, alp; of D2 s6, sr and d);
    radius, coordination_radius: where pairs and the count of neighbours end, None as the library has it;
    coefficients: of D2, element -> (C6, R0); charge: of the cell, which D4 needs.
    """

    method: str
    functional: str = ""
    parameters: Mapping[str, float] = field(default_factory=dict)
    radius: float | None = None
    coordination_radius: float | None = None
    coefficients: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    charge: float = 0.0
