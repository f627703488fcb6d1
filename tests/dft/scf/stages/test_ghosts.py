"""A step that leaves the states of atoms is seen, refused and never the end."""

import pytest

from eigenwerk.dft.density.density import Density
from eigenwerk.dft.scf.mixing.mixing import PulayMixer
from eigenwerk.dft.scf.stages.ghosts import deepest_level, overfilled, state_occupancies, unbelievable
from eigenwerk.units import HARTREE_EV


@pytest.fixture(scope="module")
def iron(crystal, calculation):
    calc = calculation(crystal("fe_bent"), spins=2, cutoff_eV=200.0, ismear=1, sigma_eV=0.2, max_steps=3)
    return calc, calc.run().state


def test_states_of_an_atom_hold_between_nothing_and_one_electron_per_spin(iron):
    calc, state = iron
    few, many = state_occupancies([state.density], calc.atoms)
    assert -0.1 < few < 0.05 and 0.8 < many < 1.05
    assert not overfilled(state.density, state.following, calc.atoms)


@pytest.mark.parametrize("factor", [2.0, -1.0])
def test_too_many_electrons_in_a_state_are_a_sign(iron, factor):
    calc, state = iron
    wrong = Density.of(state.density.density_sg, factor * state.density.occupancy_sx, state.density.spin)
    assert "states of an atom hold" in overfilled(state.density, wrong, calc.atoms)
    assert "states of an atom hold" in overfilled(wrong, state.density, calc.atoms)


@pytest.mark.parametrize(
    ("depth", "energy", "charge", "words"),
    [
        (10, -9, 0, ""),
        (45, -9, 0, "a band lies 45 eV below"),
        (10, -80, 0, "40 eV per atom below"),
        (10, -80, -1, ""),  # an electron more may bring as much as an atom
    ],
)
def test_energies_that_no_end_can_have(depth, energy, charge, words):
    """Two atoms whose levels reach 5 eV down."""
    found = unbelievable(depth / HARTREE_EV, energy / HARTREE_EV, charge, 2, 5 / HARTREE_EV)
    assert words in found and bool(words) == bool(found)


def test_deepest_level_is_that_of_the_element_with_the_deepest_shell(dataset):
    magnesium, oxygen = ({symbol: dataset(symbol)} for symbol in ("Mg", "O"))
    assert deepest_level(magnesium | oxygen) == max(deepest_level(magnesium), deepest_level(oxygen)) > 0.4


@pytest.mark.slow
def test_a_step_to_a_ghost_is_refused_and_the_end_is_the_right_one(crystal, calculation, monkeypatch):
    """The third step puts twenty times the electrons into every state of the atoms."""
    settings = {"cutoff_eV": 120.0, "mesh": (2, 1, 1), "ismear": 0, "sigma_eV": 0.3, "ediff_eV": 1e-7}
    right = calculation(crystal("al_pair"), **settings).run().state
    mix, calls = PulayMixer.mix, []

    def poor(self, density, *more):
        following, residual = mix(self, density, *more)
        calls.append(residual)
        if len(calls) == 3:
            following = following.map_names(lambda name, value_sx: value_sx * (20 if name == "occupancy" else 1))
        return following, residual

    monkeypatch.setattr(PulayMixer, "mix", poor)
    state = calculation(crystal("al_pair"), **settings).run().state
    words = [event for event in state.events if "refused" in event]
    assert words and words[0].startswith("step 4: states of an atom hold") and "a ghost" in words[0]
    assert state.converged and state.energies.free == pytest.approx(right.energies.free, abs=3e-7 / HARTREE_EV)
    assert not any("a ghost" in event for event in state.history[-1].events)


@pytest.mark.slow
def test_a_ghost_is_never_the_end(crystal, calculation, monkeypatch):
    """A loop whose every step is doubted runs out of steps and says why."""
    monkeypatch.setattr("eigenwerk.dft.scf.stages.ghosts.overfilled", lambda *parts: "a ghost")
    state = calculation(crystal("al_pair"), cutoff_eV=120.0, mesh=(2, 1, 1), ediff_eV=1e-3, max_steps=12).run().state
    assert not state.converged and "a ghost" in state.history[-1].events[-1]
