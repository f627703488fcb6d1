"""The estimate of memory against the arrays that a calculation makes."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.dft.basis import make_basis
from eigenwerk.dft.inputs import read_inputs
from eigenwerk.dft.memory import PROGRAM_BYTES, estimate_memory
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.setup import make_setup
from eigenwerk.io.paw_xml import read_paw_xml


@pytest.fixture(scope="module")
def inputs(repository):
    return read_inputs(repository / "examples" / "01_silicon_pbe")


def bytes_of(tensor):
    return tensor.numel() * tensor.element_size()


def test_items_equal_the_arrays_they_stand_for(inputs):
    item = {item.name: item.bytes for item in inputs.found.memory.items}
    basis = make_basis(inputs.structure, inputs.kpoints, inputs.parameters.cutoff, inputs.parameters.precision)
    setups = {symbol: make_setup(read_paw_xml(path)) for symbol, path in inputs.datasets.items()}
    atoms = PawAtoms(basis, setups)
    points, most = basis.mask_kG.shape
    assert inputs.found.waves.most == most == max(basis.count_k)
    assert inputs.found.waves.total == sum(basis.count_k)
    assert inputs.found.waves.exact
    assert inputs.grids == basis.grids
    assert item["projectors"] == bytes_of(atoms.projector_kIG)
    assert item["orbitals"] == 2 * 16 * points * most * inputs.parameters.bands
    tables = [basis.index_kGc, basis.mask_kG, basis.kinetic_kG, basis.sphere_index_kG, basis.index_gc, basis.vector_gv]
    tables += [basis.weight_g, basis.norm2_g, atoms.length_g, basis.fine_map.index_g, basis.wave_map.index_g]
    assert item["index tables"] == pytest.approx(sum(map(bytes_of, tables)), rel=0.1)
    shapes = bytes_of(atoms.compensation_shape_Lg(setups["Si"]))
    assert item["compensation charges"] == pytest.approx(shapes * 11 / 9, rel=0.02)


def test_the_total_counts_the_larger_of_start_and_solver(inputs):
    memory = inputs.found.memory
    size = {item.name: item.bytes for item in memory.items}
    assert memory.total == pytest.approx(sum(size.values()) - min(size["start"], size["eigensolver"]), abs=10)
    assert size["programs"] == PROGRAM_BYTES < memory.total


def test_orbitals_grow_with_spins_bands_and_points(inputs):
    found = inputs.found
    arguments = (found.grids, found.waves, [13, 13], 8)

    def orbitals(kpoints=found.kpoints, **changes):
        parameters = replace(found.parameters, **changes)
        estimate = estimate_memory(found.structure, kpoints, parameters, *arguments)
        return next(item.bytes for item in estimate.items if item.name == "orbitals")

    twice = replace(found.kpoints, point_kc=np.repeat(found.kpoints.point_kc, 2, axis=0))
    assert orbitals(spins=2) == orbitals(bands=2 * found.parameters.bands) == orbitals(twice) == 2 * orbitals()
