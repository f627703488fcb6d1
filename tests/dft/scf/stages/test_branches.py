"""A run whose starting moments die on atoms that carry none asks the others once."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.density.density import electrons_of
from eigenwerk.dft.scf.stages import branches
from eigenwerk.dft.scf.stages.branches import STILL, SecondStart, dead_moments, stands_still, unasked_moments
from eigenwerk.dft.settings.dataset import hund_moment
from eigenwerk.io.paw.dataset import PawState
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.serial import SerialCommunicator
from eigenwerk.units import HARTREE_EV
from ground_states import ENERGY_PER_ATOM, pieces


def _data(*shells):
    return SimpleNamespace(states=[PawState(n, l, f, None, None, "") for n, l, f in shells])


DATA = {"Fe": _data((4, 0, 2), (3, 2, 6), (None, 2, 0)), "Cl": _data((3, 0, 2), (3, 1, 5)), "Ru": _data((4, 2, 7)),
        "Gd": _data((4, 3, 7), (5, 2, 1)), "Zn": _data((4, 0, 2), (3, 2, 10))}  # fmt: skip

PARALLEL, OPPOSITE = (2.5, 2.5), (2.5, -2.5)


@dataclass
class _State:
    free: float
    converged: bool = True
    history: tuple = ()
    system: object = field(default_factory=lambda: SimpleNamespace(structure=SimpleNamespace(symbols=["Cl", "Fe"]),
                                                                    datasets=DATA))  # fmt: skip

    @property
    def energies(self):
        return SimpleNamespace(free=self.free)


@pytest.mark.parametrize(("symbol", "moment"), [("Fe", 4), ("Cl", 0), ("Ru", 0), ("Gd", 7), ("Zn", 0)])
def test_hunds_rule_counts_the_shells_that_keep_moments_in_solids(symbol, moment):
    assert hund_moment(DATA[symbol].states) == moment


def _tried(symbols, started, ended):
    found = unasked_moments(symbols, DATA, np.array(started, float), np.array(ended, float))
    return None if found is None else found.tolist()


def test_moments_that_died_on_the_wrong_atoms_are_put_on_those_with_open_shells():
    assert _tried(["Cl", "Cl", "Fe"], [4, 0, 0], [0.0, 0.0, -0.01]) == [0, 0, 4]


def test_where_small_moments_died_large_ones_are_tried_in_their_directions():
    """Half of Hund's rule is large; the default of MAGMOM is not, on iron."""
    assert _tried(["Cl", "Fe"], [0.8, 0.8], [0, 0]) == [0, 4]
    assert _tried(["Fe", "Fe"], [1.9, -1.9], [0, 0]) == [4, -4]
    assert _tried(["Fe", "Fe"], [2.0, -1.9], [0, 0]) is None


@pytest.mark.parametrize(
    ("symbols", "started", "ended"),
    [
        (["Cl", "Fe"], [0, 4], [0, 0]),  # iron was asked, and has none
        (["Cl", "Fe"], [4, 0], [0.1, 3.4]),  # it has one
        (["Cl", "Fe"], [0, 0], [0, 0]),  # none was wanted
        (["Cl", "Zn"], [1, 0], [0, 0]),  # nobody could have one
    ],
)
def test_other_runs_are_left_alone(symbols, started, ended):
    assert _tried(symbols, started, ended) is None


def _second(first: float, on_all=bool) -> SecondStart:
    second = SecondStart(np.array([4.0, 0.0]), on_all)
    assert second.moments(_State(first), np.array([0.0, 0.0])).tolist() == [0, 4]
    assert "Fe began with less than half" in second.note
    return second


@pytest.mark.parametrize(("free", "taken", "words"), [(-3.0, "second", "with"), (-1.0, "first", "without")])
def test_the_lower_state_is_taken_and_told_once(free, taken, words):
    second = _second(-2.0)
    state = _State(free, history=(1, 2))
    assert second.verdict(free, True) == (
        f"the state {words} moments is taken: it is lower{'' if taken == 'second' else ' or the same'}, by "
        f"{HARTREE_EV:.4f} eV"
    )
    end = second.end(state)
    assert (end is state) == (taken == "second") and end.history == (1, 2)
    assert not second.verdict(free, True)


@pytest.mark.parametrize("verdicts", [[False], [True, False]])
def test_a_second_start_that_does_not_end_converged_leaves_the_first(verdicts):
    second = _second(-2.0)
    words = [second.verdict(-5.0, converged) for converged in verdicts][-1]
    end = second.end(_State(-5.0, converged=False, history=(1, 2, 3)))
    assert end.converged and end.energies.free == -2.0 and end.history == (1, 2, 3)
    assert "which had converged" in words


def test_it_is_asked_once_and_only_of_a_fresh_start():
    assert SecondStart(np.zeros(2), bool).open and not _second(-2.0).open
    assert not SecondStart(None, bool).open


def decided(world):
    """On one rank, with a tie that its rounding errors break in its own way: what it decides."""
    mine = 1e-12 if world.rank else -1e-12
    asked = SecondStart(np.array([4.0, 0.0]), world.all)
    moments = asked.moments(_State(-2.0), np.full(2, branches.GONE + mine))
    second = _second(-2.0, world.all)
    words = second.verdict(-2.0 + mine, True)
    return moments, second.end(_State(-2.0 + mine)).energies.free == -2.0, words


@pytest.mark.ranks
def test_ranks_decide_alike_where_rounding_errors_would_not(ranks):
    first, other = ranks(2, "gloo").run(decided)
    assert first == other
    assert first[0] is None and first[1] and "without moments" in first[2]


def ends(world, parts, again):
    """On one rank: a run whose moments are said to have died where `again` gives others, as plain values."""
    kept, died = branches.unasked_moments, None if again is None else np.array(again)
    branches.unasked_moments = lambda *given: died
    try:
        structure, kpoints, parameters, datasets, real = parts
        runtime = Runtime(grid=make_process_grid(world, 1))
        calculation = Calculation(structure, kpoints, parameters, datasets, runtime, real)
        state = calculation.run().state
    finally:
        branches.unasked_moments = kept
    own = state.output.spin.moment(electrons_of(state.output, calculation.atoms))
    assert state.moment == pytest.approx(own, abs=1e-9), "that of the state, not of the last step"
    told = [event for step in state.history for event in step.events if "once more" in event or "is taken" in event]
    return state.converged, state.energies.free, told


@pytest.fixture(scope="module")
def iron(crystal, calculation):
    """Moments -> what `ends` needs."""

    def of(moments):
        structure = replace(crystal("fe_bent"), magmom_a=np.array(moments))
        return pieces(calculation(structure, spins=2, cutoff_eV=200.0, ismear=1, sigma_eV=0.2))

    return of


@pytest.fixture(scope="module")
def alone(iron):
    """Free energies that single starts lead to, by moments."""
    return {moments: ends(SerialCommunicator(), iron(moments), None)[1] for moments in (PARALLEL, OPPOSITE)}


@pytest.mark.slow
@pytest.mark.parametrize(("first", "again"), [(OPPOSITE, PARALLEL), (PARALLEL, OPPOSITE)])
def test_a_run_starts_once_more_and_ends_in_the_lower_state(first, again, iron, alone):
    assert abs(alone[first] - alone[again]) > 1e-3
    converged, free, told = ends(SerialCommunicator(), iron(first), again)
    assert converged and free == pytest.approx(min(alone.values()), abs=2e-5)
    assert len(told) == 2 and "once more" in told[0] and "is taken" in told[1]


@pytest.mark.slow
@pytest.mark.ranks
def test_two_ranks_start_once_more_as_one_does(ranks, iron, alone):
    parts = iron(OPPOSITE)
    _, free, told = ends(SerialCommunicator(), parts, PARALLEL)
    for converged, other, words in ranks(2, "gloo").run(ends, parts, PARALLEL):
        assert converged and words == told
        assert other == pytest.approx(free, abs=ENERGY_PER_ATOM * 2)


@pytest.mark.parametrize(
    ("started", "ended", "held"),
    [
        ([0, 3], [0, 0], [0, 3]),  # those that were asked
        ([0, -3], [0.01, 0], [0, -3]),
        ([2, 0], [0, 0], [0, 4]),  # moments in another order than the atoms
        ([2, 3], [0, 0], [0, 3]),  # chlorine's are not held
        ([0, 3], [0, 2], None),  # they are there
        ([0.1, 0.1], [0, 0], None),  # none was wanted
    ],
)
def test_moments_that_exact_exchange_may_keep_are_those_of_open_shells(started, ended, held):
    found = dead_moments(["Cl", "Fe"], DATA, np.array(started, float), np.array(ended, float))
    assert (None if found is None else found.tolist()) == held


def test_a_molecule_stands_still_when_all_of_ten_steps_lie_within_the_tolerance():
    def steps(*energies):
        return [SimpleNamespace(energies=SimpleNamespace(free=energy)) for energy in energies]

    drift = [1e-5 * step for step in range(2 * STILL)]
    assert not stands_still(steps(*drift), 8e-5) and stands_still(steps(*drift), 1e-4)
    assert not stands_still(steps(*[0.0] * (STILL - 1)), 1e-4)  # too few
    assert stands_still(steps(1.0, *[0.0] * STILL), 1e-9)
