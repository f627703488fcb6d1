"""D3 and D4: the libraries' own numbers, the three-body term where it belongs, cutoffs as asked for."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.dispersion.background import position_energy
from eigenwerk.dft.dispersion.correction import D3_BJ, D3_ZERO, D4
from eigenwerk.io.vasp.elements import SYMBOLS
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

pytest.importorskip("dftd3")
pytest.importorskip("dftd4")

FCC = (1 - np.eye(3)) / 2
CRYSTALS = {
    # edge in Å, cell in units of it, symbols, fractional positions
    "diamond": (3.57, FCC, "C C", [[0, 0, 0], [0.25, 0.25, 0.25]]),
    "silicon": (5.43, FCC, "Si Si", [[0, 0, 0], [0.25, 0.25, 0.25]]),
    "salt": (5.64, FCC, "Na Cl", [[0, 0, 0], [0.5, 0.5, 0.5]]),
    "magnesia": (4.21, FCC, "Mg O", [[0, 0, 0], [0.5, 0.5, 0.5]]),
    "argon": (5.31, FCC, "Ar", [[0, 0, 0]]),
    "copper": (3.61, FCC, "Cu", [[0, 0, 0]]),
    "graphite": (2.46, np.array([[1, 0, 0], [-0.5, 0.75**0.5, 0], [0, 0, 6.7 / 2.46]]), "C C C C",
                 [[0, 0, 0.25], [1 / 3, 2 / 3, 0.25], [0, 0, 0.75], [2 / 3, 1 / 3, 0.75]]),
    "boron nitride": (2.50, np.array([[1, 0, 0], [-0.5, 0.75**0.5, 0], [0, 0, 6.66 / 2.5]]), "B N N B",
                      [[0, 0, 0.25], [1 / 3, 2 / 3, 0.25], [0, 0, 0.75], [1 / 3, 2 / 3, 0.75]]),
}  # fmt: skip


def crystal(name):
    edge, cell_cv, symbols, scaled_ac = CRYSTALS[name]
    return Structure(edge * cell_cv / BOHR_ANGSTROM, tuple(symbols.split()), np.array(scaled_ac, float))


def of_the_library(method, structure, name="pbe"):
    """By the library's own programs' way: parameters by name, without a three-body term in D3."""
    place = {
        "numbers": np.array([SYMBOLS.index(symbol) + 1 for symbol in structure.symbols]),
        "positions": structure.positions_av, "lattice": structure.lattice_cv, "periodic": np.array([True] * 3),
    }  # fmt: skip
    if method == D4:
        from dftd4.interface import DampingParam, DispersionModel

        return DispersionModel(charge=0.0, **place).get_dispersion(DampingParam(method=name), grad=True)
    from dftd3.interface import DispersionModel, RationalDampingParam, ZeroDampingParam

    model = DispersionModel(**place)
    model.set_realspace_cutoff(50.2 / BOHR_ANGSTROM, 40.0, 20.0 / BOHR_ANGSTROM)
    damping = RationalDampingParam if method == D3_BJ else ZeroDampingParam
    return model.get_dispersion(damping(method=name, atm=False), grad=True)


def assert_same(found, theirs):
    """Within 1e-8 eV."""
    assert abs(float(theirs["energy"])) > 1e-4
    np.testing.assert_allclose(found.energy, theirs["energy"], rtol=0, atol=1e-8 / HARTREE_EV)
    np.testing.assert_allclose(found.gradient_av, theirs["gradient"], rtol=0, atol=1e-8 / HARTREE_EV)
    np.testing.assert_allclose(found.virial_vv, theirs["virial"], rtol=0, atol=1e-8 / HARTREE_EV)


@pytest.mark.parametrize("method", [D3_ZERO, D3_BJ])
@pytest.mark.parametrize("name", CRYSTALS)
def test_d3_of_crystals_is_the_librarys(correction, method, name):
    assert_same(position_energy(correction(method), crystal(name)), of_the_library(method, crystal(name)))


@pytest.mark.slow
@pytest.mark.parametrize("name", CRYSTALS)
def test_d4_of_crystals_is_the_librarys(correction, name):
    assert_same(position_energy(correction(D4), crystal(name), 2), of_the_library(D4, crystal(name)))


@pytest.mark.parametrize("method", [D3_ZERO, D3_BJ, D4])
def test_gradient_and_virial_are_derivatives(correction, method):
    dimer = Structure(np.diag([22.0, 24.0, 26.0]), ("C", "O", "H"), np.array([[0, 0, 0], [0, 0.1, 0.2], [0.2, 0, 0]]))
    given = correction(method)
    found, step = position_energy(given, dimer), 1e-3
    draw = np.random.default_rng(3)
    move_av, strain_vv = draw.normal(size=(3, 3)), np.diag([1.0, -0.5, 0.7])
    inverse_cv = np.linalg.inv(dimer.lattice_cv)

    def difference(change):
        up, down = (position_energy(given, change(sign * step)).energy for sign in (1, -1))
        return (up - down) / (2 * step)

    moved = difference(lambda x: replace(dimer, scaled_ac=dimer.scaled_ac + x * move_av @ inverse_cv))
    assert (found.gradient_av * move_av).sum() == pytest.approx(moved, rel=1e-4)
    strained = difference(lambda x: replace(dimer, lattice_cv=dimer.lattice_cv @ (np.eye(3) + x * strain_vv)))
    assert (found.virial_vv * strain_vv).sum() == pytest.approx(strained, rel=1e-3)


def test_one_parameter_by_number_switches_no_three_body_term_on(correction):
    """The library's own default is s9 = 1 where parameters are given by number."""
    cell = crystal("argon")
    usual = position_energy(correction(D3_BJ), cell).energy
    assert correction(D3_BJ, s8=0.7875).parameters["s9"] == 0.0
    assert position_energy(correction(D3_BJ, s8=0.7875), cell).energy == pytest.approx(usual, abs=1e-15)
    assert position_energy(correction(D3_BJ, s9=1.0), cell).energy > usual + 1e-5


@pytest.mark.parametrize("method", [D3_ZERO, D4])
def test_radii_are_those_that_are_given(correction, box, method):
    """Neon 3.2 Å apart: beyond 3 Å there is nothing, and without neighbours that count C6 is another one."""
    assert position_energy(replace(correction(method), radius=3.0 / BOHR_ANGSTROM), box).energy == 0.0
    assert position_energy(replace(correction(method), radius=3.3 / BOHR_ANGSTROM), box).energy < -1e-5
    close = Structure(box.lattice_cv, ("C", "H"), box.scaled_ac * 0.35)
    counted = position_energy(correction(method), close).energy
    alone = position_energy(replace(correction(method), coordination_radius=1.0), close).energy
    assert abs(alone / counted - 1) > 0.05


def test_d4_takes_the_charge_of_the_cell(correction, box):
    ion = Structure(box.lattice_cv, ("Na", "Ne"), box.scaled_ac)
    neutral, positive = (position_energy(correction(D4, charge=charge), ion).energy for charge in (0.0, 1.0))
    assert abs(positive - neutral) > 1e-6


def test_threads_change_no_bit(correction):
    cell = Structure(np.eye(3) * 18.0, ("C", "O"), np.array([[0, 0, 0], [0.12, 0, 0]]))
    one, two = (position_energy(correction(D4), cell, workers) for workers in (1, 2))
    assert one.energy == two.energy and (one.gradient_av == two.gradient_av).all()
