"""LORBIT and RWIGS: whether, on which spheres and how finely orbitals are projected on atoms (no torch here)."""

from collections.abc import Mapping
from dataclasses import dataclass

from eigenwerk.dft.settings.dataset import DataSet
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.tags_in_force import Computed, line_of, whole
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.io.vasp.output.weights.projections import BY_L, WITH_PHASES, D, F
from eigenwerk.shown import counted
from eigenwerk.units import BOHR_ANGSTROM

OWN_RADII = 10
"""From this LORBIT on, radii come from the data sets unless RWIGS gives them."""

LARGEST = 10.0
"""A larger radius (Å) is taken for a mistake."""


@dataclass(frozen=True)
class SphereProjection:
    """Spheres about the atoms on which orbitals are projected: radius by element, bohr; phases: whether wanted too."""

    radius: Mapping[str, float]
    phases: bool = False


def sphere_projection(
    incar: Incar, poscar: Poscar, datasets: dict[str, DataSet], findings: Findings
) -> tuple[SphereProjection | None, Computed]:
    """The spheres, None if no projections are asked for; the radii in Å as a setting.  Problems go to the findings.

    By default the sphere of a data set ends where all its partial waves match their smooth twins.
    """
    lorbit, given = whole(incar, "LORBIT"), incar.values.get("RWIGS")
    none = None, Computed(None)
    if incar.broken("RWIGS") or incar.broken("LORBIT") or (lorbit == 0 and given is None):
        return none
    if set(poscar.symbols) - datasets.keys():
        return none  # there is an error already
    runs = [symbol for symbol, _ in poscar.species_runs]
    own = {symbol: matching_radius(datasets[symbol]) for symbol in runs}
    advice = " ".join(f"{own[symbol] * BOHR_ANGSTROM:.3f}" for symbol in runs)
    if given is None and lorbit < OWN_RADII:
        message = f"LORBIT = {lorbit} needs the radius of the sphere of each species"
        other = 10 if lorbit in BY_L else 12 if lorbit in WITH_PHASES else 11  # decomposes alike, with own radii
        remedy = f"Set LORBIT = {other}, which takes radii from the data sets, or RWIGS = {advice} (Å), say."
        findings.add(incar.problem("LORBIT", message, remedy))
        return none
    if given is None:
        origin = "matching radii of the data sets"
        radius_x = tuple(round(own[symbol] * BOHR_ANGSTROM, 6) for symbol in runs)
        return SphereProjection(own, lorbit in WITH_PHASES), Computed(radius_x, origin)
    radius_x = tuple(float(r) for r in (given if isinstance(given, tuple | list) else (given,)))
    problem = _wrong(radius_x, runs)
    if problem:
        findings.add(incar.problem("RWIGS", problem, f"Write one radius for each species: RWIGS = {advice}, say."))
        return none
    if lorbit >= OWN_RADII:
        message = f"these are the radii of the projections; VASP has those of its data sets with LORBIT = {lorbit}"
        findings.add(incar.problem("RWIGS", message, severity="note"))
    radius = {symbol: r / BOHR_ANGSTROM for symbol, r in zip(runs, radius_x, strict=True)}
    return SphereProjection(radius, lorbit in WITH_PHASES), Computed(radius_x, line_of(incar, "RWIGS"))


def matching_radius(data: DataSet) -> float:
    """Radius from which on all partial waves of a data set match their smooth twins, bohr."""
    return max(state.rc for state in data.header.states if state.rc is not None)


def kinds_of_l(datasets: Mapping[str, DataSet]) -> int:
    """How many angular momenta files of VASP have columns for: up to d, and f where a data set has projectors of f."""
    return F if any(state.l >= F - 1 for data in datasets.values() for state in data.header.states) else D


def _wrong(radius_x: tuple[float, ...], runs: list[str]) -> str:
    """What is wrong with radii, '' for nothing."""
    if len(radius_x) != len(runs):
        count = counted(len(radius_x), "value")
        return f"{count}, but POSCAR has {len(runs)} species ({' '.join(runs)})"
    for symbol, r in zip(runs, radius_x, strict=True):
        if not 0 < r <= LARGEST:
            return f"the radius of {symbol} is {r:g} Å; it must be above 0 and at most {LARGEST:g}"
        others = {other for name, other in zip(runs, radius_x, strict=True) if name == symbol}
        if len(others) > 1:
            several = ", ".join(f"{x:g}" for x in sorted(others))
            return f"{symbol} has several radii ({several}); an element has one here"
    return ""
