"""The strain of exact exchange is the derivative of E_x at fixed coefficients, of all forms of orbitals and kernels."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.crystal.downsampling import Downsampling
from eigenwerk.dft.exchange.kernel import (
    cut_kernel,
    kernel_for,
    probe_charge_kernel,
    screened_kernel,
    wigner_seitz_kernel,
)
from eigenwerk.dft.exchange.operator import ExchangeOperator
from eigenwerk.dft.exchange.pairs.pair_derivatives import exchange_derivatives
from eigenwerk.dft.exchange.pairs.pair_grid import PairGrid
from eigenwerk.dft.exchange.pairs.pairs import PairExchange
from eigenwerk.dft.terms.projectors import projector_strain

STEP = 1e-4

THINNED = Downsampling((1, 1, 2))

CASES = {
    "complex, screened": ({"mesh": (1, 1, 2), "symmetry_level": -1}, "screened"),
    "complex, probe charge": ({"mesh": (1, 1, 2), "symmetry_level": -1}, "probe charge"),
    "complex, cut": ({}, "cut"),
    "real in space, fractional": (
        {"name": "lih_bent", "occupied": 2, "mesh": (1, 1, 2), "real": True, "cutoff_eV": 150.0, "top": 0.6},
        "probe charge",
    ),
    "every second q-point": ({"mesh": (1, 1, 2), "symmetry_level": -1, "downsampling": THINNED}, "part"),
    "Gamma": ({"real": True}, "screened"),
    "real by inversion, grid shifted": (
        {"name": "pairs", "occupied": 11, "bands": 13, "mesh": (2, 1, 1), "shift": (0.5, 0, 0), "symmetry_level": 2,
         "real": True}, "screened",
    ),
    "two spins, fractional": (
        {"name": "o2", "occupied": 6, "bands": 8, "spins": 2, "cutoff_eV": 150.0, "real": True, "top": 0.3},
        "probe charge",
    ),
}  # fmt: skip

KERNELS = {"probe charge": probe_charge_kernel, "cut": cut_kernel, "Wigner-Seitz": wigner_seitz_kernel}


def kernel_of(name, structure, kpoints):
    cells = np.eye(3, dtype=int) if kpoints.cells_cc is None else kpoints.cells_cc
    if name == "part":
        return kernel_for(structure.lattice_cv, kpoints, 0.15, downsampling=THINNED)
    return screened_kernel(0.15) if name == "screened" else KERNELS[name](structure.lattice_cv, cells)


def direction():
    draw = np.random.default_rng(4).uniform(-1, 1, (3, 3))
    return (draw + draw.T) / 2


@pytest.mark.fast("Gamma")
@pytest.mark.parametrize("name", CASES)
def test_strain_is_the_derivative_at_fixed_coefficients(name, exchanging, crystal):
    settings, kernel_name = CASES[name]
    kpoints_case = exchanging(**settings)
    calc = kpoints_case.calc
    kernel = kernel_of(kernel_name, calc.structure, calc.kpoints)
    case = exchanging(**settings, kernel=kernel)
    found = exchange_derivatives(case.operator, case.sources, case.coeff, case.filling)
    strain_vv = torch.zeros((3, 3), dtype=torch.float64, requires_grad=True)
    lattice_cv = calc.basis.lattice.vector_cv
    atoms = calc.atoms.strained(lattice_cv @ (torch.eye(3, dtype=torch.float64) + strain_vv).T)
    zero_sx = torch.zeros_like(calc.starting_density().occupancy_sx)
    own = projector_strain(
        calc.atoms, atoms, zero_sx, case.coeff, torch.zeros_like(case.filling), case.filling, found.pencil_sknI
    )
    total_vv = found.strain_vv + torch.autograd.grad(own, strain_vv)[0]
    energies = []
    for sign in (1, -1):
        turned_vv = torch.as_tensor(np.eye(3) + sign * STEP * direction())
        strained = calc.atoms.strained(lattice_cv @ turned_vv.T)
        there = kernel_of(kernel_name, strained.basis.structure, calc.kpoints)
        other = ExchangeOperator(strained, there, 0.4, downsampling=settings.get("downsampling"))
        image = other.apply(other.sources(case.coeff, case.occ), case.coeff)
        energies.append(other.energy(case.coeff, image, case.filling))
    along = float((total_vv * torch.as_tensor(direction())).sum())
    assert abs(along) > 1e-2
    assert (energies[0] - energies[1]) / (2 * STEP) == pytest.approx(along, rel=1e-6)


def test_waves_of_pairs_are_the_same_in_a_strained_cell(exchanging):
    case = exchanging()
    lattice_cv = case.calc.basis.lattice.vector_cv
    strained = case.calc.atoms.strained(1.04 * lattice_cv)
    pairs = PairExchange(strained, case.operator.kernel, PairGrid.of(strained.basis, "Normal"))
    before, after = (one.waves(np.array([0.1, 0.2, 0.3])) for one in (case.operator.pairs, pairs))
    np.testing.assert_array_equal(after.wave_Gc, before.wave_Gc)


@pytest.mark.slow
def test_an_interaction_that_ends_at_the_wigner_seitz_cell_changes_with_it():
    """At fixed waves against differences so small that no point of its grid comes to another image."""
    lattice_cv = np.array([[7.0, 0.4, 0], [0.3, 6.5, -0.5], [0, 0.2, 7.5]])
    cells, index_xc = np.diag([1, 2, 1]), np.stack(np.meshgrid(*[[-1, 0, 2]] * 3), -1).reshape(-1, 3)
    wave_xc, weight_x = index_xc @ np.linalg.inv(cells), np.random.default_rng(2).normal(size=27)
    kernel = wigner_seitz_kernel(lattice_cv, cells)
    values = []
    for sign in (1, -1):
        other = wigner_seitz_kernel(lattice_cv @ (np.eye(3) + sign * 1e-6 * direction()).T, cells)
        values.append(other.long_range(wave_xc) + kernel_part(other, wave_xc, lattice_cv))
    slope = float(weight_x @ (values[0] - values[1])) / 2e-6
    found_vv = kernel.cell_strain(wave_xc, torch.ones(27, dtype=torch.float64), torch.as_tensor(weight_x))
    assert float((found_vv * torch.as_tensor(direction())).sum()) == pytest.approx(slope, rel=1e-5)


def kernel_part(kernel, wave_xc, lattice_cv):
    """Its short range at waves that stay."""
    norm2_x = ((wave_xc @ (2 * np.pi * np.linalg.inv(lattice_cv).T)) ** 2).sum(1)
    return kernel(torch.as_tensor(norm2_x)).numpy()
