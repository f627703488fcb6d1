"""The self-consistency cycle: what it conserves, when it stops, and how the Harris energy behaves."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.density.density import Density, electrons_of
from eigenwerk.dft.filling.occupations import occupations
from eigenwerk.dft.scf.bands import Bands, solve_bands
from eigenwerk.dft.scf.cycle import one_by_one, together
from eigenwerk.dft.scf.next_density import NextDensity
from eigenwerk.dft.scf.solvers import davidson_method
from eigenwerk.dft.scf.stages.branches import other_states
from eigenwerk.dft.scf.stages.stage import Stage, Verdict
from eigenwerk.dft.scf.start.earlier import earlier_of
from eigenwerk.dft.scf.state import StartingPoint, wanted_bands
from eigenwerk.dft.spin.form import COLLINEAR
from eigenwerk.dft.terms.energies import band_energy, harris_energies
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

METAL = {"cutoff_eV": 120.0, "mesh": (2, 1, 1), "ismear": 0, "sigma_eV": 0.3}


@pytest.fixture(scope="module")
def calc(crystal, calculation):
    return calculation(crystal("al_pair"), **METAL, ediff_eV=1e-9)


@pytest.fixture(scope="module")
def ground(calc):
    """The converged state and all states on the way."""
    path = []
    state = calc.run(lambda step, state: path.append(state)).state
    return state, path


def test_it_converges_and_says_so(calc, ground):
    state, path = ground
    assert state.converged and state.status == "converged"
    assert len(state.history) == len(path) == state.history[-1].step
    last = state.history[-1]
    tolerance = calc.settings.energy_tolerance
    assert abs(last.change) < tolerance
    assert last.residual**2 < tolerance * calc.settings.electrons
    assert last.residual < 1e-4 and last.orbital_residual < 1e-3
    assert not any(earlier.converged for earlier in path[:-1])


def test_every_step_holds_all_electrons(calc, ground):
    """Mixing conserves the charge to rounding: smooth part and compensation charges together."""
    for state in ground[1]:
        count = float(electrons_of(state.density, calc.atoms).sum())
        assert count == pytest.approx(calc.parameters.electrons, abs=1e-4)
    assert float(electrons_of(ground[0].density, calc.atoms).sum()) == pytest.approx(6.0, abs=1e-6)


def test_occupations_hold_all_electrons(calc, ground):
    state = ground[0]
    filled = 2 * float((state.occupations.occ_skn.sum(-1) * calc.basis.weight_k).sum())
    assert filled == pytest.approx(calc.parameters.electrons, abs=1e-10)


def solved(calc, density, from_start):
    """Harris energy of a density with well converged orbitals, and the density they make."""
    potential = calc.builder(density)
    bands = solve_bands(calc.atoms, potential, from_start, method=davidson_method(30), tolerance=1e-9, wanted_skn=None)
    filled = calc.cycle(StartingPoint(density)).occupy(bands.eig_skn)
    filling_skn = calc.basis.weight_k[:, None] * filled.occ_skn * 2
    energies = harris_energies(
        calc.atoms, density, potential, band_energy(bands.eig_skn, filling_skn), filled.entropy_term,
        filled.zero_width_correction,
    )  # fmt: skip
    return energies.free


@pytest.mark.slow
def test_harris_energy_is_second_order_in_the_density_error(calc, ground, disturbed):
    """Half the error of the density, a quarter of the error of the energy."""
    state = ground[0]
    reference = solved(calc, state.density, state.coeff_sknG)
    other = disturbed(calc.atoms, 1, calc.parameters.electrons, size=0.005)
    error = []
    for share in (0.4, 0.2, 0.1):
        mixed = state.density.map(lambda here, there, share=share: here + share * (there - here), other)
        error.append(solved(calc, mixed, state.coeff_sknG) - reference)
    assert abs(error[0]) * HARTREE_EV > 1e-3
    for large, small in pairwise(error):
        assert large / small == pytest.approx(4.0, rel=0.25)


EDIFF = 1e-9 / HARTREE_EV
LARGE, SMALL = 2 * EDIFF, 0.5 * EDIFF


@pytest.mark.parametrize(
    ("change", "square", "converged"),
    [
        (SMALL, 0.5, True),
        (LARGE, 0.5, False),  # the free energy still moves
        (-SMALL, 2.0, False),  # standstill far from the solution
    ],
)
def test_converged_is_a_quiet_free_energy_with_a_small_residual(calc, ground, change, square, converged):
    """square: R^2 in units of EDIFF times the number of electrons."""
    residual = float(np.sqrt(square * EDIFF * calc.parameters.electrons))
    step = replace(ground[0].history[-1], change=change, residual=residual)
    cycle = calc.cycle(StartingPoint(ground[0].density))
    assert cycle._converged(step, done=step.step - 1) is converged
    assert not cycle._converged(replace(step, step=1), done=0)


@pytest.mark.parametrize("times", [1, 3])
def test_more_steps_while_a_converged_state_still_lacks_something(calc, ground, times):
    """Each converged state is asked, the steps say why, and what was converged stays so."""
    asked = []

    class Painter(Stage):
        def objection(self, state):
            asked.append(state)
            return Verdict("the colour is wrong") if len(asked) <= times else None

    start = calc.start_from(earlier_of(ground[0]))
    state, before = together([calc.cycle(start, Painter()), calc.cycle(start)])
    assert len(asked) == times + 1 and all(one.converged for one in asked) and state is asked[-1]
    assert len(state.history) == len(before.history) + times
    assert "the colour is wrong" in state.history[-1].events
    assert not any("colour" in event for step in before.history for event in step.events)


def test_frozen_steps_keep_the_starting_density(crystal, calculation):
    calc = calculation(crystal("al_pair"), **METAL, frozen_steps=3, max_steps=5)
    densities = []
    calc.run(lambda step, state: densities.append(state.density))
    for density in densities[1:4]:
        assert torch.equal(density.density_sg, densities[0].density_sg)
    assert not torch.equal(densities[4].density_sg, densities[0].density_sg)


def test_out_of_steps_is_reported_not_raised(crystal, calculation):
    state = calculation(crystal("al_pair"), **METAL, max_steps=2).run().state
    assert not state.converged
    assert state.status == "not converged after 2 steps"
    assert len(state.history) == 2 and np.isfinite(state.energies.free)


@pytest.mark.slow
def test_at_least_the_minimal_number_of_steps(crystal, calculation):
    state = calculation(crystal("al_pair"), **METAL, min_steps=7, ediff_eV=1.0).run().state
    assert state.converged and len(state.history) == 7


def test_continuing_from_a_converged_state_stops_at_once(calc, ground):
    state = ground[0]
    again = together([calc.cycle(StartingPoint(state.density, state.coeff_sknG))])[0]
    assert again.converged and len(again.history) <= 3
    assert again.energies.free == pytest.approx(state.energies.free, abs=1e-9)


def test_result_does_not_depend_on_the_start(calc, ground, disturbed):
    start = disturbed(calc.atoms, 1, calc.parameters.electrons, size=0.005)
    state = together([calc.cycle(StartingPoint(start))])[0]
    assert state.converged
    assert state.energies.free * HARTREE_EV == pytest.approx(ground[0].energies.free * HARTREE_EV, abs=1e-6)


@pytest.mark.slow
def test_two_spins_without_moment_are_the_unpolarised_metal(crystal, calculation, calc, ground):
    pair = calculation(crystal("al_pair"), **METAL, spins=2, ediff_eV=1e-7, bands=calc.parameters.bands)
    start = calc.starting_density()
    halves = Density.of(start.density_sg.expand(2, -1) / 2, start.occupancy_sx.expand(2, -1) / 2, COLLINEAR)
    state = pair.run(start=StartingPoint(halves)).state
    assert state.converged
    assert state.energies.free * HARTREE_EV == pytest.approx(ground[0].energies.free * HARTREE_EV, abs=1e-6)
    assert state.history[-1].moment == pytest.approx(0.0, abs=1e-6)


def test_fixed_moment_is_kept(crystal, calculation):
    calc = calculation(crystal("o2"), spins=2, fixed_moment=1.0, cutoff_eV=150.0, bands=10, max_steps=4)
    moments = [step.moment for step in calc.run().state.history]
    np.testing.assert_allclose(moments, 1.0, atol=1e-8)


def test_wanted_bands_are_the_occupied_and_one_more():
    occ_skn = torch.tensor([[[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.3, 0.0]]], dtype=torch.float64)
    assert wanted_bands(occ_skn)[0, 0].tolist() == [1, 1, 1, 1]
    assert wanted_bands(torch.tensor([[[1.0, 0.0, 0.0, 0.0]]]))[0, 0].tolist() == [1, 1, 0, 0]


def test_double_occupation_formula_matches_the_weights(calc, ground):
    """The band energy of the last step is the sum over its own occupations."""
    state = ground[0]
    filled = occupations(
        state.eig_skn, calc.basis.weight_k, calc.parameters.electrons, calc.settings.smearing, calc.settings.width, 2
    )
    filling_skn = calc.basis.weight_k[:, None] * filled.occ_skn * 2
    assert state.energies.band == pytest.approx(band_energy(state.eig_skn, filling_skn), abs=1e-12)


def folded_silicon():
    """16 atoms, 5.43 x 5.43 x 10.86 angstrom, at Gamma: the lowest empty states are those of X, folded back."""
    corner_ac = np.array([[0, 0, 0], [0, 2, 2], [2, 0, 2], [2, 2, 0]]) / 4
    cube_ac = np.concatenate([corner_ac, corner_ac + 0.25])
    scaled_ac = np.concatenate([cube_ac + [0, 0, cube] for cube in (0, 1)]) / [1, 1, 2]
    return Structure(5.43 / BOHR_ANGSTROM * np.diag([1.0, 1.0, 2.0]), ("Si",) * 16, scaled_ac)


FOLDED = {
    "cutoff_eV": 100.0, "precision": "Normal", "ismear": -1, "sigma_eV": 0.05, "real": True, "symmetry_level": 2,
    "ediff_eV": 1e-6,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.fast("davidson")
@pytest.mark.parametrize("solver", ["davidson", "conjugate"])
def test_folded_states_are_found_from_the_start(calculation, solver):
    """Six states of X, filled to a thousandth, end at band 38; atomic orbitals put others below: the guards hold them.

    Without them the energy stood still 9e-5 eV too high, without one of the six.
    """
    more = calculation(folded_silicon(), **FOLDED, bands=44).run().state
    found = calculation(folded_silicon(), **FOLDED, bands=38, solver=solver).run().state
    assert found.converged and found.coeff_sknG.shape[2] == found.eig_skn.shape[2] == 38
    assert abs(found.energies.free - more.energies.free) * HARTREE_EV < 1e-6
    assert float((found.eig_skn - more.eig_skn[..., :38]).abs().max()) * HARTREE_EV < 1e-3
    assert len(found.history) <= len(more.history) + 1


@pytest.mark.slow
def test_bands_that_are_missing_are_told_of_the_last_step_only(crystal, calculation):
    """Occupations of sloshing steps fill bands that are empty in the end."""
    history = calculation(crystal("al_pair"), **METAL, bands=4, ediff_eV=1e-4).run().state.history
    told = [any("bands are missing" in event for event in step.events) for step in history]
    assert told[-1] and not any(told[:-2])


@pytest.mark.parametrize(("wished", "tries", "local"), [(True, 1, True), (True, 3, False), (False, 1, False),
                                                       (False, 3, True), (None, 3, False)])  # fmt: skip
def test_the_third_try_takes_the_other_preconditioner_unless_the_user_chose(calc, ground, wished, tries, local):
    state = ground[0]
    following = NextDensity(calc.atoms, calc.symmetrise, replace(calc.settings, screening=wished))
    following.tries = tries
    bands = Bands(state.coeff_sknG, state.eig_skn, state.eig_skn, 0)
    assert (following.screening(bands, state.occupations) is not None) is local


@pytest.mark.slow
def test_after_the_first_try_davidson_solves(calc, crystal, calculation, monkeypatch):
    """Every density is doubted: mixing starts anew after three refused steps, and RMM-DIIS is given up."""
    monkeypatch.setattr("eigenwerk.dft.scf.stages.ghosts.overfilled", lambda *parts: "doubt")
    state = calculation(crystal("al_pair"), **METAL, solver="davidson, rmm", max_steps=9).run().state
    tries = [step.step for step in state.history if any("try 2" in event for event in step.events)]
    assert tries and {step.solver for step in state.history[tries[0] :]} == {"DAV"}
    assert any(step.solver == "RMM" for step in state.history[: tries[0]])


def test_a_state_near_which_the_run_has_stood_is_told_at_the_end(ground):
    """Moments and residuals of a magnet that leaves a saddle for the moment 2."""

    def steps(moments, residuals):
        pairs = zip(moments, residuals, strict=True)
        return [replace(ground[0].history[-1], step=n, moment=m, residual=r) for n, (m, r) in enumerate(pairs, 1)]

    left = steps([0.1, 0.1, 0.2, 1.0, 2.0, 2.0], [1.0, 0.5, 0.1, 0.5, 0.1, 0.01])
    assert "step 3 stood near another state, with moment 0.20 instead of 2.00" in other_states(left)[0]
    assert other_states(steps([2.1, 2.0, 2.0, 2.0], [1.0, 0.5, 0.1, 0.5])) == ()
    assert other_states(steps([None] * 4, [1.0, 0.5, 0.1, 0.5])) == ()


@pytest.mark.slow
def test_cycles_of_several_crystals_are_one_list_of_problems(crystal, calculation, disturbed):
    """Of two elements, with and without spin, by two solvers; each ends as it does alone, after as many steps."""
    settings = {"cutoff_eV": 50.0, "ediff_eV": 1e-1, "precision": "Normal", "real": True}
    metal = settings | {"ismear": 0, "sigma_eV": 0.3}
    five = [
        calculation(crystal("si"), **settings), calculation(crystal("si_bent"), **settings, min_steps=5),
        calculation(crystal("al_pair"), **metal), calculation(crystal("al_pair"), **metal, spins=2),
        calculation(crystal("si"), **settings, solver="conjugate"),
    ]  # fmt: skip
    lengths = []

    def solve(problems):
        lengths.append(len(problems))
        return one_by_one(problems[::-1])[::-1]

    def cycles():
        return [calc.cycle(StartingPoint(calc.symmetrise(calc.starting_density()))) for calc in five]

    states, alone = together(cycles(), solve), [together([cycle])[0] for cycle in cycles()]
    steps = [len(state.history) for state in states]
    assert all(state.converged for state in states) and steps == [len(state.history) for state in alone]
    assert [state.energies.free for state in states] == [state.energies.free for state in alone]
    assert lengths == [sum(count > step for count in steps) for step in range(max(steps))]
    assert len(set(steps)) > 1


def test_a_start_says_how_many_steps_keep_its_density(calc, ground):
    """As those from a density of a file do."""
    start = StartingPoint(calc.starting_density(), frozen_steps=2)
    cycle, densities = calc.cycle(start, on_step=lambda step, state: densities.append(state.density)), []
    for _ in range(4):
        cycle.tell(cycle.ask().solved())
    same = [torch.equal(density.density_sg, start.density.density_sg) for density in densities]
    assert same == [True, True, True, False] and not cycle.over
