"""The Hamiltonian on several ranks: the product, Lanczos coefficients and states are those of one rank."""

from functools import cache

import numpy as np
import pytest
import torch

from covering import covering
from eigenwerk.linalg.bands.davidson import davidson
from eigenwerk.linalg.lanczos import LanczosPlan, lanczos
from eigenwerk.ncci.matrix_free.pairs import pairs_hamiltonian
from eigenwerk.ncci.ranks.scheme import scheme_named
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.ncci.solve.operators import NuclearHamiltonian, Sharing
from eigenwerk.ncci.solve.start_vectors import noise_vectors
from eigenwerk.ncci.stored.csb import csb_hamiltonian
from eigenwerk.ncci.stored.csb_on_ranks import csb_on_ranks
from eigenwerk.ncci.stored.dense import dense_hamiltonian
from eigenwerk.parallel.process_grid import ProcessGrid
from eigenwerk.parallel.runtime import Runtime
from random_pairs import no_core_basis, p_and_sd_shell_basis, random_pairs, random_vectors

SPACES = {
    "6Li Nmax 2": (3, 3, 2, 2), "3H Nmax 4": (1, 2, 4, 1), "valence": None,
    "6Li Nmax 4": (3, 3, 4, 2), "3H Nmax 6": (1, 2, 6, 1),
}  # fmt: skip
"""Protons, neutrons, Nmax, 2M; 3H has an odd number of states that most numbers of ranks do not divide."""

SMALL = list(SPACES)[:3]

LIMITS = {torch.float32: 1e-6, torch.float64: 1e-13}

POOLS = ("gloo", 2), ("gloo", 3), ("gloo", 4), ("gloo", 5), ("mpi", 2), ("mpi", 3)

TRIANGLES = *POOLS[:4], ("gloo", 6), ("gloo", 8), ("gloo", 10), ("gloo", 15), ("mpi", 3)


def is_small(pool, name):
    """Of small spaces on no more ranks than there are processors for."""
    return name in SMALL and pool[1] < 4 and pool[0] == "gloo"



@cache
def problem(name):
    basis = p_and_sd_shell_basis() if SPACES[name] is None else no_core_basis(*SPACES[name])
    return basis, random_pairs(basis)


def hamiltonian_on(world, name, dtype, backend="pairs"):
    return NuclearHamiltonian(*problem(name), backend, Runtime(grid=ProcessGrid(world), real=dtype))


def own_product(world, name, dtype, count, backend):
    """The components of this rank of H x, and how much of H it has."""
    operator = hamiltonian_on(world, name, dtype, backend)
    x_nb = random_vectors(count, operator.basis.dimension, dtype)
    shared = operator.shared
    work = shared.nonzeros if backend == "csb" else len(shared.products.steps)
    return operator.first(x_nb[None, :, operator.segments.own])[0].numpy(), work


@pytest.fixture(scope="module")
def serial():
    """Products of one rank, made once."""
    found = {}

    def product(name, dtype, count):
        key = name, dtype, count
        if key not in found:
            x_nb = random_vectors(count, problem(name)[0].dimension, dtype)
            found[key] = pairs_hamiltonian(*problem(name), dtype).apply(x_nb).numpy()
        return found[key]

    return product


@pytest.mark.fast("gloo 2-3H Nmax 4", "gloo 3-valence")
@pytest.mark.ranks
@pytest.mark.parametrize(("pool", "name"), covering(POOLS, SPACES, fast=is_small))
def test_the_product_is_that_of_one_rank(ranks, serial, pool, name):
    transport, size = pool
    for dtype, count in ((torch.float64, 1), (torch.float64, 3), (torch.float32, 1)):
        parts, steps = zip(*ranks(size, transport).run(own_product, name, dtype, count, "pairs"), strict=True)
        found, wanted = np.concatenate(parts, axis=1), serial(name, dtype, count)
        assert np.abs(found - wanted).max() <= LIMITS[dtype] * np.abs(wanted).max()
        assert min(steps) > 0


@pytest.mark.fast("gloo 2-3H Nmax 4", "gloo 3-valence")
@pytest.mark.ranks
@pytest.mark.parametrize(("pool", "name"), covering(TRIANGLES, SPACES, fast=is_small))
def test_the_product_with_stored_blocks_is_that_of_one_rank(ranks, serial, pool, name):
    transport, size = pool
    nonzeros = csb_hamiltonian(*problem(name)).nonzeros - problem(name)[0].dimension
    for dtype, count in ((torch.float64, 3), (torch.float32, 1)):
        parts, stored = zip(*ranks(size, transport).run(own_product, name, dtype, count, "csb"), strict=True)
        found, wanted = np.concatenate(parts, axis=1), serial(name, dtype, count)
        assert np.abs(found - wanted).max() <= LIMITS[dtype] * np.abs(wanted).max()
        assert sum(stored) == nonzeros


@pytest.mark.fast("6Li Nmax 2")
@pytest.mark.parametrize("name", SMALL)
def test_one_rank_by_the_code_of_many_makes_the_same_product(serial, name):
    for dtype, count in ((torch.float64, 3), (torch.float32, 1)):
        shared, wanted = csb_on_ranks(*problem(name), Runtime(real=dtype)), serial(name, dtype, count)
        found = shared.on_segments(random_vectors(count, shared.segments.dimension, dtype)).numpy()
        assert np.abs(found - wanted).max() <= LIMITS[dtype] * np.abs(wanted).max()


def own_product_by(world, name, dtype, scheme):
    """The components of this rank of H x by a scheme, and what sent vectors in it."""
    sharing = Sharing(scheme=scheme_named(scheme))
    operator = NuclearHamiltonian(*problem(name), "csb", Runtime(grid=ProcessGrid(world), real=dtype), sharing)
    x_nb = random_vectors(2, operator.basis.dimension, dtype)
    found = operator.first(x_nb[None, :, operator.segments.own])[0].numpy()
    steps, (simple,) = operator.shared.steps, {part.simple for part in operator.shared.parts.values()}
    return found, {steps.home.comm.transport, steps.row.comm.transport} - {"serial"}, simple


@pytest.mark.fast("mpi-2-*")
@pytest.mark.ranks
@pytest.mark.parametrize(
    ("scheme", "size", "names"),
    covering(
        ("gloo", "plain", "mpi", "p2p"), (2, 3, 6), (SMALL[:2], list(SPACES)[3:]),
        possible=lambda scheme, size, names: scheme != "gloo" or size < 6,
        fast=lambda scheme, size, names: size == 2 and names == SMALL[:2],
    ),
)  # fmt: skip
def test_the_product_by_every_scheme_is_that_of_one_rank(ranks, serial, scheme, size, names):
    transport = "gloo" if scheme == "gloo" else "mpi"
    for name in names:
        for dtype in LIMITS:
            results = ranks(size, transport).run(own_product_by, name, dtype, scheme)
            parts, by, simple = zip(*results, strict=True)
            found, wanted = np.concatenate(parts, axis=1), serial(name, dtype, 2)
            assert np.abs(found - wanted).max() <= LIMITS[dtype] * np.abs(wanted).max()
            assert set().union(*by) == {"pairwise mpi" if scheme == "p2p" else transport}
            assert set(simple) == {scheme == "plain"}


def in_layout(world, name, layout):
    basis, pairs = problem(name)
    operator = NuclearHamiltonian(basis, pairs, "csb", Runtime(grid=ProcessGrid(world)), Sharing(layout))
    x_nb = random_vectors(1, basis.dimension)
    return operator.first(x_nb[None, :, operator.segments.own])[0].numpy(), operator.shared.about


@pytest.mark.slow
@pytest.mark.ranks
def test_both_layouts_of_three_ranks_make_the_same_product(ranks, serial):
    spread = {}
    for layout in ("triangle", "dealt"):
        parts, about = zip(*ranks(3).run(in_layout, "6Li Nmax 4", layout), strict=True)
        wanted = serial("6Li Nmax 4", torch.float64, 1)
        assert np.abs(np.concatenate(parts, axis=1) - wanted).max() <= 1e-13 * np.abs(wanted).max()
        assert {each["layout"] for each in about} == {layout} and about[0] == about[1] == about[2]
        spread[layout] = about[0]["nonzeros_max_over_mean"]
    assert spread["dealt"] <= 1.05 < spread["triangle"] <= 1.6


def traffic_of_a_product(world, name):
    """What one product sends, by verb: bytes of arrays, and calls."""
    basis, pairs = problem(name)
    operator = NuclearHamiltonian(basis, pairs, "csb", Runtime(grid=ProcessGrid(world)), Sharing("triangle"))
    x_nb = random_vectors(1, basis.dimension)[:, operator.segments.own]
    before = recorded(world)
    operator.first(x_nb[None])
    after = recorded(world)
    shared = operator.shared
    sent = {key: tuple(np.subtract(after[key], before.get(key, (0, 0)))) for key in after}
    sizes = shared.steps.home.length, shared.steps.home.comm.size, shared.steps.row.states, shared.steps.row.comm.size
    return {key: value for key, value in sent.items() if any(value)}, sizes


def recorded(world):
    return {
        (row["verb"], row["group"]): (row["bytes"], row["calls"]) for row in world.trace.as_dict()["traffic"]
    }


@pytest.mark.ranks
@pytest.mark.parametrize("size", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_a_product_on_the_triangle_sends_nothing_but_the_four_steps(ranks, size):
    for sent, (length, column, states, row) in ranks(size).run(traffic_of_a_product, "3H Nmax 6"):
        wanted = {}
        if column > 1:
            wanted["all_gather", "column"] = 8 * length, 1
            wanted["reduce_scatter", "column"] = 8 * length * column, 1
        if row > 1:
            wanted["broadcast", "row"] = wanted["reduce", "row"] = 8 * states, 1
        assert sent == wanted


@pytest.mark.slow
def test_shares_add_up_to_the_dense_matrix_and_split_the_work():
    basis = no_core_basis(2, 2, 4, 0)
    pairs, x_nb = random_pairs(basis), random_vectors(2, basis.dimension)
    wanted = dense_hamiltonian(basis, pairs).apply(x_nb)
    for size in (1, 3, 40):
        shares = [pairs_hamiltonian(basis, pairs, ranks=size, rank=rank) for rank in range(size)]
        found = sum(share.apply(x_nb) for share in shares)
        assert torch.allclose(found, wanted, rtol=0, atol=1e-12 * wanted.abs().max())
        assert len({step for share in shares for step in share.steps}) == sum(len(share.steps) for share in shares)
    gathers = [sum(gather.place.numel() for gather in share.kept.values()) for share in shares]
    assert max(gathers) < 0.2 * sum(gathers)


def lanczos_coefficients(world, name, dtype, block):
    operator = hamiltonian_on(world, name, dtype)
    start_ns = noise_vectors(operator.segments, block, torch.zeros(1, dtype=dtype))
    states = []
    plan = LanczosPlan(2, products=16, fixed=True, first_component=operator.segments.own.start, eigh=operator.eigh)
    found = lanczos(operator, start_ns[None], plan, watch=states.append)
    return states[-1].projected_mm.numpy(), found.eig_kn.numpy()


@pytest.mark.slow
@pytest.mark.fast("2-torch.float64-*")
@pytest.mark.ranks
@pytest.mark.parametrize(
    ("size", "dtype", "problems"),
    covering(
        (2, 3, 5), (torch.float64, torch.float32),
        ((("3H Nmax 4", 1), ("6Li Nmax 2", 2)), (("3H Nmax 6", 1), ("6Li Nmax 4", 2))),
        fast=lambda size, dtype, problems: size < 5 and problems[0][0] in SMALL, together=1,
    ),
)  # fmt: skip
def test_lanczos_coefficients_are_those_of_one_rank(ranks, size, dtype, problems):
    limit = 1e-10 if dtype == torch.float64 else 1e-5
    for name, block in problems:
        wanted, eig = lanczos_coefficients(Runtime().world, name, dtype, block)
        results = ranks(size).run(lanczos_coefficients, name, dtype, block)
        for found, eig_kn in results:
            assert np.abs(found - wanted).max() <= limit * np.abs(wanted).max()
            assert np.array_equal(eig_kn, results[0][1])
            assert eig_kn == pytest.approx(eig, rel=limit)


def lobpcg_energies(world, dtype):
    operator = hamiltonian_on(world, "3H Nmax 4", dtype)
    start_ns = noise_vectors(operator.segments, 4, torch.zeros(1, dtype=dtype))
    found = davidson(operator, start_ns[None], expansions=300, tolerance=1e-4, relative=True, eigh=operator.eigh)
    return found.eig_kn.numpy(), found.converged_kn.numpy()


@pytest.mark.slow
@pytest.mark.ranks
def test_lobpcg_finds_the_states_of_one_rank(ranks):
    wanted, converged = lobpcg_energies(Runtime().world, torch.float64)
    assert converged.all()
    for eig_kn, same in ranks(3).run(lobpcg_energies, torch.float64):
        assert same.all() and eig_kn == pytest.approx(wanted, rel=1e-8)


def test_a_back_end_that_is_not_shared_is_no_silent_choice():
    class TwoRanks:
        size, rank = 2, 0

    basis = no_core_basis(1, 2, 2, 1)
    with pytest.raises(ValueError, match="back end dense on 2 ranks"):
        NuclearHamiltonian(basis, random_pairs(basis), "dense", Runtime(grid=ProcessGrid(TwoRanks())))


def test_noise_does_not_depend_on_the_number_of_ranks():
    class Rank:
        def __init__(self, rank):
            self.rank, self.size = rank, 3

    parts = [noise_vectors(Segments(20, Rank(rank)), 2, torch.zeros(1)) for rank in range(3)]
    assert torch.equal(torch.cat(parts, dim=1), noise_vectors(Segments(20), 2, torch.zeros(1)))
