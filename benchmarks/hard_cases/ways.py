"""Ten ways to self-consistency for a case: the same Hamiltonian, cutoff, mesh, bands and smearing; other mixing, solver
or start."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from cases import Case

from eigenwerk.io.vasp.input.poscar import Poscar

DEFAULT, OTHER_ORDER = "default", "other_order"
"""OTHER_ORDER is no way to the same state: every second magnetic atom is turned round, or all are made parallel."""

LONG = {"NELM": "150"}
"""For ways that are slow by nature; defaults keep their own limit."""

MAGNETIC = 0.5
"""Starting moments below this, Bohr magnetons, are of atoms that only feel their neighbours'."""


@dataclass(frozen=True)
class Way:
    """name; tags: beyond those of the case; first: tags of a run before it, None if there is none."""

    name: str
    tags: Mapping[str, str]
    first: Mapping[str, str] | None = None


def ways(case: Case) -> list[Way]:
    """Defaults first; ten, and for magnets of several atoms one of the other order after them."""
    common = [
        Way(DEFAULT, {}),
        Way("small", {"AMIX": "0.2", "AMIX_MAG": "0.2", **LONG}),
        Way("small_floor", {"AMIN": "0.02", **LONG}),
        Way("no_history", {"IMIX": "1", "AMIX": "0.2", "AMIX_MAG": "0.4", "NELM": "250"}),
        Way("conjugate", {"ALGO": "All", **LONG}),
    ]
    return common + (_magnetic(case) if case.tags.get("ISPIN") == "2" else _plain())


def _plain() -> list[Way]:
    return [
        Way("large", {"AMIX": "0.8", **LONG}),
        Way("short_kerker", {"BMIX": "0.5", **LONG}),
        Way("long_kerker", {"BMIX": "2.5", **LONG}),
        Way("residual", {"ALGO": "VeryFast", **LONG}),
        Way("short_history", {"MAXMIX": "4", **LONG}),
    ]


def _magnetic(case: Case) -> list[Way]:
    moment_a = starting_moments(case)
    total = abs(float(moment_a.sum()))
    # a moment held fixed at first, and then let go
    held = {"NUPDOWN": f"{np.floor(total + 1e-9):.0f}", "EDIFF": "1E-2", "AMIX_MAG": "0.4"}
    found = [
        Way("small_spin", {"AMIX_MAG": "0.4", **LONG}),
        Way("full_spin", {"AMIX_MAG": "1.6", **LONG}),
        Way("high_start", {"MAGMOM": _words(1.6 * moment_a), **LONG}),
        Way("low_start", {"MAGMOM": _words(0.3 * moment_a), **LONG}),
        Way("held_first", {"ISTART": "1", **LONG}, held),
    ]
    other_a = _other_order(moment_a)
    return found if other_a is None else [*found, Way(OTHER_ORDER, {"MAGMOM": _words(other_a), **LONG})]


def starting_moments(case: Case) -> np.ndarray:
    """(a,) Bohr magnetons, as MAGMOM says them."""
    poscar: Poscar = case.structure()
    if "MAGMOM" not in case.tags:
        return np.ones(len(poscar.symbols))
    moments: list[float] = []
    for word in case.tags["MAGMOM"].split():
        count, star, value = word.rpartition("*")
        moments += [float(value)] * (int(count) if star else 1)
    return np.array(moments)


def _other_order(moment_a: np.ndarray) -> np.ndarray | None:
    strong = np.flatnonzero(np.abs(moment_a) > MAGNETIC)
    if len(strong) < 2:
        return None
    other_a = np.abs(moment_a)
    if (moment_a >= 0).all():
        other_a[strong[1::2]] *= -1
    return other_a


def _words(moment_a: np.ndarray) -> str:
    return " ".join(f"{moment:g}" for moment in moment_a)
