"""A state is whole: a run that goes on from it does what it would have done, here or for another structure."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from covering import but_slow
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.scf.start.earlier import earlier_of
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.errors import InputError
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.serial import SerialCommunicator
from eigenwerk.units import HARTREE_EV
from ground_states import pieces

METAL = {"cutoff_eV": 120.0, "mesh": (2, 1, 1), "ismear": 0, "sigma_eV": 0.3, "ediff_eV": 1e-7}
SILICON = {"cutoff_eV": 120.0, "mesh": (2, 2, 1), "ediff_eV": 1e-7}
IRON = {
    "cutoff_eV": 200.0, "precision": "Normal", "spins": 2, "ismear": 1, "sigma_eV": 0.2, "ediff_eV": 1e-5,
}  # fmt: skip


def shifted(structure, step_v, atom=0):
    """With one atom moved, bohr."""
    position_av = structure.positions_av.copy()
    position_av[atom] += step_v
    return replace(structure, scaled_ac=position_av @ np.linalg.inv(structure.lattice_cv))


def cost(state):
    return sum(step.applications for step in state.history)


# --- the same calculation --------------------------------------------------------------------------------------------


def in_two_parts(calculation, structure, first, **settings):
    """Histories of a whole run and of one that is stopped after some steps and goes on from its state."""
    whole = calculation(structure, **settings).run().state
    part = calculation(structure, **settings, max_steps=first).run().state
    rest = calculation(structure, **settings).run(start=part).state
    assert not part.converged and rest.converged and whole.converged
    return whole, part, rest


CASES = {
    "metal": ("al_pair", 4, METAL),
    "tetrahedra": ("al_pair", 4, METAL | {"mesh": (2, 2, 1), "ismear": -5}),
    "magnet": ("fe_bent", 5, IRON),
    "RMM-DIIS": ("si_bent", 3, SILICON | {"solver": "davidson, rmm"}),
    "frozen": ("si_bent", 3, SILICON | {"frozen_steps": 5}),
    "single precision": ("si_bent", 3, SILICON | {"start_single": True}),
}  # fmt: skip


@pytest.mark.fast("metal")
@pytest.mark.parametrize("case", but_slow(CASES, "magnet", "tetrahedra", "RMM-DIIS"))
def test_a_stopped_run_goes_on_as_if_it_had_not_been(crystal, calculation, case):
    """The same energies, applications and solvers, step by step: nothing that the next step depends on is lost."""
    name, first, settings = CASES[case]
    whole, part, rest = in_two_parts(calculation, crystal(name), first, **settings)
    both = (*part.history, *rest.history)
    assert len(both) == len(whole.history)
    # the last step that NELM allows is in double precision, whatever the others are
    kinds = [[step.precision for step in history] for history in (both, whole.history)]
    assert kinds[0][: first - 1] + kinds[0][first:] == kinds[1][: first - 1] + kinds[1][first:]
    accuracy = 1e-6 if case == "single precision" else 1e-9
    for ours, theirs in zip(both, whole.history, strict=True):
        assert ours.energies.free == pytest.approx(theirs.energies.free, abs=accuracy)
        assert (ours.applications, ours.solver) == (theirs.applications, theirs.solver)
    assert rest.history[0].change == pytest.approx(whole.history[first].change, abs=accuracy)
    assert [step.step for step in rest.history] == list(range(1, len(rest.history) + 1)), "NELM counts anew"


@pytest.mark.slow
def test_a_converged_state_needs_no_more_than_the_least_number_of_steps(crystal, calculation):
    ground = calculation(crystal("al_pair"), **METAL).run().state
    again = calculation(crystal("al_pair"), **METAL, min_steps=1).run(start=ground).state
    assert again.converged and len(again.history) == 1
    assert again.energies.free * HARTREE_EV == pytest.approx(ground.energies.free * HARTREE_EV, abs=1e-7)


@pytest.mark.slow
def test_the_memory_of_a_step_long_past_is_gone_and_said_to_be(crystal, calculation):
    """The rows of the history are used again, so a state on the way that is kept for long loses them."""
    states = []
    calculation(crystal("al_pair"), **METAL).run(lambda step, state: states.append(state))
    assert [state.progress.mixer() is None for state in states[-3:]] == [True, False, False]
    again = calculation(crystal("al_pair"), **METAL).run(start=states[2]).state
    assert again.converged
    assert again.energies.free * HARTREE_EV == pytest.approx(states[-1].energies.free * HARTREE_EV, abs=1e-7)


# --- something has changed -------------------------------------------------------------------------------------------

CHANGED = {
    "cutoff": {"cutoff_eV": 130.0}, "precision": {"precision": "Normal"}, "functional": {"functional": "RP"},
    "spins": {"spins": 2}, "electrons": {"electrons": 5.9}, "ismear": {"ismear": 1}, "width": {"sigma_eV": 0.2},
    "hubbard": {"hubbard": {"Al": (1, 0.05)}}, "symmetry_tolerance": {"symmetry_tolerance": 1e-3},
}  # fmt: skip


@pytest.mark.fast("cutoff", "spins")
@pytest.mark.parametrize("name", CHANGED)
def test_memory_is_left_where_the_answer_to_a_density_is_another_one(crystal, calculation, name):
    state = calculation(crystal("al_pair"), **METAL, max_steps=2).run().state
    calc = calculation(crystal("al_pair"), **METAL | CHANGED[name])
    start = calc.start_from(earlier_of(state))
    assert start.progress is None and start.coeff_sknG is not None
    tag = {one.name: one.metadata["tag"] for one in fields(Parameters) if one.metadata}[name]
    assert f"mixing starts afresh: not the same {tag}" in start.notes


@pytest.mark.slow
def test_starting_moments_have_a_say_in_the_symmetry(crystal, calculation):
    structure = crystal("fe_bent")
    state = calculation(structure, **IRON, max_steps=1).run().state
    other = calculation(replace(structure, magmom_a=np.array([2.5, -2.5])), **IRON)
    start = other.start_from(earlier_of(state))
    assert start.progress is None and start.notes[-1].endswith("not the same MAGMOM")


def test_atoms_that_exchange_their_correction_are_another_calculation(crystal, calculation):
    structure = replace(crystal("al_pair"), kinds=("Al", "Al 2"))
    settings = METAL | CHANGED["hubbard"]
    state = calculation(structure, **settings, max_steps=1).run().state
    other = calculation(replace(structure, kinds=("Al 2", "Al")), **settings)
    start = other.start_from(earlier_of(state))
    assert start.progress is None and start.notes[-1].endswith("not the same LDAU of the species")


@pytest.mark.slow
def test_number_of_bands_changes_the_solver_and_not_the_mixing(crystal, calculation):
    state = calculation(crystal("al_pair"), **METAL, max_steps=3).run().state
    more = calculation(crystal("al_pair"), **METAL, bands=state.coeff_sknG.shape[2] + 2)
    start = more.start_from(earlier_of(state))
    assert start.progress is not None and start.progress.solver == {} and start.wanted_skn is None
    assert start.progress.mixer()["count"] == 3 and more.run(start=start).state.converged


def test_other_atoms_are_refused(crystal, calculation):
    state = calculation(crystal("al_pair"), **METAL, max_steps=1).run().state
    with pytest.raises(InputError, match="a start for the 2 atoms Al Al, but POSCAR has the 2 atoms Si Si"):
        calculation(crystal("si_bent"), **SILICON).run(start=state)


# --- another structure -----------------------------------------------------------------------------------------------

STEP = np.array([0.02, -0.01, 0.03])
"""Of one atom, bohr."""


MOVED = [
    ("al_pair", METAL), ("si_bent", SILICON | {"real": True}),
    pytest.param("si_bent", SILICON, marks=pytest.mark.slow),
    pytest.param("fe_bent", IRON, marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.fast("al_pair-*")
@pytest.mark.parametrize(("name", "settings"), MOVED)
def test_a_state_serves_a_structure_with_a_moved_atom(crystal, calculation, name, settings):
    """Fewer applications of H than from atoms, the same energy, and the notes say what is not the same."""
    structure = crystal(name)
    state = calculation(structure, **settings).run().state
    moved = shifted(structure, STEP)
    fresh = calculation(moved, **settings).run().state
    calc = calculation(moved, **settings)
    start = calc.start_from(earlier_of(state))
    assert start.notes[0] == "atoms have moved by up to 0.020 Å" and "positions" in start.notes[-1]
    again = calc.run(start=state).state
    limit = settings["ediff_eV"] * 2
    assert again.energies.free * HARTREE_EV == pytest.approx(fresh.energies.free * HARTREE_EV, abs=limit)
    assert cost(again) < 0.95 * cost(fresh)


def test_orbitals_follow_the_centre_of_inversion(crystal, calculation):
    """Two atoms have their inversion centre between them; where one has moved, real orbitals are real about another."""
    settings = SILICON | {"real": True, "symmetry_level": 2, "mesh": (3, 1, 1)}
    calc = calculation(crystal("si_bent"), **settings)
    state = calc.run().state
    assert calc.basis.inversion is not None
    start = calculation(shifted(crystal("si_bent"), STEP), **settings).start_from(earlier_of(state))
    assert torch.equal(start.coeff_sknG, state.coeff_sknG)


@pytest.mark.slow
def test_a_state_serves_a_strained_cell(crystal, calculation):
    """Other plane waves: those that both spheres have are copied."""
    structure = crystal("si_bent")
    state = calculation(structure, **SILICON).run().state
    strained = replace(structure, lattice_cv=1.02 * structure.lattice_cv)
    fresh = calculation(strained, **SILICON).run().state
    calc = calculation(strained, **SILICON)
    assert calc.basis.count_k != state.system.basis.count_k
    again = calc.run(start=state).state
    assert again.energies.free * HARTREE_EV == pytest.approx(fresh.energies.free * HARTREE_EV, abs=2e-7)
    assert cost(again) < 0.95 * cost(fresh)


# --- several ranks ---------------------------------------------------------------------------------------------------


def followed(world, parts, others, groups):
    """On one rank: steps and energies of structures that go on from the state of the first."""
    runtime = Runtime(grid=make_process_grid(world, groups))
    (structure, kpoints, parameters, datasets, real), found = parts, []
    state = Calculation(structure, kpoints, parameters, datasets, runtime, real).run().state
    for other in others:
        again = Calculation(other, kpoints, parameters, datasets, runtime, real).run(start=state).state
        found.append((len(again.history), cost(again), again.energies.free))
    return found


@pytest.mark.slow
@pytest.mark.ranks
@pytest.mark.parametrize(("groups", "real"), [(1, False), (2, False), (1, True)])
def test_ranks_go_on_alike(ranks, crystal, calculation, groups, real):
    """The same structure, one with a moved atom, and a strained cell with other plane waves."""
    structure = crystal("si_bent")
    parts = pieces(calculation(structure, **SILICON, real=real))
    others = structure, shifted(structure, STEP), replace(structure, lattice_cv=1.02 * structure.lattice_cv)
    alone = followed(SerialCommunicator(), parts, others, 1)
    for answers in ranks(2, "gloo").run(followed, parts, others, groups):
        for ours, theirs in zip(answers, alone, strict=True):
            assert ours[0] == theirs[0] and ours[2] == pytest.approx(theirs[2], abs=1e-9)
            assert ours[1] == pytest.approx(theirs[1], rel=0.05), "k-points that share a block wait"
