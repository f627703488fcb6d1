"""Self-consistency goes on until forces are known well enough, where somebody wants to walk by them."""

from collections.abc import Callable

from eigenwerk.dft.derivatives.forces import Forces
from eigenwerk.dft.scf.stages.stage import Stage, Verdict
from eigenwerk.dft.scf.state import State
from eigenwerk.units import FORCE_EV_PER_ANGSTROM

FORCE_ERROR = 1.5e-3 / FORCE_EV_PER_ANGSTROM
"""Forces with a larger estimated error (hartree per bohr) are worth one more step, where nobody says how good they have
to be."""

MOST_STEPS = 6
"""For forces alone, where somebody does."""

LEAST_FALL = 0.8
"""Of the error from one step to the next: where it falls less, the residual is not what it is made of."""


class ForceGoal(Stage):
    """The objection of forces to the end of self-consistency, and the forces that come of it.

    forces_of: forces of a state; largest: over all ranks, so that none goes on alone; error: the largest that forces
    may have, hartree per bohr, or None for FORCE_ERROR and one step at most; error_of: the error of a state's forces
    alone, where forces cost much more: they are found once then, of the last state, and no two are put together.
    """

    def __init__(
        self, forces_of: Callable[[State], Forces], largest: Callable[[float], float], error: float | None = None,
        error_of: Callable[[State], float] | None = None,
    ):
        self._forces_of, self._largest, self._error_of = forces_of, largest, error_of
        self.asked, self._goal = error, FORCE_ERROR if error is None else error
        self._most = 1 if error is None else MOST_STEPS
        self._found: list[tuple[State, Forces]] = []
        self._errors: list[float] = []

    def objection(self, state: State) -> Verdict | None:
        """Why a converged state should not be the last; None where it may be."""
        self._add(state)
        error = self._errors[-1]
        stands = len(self._errors) > 1 and error > LEAST_FALL * self._errors[-2]
        if error <= self._goal or len(self._errors) > self._most or stands:
            return None
        millis = 1e3 * error * FORCE_EV_PER_ANGSTROM
        return Verdict(f"this step is for the forces, which the one before left uncertain by some {millis:.1f} meV/Å")

    def forces(self, state: State) -> Forces:
        """Of the last state, with what the one before tells; of that one if steps have gone astray since."""
        if self._error_of is not None:
            return self._forces_of(state)
        if not self._found or self._found[-1][0] is not state:
            self._add(state)
        found = self._found[-1][1]
        if len(self._found) == 1:
            return found
        before = self._found[-2][1]
        return before if self._errors[-1] > self._errors[-2] else found.after(before)

    def _add(self, state: State) -> None:
        if self._error_of is not None:
            self._errors.append(self._largest(self._error_of(state)))
            return
        forces = self._forces_of(state)
        # two states hold many arrays; one serves to be told from the next
        self._found = [*self._found[-1:], (state, forces)]
        self._errors.append(self._largest(forces.error))
