"""Self-consistency goes on for forces as long as that helps."""

from types import SimpleNamespace

import pytest
import torch

from eigenwerk.dft.derivatives.forces import Forces
from eigenwerk.dft.scf.stages.force_goal import FORCE_ERROR, MOST_STEPS, ForceGoal


def walk(errors, goal=None):
    """Steps that are asked for in a row of states with these errors, and the last forces."""
    states = [SimpleNamespace(error=error, number=number) for number, error in enumerate(errors)]

    def forces_of(state):
        value = torch.full((1, 3), float(state.number))
        return Forces(value, torch.full((1, 3), state.error), state.error)

    found = ForceGoal(forces_of, lambda error: error, goal)
    for state in states:
        if not found.objection(state):
            return state.number, found.forces(state)
    raise AssertionError("it objects to every state")


@pytest.mark.parametrize(
    ("errors", "goal", "steps"),
    [
        ([0.9 * FORCE_ERROR], None, 0),
        ([9 * FORCE_ERROR, 5 * FORCE_ERROR], None, 1),  # nobody asked: one step at most
        ([9e-4, 5e-4, 2e-4, 0.9e-4], 1e-4, 3),
        ([9e-4], 1e-3, 0),  # good enough for whoever asks, though not for those who do not
        ([9e-4, 8.9e-4], 1e-4, 1),  # steps do not help
        ([2e-3 * 0.7**n for n in range(20)], 1e-9, MOST_STEPS),
    ],
)
def test_steps_until_forces_are_good_enough_or_do_not_get_better(errors, goal, steps):
    assert walk(errors, goal)[0] == steps


def test_forces_of_a_step_that_went_astray_are_not_taken():
    assert FORCE_ERROR < 9e-4
    _, found = walk([9e-4, 2e-3], 1e-5)
    assert torch.equal(found.force_av, torch.zeros(1, 3)) and found.error == 9e-4


def test_forces_are_put_together_from_the_last_two_states():
    """Corrections e and e/2 vanish together at twice the way from the first to the second."""
    _, found = walk([4e-4, 2e-4, 1e-4], 1.5e-4)
    torch.testing.assert_close(found.force_av, torch.full((1, 3), 3.0))
