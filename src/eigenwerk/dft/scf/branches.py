"""Other states that a run has come by: magnets have several, and which one is found depends on the way."""

from collections.abc import Sequence

from eigenwerk.dft.scf.state import ScfStep
from eigenwerk.units import HARTREE_EV

STOOD, LEFT = 0.3, 3.0
"""A run stands near a state where the residual has fallen to the first share of what it was two steps before, and has
left it where the residual grows to this multiple."""

OTHER_MOMENT = 0.3
"""A moment so far from that of the end, per cell and in Bohr magnetons, belongs to another state."""


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
