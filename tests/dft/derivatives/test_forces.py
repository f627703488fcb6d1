"""Forces are minus the derivative of the free energy."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

EV_PER_ANGSTROM = HARTREE_EV / BOHR_ANGSTROM


def moved(structure, atom, axis, step):
    position_av = structure.positions_av.copy()
    position_av[atom, axis] += step
    return replace(structure, scaled_ac=position_av @ np.linalg.inv(structure.lattice_cv))


def check(crystal, calculation, name, atom, axis, limit_meV, step_A=0.005, **settings):
    """Compare one component with the central difference; both cells on the same grids.  Returns the forces."""
    structure = crystal(name)
    calc = calculation(structure, **settings)
    ground = calc.run()
    assert ground.state.converged
    grids = {"wave_grid": calc.basis.grids.wave, "fine_grid": calc.basis.grids.fine}
    free = []
    for sign in (1, -1):
        shifted = moved(structure, atom, axis, sign * step_A / BOHR_ANGSTROM)
        state = calculation(shifted, **settings, **grids).run(start=ground.state).state
        assert state.converged
        free.append(state.energies.free)
    difference = -(free[0] - free[1]) * BOHR_ANGSTROM / (2 * step_A)
    error_meV = (ground.forces_av[atom, axis] - difference) * EV_PER_ANGSTROM * 1000
    assert abs(error_meV) < limit_meV
    return ground.forces_av * EV_PER_ANGSTROM


@pytest.mark.slow
def test_metal_with_smearing(crystal, calculation):
    """Forces are derivatives of the free energy: occupations follow without a term of their own."""
    force_av = check(
        crystal, calculation, "al_pair", 0, 2, 0.1, cutoff_eV=120.0, mesh=(2, 1, 1), ismear=1, sigma_eV=0.3,
    )  # fmt: skip
    assert np.abs(force_av).max() > 0.1


def test_ionic_insulator(crystal, calculation):
    force_av = check(crystal, calculation, "lih_bent", 1, 1, 0.1, cutoff_eV=160.0)
    assert np.abs(force_av).max() > 0.1
    # the wave grid breaks translations: the net force is its egg-box, small here
    assert np.abs(force_av.sum(axis=0)).max() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("atom", "axis"), [(0, 0), (1, 2)])
def test_insulator_of_low_symmetry(crystal, calculation, atom, axis):
    check(crystal, calculation, "sic_bent", atom, axis, 0.2, cutoff_eV=250.0, mesh=(1, 1, 2))


@pytest.mark.slow
def test_magnet(crystal, calculation):
    check(
        crystal, calculation, "fe_bent", 1, 1, 0.3, cutoff_eV=200.0, spins=2, sigma_eV=0.4, mesh=(2, 2, 1),
        step_A=0.003,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["Accurate", "Normal"])
def test_molecule_with_spin(crystal, calculation, precision):
    """Also where spins of a density that is cut at a small sphere cancel far from the atoms."""
    settings = {"cutoff_eV": 250.0, "spins": 2, "bands": 10, "step_A": 0.003, "precision": precision}
    check(crystal, calculation, "o2", 1, 2, 0.3, **settings)


@pytest.mark.slow
def test_symmetry_does_not_change_forces(crystal, calculation):
    """Irreducible k-points and symmetrised forces against the whole mesh without symmetry."""
    structure = replace(crystal("si"), scaled_ac=[[0, 0, 0], [0.27, 0.27, 0.27]])
    settings = {"cutoff_eV": 120.0, "mesh": (2, 2, 2), "functional": "PW92", "ediff_eV": 1e-10}
    with_symmetry = calculation(structure, symmetry_level=1, **settings)
    without = calculation(structure, symmetry_level=-1, **settings)
    assert with_symmetry.kpoints.symmetry.order == 12 and len(with_symmetry.kpoints.point_kc) == 4
    assert len(without.kpoints.point_kc) == 8
    force_av = with_symmetry.run().forces_av
    np.testing.assert_allclose(force_av, without.run().forces_av, atol=2e-5)
    assert np.abs(force_av).max() * EV_PER_ANGSTROM > 0.3


def test_forces_vanish_by_symmetry(crystal, calculation):
    """In the ideal diamond lattice, although nothing enforces it here."""
    force_av = calculation(crystal("si"), cutoff_eV=120.0, functional="PW92").run().forces_av
    np.testing.assert_allclose(force_av * EV_PER_ANGSTROM, 0, atol=2e-4)
