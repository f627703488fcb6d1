"""Which PAW file serves an element: enough to check a folder, and to judge what it costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eigenwerk.io.paw.dataset import PawHeader, PawState
from eigenwerk.io.paw.paw_library import CutoffAdvice

OPEN_SHELLS = ((3, 2), (4, 3), (5, 3))
"""n and l of the shells whose moments survive in solids: 3d, 4f, 5f."""


def hund_moment(states: Sequence[PawState], least_l: int = 0) -> float:
    """Bohr magnetons of the free atom's open 3d, 4f and 5f shells (from least_l on) by Hund's first rule:
    min(f, 2(2l + 1) - f) each."""
    return open_shell_moment([one for one in states if (one.n, one.l) in OPEN_SHELLS and one.l >= least_l])


def open_shell_moment(states: Sequence[PawState]) -> float:
    """The same of all open shells among some states of the free atom."""
    return sum(min(one.f, 4 * one.l + 2 - one.f) for one in states if 0 < one.f < 4 * one.l + 2)


def has_choices(states: Sequence[PawState]) -> bool:
    """Whether an atom has an open d or f shell, whose orbitals can be filled in several ways."""
    return any(one.l >= 2 and 0 < one.f < 4 * one.l + 2 for one in states)


ANIONS = frozenset({"H", "N", "O", "F", "P", "S", "Cl", "As", "Se", "Br", "Sb", "Te", "I"})
"""Elements whose outermost shell of s and p states other elements fill."""


def closed_shell_electrons(symbol: str, states: Sequence[PawState]) -> float:
    """Electrons in the shells that an atom has closed in an insulator of ions: of an anion its s and p states, of
    others the full shells but the outermost s."""
    held = [one for one in states if one.f > 0]
    if symbol in ANIONS:
        return sum(4 * one.l + 2 for one in held)
    outermost = max((one.n or 0 for one in held if one.l == 0), default=0)
    return sum(one.f for one in held if one.f == 4 * one.l + 2 and not (one.l == 0 and one.n == outermost))


@dataclass(frozen=True)
class DataSet:
    """The data set of one element: its file, all but its radial functions, and cutoffs in eV (None: no advice)."""

    symbol: str
    path: Path
    header: PawHeader
    advice: CutoffAdvice | None
