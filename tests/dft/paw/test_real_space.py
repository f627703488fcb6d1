"""Projectors on the wave grid: the same operator in real and in reciprocal space, near that of the exact projectors."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from covering import but_slow
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.single_precision import SingleTables, lowered
from eigenwerk.dft.paw.real_space import sphere_points
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

CASES = {
    # name: crystal of tests/dft/conftest.py, mesh, real orbitals where possible
    "Gamma, real": ("sic_bent", (1, 1, 1), True),
    "Gamma, complex": ("sic_bent", (1, 1, 1), False),
    "edge of the zone, real": ("si_bent", (2, 2, 1), True),
    "any k": ("al_pair", (3, 1, 2), False),
}


def accuracy_of(structure, value):
    return dict.fromkeys(structure.species, value)


@pytest.fixture(params=CASES, ids=str)
def pair(request, crystal, calculation):
    """(in real space, in reciprocal space)."""
    name, mesh, real = CASES[request.param]
    structure = crystal(name)
    settings = {"mesh": mesh, "real": real, "cutoff_eV": 200.0, "precision": "Normal"}
    return calculation(structure, real_space=accuracy_of(structure, 1e-3), **settings), calculation(
        structure, **settings
    )


def random_vectors(calc, n, seed=0):
    shape = (*calc.basis.mask_kG.shape[:1], n, calc.basis.mask_kG.shape[1])
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=draw, dtype=calc.basis.form.dtype) * calc.basis.mask_kG[:, None]


@pytest.mark.fast("any k", "edge of the zone, real")
def test_vectors_are_near_the_exact_ones(pair):
    here, exact = (calc.atoms.projector_kIG for calc in pair)
    error = max(filtered.error for filtered in pair[0].atoms.filtered.values())
    size = exact.abs().max()
    assert 1e-2 * error < float((here - exact).abs().max() / size) < 2 * error


@pytest.mark.fast("any k-5", "edge of the zone, real-4")
@pytest.mark.parametrize("count", [4, 5])
def test_grid_gives_the_scalar_products_with_the_vectors(pair, count):
    """An odd number of real orbitals leaves half of the last grid empty."""
    calc = pair[0]
    x_knG, map_k, tables = random_vectors(calc, count), calc.basis.sphere_map, calc.atoms.real_space
    grid_ktR = map_k.to_grid(x_knG)
    expected_knI = x_knG @ calc.atoms.projector_kIG.mH
    proj_knI = tables.project(grid_ktR, count)
    torch.testing.assert_close(proj_knI, expected_knI, rtol=0, atol=1e-13 * float(expected_knI.abs().max()))
    tables.add_back(grid_ktR.zero_(), proj_knI)
    back_knG = map_k.from_grid(grid_ktR, count, norm="backward") * calc.basis.mask_kG[:, None]
    expected_knG = proj_knI @ calc.atoms.projector_kIG
    torch.testing.assert_close(back_knG, expected_knG, rtol=0, atol=1e-13 * float(expected_knG.abs().max()))


def test_spheres_that_overlap_their_own_images(crystal, calculation):
    """Cells smaller than a sphere: a point of the grid counts once for each image within the radius."""
    structure = crystal("si")
    calc = calculation(structure, cutoff_eV=150.0, real_space=accuracy_of(structure, 1e-4))
    points = sphere_points(structure, calc.basis.grids.wave, structure.scaled_ac[0], 12.0)
    volume = structure.volume / np.prod(calc.basis.grids.wave)
    assert len(points) * volume == pytest.approx(4 * np.pi / 3 * 12.0**3, rel=0.01)
    index_S = calc.atoms.real_space.index_S
    assert len(torch.unique(index_S)) < len(index_S)
    exact = calculation(structure, cutoff_eV=150.0).atoms.projector_kIG
    assert float((calc.atoms.projector_kIG - exact).abs().max() / exact.abs().max()) < 2e-4


@pytest.mark.parametrize("which", [slice(None), slice(1, 3), torch.tensor([0, 2])], ids=["all", "slice", "indices"])
def test_operator_is_that_of_its_vectors_and_hermitian(crystal, calculation, disturbed, which):
    structure = crystal("al_pair")
    calc = calculation(structure, mesh=(3, 1, 1), real_space=accuracy_of(structure, 1e-2))
    potential = calc.builder(disturbed(calc.atoms, 1, calc.parameters.electrons))
    whole = Hamiltonian.of(calc.atoms, potential)
    fast, slow = whole.block(), whole.block()
    slow.grid = replace(slow.grid, real_space=None)  # the same vectors in reciprocal space
    x_knG = random_vectors(calc, 5)[which]
    for found, expected in zip(fast.apply(x_knG, which), slow.apply(x_knG, which), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-13 * float(expected.abs().max()))
    h_knG, s_knG = fast.apply(x_knG, which)
    for image_knG in (h_knG, s_knG):
        matrix_knn = x_knG.conj() @ image_knG.mT
        assert float((matrix_knn - matrix_knn.mH).abs().max() / matrix_knn.abs().max()) < 1e-14
    block = whole.block(0, slice(1, 3)).apply(random_vectors(calc, 5)[1:3])[0]
    torch.testing.assert_close(block, slow.apply(random_vectors(calc, 5))[0][1:3], rtol=0, atol=1e-11)


@pytest.mark.parametrize("real", [True, False])
def test_single_precision_is_near_the_double_one(crystal, calculation, disturbed, real):
    structure = crystal("al_pair")
    calc = calculation(structure, mesh=(2 if real else 3, 1, 1), real=real, real_space=accuracy_of(structure, 1e-2))
    twin = Hamiltonian.of(calc.atoms, calc.builder(disturbed(calc.atoms, 1, calc.parameters.electrons)))
    x_knG = random_vectors(calc, 5)
    single = SingleTables.of(calc.atoms).hamiltonian(twin).block().apply(lowered(x_knG))
    for found, expected in zip(single, twin.block().apply(x_knG), strict=True):
        assert found.dtype == lowered(x_knG).dtype
        assert 0 < float((found - expected).abs().max() / expected.abs().max()) < 1e-5


SOLIDS = {
    # crystal, settings, accuracy -> largest change of the energy, meV per atom
    "silicon": ("si_bent", {"cutoff_eV": 250.0, "mesh": (2, 1, 1)}, {1e-2: 20.0, 1e-4: 0.2}),
    "oxide": ("mgo_bent", {"cutoff_eV": 350.0, "mesh": (2, 1, 1)}, {2e-3: 100.0, 1e-4: 1.0}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", but_slow(tuple(SOLIDS), "silicon"))
def test_energy_goes_to_that_in_reciprocal_space(crystal, calculation, case):
    name, settings, limits = SOLIDS[case]
    structure = crystal(name)
    settings = {**settings, "precision": "Normal", "real": True, "ediff_eV": 1e-5}
    exact = calculation(structure, **settings).run().state.energies.free
    errors = []
    for accuracy, limit in limits.items():
        calc = calculation(structure, real_space=accuracy_of(structure, accuracy), **settings)
        state = calc.run().state
        assert state.converged
        errors.append(abs(state.energies.free - exact) * HARTREE_EV * 1000 / len(structure.symbols))
        assert errors[-1] < limit
    assert errors[0] > 3 * errors[-1]


@pytest.mark.slow
@pytest.mark.parametrize(("real", "mesh"), [
    (True, (1, 1, 1)), pytest.param(False, (1, 1, 2), marks=pytest.mark.slow),
])  # fmt: skip
def test_forces_are_derivatives_of_the_energy_at_any_accuracy(crystal, calculation, real, mesh):
    """With projectors that are poor on purpose: forces of the exact ones would miss by 50 meV/Å."""
    structure, step = crystal("sic_bent"), 0.002 / BOHR_ANGSTROM
    settings = {
        "cutoff_eV": 250.0, "precision": "Normal", "real": real, "mesh": mesh, "ediff_eV": 1e-9,
        "real_space": accuracy_of(structure, 2e-2),
    }  # fmt: skip
    calc = calculation(structure, **settings)
    ground = calc.run()
    grids = {"wave_grid": calc.basis.grids.wave, "fine_grid": calc.basis.grids.fine}
    free = []
    for sign in (1, -1):
        position_av = structure.positions_av.copy()
        position_av[1, 2] += sign * step
        moved = replace(structure, scaled_ac=position_av @ np.linalg.inv(structure.lattice_cv))
        state = calculation(moved, **settings, **grids).run(start=ground.state).state
        free.append(state.energies.free)
    error = ground.forces_av[1, 2] + (free[0] - free[1]) / (2 * step)
    assert abs(error) * HARTREE_EV / BOHR_ANGSTROM < 2e-4
