"""Steps in single precision: what they change, when they end, and that nothing converged rests on them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from covering import but_slow
from eigenwerk.dft.density.density import electrons_of
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.single_precision import SingleTables, lowered
from eigenwerk.dft.scf.bands import density_of_bands, first_orbitals, solve_bands
from eigenwerk.dft.scf.precision import PrecisionChoice, measured_error
from eigenwerk.dft.scf.solvers import BandSolver, davidson_method
from eigenwerk.eigensolvers import SEQUENCES
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

CASES = {
    # name: crystal of tests/dft/conftest.py, settings; EDIFF = 1e-8 eV
    "insulator": ("sic_bent", {"mesh": (2, 1, 1)}),
    # a run with single precision needs one step more, and 1e-8 eV leave what that step changes in forces: 2e-4 eV/Å
    "metal": ("al_pair", {"mesh": (2, 2, 1), "ismear": 1, "sigma_eV": 0.2, "ediff_eV": 1e-10}),
    # an energy right to 1e-8 eV leaves moments uncertain by 1e-5, which rounding decides on
    "magnet": ("fe_bent", {
        "mesh": (2, 1, 1), "spins": 2, "cutoff_eV": 200.0, "ismear": 1, "sigma_eV": 0.2, "ediff_eV": 1e-10,
    }),
    "Gamma": ("lih_bent", {"mesh": (1, 1, 1), "cutoff_eV": 250.0, "real": True, "ediff_eV": 1e-10}),
    # with EDIFF = 1e-8 the ninth step ends the run or not by the last bits of the density residual
    "inversion": ("si", {"mesh": (3, 3, 1), "symmetry_level": 2, "real": True, "ediff_eV": 2e-9}),
}
DTYPES = {"Gamma": torch.float32, "inversion": torch.float32}
ENERGY_PER_ATOM, FORCE, LEVEL = 1e-8 / HARTREE_EV, 1e-4 / HARTREE_EV * BOHR_ANGSTROM, 1e-5 / HARTREE_EV
"""What the setting may change of converged results: 1e-8 eV per atom, 1e-4 eV/Å, 1e-5 eV.

Solvers leave as much in forces and levels, which are of first order in the residual, for themselves."""


@pytest.fixture(scope="module")
def both(crystal, calculation):
    """(double, single first) calculations of a case."""

    def make(case, **more):
        name, settings = CASES[case]
        return [calculation(crystal(name), **{**settings, **more}, start_single=single) for single in (False, True)]

    return make


def twins(calc):
    """H of the start as an operator in both precisions, its potential, and orbitals."""
    potential = calc.builder(calc.starting_density())
    tables, whole = SingleTables.of(calc.atoms), Hamiltonian.of(calc.atoms, potential)
    both = [hamiltonian.block() for hamiltonian in (whole, tables.hamiltonian(whole))]
    return both, tables, potential, first_orbitals(calc.atoms, potential, calc.parameters.bands)


def precisions(ground):
    return [record.precision for record in ground.state.history]


def words(ground):
    return [event for event in ground.state.events if "precision" in event]


def assert_same(ours, theirs):
    atoms = len(ours.state.system.basis.structure.symbols)
    assert ours.state.converged and theirs.state.converged
    assert abs(ours.state.energies.free - theirs.state.energies.free) < ENERGY_PER_ATOM * atoms
    np.testing.assert_allclose(ours.forces_av, theirs.forces_av, atol=FORCE)
    np.testing.assert_allclose(ours.moment_a, theirs.moment_a, atol=1e-5)
    filled_n = (theirs.state.occupations.occ_skn > 1e-3).any(0).any(0)
    np.testing.assert_allclose(ours.state.eig_skn[..., filled_n], theirs.state.eig_skn[..., filled_n], atol=LEVEL)


@pytest.mark.fast("Gamma")
@pytest.mark.parametrize("case", but_slow(CASES, "magnet", "insulator"))
def test_converged_results_are_those_of_double_precision(both, case):
    theirs, ours = (calc.run() for calc in both(case))
    assert precisions(ours)[0] == "single" and precisions(ours)[-2:] == ["double", "double"]
    assert "single" not in precisions(ours)[precisions(ours).index("double") :], "once double, always double"
    assert precisions(theirs) == ["double"] * len(theirs.state.history) and not words(theirs)
    assert ours.state.coeff_sknG.dtype == theirs.state.coeff_sknG.dtype == ours.state.system.basis.form.dtype
    assert_same(ours, theirs)


@pytest.mark.slow
@pytest.mark.fast("rmm")
@pytest.mark.parametrize("solver", ["davidson, rmm", "rmm", "conjugate", "damped", "chebyshev"])
def test_every_iterative_solver_works_in_single_precision(both, solver):
    frozen = 3 if solver == "rmm" else 0
    grids = {"wave_grid": (16, 16, 16), "fine_grid": (32, 32, 32)}  # those of PREC = Accurate: nothing is folded back
    theirs, ours = (calc.run() for calc in both("Gamma", solver=solver, cutoff_eV=150.0, frozen_steps=frozen, **grids))
    assert precisions(ours).count("single") >= 4
    others = [event for event in ours.state.events if event not in words(ours)]
    assert others == list(theirs.state.events), "a solver that stalls does so in both precisions"
    assert len(ours.state.history) <= len(theirs.state.history) + 1
    assert_same(ours, theirs)


def test_exact_diagonalisation_stays_double(both):
    ground = both("Gamma", solver="exact", cutoff_eV=120.0)[1].run()
    assert set(precisions(ground)) == {"double"}
    assert words(ground) == [
        "step 1: orbitals in double precision from here on: exact diagonalisation knows no other"
    ]  # fmt: skip


@pytest.mark.fast("Gamma", "metal", "inversion")
@pytest.mark.parametrize("case", CASES)
def test_operator_is_that_of_double_precision_to_its_rounding(both, case):
    calc = both(case)[0]
    (hamiltonian, lower), _, _, coeff_sknG = twins(calc)
    x_knG = coeff_sknG[0]
    lower_x_knG = lowered(x_knG)
    assert lower_x_knG.dtype == DTYPES.get(case, torch.complex64)
    eig_kn = torch.ones(x_knG.shape[:2], dtype=torch.float64)
    pairs = [
        *zip(hamiltonian.apply(x_knG), lower.apply(lower_x_knG), strict=True),
        (hamiltonian.solve_overlap(x_knG), lower.solve_overlap(lower_x_knG)),
        (hamiltonian.precondition(x_knG, eig_kn, x_knG), lower.precondition(lower_x_knG, eig_kn, lower_x_knG)),
    ]
    for exact_knG, lower_knG in pairs:
        assert lower_knG.dtype == lower_x_knG.dtype
        error_kn = torch.linalg.vector_norm(lower_knG - exact_knG, dim=-1)
        assert 0 < float(error_kn.max()) < 3e-5


@pytest.mark.fast("Gamma", "insulator")
@pytest.mark.parametrize("case", ["insulator", "magnet", "Gamma"])
def test_the_stated_error_is_the_error(both, case):
    """Residuals to what was measured on a few orbitals; the band energy within ten times the estimate."""
    calc = both(case)[0]
    (hamiltonian, lower), tables, potential, coeff_sknG = twins(calc)
    error = measured_error(calc.atoms, tables, potential, coeff_sknG, calc.parameters.electrons)
    fine = solve_bands(
        calc.atoms, potential, coeff_sknG, method=davidson_method(25), tolerance=1e-9, wanted_skn=None
    )  # fmt: skip
    rough = solve_bands(
        calc.atoms, potential, fine.coeff_sknG, method=davidson_method(2), tolerance=1e-3, wanted_skn=None,
        single=tables,
    )  # fmt: skip
    difference_kn = (rough.eig_skn - fine.eig_skn)[0, :, : int(calc.parameters.electrons / 2)]
    electrons_k = calc.parameters.electrons * calc.basis.weight_k
    assert 1e-9 < abs(float(electrons_k @ difference_kn.mean(-1))) < 10 * error.energy
    x_knG = fine.coeff_sknG[0]
    h_knG, lower_h_knG = hamiltonian.apply(x_knG)[0], lower.apply(lowered(x_knG))[0]
    assert error.residual / 5 < float(torch.linalg.vector_norm(lower_h_knG - h_knG, dim=-1).max()) < 5 * error.residual


@pytest.mark.fast("inversion")
@pytest.mark.parametrize("case", ["magnet", "inversion"])
def test_density_of_single_orbitals_holds_all_electrons_of_each_spin(both, case):
    calc = both(case)[0]
    _, tables, potential, coeff_sknG = twins(calc)
    bands = solve_bands(
        calc.atoms, potential, coeff_sknG, method=davidson_method(3), tolerance=1e-5, wanted_skn=None, single=tables
    )  # fmt: skip
    spins = len(coeff_sknG)
    filling_skn = torch.zeros_like(bands.eig_skn)
    for spin in range(spins):
        filling_skn[spin, :, : 4 + spin] = calc.basis.weight_k[:, None] * (2 // spins)
    wanted_s = filling_skn.sum((1, 2))
    ours, theirs = (density_of_bands(calc.atoms, bands.coeff_sknG, filling_skn, single) for single in (tables, None))
    np.testing.assert_allclose(electrons_of(ours, calc.atoms), wanted_s, rtol=1e-13)
    assert 1e-12 < float((electrons_of(theirs, calc.atoms) - wanted_s).abs().max()) < 1e-4, "rounding of the norms"
    np.testing.assert_allclose(ours.density_sg, theirs.density_sg, atol=1e-6)
    np.testing.assert_allclose(ours.occupancy_sx, theirs.occupancy_sx, atol=1e-4)


@pytest.mark.slow
def test_events_name_the_errors_and_the_step(both):
    ground = both("insulator")[1].run()
    begin, end = words(ground)
    switch = precisions(ground).index("double") + 1
    assert begin.startswith("step 1: orbitals in single precision from here on; single precision is good to ")
    assert end.startswith(f"step {switch}: orbitals in double precision from here on: ")
    for event in (begin, end):
        residual, energy = (float(text.split()[-1]) for text in event.split(" eV")[:2])
        assert 1e-7 < residual < 1e-3 and 1e-8 < energy < 1e-3


@pytest.fixture
def choice(both):
    """A choice that has begun; ask(step, residual, tolerance) -> (in single precision, events)."""
    calc = both("insulator")[0]
    _, _, potential, coeff_sknG = twins(calc)

    def make(**changes):
        settings = {"wished": True, "continued": False, "electrons": 8.0, "energy_tolerance": 1e-5, "max_steps": 60}
        made = PrecisionChoice(calc.atoms, **{**settings, **changes})

        def ask(step, residual, tolerance, method=None):
            found = made.next(
                step, method or davidson_method(), potential, coeff_sknG, residual=residual, tolerance=tolerance
            )  # fmt: skip
            return found[0] is not None, found[1]

        return ask

    return make


def test_double_precision_begins_where_single_is_not_enough_and_stays(choice):
    ask = choice(energy_tolerance=1e-14)
    assert ask(1, None, 1e-2)[0] and ask(2, 1.0, 1e-3) == (True, ())
    now, events = ask(3, 0.5, 1e-9)
    assert not now and "the density asks for better orbitals" in events[0]
    assert ask(4, 5.0, 1e-2) == (False, ())


def test_double_precision_begins_before_the_last_step(choice):
    ask = choice()
    assert ask(1, None, 1e-2)[0] and ask(2, 1.0, 1e-3)[0]
    now, events = ask(3, 0.05, 1e-3)
    assert not now and "self-consistency is near" in events[0]


def test_the_last_step_that_is_allowed_is_double(choice):
    ask = choice(max_steps=2)
    assert ask(1, None, 1e-2)[0]
    now, events = ask(2, 1.0, 1e-2)
    assert not now and "step 2 is the last that NELM allows" in events[0]


def test_a_continued_run_begins_double_and_looks_then(choice):
    ask = choice(continued=True)
    assert ask(1, None, 1e-2) == (False, ())
    assert ask(2, 1.0, 1e-2)[0]
    ask = choice(continued=True)
    assert ask(1, None, 1e-2) == (False, ())
    assert not ask(2, 1e-3, 1e-2)[0]


def test_nothing_is_said_where_it_is_not_wished_for(choice):
    assert choice(wished=False)(1, None, 1e-2) == (False, ())
    assert choice(wished=False)(1, None, 1e-2, BandSolver.of(SEQUENCES["exact"].follows)) == (False, ())


@pytest.mark.slow
def test_a_step_in_single_precision_never_counts_as_converged(both):
    """With EDIFF so large that every step would do, the last one is double all the same."""
    calc = both("insulator", ediff_eV=50.0)[1]
    ground = calc.run()
    assert ground.state.converged and precisions(ground)[-1] == "double"
    stopped = both("insulator")[1]
    stopped = replace(stopped, parameters=replace(stopped.parameters, max_steps=3))
    assert precisions(stopped.run()) == ["single", "single", "double"]
