"""Other states that a run has come by, or should look for: magnets have several; which is found depends on the way."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigenwerk.dft.scf.state import ScfStep, State
from eigenwerk.dft.settings.dataset import hund_moment
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.units import HARTREE_EV

STOOD, LEFT = 0.3, 3.0
"""A run stands near a state where the residual has fallen to the first share of what it was two steps before, and has
left it where the residual grows to this multiple."""

OTHER_MOMENT = 0.3
"""A moment so far from that of the end, per cell and in Bohr magnetons, belongs to another state."""

GONE, UNASKED = 0.05, 0.5
"""Bohr magnetons: no atom of a state without moments carries more; where none started with so much, none is wanted."""

ASKED = 0.5
"""An atom that started with less than this share of Hund's moment was not asked for it: from 1 Bohr magneton, the
default of MAGMOM, FeCl2, FeBr2, FeI2 and iron on graphene lose all of it, 0.4 to 1.1 eV above the state with 3 to 4."""

STILL = 10
"""Steps of a molecule in all of which the free energy stays within EDIFF: more would change it by no more."""

TURNING = (
    f"the free energy has stayed within EDIFF for {STILL} steps; what is left of the residual turns orbitals of open "
    "shells, whose place in the box is not found"
)


def stands_still(history: Sequence[ScfStep], tolerance: float) -> bool:
    """Whether the free energies of the last `STILL` steps lie within a tolerance, hartree."""
    last = [step.energies.free for step in history[-STILL:]]
    return len(last) == STILL and max(last) - min(last) < tolerance


def unasked_moments(
    symbols: Sequence[str], datasets: Mapping[str, PawDataset], started_a: np.ndarray, ended_a: np.ndarray
) -> np.ndarray | None:
    """Moments to start from once more, (a,) Bohr magnetons, where those of the start have died; else None.

    A moment on atoms that cannot carry one dies, and with it the question whether the atoms with open shells would have
    kept one: moments in another order than the atoms are a common mistake.  A small one may die, too, where a large one
    would have lived.  Atoms with open shells get Hund's, in the direction in which each started.
    """
    if np.abs(ended_a).max() > GONE or np.abs(started_a).max() < UNASKED:
        return None
    hund_a = np.array([hund_moment(datasets[symbol].states) for symbol in symbols])
    asked = np.abs(started_a) >= ASKED * hund_a
    if not hund_a.any() or (asked & (hund_a > 0)).any():
        return None
    return np.where(started_a < -GONE, -hund_a, hund_a)


def dead_moments(
    symbols: Sequence[str], datasets: Mapping[str, PawDataset], started_a: np.ndarray, ended_a: np.ndarray
) -> np.ndarray | None:
    """Moments that exact exchange may keep, (a,) Bohr magnetons, where the semilocal functional has kept none.

    Those of the start on atoms with open shells; where none of these was asked, Hund's (`unasked_moments`).
    """
    if np.abs(ended_a).max() > GONE or np.abs(started_a).max() < UNASKED:
        return None
    hund_a = np.array([hund_moment(datasets[symbol].states) for symbol in symbols])
    asked_a = np.where((np.abs(started_a) >= UNASKED) & (hund_a > 0), started_a, 0.0)
    if asked_a.any():
        return asked_a
    return hund_a if hund_a.any() else None


@dataclass
class SecondStart:
    """A run that starts once more where small moments of open shells, or none, have died, and ends in the lower state.

    started_a: moments of the first start, None where nothing is to be asked (no spin, a state to go on from, a moment
    that is held); on_all: whether all ranks say so, because each finds moments and energies with rounding errors of its
    own; aside: the state that waits for the second one; taken: whether the second is the lower one, None before that
    is known; note: what the next step tells.
    """

    started_a: np.ndarray | None
    on_all: Callable[[bool], bool]
    aside: State | None = None
    taken: bool | None = None
    note: str = ""

    @property
    def open(self) -> bool:
        """Whether a converged state is to be asked for its moments."""
        return self.started_a is not None and self.aside is None

    def moments(self, state: State, ended_a: np.ndarray) -> np.ndarray | None:
        """Those to start from once more after this converged state, which is put aside; None if it is the end."""
        assert self.started_a is not None
        symbols, datasets = state.system.structure.symbols, state.system.datasets
        hund_a = unasked_moments(symbols, datasets, self.started_a, ended_a)
        if not self.on_all(hund_a is not None):
            return None
        assert hund_a is not None
        self.aside = state
        names = ", ".join(dict.fromkeys(s for s, moment in zip(symbols, hund_a, strict=True) if moment))
        self.note = (
            f"the starting moments have died, and {names} began with less than half of what free atoms have (MAGMOM): "
            "once more, with their moments"
        )
        return hund_a

    def verdict(self, free: float, converged: bool) -> str:
        """Takes the lower one of two states that have converged, else the first; says so once."""
        if self.aside is None or (converged and self.taken is not None):
            return ""
        if not converged:
            self.taken = False
            return "the state without moments, which had converged, is taken"
        lower = (self.aside.energies.free - free) * HARTREE_EV
        self.taken = self.on_all(lower > 0)
        which, side = ("with", "lower") if self.taken else ("without", "lower or the same")
        return f"the state {which} moments is taken: it is {side}, by {abs(lower):.4f} eV"

    def end(self, state: State) -> State:
        """This state, or by the verdict the one put aside."""
        if self.aside is None or self.taken:
            return state
        return replace(self.aside, history=state.history)


def other_states(history: Sequence[ScfStep]) -> tuple[str, ...]:
    """What is to be said of states near which the run has stood before it came to its end; none without spin."""
    moment = history[-1].moment
    if moment is None:
        return ()
    for before, here, later in zip(history, history[2:], history[3:], strict=False):
        stood = here.residual < STOOD * before.residual and later.residual > LEFT * here.residual
        if stood and here.moment is not None and abs(abs(here.moment) - abs(moment)) > OTHER_MOMENT:
            change = (here.energies.free - history[-1].energies.free) * HARTREE_EV
            return (
                f"step {here.step} stood near another state, with moment {here.moment:.2f} instead of {moment:.2f} and "
                f"{change:+.3f} eV: several exist; other starting moments (MAGMOM) may lead to a lower one",
            )
    return ()
