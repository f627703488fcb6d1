"""Dipole corrections: derivatives, and what they are for: energies that do not depend on the vacuum."""

from math import pi

import numpy as np
import pytest

from eigenwerk.dft.after.analyses.vacuum import vacuum_levels
from eigenwerk.dft.after.fields.potential import electrostatic_blocks
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.settings.dipole import DipoleCorrection
from eigenwerk.dft.terms.dipole import Dipole
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

SLAB = DipoleCorrection((2,), (0.3, 0.1, 0.6), True, 0.01)
MOLECULE = DipoleCorrection((0, 1, 2), (0.2, 0.3, 0.4), True)


@pytest.mark.parametrize("given", [SLAB, MOLECULE])
def test_potential_and_forces_are_derivatives_of_the_energy(alone, given):
    term = alone(lambda calc: Dipole(calc.atoms, given))
    term.assert_potential_is_the_derivative()
    assert float(term.assert_forces_are_the_derivative().abs().max()) > 1e-3


def test_sawtooth_is_a_line_with_a_step_opposite_to_the_centre(calculation, crystal):
    calc = calculation(crystal("al_layers"), cutoff_eV=200.0)
    basis, term = calc.basis, Dipole(calc.atoms, SLAB)
    value_R = basis.fine_map.to_grid(term._sawtooth_g(basis, 2)).numpy()
    s_x = np.arange(value_R.shape[2]) / value_R.shape[2] - 0.6
    s_x -= np.rint(s_x)
    inside = np.abs(s_x) < 0.35
    height = 15.0 / BOHR_ANGSTROM
    np.testing.assert_allclose(value_R[0, 0, inside], height * s_x[inside], atol=0.01 * height)
    assert np.ptp(value_R, axis=(0, 1)).max() < 1e-10


def hydride(height, correction, axes=(2,)):
    """Sheets, or single molecules, of lithium hydride."""
    edges = (4.0, 4.0, height) if axes == (2,) else (height,) * 3
    positions_av = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.6]]) + np.array([0.2, 0.3, height / 2 - 0.8])
    lattice_cv = np.diag(edges)
    centre = (0.5, 0.5, 0.5)
    given = None if correction is None else DipoleCorrection(axes, centre, correction == "potential")
    if axes != (2,):
        positions_av = positions_av + np.array([height / 2, height / 2, 0])
    structure = Structure(lattice_cv / BOHR_ANGSTROM, ("Li", "H"), positions_av @ np.linalg.inv(lattice_cv))
    return structure, given


def described(calculation, height, correction, axes=(2,), cutoff_eV=250.0):
    structure, given = hydride(height, correction, axes)
    return calculation(structure, cutoff_eV=cutoff_eV, real=True, dipole=given, sigma_eV=0.01)


def solved(*args, **settings):
    calc = described(*args, **settings)
    return calc, calc.run().state


@pytest.mark.slow
def test_energy_of_a_sheet_does_not_depend_on_the_vacuum(calculation):
    """With the potential: in an energy alone what the false field has polarised stays."""
    free = {
        (name, height): solved(calculation, height, name)[1].energies.free * HARTREE_EV
        for name in (None, "potential")
        for height in (10.0, 14.0)
    }
    assert abs(free[None, 14.0] - free[None, 10.0]) > 0.05
    assert abs(free["potential", 14.0] - free["potential", 10.0]) < 0.004


@pytest.mark.slow
def test_an_energy_alone_is_corrected_by_the_moment(calculation):
    _, plain = solved(calculation, 10.0, None)
    calc, state = solved(calculation, 10.0, "energy")
    (moment,) = calc.builder.dipole.moments(calc.builder(state.density).charges)
    expected = plain.energies.free + 2 * pi * moment**2 / calc.structure.volume
    assert state.energies.free == pytest.approx(expected, abs=1e-7)
    levels = [s.eig_skn[0, 0, :2].numpy() for s in (plain, state)]
    np.testing.assert_allclose(levels[0], levels[1], atol=1e-6)


@pytest.mark.slow
def test_levels_beside_a_sheet_differ_by_its_moment_over_its_area(calculation):
    calc, state = solved(calculation, 12.0, "potential", cutoff_eV=120.0)
    potential, term = calc.builder(state.density), calc.builder.dipole
    levels = vacuum_levels(potential, 2, term)
    (moment,) = term.moments(potential.charges)
    area = (4.0 / BOHR_ANGSTROM) ** 2
    assert levels.field == pytest.approx(-4 * pi * moment / area * HARTREE_EV, abs=0.02) and abs(levels.field) > 0.5


@pytest.mark.slow
def test_a_field_changes_the_energy_by_the_moment(calculation):
    structure, _ = hydride(12.0, None)
    energies, moments = [], []
    for force in (-0.002, 0.0, 0.002):
        given = DipoleCorrection((2,), (0.5, 0.5, 0.5), True, force)
        calc = calculation(structure, cutoff_eV=200.0, real=True, dipole=given, sigma_eV=0.01)
        state = calc.run().state
        energies.append(state.energies.free)
        moments.append(calc.builder.dipole.moments(calc.builder(state.density).charges)[0])
    assert (energies[2] - energies[0]) / 0.004 == pytest.approx(-moments[1], rel=1e-3)
    assert moments[2] > moments[1] > moments[0], "electrons follow the force"


@pytest.mark.slow
def test_energy_of_a_molecule_depends_less_on_its_box(calculation):
    axes = (0, 1, 2)
    change = {
        name: abs(np.subtract(*[solved(calculation, h, name, axes)[1].energies.free for h in (9.0, 11.0)])) * HARTREE_EV
        for name in (None, "potential")
    }
    assert change["potential"] < 0.4 * change[None], "what is left is a quadrupole's"


@pytest.mark.slow
def test_nothing_happens_to_what_has_no_moment(calculation):
    """A symmetric sheet."""
    lattice_cv = np.diag([2.9, 2.9, 12.0]) / BOHR_ANGSTROM
    structure = Structure(lattice_cv, ("Al",), np.array([[0.0, 0.0, 0.5]]))
    settings = {"mesh": (2, 2, 1), "cutoff_eV": 120.0, "ismear": 1, "sigma_eV": 0.2, "symmetry_level": 2, "real": True}
    free = [
        calculation(structure, dipole=given, **settings).run().state.energies.free
        for given in (None, DipoleCorrection((2,), (0.0, 0.0, 0.5), True))
    ]
    assert free[1] == pytest.approx(free[0], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("axis", "precision"), [(0, "Normal"), pytest.param(2, "Accurate", marks=pytest.mark.slow)]
)
def test_the_potential_beside_a_molecule_is_flat_to_the_step(calculation, axis, precision):
    """No ripples of a sawtooth whose waves end: those had 4π m / Ω g_max everywhere."""
    edges = np.full(3, 5.0)
    edges[axis] = 10.0
    places_av = np.full((2, 3), 2.5)
    places_av[:, axis] = 0.3, 1.9  # the vacuum lies about the middle of the cell
    centre = tuple(places_av.mean(0) / edges)
    given = DipoleCorrection((axis,), centre, True)
    structure = Structure(np.diag(edges) / BOHR_ANGSTROM, ("Li", "H"), places_av / edges)
    calc = calculation(structure, cutoff_eV=250.0, real=True, dipole=given, sigma_eV=0.01, precision=precision)
    potential = calc.builder(calc.run().state.density)
    (value,) = electrostatic_blocks(potential, calc.builder.dipole)
    mean_x = value.mean(tuple({0, 1, 2} - {axis}))
    s_x = np.arange(len(mean_x)) / len(mean_x)
    apart_x = 10.0 * (s_x - centre[axis])
    sides = [mean_x[(apart_x > 4.0) & (apart_x < 4.95)], mean_x[(apart_x > 5.05) & (apart_x < 6.0)]]
    assert all(np.ptp(side) < 0.01 for side in sides), "eV; what is left falls off with the distance"
    (moment,) = calc.builder.dipole.moments(potential.charges)
    step = 4 * pi * moment / (5.0 / BOHR_ANGSTROM) ** 2 * HARTREE_EV
    assert sides[0].mean() - sides[1].mean() == pytest.approx(step, abs=0.01) and abs(step) > 0.5
    levels = vacuum_levels(potential, axis, calc.builder.dipole)
    assert levels.field == pytest.approx(sides[1].mean() - sides[0].mean(), abs=0.03), "taken nearer to the molecule"


def test_the_field_that_an_energy_alone_leaves_is_told(calculation):
    """Of any density: here that of the atoms beside one another."""
    calc = described(calculation, 8.0, "energy")
    charges = calc.builder(calc.starting_density()).charges
    (moment,) = calc.builder.dipole.moments(charges)
    assert calc.builder.dipole.false_field(charges) == pytest.approx(abs(4 * pi * moment / calc.structure.volume))
    calc = described(calculation, 8.0, "potential")
    assert calc.builder.dipole.false_field(calc.builder(calc.starting_density()).charges) == 0
