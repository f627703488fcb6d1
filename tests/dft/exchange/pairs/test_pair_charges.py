"""Charges on points: sums that are exact, integrals that are transposes, derivatives by differences."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.exchange.pairs.pair_charges import pair_charges
from eigenwerk.dft.exchange.pairs.pair_grid import PairGrid


@pytest.fixture(scope="module")
def calc(calculation, crystal):
    return calculation(crystal("sic_bent"), cutoff_eV=120.0, mesh=(1, 1, 2))


def charges_of(calc, scaled_ac=None):
    basis = calc.basis
    scaled_ac = basis.structure.scaled_ac if scaled_ac is None else scaled_ac
    return pair_charges(basis, calc.atoms.layout, PairGrid.of(basis, "Normal"), scaled_ac)


def on_grid(calc, charges, phase_S=None):
    """Each charge alone; (A, R)."""
    points = PairGrid.of(calc.basis, "Normal").points
    unit_AA = torch.eye(charges.atoms * charges.harmonics, dtype=torch.complex128)
    grid_AR = torch.zeros((len(unit_AA), points), dtype=torch.complex128)
    charges.add(grid_AR, unit_AA, phase_S)
    return grid_AR


def test_sums_over_points_are_those_of_unit_multipoles(calc):
    charges = charges_of(calc)
    grid_AR = on_grid(calc, charges)
    expected_A = torch.zeros(len(grid_AR), dtype=torch.complex128)
    expected_A[:: charges.harmonics] = (4 * np.pi) ** 0.5 * grid_AR.shape[1]
    torch.testing.assert_close(grid_AR.sum(1), expected_A, atol=1e-8, rtol=0)


def test_integrals_are_the_transpose_of_what_is_added(calc):
    charges, draw = charges_of(calc), torch.Generator().manual_seed(1)
    phase_S = charges.phases(np.array([0.0, 0.0, 0.5]))
    grid_AR = on_grid(calc, charges, phase_S)
    field_xR = torch.randn((3, grid_AR.shape[1]), generator=draw, dtype=torch.complex128)
    torch.testing.assert_close(charges.integrals(field_xR, phase_S), field_xR @ grid_AR.mH)


def test_what_tables_feel_gives_derivatives_by_the_places_of_atoms(calc):
    step, scaled_ac = 1e-4, calc.basis.structure.scaled_ac
    change_cv, draw = np.linalg.inv(calc.basis.structure.lattice_cv), torch.Generator().manual_seed(3)
    charges = charges_of(calc)
    q_c = np.array([0.0, 0.25, 0.5])
    phase_S = charges.phases(q_c)
    shape = (3, PairGrid.of(calc.basis, "Normal").points)
    field_xR = torch.randn(shape, generator=draw, dtype=torch.complex128)
    charge_xA = torch.randn((3, charges.atoms * charges.harmonics), generator=draw, dtype=torch.complex128)
    slope_y = charges.no_table_slopes()
    charges.add_table_slopes(field_xR, charge_xA, phase_S, slope_y)
    found_av = charges.forces(slope_y)
    assert float(found_av.abs().max()) > 1
    for a in range(charges.atoms):
        for v in (0, 2):
            energies = []
            for sign in (1, -1):
                moved_ac = scaled_ac.copy()
                moved_ac[a] += sign * step * change_cv[v]
                moved = charges_of(calc, moved_ac)
                energies.append((charge_xA.conj() * moved.integrals(field_xR, moved.phases(q_c))).real.sum())
            difference = float(energies[0] - energies[1]) / (2 * step)
            assert difference == pytest.approx(float(found_av[a, v]), abs=2e-4 * float(found_av.abs().max()))
