"""A run whose starting moments die on atoms that carry none asks the others once."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest

from eigenwerk.dft.scf import branches
from eigenwerk.dft.scf.branches import SecondStart, hund_moment, unasked_moments
from eigenwerk.io.paw_xml import PawState
from eigenwerk.units import HARTREE_EV


def _data(*shells):
    return SimpleNamespace(states=[PawState(n, l, f, None, None, "") for n, l, f in shells])


DATA = {"Fe": _data((4, 0, 2), (3, 2, 6), (None, 2, 0)), "Cl": _data((3, 0, 2), (3, 1, 5)), "Ru": _data((4, 2, 7)),
        "Gd": _data((4, 3, 7), (5, 2, 1)), "Zn": _data((4, 0, 2), (3, 2, 10))}  # fmt: skip


@dataclass
class _State:
    free: float
    converged: bool = True
    history: tuple = ()
    subject: object = field(default_factory=lambda: SimpleNamespace(structure=SimpleNamespace(symbols=["Cl", "Fe"]),
                                                                    datasets=DATA))  # fmt: skip

    @property
    def energies(self):
        return SimpleNamespace(free=self.free)


@pytest.mark.parametrize(("symbol", "moment"), [("Fe", 4), ("Cl", 0), ("Ru", 0), ("Gd", 7), ("Zn", 0)])
def test_hunds_rule_counts_the_shells_that_keep_moments_in_solids(symbol, moment):
    assert hund_moment(DATA[symbol]) == moment


def _tried(symbols, started, ended):
    found = unasked_moments(symbols, DATA, np.array(started, float), np.array(ended, float))
    return None if found is None else found.tolist()


def test_moments_that_died_on_the_wrong_atoms_are_put_on_those_with_open_shells():
    assert _tried(["Cl", "Cl", "Fe"], [4, 0, 0], [0.0, 0.0, -0.01]) == [0, 0, 4]


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


def _second(first: float) -> SecondStart:
    second = SecondStart(np.array([4.0, 0.0]))
    assert second.moments(_State(first), np.array([0.0, 0.0])).tolist() == [0, 4]
    assert "Fe had none" in second.note
    return second


@pytest.mark.parametrize(("free", "taken", "words"), [(-3.0, "second", "with"), (-1.0, "first", "without")])
def test_the_lower_state_is_taken(free, taken, words):
    second = _second(-2.0)
    state = _State(free, history=(1, 2))
    end = second.better(state)
    assert (end is state) == (taken == "second") and end.history == (1, 2)
    assert second.verdict(free, True) == (
        f"the state {words} moments is taken: it is lower{'' if taken == 'second' else ' or the same'}, by "
        f"{HARTREE_EV:.4f} eV"
    )


def test_a_second_start_that_does_not_converge_leaves_the_first():
    second = _second(-2.0)
    end = second.better(_State(-5.0, converged=False, history=(1, 2, 3)))
    assert end.converged and end.energies.free == -2.0 and end.history == (1, 2, 3)
    assert "which had converged" in second.verdict(-5.0, False)


def test_it_is_asked_once_and_only_of_a_fresh_start():
    second = _second(-2.0)
    assert second.moments(_State(-2.0), np.zeros(2)) is None
    assert SecondStart(None).moments(_State(-2.0), np.zeros(2)) is None


@pytest.mark.parametrize(("first", "again"), [((2.5, -2.5), (2.5, 2.5)), ((2.5, 2.5), (2.5, -2.5))])
def test_a_run_starts_once_more_and_ends_in_the_lower_state(first, again, crystal, calculation, monkeypatch):
    def ends(moments):
        iron = replace(crystal("fe_bent"), magmom_a=np.array(moments))
        calc = calculation(iron, spins=2, cutoff_eV=200.0, ismear=1, sigma_eV=0.2)
        return calc.run().state

    alone = [ends(moments).energies.free for moments in (first, again)]
    assert abs(alone[0] - alone[1]) > 1e-3
    monkeypatch.setattr(branches, "unasked_moments", lambda *given: np.array(again))
    state = ends(first)
    assert state.converged and state.energies.free == pytest.approx(min(alone), abs=2e-5)
    told = [event for step in state.history for event in step.events]
    assert any("once more" in event for event in told) and any("is taken" in event for event in told)
