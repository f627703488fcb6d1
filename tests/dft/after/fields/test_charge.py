"""CHGCAR out and in: electrons, the density to the printed digits, the first energy, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from eigenwerk.dft.after.fields.charge import charge_blocks, charge_start
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.density.density import electrons_of, moment_per_atom
from eigenwerk.dft.inputs.fitting_files import occupancy_count, require_lmaxmix
from eigenwerk.dft.scf.state import StartingPoint
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.io.vasp.output.volumetric import write_fields
from eigenwerk.io.vasp.volumetric import GridBlock, Volumetric, occupancy_counts
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.units import BOHR_ANGSTROM
from ground_states import pieces

IRON = {"spins": 2, "cutoff_eV": 120.0, "ismear": 1, "sigma_eV": 0.2, "mesh": (1, 1, 1)}
LARGEST = 4


def write(path, calc, density, largest=LARGEST, **changed):
    """The CHGCAR of a density; changed: of the Volumetric."""
    structure = calc.structure
    poscar = Poscar("x", structure.lattice_cv * BOHR_ANGSTROM, structure.symbols, structure.scaled_ac)
    data_sets = {symbol: calc.datasets[symbol].md5 for symbol in structure.species}
    field = {"blocks": charge_blocks(density, calc.atoms, largest), "data_sets": data_sets} | changed
    write_fields(path / "CHGCAR", poscar, Volumetric(**field))
    return path / "CHGCAR"


@pytest.fixture(scope="module")
def iron(calculation, crystal):
    calc = calculation(crystal("fe_bent"), **IRON)
    return calc, calc.run().state


def test_mean_of_the_values_is_the_number_of_electrons(iron):
    calc, state = iron
    total, magnetisation = charge_blocks(state.output, calc.atoms, LARGEST)
    assert total.value_R.mean() == pytest.approx(16, abs=1e-10)
    assert magnetisation.value_R.mean() == pytest.approx(state.history[-1].moment, abs=1e-8)
    np.testing.assert_allclose(total.moment_a, moment_per_atom(state.output, calc.atoms), atol=1e-12)
    assert magnetisation.moment_a is None and total.value_R.shape == calc.basis.grids.fine


def test_density_comes_back_to_the_printed_digits(iron, tmp_path):
    calc, state = iron
    start = charge_start(write(tmp_path, calc, state.following), calc)
    assert start.notes == () and start.coeff_sknG is None
    density_sg, back_sg = state.following.density_sg, start.density.density_sg
    assert float((back_sg - density_sg).abs().max()) < 1e-10 * float(density_sg.abs().max())
    potentials = [calc.builder(density) for density in (state.following, start.density)]
    assert potentials[1].energy == pytest.approx(potentials[0].energy, abs=1e-8 / 27.2)
    assert torch.allclose(potentials[1].dH_sx, potentials[0].dH_sx, atol=1e-8)


@pytest.mark.slow
def test_first_energy_is_that_of_the_density_itself(iron, tmp_path):
    """Both have no orbitals to start with; what LMAXMIX leaves out changes it, and is told."""
    calc, state = iron
    whole = charge_start(write(tmp_path, calc, state.following), calc)
    first = [calc.run(start=start).state.history[0] for start in (StartingPoint(state.following), whole)]
    assert first[1].energies.free == pytest.approx(first[0].energies.free, abs=1e-6 / 27.2)
    less = charge_start(write(tmp_path, calc, state.following, largest=2), calc)
    assert "LMAXMIX = 2" in less.notes[0] and "LMAXMIX = 4, or no LMAXMIX" in less.notes[0]
    assert float((less.density.occupancy_sx - state.following.occupancy_sx).abs().max()) > 1e-4


def test_a_magnet_s_file_serves_a_run_without_spin_and_the_other_way(iron, calculation, crystal, tmp_path):
    calc, state = iron
    plain = calculation(crystal("fe_bent"), **IRON | {"spins": 1})
    start = charge_start(write(tmp_path, calc, state.following), plain)
    assert start.notes == ("ISPIN was 2, now it is 1",)
    assert float(electrons_of(start.density, plain.atoms).sum()) == pytest.approx(16, abs=1e-10)
    back = charge_start(write(tmp_path, plain, start.density), calc)
    assert back.notes == ("ISPIN was 1, now it is 2",) and back.density.spin.polarised


@pytest.mark.slow
def test_atoms_that_have_moved_take_their_density_along(calculation, crystal, tmp_path):
    structure, few = crystal("si_bent"), {"mesh": (1, 1, 1), "real": True, "cutoff_eV": 120.0}
    calc = calculation(structure, **few)
    path = write(tmp_path, calc, calc.run().state.following)
    moved_ac = structure.scaled_ac + [[0.02, 0, 0], [0, 0, 0]]
    shifted = calculation(Structure(structure.lattice_cv, structure.symbols, moved_ac), **few)
    start = charge_start(path, shifted)
    assert "moved by up to 0.077 Å" in start.notes[0]
    near = shifted.run(start=start).state
    far = shifted.run().state
    assert near.energies.free == pytest.approx(far.energies.free, abs=1e-8)
    assert near.history[0].residual < 0.5 * far.history[0].residual


def test_files_that_do_not_fit_are_refused(iron, calculation, crystal, tmp_path):
    calc, state = iron
    path = write(tmp_path, calc, state.following)
    for other, words in (
        (calculation(crystal("fe_bent"), **IRON | {"cutoff_eV": 700.0}), "points, and ENCUT of this run needs at"),
        (calculation(crystal("al_pair")), r"another cell: 22\.\d+ Å³ against"),
    ):
        with pytest.raises(InputError, match=words):
            charge_start(path, other)
    text = path.read_text()
    for change, words in (
        (lambda: text.replace(" Fe\n", " Co\n"), "has the atoms Co2, POSCAR has Fe2"),
        (lambda: text.replace("PAW Fe:", "PAW Fe:00000000 Co:"), "checksum 00000000, this run uses"),
        (lambda: text.replace("PAW Fe:", "x"), "by another program"),
    ):
        path.write_text(change())
        with pytest.raises(InputError, match=words):
            charge_start(path, calc)
    blocks = charge_blocks(state.following, calc.atoms, LARGEST)
    for spoiled, words in (
        ([type(block)(block.value_R, tuple(n[:33] for n in block.occupancies)) for block in blocks], "33 for Fe"),
        ([blocks[0], type(blocks[1])(blocks[1].value_R)], "none"),
    ):
        with pytest.raises(InputError, match=words):
            charge_start(write(tmp_path, calc, state.following, blocks=tuple(spoiled)), calc)


def test_a_file_without_occupancies_begins_with_those_of_atoms(iron, calculation, crystal, tmp_path):
    """As predicted densities come; nearer than atoms, and kept it cannot be."""
    calc, state = iron
    bare = [GridBlock(block.value_R) for block in charge_blocks(state.following, calc.atoms, LARGEST)]
    for blocks, data_sets in ((bare, {}), (bare[:1], {"Fe": "00000000"})):
        path = write(tmp_path, calc, state.following, blocks=tuple(blocks), data_sets=data_sets)
        assert occupancy_counts(path) == ()
        start = charge_start(path, calc)
        assert "no augmentation occupancies: those of superposed atoms" in start.notes[0]
        np.testing.assert_allclose(start.density.occupancy_sx, calc.starting_density().occupancy_sx, atol=1e-12)
        assert float(electrons_of(start.density, calc.atoms).sum()) == pytest.approx(16, abs=1e-8)
    with pytest.raises(InputError, match=r"no augmentation occupancies.*cannot be kept"):
        charge_start(path, calc, kept=True)
    plain = calculation(crystal("fe_bent"), **IRON | {"spins": 1})
    path = write(tmp_path, calc, state.following, blocks=tuple(bare), data_sets={})
    assert charge_start(path, plain).density.occupancy_sx.shape[0] == 1


def test_occupancies_are_counted_without_reading_values(iron, tmp_path):
    calc, state = iron
    counts = occupancy_counts(write(tmp_path, calc, state.following))
    l_j = [one.l for one in calc.datasets["Fe"].states]
    assert counts == (occupancy_count(l_j, LARGEST),) * 2
    with pytest.raises(InputError, match=r"other numbers of augmentation occupancies.*33 for Fe"):
        require_lmaxmix("CHGCAR", {"Fe": l_j}, ("Fe", "Fe"), (33, 33))


# --- several ranks ---------------------------------------------------------------------------------------------------


def written_and_read(world, parts, groups, folder):
    """On one rank: the values, and the energy of a run that starts from them."""
    runtime = Runtime(grid=make_process_grid(world, groups))
    (structure, kpoints, parameters, datasets, real) = parts
    calc = Calculation(structure, kpoints, parameters, datasets, runtime, real)
    state = calc.run().state
    blocks = charge_blocks(state.following, calc.atoms, LARGEST)
    if world.rank == 0:
        write(folder, calc, state.following)
    world.sum(torch.zeros(1))
    again = calc.run(start=charge_start(folder / "CHGCAR", calc)).state
    return SimpleNamespace(values=[block.value_R for block in blocks], free=again.energies.free)


@pytest.mark.slow
@pytest.mark.ranks
@pytest.mark.parametrize("groups", [1, 2])
def test_ranks_write_and_read_alike(ranks, iron, groups, tmp_path):
    calc, state = iron
    alone = charge_blocks(state.following, calc.atoms, LARGEST)
    for found in ranks(2, "gloo").run(written_and_read, pieces(calc), groups, tmp_path):
        for values, block in zip(found.values, alone, strict=True):
            np.testing.assert_allclose(values, block.value_R, atol=1e-6)
        assert found.free == pytest.approx(state.energies.free, abs=2e-8 / 27.2)
