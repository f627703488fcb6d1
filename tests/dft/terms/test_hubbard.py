"""DFT+U: the potential is the derivative of the energy, rotations change nothing, another code agrees."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eigenwerk.dft.paw.equivalence import projector_rotation
from eigenwerk.dft.spin.form import COLLINEAR, SPINOR, UNPOLARISED
from eigenwerk.dft.terms.hubbard import Hubbard, make_hubbard
from eigenwerk.dft.terms.term import Charges
from eigenwerk.errors import InputError
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.units import HARTREE_EV

U = 4.0 / HARTREE_EV
FORMS = {spin.components: spin for spin in (UNPOLARISED, COLLINEAR, SPINOR)}


@pytest.fixture
def term(setup):
    return make_hubbard(setup("Fe"), 2, U, Runtime())


def occupancies(setup, spins, atoms=2, seed=1, dtype=torch.float64):
    """Hermitian matrices of sensible size, without any symmetry."""
    draw = torch.Generator().manual_seed(seed)
    size = setup.projector_count
    block_saij = torch.randn((spins, atoms, size, size), generator=draw, dtype=dtype) * 0.1
    return block_saij + block_saij.mH + 0.4 * torch.eye(size, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["real", "Hermitian"])
@pytest.mark.parametrize("spins", [1, 2, 4])
def test_potential_is_energy_derivative(term, setup, spins, dtype):
    occupancy_saij = occupancies(setup("Fe"), spins, dtype=dtype)
    change_saij = occupancies(setup("Fe"), spins, seed=2, dtype=dtype)
    if spins == 4:
        occupancy_saij[1:] /= 2
    energy, derivative_saij = term.energy(occupancy_saij, FORMS[spins])
    assert not energy.is_complex() and derivative_saij.dtype == dtype
    step = 1e-5
    up, down = (float(term.energy(occupancy_saij + sign * step * change_saij, FORMS[spins])[0]) for sign in (1, -1))
    slope = float((derivative_saij.conj() * change_saij).real.sum())
    assert slope == pytest.approx((up - down) / (2 * step), rel=1e-8)


def test_term_of_some_elements_is_the_derivative_and_has_no_force_of_its_own(alone):
    term = alone(lambda calc: Hubbard(calc.atoms, {"C": (1, U)}))
    term.assert_potential_is_the_derivative()
    assert not term.assert_forces_are_the_derivative().any()


def test_atoms_of_one_element_may_have_corrections_of_their_own(crystal, calculation):
    """Each with half of the energy where both have the same; with U on one, that one feels it."""
    structure = replace(crystal("si_bent"), kinds=("Si", "Si 2"))
    calc = calculation(structure, cutoff_eV=120.0)
    charges = Charges(calc.atoms, calc.starting_density())

    def of(hubbard):
        found = Hubbard(calc.atoms, hubbard)(charges)
        return float(found.energy_e), found.blocks["occupancy"][0]

    both, one, other = of({"Si": (1, U), "Si 2": (1, 2 * U)}), of({"Si": (1, U)}), of({"Si 2": (1, 2 * U)})
    assert both[0] == pytest.approx(one[0] + other[0]) and other[0] == pytest.approx(2 * one[0])
    torch.testing.assert_close(both[1], one[1] + other[1])
    assert not one[1][:, 1].any() and not other[1][:, 0].any()
    alike = calculation(crystal("si_bent"), cutoff_eV=120.0)
    whole = Hubbard(alike.atoms, {"Si": (1, U)})(Charges(alike.atoms, alike.starting_density()))
    assert float(whole.energy_e) == pytest.approx(2 * one[0])


def test_two_equal_spins_are_one_unpolarised_channel(term, setup):
    total_1aij = occupancies(setup("Fe"), 1)
    energy, potential_1aij = term.energy(total_1aij, UNPOLARISED)
    split, potential_saij = term.energy(total_1aij.expand(2, -1, -1, -1) / 2, COLLINEAR)
    assert float(split) == pytest.approx(float(energy), rel=1e-12)
    torch.testing.assert_close(potential_saij[0], potential_1aij[0])
    torch.testing.assert_close(potential_saij[1], potential_1aij[0])


def test_spinors_along_an_axis_are_two_channels(term, setup):
    """n and m along any direction: the energy of the channels along it, and v and B by the chain rule."""
    channel_saij = occupancies(setup("Fe"), 2)
    total_aij, moment_aij = COLLINEAR.separated(channel_saij)
    axis_v = torch.tensor([0.6, 0.0, -0.8], dtype=torch.float64)
    energy, slope_saij = term.energy(torch.stack([total_aij, *(axis_v[:, None, None, None] * moment_aij)]), SPINOR)
    expected, channel_slope_saij = term.energy(channel_saij, COLLINEAR)
    assert float(energy) == pytest.approx(float(expected), rel=1e-12)
    torch.testing.assert_close(slope_saij[0], COLLINEAR.by_total(channel_slope_saij))
    along_aij = COLLINEAR.by_magnetisation(channel_slope_saij)
    torch.testing.assert_close(slope_saij[1:], axis_v[:, None, None, None] * along_aij)


def test_energy_does_not_depend_on_the_axes(term, setup, random_rotation):
    iron = setup("Fe")
    turn_ij = torch.as_tensor(projector_rotation(random_rotation(3), iron.l_j))
    occupancy_saij = occupancies(iron, 2)
    energy, potential_saij = term.energy(occupancy_saij, COLLINEAR)
    turned, turned_saij = term.energy(turn_ij @ occupancy_saij @ turn_ij.T, COLLINEAR)
    assert float(turned) == pytest.approx(float(energy), rel=1e-12)
    torch.testing.assert_close(turned_saij, turn_ij @ potential_saij @ turn_ij.T)


def test_full_and_empty_shells_cost_nothing_and_half_full_ones_a_quarter_of_u_each(term, setup):
    """Occupations 0, 1 and 1/2 of one channel: E = U/2 Σ n (1 - n)."""
    iron = setup("Fe")
    first = term.projector_jm[0]
    norm = float(term.overlap_jj[0, 0])
    for filling, expected in ((0.0, 0.0), (1.0, 0.0), (0.5, 5 * U / 2 * 0.25)):
        occupancy_saij = torch.zeros((2, 1, iron.projector_count, iron.projector_count), dtype=torch.float64)
        occupancy_saij[0, 0, first, first] = filling / norm
        assert float(term.energy(occupancy_saij, COLLINEAR)[0]) == pytest.approx(expected, abs=1e-14)


def test_a_shell_that_the_data_set_lacks_is_refused(setup):
    with pytest.raises(InputError, match=r"LDAUL = 3 for O, but its data set .* has no f channels"):
        make_hubbard(setup("O"), 3, U, Runtime())


def test_forces_with_u_are_the_derivative_of_the_energy(calculation, crystal):
    """The largest force component of a bent cell against central differences."""
    settings = {"cutoff_eV": 120.0, "ediff_eV": 1e-9, "real": True}
    structure = crystal("sic_bent")
    hubbard = {"C": (1, 3.0 / HARTREE_EV), "Si": (0, 2.0 / HARTREE_EV)}
    ground = calculation(structure, hubbard=hubbard, **settings).run()
    assert ground.state.converged and ground.state.energies.terms["hubbard"] > 0.01
    a, v = np.unravel_index(np.abs(ground.forces_av).argmax(), ground.forces_av.shape)
    energies, step = [], 0.02
    for sign in (1, -1):
        position_av = structure.positions_av.copy()
        position_av[a, v] += sign * step
        moved = replace(structure, scaled_ac=position_av @ np.linalg.inv(structure.lattice_cv))
        energies.append(calculation(moved, hubbard=hubbard, **settings).run().state.energies.free)
    assert ground.forces_av[a, v] == pytest.approx((energies[1] - energies[0]) / (2 * step), abs=1e-5)
