"""The estimate of memory against the arrays that a calculation makes."""

from dataclasses import replace

import pytest

from eigenwerk.dft.basis.grids import wave_limits
from eigenwerk.dft.basis.plane_wave_basis import make_basis
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.filtered import filtered_projectors
from eigenwerk.dft.paw.setup import make_setup
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import H200, processor
from eigenwerk.dft.plan.memory import estimate_memory
from eigenwerk.dft.plan.plan import require_room
from eigenwerk.errors import InputError
from eigenwerk.io.paw.paw_xml import read_paw_xml
from input_folders import folder_reader


@pytest.fixture(scope="module")
def inputs(repository):
    return read_inputs(repository / "examples" / "01_silicon_pbe")


def bytes_of(tensor):
    return tensor.numel() * tensor.element_size()


def items_of(estimate):
    return {item.name: item.bytes for item in estimate.items}


def test_items_equal_the_arrays_they_stand_for(inputs):
    item = items_of(inputs.parts.memory)
    basis = make_basis(inputs.structure, inputs.kpoints, inputs.parameters.cutoff, inputs.parameters.precision)
    setups = {symbol: make_setup(read_paw_xml(path)) for symbol, path in inputs.datasets.items()}
    atoms = PawAtoms(basis, setups)
    points, most = basis.mask_kG.shape
    assert inputs.parts.waves.most == most == max(basis.count_k)
    assert inputs.parts.waves.total == sum(basis.count_k)
    assert inputs.parts.waves.exact
    assert inputs.grids == basis.grids
    assert item["projectors"] == bytes_of(atoms.projector_kIG)
    assert inputs.size.real and basis.inversion is not None
    assert item["orbitals"] == 2 * 8 * points * most * inputs.parameters.bands
    assert item["projections"] == 2 * 8 * points * inputs.size.projectors * inputs.parameters.bands
    tables = [basis.index_khc, basis.mask_kG, basis.kinetic_kG, basis.sphere_map.index_kW, basis.index_gc]
    tables += [basis.vector_gv, basis.weight_g, basis.norm2_g, atoms.length_g]
    tables += [basis.fine_map.index_g, basis.wave_map.index_g, basis.fine_map._planes[0], basis.wave_map._planes[0]]
    tables += [basis.wave_vector_khv, basis.form.turn_kh, basis.sphere_map.turn_kW]
    assert item["index tables"] == pytest.approx(sum(map(bytes_of, tables)), rel=0.1)
    assert inputs.size.columns == sum(multipoles.coeff_kLp.shape[2] for multipoles in atoms.multipoles.values())
    charges = bytes_of(atoms.compensation_gauss_g(setups["Si"]))
    charges += sum(bytes_of(factors._column_pa) for factors in atoms.factors.values())
    charges += sum(bytes_of(multipoles.coeff_kLp) for multipoles in atoms.multipoles.values())
    assert item["compensation charges"] == pytest.approx(charges, rel=0.02)


def test_sizes_of_the_job(inputs):
    size = inputs.size
    assert (size.kpoints, size.bands, size.filled, size.atoms, size.kinds) == (8, 8, 4, 2, 1)
    assert (size.projectors, size.bound_states, size.operations) == (26, 8, 48)
    assert size.wave_points == 24**3


def test_the_total_counts_what_stays_and_the_largest_of_what_passes(inputs):
    memory = inputs.parts.memory
    staying = sum(item.bytes for item in memory.items if not item.passing)
    passing = [item.bytes for item in memory.items if item.passing]
    assert len(passing) > 1
    assert memory.total == staying + max(passing)
    assert items_of(memory)["programs"] == processor(1e9).programs < memory.total


def test_orbitals_grow_with_spins_bands_and_points(inputs):
    def orbitals(**changes):
        return items_of(estimate_memory(replace(inputs.size, **changes), ProcessLayout(), H200))["orbitals"]

    assert orbitals(spins=2) == orbitals(bands=16) == orbitals(kpoints=16) == 2 * orbitals()


@pytest.mark.parametrize("layout", [ProcessLayout(2, 1), ProcessLayout(1, 2)])
def test_ranks_share_orbitals_and_projectors(inputs, layout):
    one, two = (items_of(estimate_memory(inputs.size, shape, H200)) for shape in (ProcessLayout(), layout))
    for name in ("orbitals", "projectors"):
        assert two[name] == one[name] / 2
    assert two["symmetry"] == one["symmetry"]


def test_single_precision_needs_twins_of_projectors_and_orbitals(inputs):
    usual, single = (
        items_of(estimate_memory(replace(inputs.size, start_single=wish, spins=2, bands=300), ProcessLayout(), H200, 2))
        for wish in (False, True)
    )  # fmt: skip
    assert "single precision" not in usual
    assert single["single precision"] == usual["projectors"] / 2 + usual["orbitals"] / 4
    assert single["eigensolver"] > usual["eigensolver"], "more matrices of the subspace in a block"


SIC = "SiC\n4.36\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi C\n1 1\nDirect\n0 0 0\n.25 .25 .25\n"


@pytest.mark.slow
@pytest.mark.fast("1 1 1-False")
@pytest.mark.parametrize(("mesh", "phases"), [("3 3 3", True), ("1 1 1", False)])
def test_projectors_in_spheres_equal_their_tables(tmp_path, mesh, phases):
    """Points are counted by volume, which is within a few percent."""
    read = folder_reader(tmp_path, begin="ISMEAR = 0\nSIGMA = 0.05\nENCUT = 400\nLREAL = On\n", poscar=SIC, mesh=mesh)
    inputs, single = read(""), read("PRECISION_START = Single\n")
    basis = make_basis(inputs.structure, inputs.kpoints, inputs.parameters.cutoff, inputs.parameters.precision)
    datasets = {symbol: read_paw_xml(path) for symbol, path in inputs.datasets.items()}
    limits = wave_limits(inputs.structure, basis.grids, inputs.parameters.cutoff)
    filtered = {s: filtered_projectors(d, limits, inputs.parameters.real_space[s]) for s, d in datasets.items()}
    atoms = PawAtoms(basis, {symbol: make_setup(data) for symbol, data in datasets.items()}, filtered)
    spheres = atoms.real_space
    assert (spheres.phase_kS is not None) == phases
    values = [part.table_aPi for part in spheres.parts] + ([spheres.phase_kS] if phases else [])
    places = [spheres.index_S, *(tensor for part in spheres.parts for tensor in (part.offset_aPv, part.place_x))]
    item, lowered = (items_of(found.parts.memory) for found in (inputs, single))
    assert item["projectors in spheres"] == pytest.approx(sum(map(bytes_of, values + places)), rel=0.03)
    twins = sum(map(bytes_of, [atoms.projector_kIG, *values])) / 2 + lowered["orbitals"] / 4
    assert lowered["single precision"] == pytest.approx(twins, rel=0.03)


def test_smaller_blocks_need_less(inputs):
    solver = [items_of(estimate_memory(inputs.size, ProcessLayout(), H200, block))["eigensolver"]
        for block in (1, 2, 8)]
    assert solver == sorted(solver) and solver[0] < solver[-1]


def test_exact_diagonalisation_is_refused_with_numbers_where_its_matrices_do_not_fit(inputs):
    """20 000 plane waves: ten matrices of 6.4 GB."""
    large = replace(inputs.size, plane_waves=20_000, solver="exact", real=False)
    item = items_of(estimate_memory(large, ProcessLayout(), H200))
    assert item["dense matrices of ALGO = Exact"] == 10 * 16 * 20_000**2
    with pytest.raises(InputError, match=r"needs 6\d\.\d GB .*dense matrices of ALGO = Exact: 64\.0 GB.* Remove ALGO"):
        require_room(large, ProcessLayout(), processor(32e9))
    require_room(replace(large, solver="davidson"), ProcessLayout(), processor(32e9))


def test_weights_on_atoms_and_a_batch_of_other_points_are_rows(tmp_path):
    silicon = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"
    read = folder_reader(tmp_path, begin="ENCUT = 150\nISMEAR = 0\nNELM = 20\n", poscar=silicon, mesh="2 2 2")
    plain = read("NBANDS = 8")
    (tmp_path / "KPOINTS_OPT").write_text("path\n40\nLine-mode\nreciprocal\n0 0 0\n.5 .3 .1\n")
    both = read("NBANDS = 8\nLORBIT = 12")
    points, atoms = len(plain.kpoints.point_kc) + 40, len(plain.structure.symbols)
    assert (both.size.weighed, both.size.listed) == (points, 40)
    assert items_of(both.parts.memory)["weights on atoms"] == 8 * 16 * 4 * points * 8 * atoms
    assert plain.size == replace(both.size, listed=0, listed_real=plain.size.listed_real, weighed=0, weight_bytes=0,
                                 plane_waves=plain.size.plane_waves)  # fmt: skip
    # 40 points are two batches of 20, with four bands more, complex
    batch = items_of(both.parts.memory)["bands besides"]
    assert batch > 16 * 20 * both.size.plane_waves * (both.size.projectors + 2 * 12)
    assert "bands besides" not in items_of(plain.parts.memory)


def test_exact_exchange_keeps_operators_and_gathers_occupied_orbitals(inputs):
    """Rows of the operators stay; every rank has all occupied orbitals while it is applied."""
    size, alone = replace(inputs.size, mesh=8), ProcessLayout(1, 1)
    plain, found = (items_of(estimate_memory(one, alone, processor(1))) for one in (inputs.size, size))
    assert found["operators of exact exchange"] == 4 * plain["orbitals"]
    occupied = 2 * 16 * size.kpoints * size.filled * (size.plane_waves + size.projectors)
    assert found["exact exchange"] > occupied and "exact exchange" not in plain
    shared = items_of(estimate_memory(size, ProcessLayout(1, 2), processor(1)))
    assert shared["exact exchange"] > occupied
