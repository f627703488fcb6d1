"""The dispersion correction of a calculation, in the engine's own units and words (no torch here)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from eigenwerk.units import BOHR_ANGSTROM

D2, D3_ZERO, D3_BJ, D4 = "D2", "D3(zero)", "D3(BJ)", "D4"
METHODS = {1: D2, 10: D2, 11: D3_ZERO, 12: D3_BJ, 13: D4}
"""By IVDW."""

LENGTHS = ("a2",)
"""Parameters that are lengths, in bohr."""


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


def with_dispersion(title: str, correction: DispersionCorrection | None) -> str:
    """The name of a functional with that of the correction: PBE-D3(BJ), HSE06-D4: 25 % exact exchange."""
    if correction is None:
        return title
    name, colon, rest = title.partition(":")
    return f"{name}-{correction.method}{colon}{rest}"


def dispersion_words(correction: DispersionCorrection | None) -> Iterator[str]:
    """What is added, with its parameters, line by line."""
    if correction is None:
        return
    source = f" of {correction.functional}" if correction.functional else " as given"
    values = ", ".join(f"{name} {value:g}{' bohr' if name in LENGTHS else ''}"
                       for name, value in correction.parameters.items() if name != "s9")  # fmt: skip
    yield f"{correction.method}, parameters{source}: {values}{_three_bodies(correction)}"
    cuts = [("pairs", correction.radius), ("neighbours counted", correction.coordination_radius)]
    reaches = [f"{name} up to {length * BOHR_ANGSTROM:.5g} Å" for name, length in cuts if length is not None]
    charge = [f"charge of the cell {correction.charge:+g}"] if correction.method == D4 and correction.charge else []
    yield ", ".join(reaches + charge)


def _three_bodies(correction: DispersionCorrection) -> str:
    share = correction.parameters.get("s9")
    if share is None:
        return ""
    return f", three-body term times {share:g}" if share else ", no three-body term"
