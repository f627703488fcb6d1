from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.distributed import HashStore

from eigenwerk.ncci.matrix_free.pairs import pairs_hamiltonian
from eigenwerk.ncci.ranks.four_steps import FourSteps, RowGroup
from eigenwerk.ncci.ranks.layout import cut_evenly
from eigenwerk.ncci.ranks.scheme import scheme_named
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.ncci.solve.operators import NuclearHamiltonian, Sharing
from eigenwerk.ncci.stored import csb_build
from eigenwerk.ncci.stored.csb import csb_hamiltonian
from eigenwerk.ncci.stored.csb_entries import Entries
from eigenwerk.ncci.stored.csb_on_ranks import csb_on_ranks
from eigenwerk.ncci.stored.csb_part import Rectangle, csb_part
from eigenwerk.parallel.process_grid import ProcessGrid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.transports.torch_distributed import nccl_world
from eigenwerk.record.trace import Trace
from random_pairs import no_core_basis, random_pairs, random_vectors

SPACES = [(3, 3, 4, 0), (2, 2, 6, 0), (6, 6, 2, 0), (1, 2, 4, 1), (3, 4, 1, 1), (0, 3, 2, 1)]
TOLERANCE = {torch.float64: 1e-12, torch.float32: 3e-6}


@pytest.fixture(scope="module", params=SPACES, ids=str)
def case(request):
    """Basis, pairs, a CPU operator in double precision."""
    basis = no_core_basis(*request.param)
    pairs = random_pairs(basis)
    return basis, pairs, pairs_hamiltonian(basis, pairs)


def cut_in_three(basis):
    """Proton determinants at which a space is cut in three, or in fewer where there are too few."""
    parts = min(3, int(np.count_nonzero(np.diff(basis.first_d))))
    return cut_evenly(basis.first_d, parts).tolist()


def agree(found, wanted, dtype):
    return torch.allclose(found.cpu().double(), wanted, rtol=0, atol=TOLERANCE[dtype] * wanted.abs().max())


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_pairs_on_a_gpu_equal_those_on_a_cpu(case, dtype):
    basis, pairs, cpu = case
    gpu = pairs_hamiltonian(basis, pairs, dtype, "cuda")
    starts = [random_vectors(count, basis.dimension, dtype, seed=count) for count in (1, 3, 8, 2, 11, 1)]
    found = [gpu.apply(x_nb.cuda()) for x_nb in starts]  # kept: later products must not write into earlier results
    for x_nb, y_nb in zip(starts, found, strict=True):
        assert agree(y_nb, cpu.apply(x_nb.double()), dtype)


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [9, 14, 16])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_csb_on_a_gpu_equals_its_twin_and_the_one_of_a_cpu(case, dtype, bits):
    basis, pairs, cpu = case
    gpu, stored = (csb_hamiltonian(basis, pairs, dtype, device, bits) for device in ("cuda", "cpu"))
    found, same = gpu.below.blocks, stored.below.blocks
    assert np.array_equal(found.start_x, same.start_x) and np.array_equal(found.corner_x2, same.corner_x2)
    assert torch.equal(found.row_z.cpu(), same.row_z) and torch.equal(found.column_z.cpu(), same.column_z)
    simple = replace(gpu, below=replace(gpu.below, simple=True))
    for count in (1, 2, 8, 5):
        x_nb = random_vectors(count, basis.dimension, dtype, seed=count)
        wanted = cpu.apply(x_nb.double())
        assert agree(gpu.apply(x_nb.cuda()), wanted, dtype)
        assert agree(simple.apply(x_nb.cuda()), wanted, dtype)


@pytest.mark.gpu
def test_blocks_do_not_depend_on_the_memory_that_is_left_to_sort_them(case, monkeypatch):
    basis, pairs, _ = case
    whole = csb_hamiltonian(basis, pairs, torch.float32, "cuda").below.blocks
    monkeypatch.setattr(csb_build, "LEAST_BAND", 5000)
    monkeypatch.setattr(csb_build, "room_on_gpu", lambda _: 0)
    small = csb_hamiltonian(basis, pairs, torch.float32, "cuda").below.blocks
    for name in ("row_z", "column_z", "value_z"):
        assert torch.equal(getattr(small, name).view(torch.uint8), getattr(whole, name).view(torch.uint8))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_rectangles_on_a_gpu_equal_those_on_a_cpu(case, dtype):
    """Each way alone and both in one reading, added to parts of longer vectors that begin anywhere."""
    basis, pairs, _ = case
    cuts = cut_in_three(basis)
    parts = len(cuts) - 1
    entries, wide = Entries(basis, pairs, dtype, "cuda"), Entries(basis, pairs, torch.float64)
    for i, j in zip(*np.tril_indices(parts), strict=True):
        rectangle = Rectangle((cuts[i], cuts[i + 1]), (cuts[j], cuts[j + 1]))
        shape = entries.within(rectangle.rows, rectangle.columns).shape
        gpu, cpu = (csb_part(made, [rectangle], shape, 14) for made in (entries, wide))
        assert gpu.nonzeros == cpu.nonzeros and gpu.shape == cpu.shape
        for count in (1, 2, 4, 8, 5, 9):
            x_rows, x_columns = (random_vectors(count, size, dtype, seed=size) for size in gpu.shape)
            forward, back = cpu.forward(x_columns.double()), cpu.back(x_rows.double())
            largest = max(float(y_nb.abs().max()) if y_nb.numel() else 0.0 for y_nb in (forward, back))
            found = [torch.zeros(count, size + 3, dtype=dtype, device="cuda")[:, 1:-2] for size in gpu.shape]
            gpu.add(x_rows.cuda(), x_columns.cuda(), *found)
            found += [gpu.forward(x_columns.cuda()), gpu.back(x_rows.cuda())]
            for y_nb, wanted in zip(found, (forward, back) * 2, strict=True):
                assert torch.allclose(y_nb.cpu().double(), wanted, rtol=0, atol=TOLERANCE[dtype] * largest + 1e-30)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_rectangles_behind_each_other_are_one_launch_that_equals_a_cpu(case, dtype):
    basis, pairs, _ = case
    cuts = cut_in_three(basis)
    parts = len(cuts) - 1
    ends = [((cuts[i], cuts[i + 1]), (cuts[j], cuts[j + 1])) for i in range(parts) for j in range(i + 1)][1:]
    places = [(int(basis.first_d[rows[0]]), int(basis.first_d[columns[0]])) for rows, columns in ends]
    given = [Rectangle(*both, at) for both, at in zip(ends, places, strict=True)]
    if not given:
        pytest.skip("too few proton determinants for several rectangles")
    makers = Entries(basis, pairs, dtype, "cuda"), Entries(basis, pairs, torch.float64)
    gpu, cpu = (csb_part(entries, given, entries.shape, 9) for entries in makers)
    assert np.array_equal(gpu.blocks.corner_x2, cpu.blocks.corner_x2)
    for count in (1, 2, 5, 8):
        x_nb = random_vectors(count, basis.dimension, dtype, seed=count)
        y_nb, wanted = torch.zeros_like(x_nb, device="cuda"), torch.zeros(count, basis.dimension, dtype=torch.float64)
        x_gpu, x_wide = x_nb.cuda(), x_nb.double()
        gpu.add(x_gpu, x_gpu, y_nb, y_nb)
        cpu.add(x_wide, x_wide, wanted, wanted)
        assert agree(y_nb, wanted, dtype)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_blocks_of_ranks_on_a_gpu_make_the_product_of_a_cpu(case, dtype):
    """One rank, by the code of many."""
    basis, pairs, cpu = case
    shared = csb_on_ranks(basis, pairs, Runtime(device=torch.device("cuda"), real=dtype))
    for count in (1, 3, 8):
        x_nb = random_vectors(count, basis.dimension, dtype, seed=count)
        assert agree(shared.on_segments(x_nb.cuda()), cpu.apply(x_nb.double()), dtype)


def product_on_gpu(world, backend, layout, scheme="auto"):
    """The own components of H x; all ranks work on the first GPU."""
    basis = no_core_basis(3, 3, 4, 0)
    runtime = Runtime(device=torch.device("cuda", torch.cuda.current_device()), grid=ProcessGrid(world))
    sharing = Sharing(layout, scheme_named(scheme))
    operator = NuclearHamiltonian(basis, random_pairs(basis), backend, runtime, sharing)
    x_nb = random_vectors(2, basis.dimension)[:, operator.segments.own]
    return operator.first(x_nb[None].cuda())[0].cpu().numpy()


@pytest.mark.gpu
@pytest.mark.ranks
@pytest.mark.parametrize(
    ("backend", "layout", "scheme"),
    [("pairs", "", "auto"), ("csb", "triangle", "auto"), ("csb", "dealt", "auto"), ("csb", "triangle", "plain"),
     ("csb", "triangle", "mpi"), ("csb", "triangle", "p2p"), ("pairs", "", "p2p"), ("csb", "triangle", "gloo")],
)  # fmt: skip
def test_three_ranks_that_share_a_gpu_make_the_product_of_one(ranks, backend, layout, scheme):
    basis = no_core_basis(3, 3, 4, 0)
    wanted = pairs_hamiltonian(basis, random_pairs(basis)).apply(random_vectors(2, basis.dimension)).numpy()
    pool = ranks(3, "mpi" if scheme in ("plain", "mpi", "p2p") else "gloo")
    found = np.concatenate(pool.run(product_on_gpu, backend, layout, scheme), axis=1)
    assert np.abs(found - wanted).max() <= 1e-13 * np.abs(wanted).max()


NCCL = ["nccl:1", "nccl:2", "nccl:3", "nccl:4:2", "nccl:4:16:4"]


class ToItself(Segments):
    """Segments of one rank whose components are sent to itself all the same."""

    def whole(self, x_ns):
        return self.comm.all_gather(x_ns, [len(x_ns)])

    def own_sum(self, y_nb):
        return self.comm.reduce_scatter(y_nb[None])


@pytest.mark.gpu
@pytest.mark.parametrize("name", NCCL)
def test_the_streams_of_every_variant_keep_the_order_of_data(case, name):
    """One rank and groups of one rank by NCCL: what travels comes back, many times, behind work of all sizes."""
    basis, pairs, cpu = case
    device, scheme = torch.device("cuda", torch.cuda.current_device()), scheme_named(name)
    shared = csb_on_ranks(basis, pairs, Runtime(device=device))
    column, row = (
        nccl_world(
            0, 1, HashStore(), device, interface="lo", high_priority=links.high_priority,
            thread_blocks=links.thread_blocks,
        )
        for links in (scheme.column, scheme.row)
    )
    states = basis.dimension
    group = RowGroup(row, states, slice(0, states))
    steps = FourSteps(ToItself(states, column), device, Trace(), group, scheme)
    shared = replace(shared, steps=steps)
    for number in range(30):
        x_nb = random_vectors(1 + number % 3, states, seed=number)
        assert agree(shared.on_segments(x_nb.cuda()), cpu.apply(x_nb), torch.float64), number
    column.close()
    row.close()


@pytest.mark.gpu
@pytest.mark.ranks
@pytest.mark.parametrize("backend", ["csb", "pairs"])
@pytest.mark.parametrize("scheme", NCCL)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_gpus_by_nccl_make_the_product_of_one(ranks, backend, scheme, size):
    if torch.cuda.device_count() < size:
        pytest.skip(f"NCCL wants a GPU for each rank, and there are fewer than {size}")
    basis = no_core_basis(3, 3, 4, 0)
    wanted = pairs_hamiltonian(basis, random_pairs(basis)).apply(random_vectors(2, basis.dimension)).numpy()
    found = np.concatenate(ranks(size, "nccl").run(product_on_gpu, backend, "", scheme), axis=1)
    assert np.abs(found - wanted).max() <= 1e-13 * np.abs(wanted).max()
