"""LOCPOT, AECCAR and ELFCAR: sums, closed forms, and what must be the same whatever computed it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from cost import shared
from covering import but_slow
from eigenwerk.dft.after.fields.all_electron import core_density, proto_valence_density, valence_density
from eigenwerk.dft.after.fields.localisation import localisation_blocks
from eigenwerk.dft.after.fields.potential import electrostatic_blocks, total_blocks
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.density.density import Density
from eigenwerk.dft.density.kinds.table import ALWAYS
from eigenwerk.dft.inputs.steps.field_files import asked_fields
from eigenwerk.functionals.functional import TAU
from eigenwerk.io.vasp.input.incar import parse_incar
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.serial import SerialCommunicator
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV
from ground_states import CASES, pieces


@pytest.fixture(scope="module")
def solved(calculation, crystal):
    """Name of a case -> calculation and state."""
    kept = {}

    def solve(name, **changed):
        key = name, *changed.items()
        if key not in kept:
            system, settings = CASES[name]
            calc = calculation(crystal(system), **{**settings, **changed})
            with shared():
                kept[key] = calc, calc.run().state
        return kept[key]

    return solve


# -- all-electron densities -------------------------------------------------------------------------------------------


@pytest.mark.fast("insulator")
@pytest.mark.parametrize("name", but_slow(("insulator", "magnet", "inversion"), "magnet"))
def test_all_electrons_are_there(solved, name):
    calc, state = solved(name)
    core = sum(calc.datasets[symbol].core for symbol in calc.structure.symbols)
    assert core_density(calc.atoms).mean() == pytest.approx(core, abs=1e-6)
    valence = valence_density(state.output, calc.atoms)
    assert valence.mean() == pytest.approx(calc.parameters.electrons, abs=1e-8)
    assert proto_valence_density(calc.atoms).mean() == pytest.approx(calc.parameters.electrons, abs=1e-3)
    assert valence.min() > 0


def test_between_the_spheres_it_is_the_smooth_density(solved):
    calc, state = solved("insulator")
    smooth = calc.basis.fine_map.to_grid(state.output.density_sg.sum(0)).numpy() * float(calc.basis.volume)
    same = np.isclose(valence_density(state.output, calc.atoms), smooth, rtol=1e-12)
    assert 0.1 < same.mean() < 0.9


@pytest.mark.slow
def test_an_atom_has_the_density_of_its_waves(calculation):
    """Near a nitrogen atom the superposed atoms are Σ f φ²/4π."""
    structure = Structure(np.diag([9.0, 9.5, 10.0]), ("N",), np.array([[0.013, 0.0, 0.0]]))
    calc = calculation(structure, cutoff_eV=600.0)
    value = proto_valence_density(calc.atoms) / float(calc.basis.volume)
    data = calc.datasets["N"]
    filled_j = calc.atoms.layout.species[0].setup.atom_occupancy_j
    expected_g = (filled_j[:, None] * data.ae_partial_wave_jg**2).sum(0) / (4 * np.pi)
    for x in range(5, 9):  # beyond half the matching radius
        distance = 9.0 * (x / value.shape[0] - 0.013)
        assert value[x, 0, 0] == pytest.approx(np.interp(distance, data.grid.r_g, expected_g), rel=0.02)


# -- potentials -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", but_slow(("insulator", "magnet"), "magnet"))
def test_total_potential_is_that_of_the_hamiltonian(solved, name):
    """On the waves of the density; the compensation charges add waves beyond."""
    calc, state = solved(name)
    potential = calc.builder(state.density)
    values = torch.tensor(np.stack(total_blocks(potential))) / HARTREE_EV
    back_sg = calc.basis.fine_map.from_grid(values, calc.basis.density_count)
    assert torch.allclose(back_sg, potential.vt_sg, atol=1e-11)
    (electrostatic,) = electrostatic_blocks(potential)
    without = torch.tensor(electrostatic) / HARTREE_EV
    assert float((values - without).mean()) < 0, "exchange and correlation bind"


@pytest.mark.slow
def test_far_from_a_neutral_atom_the_potential_is_flat(calculation):
    structure = Structure(np.diag([16.0, 16.0, 16.0]), ("He",), np.array([[0.0, 0.0, 0.0]]))
    calc = calculation(structure, cutoff_eV=200.0)
    (value,) = electrostatic_blocks(calc.builder(calc.run().state.density))
    corner = value[tuple(n // 2 for n in value.shape)]
    edge = value[value.shape[0] // 2, 0, 0]
    assert edge == pytest.approx(corner, abs=1e-2) and value[0, 0, 0] < corner - 5


# -- localisation -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_one_orbital_is_wholly_localised(calculation):
    """Helium: τ = |∇n|² / 4n."""
    structure = Structure(np.diag([7.0, 7.0, 7.0]) / BOHR_ANGSTROM, ("He",), np.array([[0.2, 0.3, 0.4]]))
    calc = calculation(structure, cutoff_eV=300.0)
    state = calc.run().state
    (value,) = localisation_blocks(state, calc.symmetrise)
    density = calc.basis.wave_map.to_grid(state.output.density_sg[0]).numpy()
    assert value.shape == calc.basis.grids.wave and value[density > 1e-2].min() > 0.99
    assert value.min() >= 0 and value.max() <= 1 and value[density < 1e-6].max(initial=0) < 0.1


@pytest.mark.slow
@pytest.mark.fast("Gamma")
@pytest.mark.parametrize("name", but_slow(("insulator", "inversion", "Gamma", "magnet"), "inversion", "magnet"))
def test_real_and_complex_orbitals_are_localised_alike(solved, name):
    found = [localisation_blocks(state, calc.symmetrise) for calc, state in (
        solved(name, real=real) for real in (True, False)
    )]  # fmt: skip
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_a_bond_is_localised_and_symmetric(calculation, crystal):
    """By the τ that travels with the density, and by that of the last orbitals, made once."""
    calc = calculation(crystal("si"), mesh=(2, 2, 2), symmetry_level=2, cutoff_eV=200.0, real=True)
    state = replace(calc, asked=asked_fields(parse_incar("LELF = T\n"))).run().state
    (value,) = localisation_blocks(state, calc.symmetrise)
    assert set(state.output.value) == {*ALWAYS, TAU} and asked_fields(parse_incar("LCHARG = T\n")) == set()
    without = Density({name: state.output.value[name] for name in ALWAYS}, state.output.spin)
    (again,) = localisation_blocks(replace(state, output=without), calc.symmetrise)
    np.testing.assert_allclose(again, value, atol=1e-12)
    n = value.shape[0]
    bond, other = value[n // 8, n // 8, n // 8], value[-3 * n // 8 % n, n // 8, n // 8]
    assert bond > 0.9
    if n % 8 == 0:
        assert other == pytest.approx(bond, abs=1e-10)


# -- several ranks ----------------------------------------------------------------------------------------------------


def all_fields(world, parts, groups):
    """On one rank: every field of a run."""
    structure, kpoints, parameters, datasets, real = parts
    runtime = Runtime(grid=make_process_grid(world, groups))
    calc = Calculation(structure, kpoints, parameters, datasets, runtime, real, asked=frozenset({TAU}))
    state = calc.run().state
    potential = calc.builder(state.density)
    return [
        valence_density(state.output, calc.atoms), *total_blocks(potential), *electrostatic_blocks(potential),
        *localisation_blocks(state, calc.symmetrise),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.ranks
@pytest.mark.parametrize(("name", "groups"), [
    pytest.param("insulator", 2, marks=pytest.mark.slow), ("Gamma", 1),
    pytest.param("inversion", 1, marks=pytest.mark.slow),
])  # fmt: skip
def test_ranks_find_the_same_fields(ranks, solved, name, groups):

    parts = pieces(solved(name)[0])
    alone = all_fields(SerialCommunicator(), parts, 1)
    for found in ranks(2, "gloo").run(all_fields, parts, groups):
        for one, other in zip(found, alone, strict=True):
            np.testing.assert_allclose(one, other, atol=2e-4, rtol=1e-5)


@pytest.mark.slow
def test_all_electron_density_is_nowhere_negative_where_all_its_waves_are_kept(calculation):
    """In a vacuum, where custodian counts negative points; PREC = Normal cuts the density off, which then rings."""
    atom = Structure(np.diag([9.0, 9.5, 10.0]), ("He",), np.full((1, 3), 0.3))
    least = {}
    for precision in ("Accurate", "Normal"):
        calc = calculation(atom, precision=precision)
        least[precision] = float(valence_density(calc.run().state.output, calc.atoms).min())
    assert least["Accurate"] > -1e-12 and least["Normal"] < -1e-3
