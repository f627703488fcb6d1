"""What a case would cost, before anything is built: states, nonzeros, memory and time of each back end."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis.counted import counts_of
from eigenwerk.ncci.basis.counting import Counts, exceeds
from eigenwerk.ncci.basis.pair_counting import PairCounts, count_pairs
from eigenwerk.ncci.inputs.inputs import Case, SolverSettings, block_size
from eigenwerk.ncci.problem import CaseSpace
from eigenwerk.ncci.ranks.layout import most_ranks, too_few_blocks, triangle_of
from eigenwerk.ncci.ranks.scheme import scheme_named
from eigenwerk.parallel.memory.main_memory import MemoryShare, installed_memory

CSB_RATE, FILL_RATE = 2.2e11, {"cpu": 5.5e6, "cuda": 2.0e8}
"""Nonzeros of the half matrix per second and product on one H200; those built per second, by one core or for a GPU."""

PAIRS_RATE, TABLE_RATE = 4.5e10, 2.5e8
"""Gathered elements per second on one H200; those whose tables are made for it per second, on a processor."""

CORE_CSB = 1.0e-9, 1.0e-9
"""Seconds of one core for each nonzero: once, and for each vector."""

CORE_PAIRS = 2.2e-5, 2.5e-10, 5e-9, 4e-9
"""Seconds of one core for each dense product, each multiply-add of a vector, each gathered element, and that of a
vector."""

CORE_PLACES = 1e-4, 7e-8
"""Seconds of one core to find where gathered elements are: for each dense product, each element; kept as far as
`KEEP_BYTES` goes, eight bytes each."""

CORE_ELEMENTS, OBSERVED_RATE = (0.35, 2.9e-4, 7.7e-8), 1.0e-7
"""Seconds of one core for matrix elements: at least, by the root of their number between m-states (J-coupled ones), for
each of these (3H, 4He, 6Li, 12C, to a quarter; NNLOopt 2.5 more); for each in J^2 and other observables of pairs."""

KEEP_BYTES = 1 << 31
"""Memory for such places."""

TRAVEL_RATE = {"cpu": 2e9, "cuda": 3e11}
"""Bytes per second that reach each rank in all-gather and reduce-scatter: between processes of one machine by Gloo or
MPI, between H200 by NCCL (`benchmarks/README.md`, collectives)."""

PROGRAM_BYTES, RANK_BYTES = 0.22e9, 0.04e9
"""Python, PyTorch and the program, before anything is computed: once for the ranks of a machine, which are forks of one
process, and what each of them has written to.  Ranks of other starters have some 0.1 GB more."""

TABLE_BYTES, MAKING_BYTES = (13.0, 14.0), (13.0, 62.0)
"""For each jump of one nucleon, and of two as `count_pairs` counts them: in tables of stored blocks; while one rank
makes these.  This and what follows are fits to measurements (`benchmarks/ncci/memory.py`, `memory_on_ranks.md`)."""

AT_HAND, NONZERO_AT_HAND, ORDERED_BYTES = 0.2e9, 20.0, 30.0
"""While blocks are built: for entries at hand, at most (of several ranks a quarter each), or for each nonzero; for each
jump of one nucleon that is ordered or remembered."""

LEAST_BAND, SORTED_BYTES = 1 << 22, 160
"""Nonzeros that a GPU sorts together where memory is short, and bytes for each, at most (12C, Nmax 6, on two H100: some
70, and 30 more that PyTorch held in pieces, when memory ran out at 80)."""

COUPLED_BYTES, BLOCKS_AT_ONCE, OBSERVED_AT_HAND = 3.2, 4, 4e7
"""Observables: J-coupled elements of all operators, for each element between m-states; blocks of m-states at once; for
products of components, of several ranks a quarter each."""

RUN_BITS = 16
"""Blocks are counted for each row and run of 2^bits columns on a processor, four bytes each."""

FEW_STATES = 1_000_000
"""In larger spaces proton determinants are more than ranks; in others they are made to be counted."""

WORK_BYTES = 1.6e8
"""For the elements that are gathered at once, at most."""

DENSE_LARGEST = 20_000
"""Dimension above which no dense matrix is made (3.2 GB)."""

LOBPCG_BLOCKS = 12
"""Blocks of vectors that LOBPCG holds at the same time: [X, P, W] and H times it, and what they turn into (measured: 11
in double precision, 13 in single with double copies of stretches)."""

SHARED = "pairs", "csb"
"""Back ends that several ranks can share."""

USUAL_PRODUCTS = 100
"""Products that a few lowest states take."""


@dataclass(frozen=True)
class Cost:
    """One back end, for each rank: bytes of the operator, of vectors, and of all else (what a process, building and
    observables take); seconds to build and per product, and how many of these vectors travel; how ranks share stored
    blocks.

    common_bytes: what ranks of a machine have in common, once for all of them: the program, matrix elements between
    pairs, tables of jumps.  making_bytes: what one rank of a machine needs for a while to make these, before there are
    operators and vectors.  host_bytes: of GPUs, such tables, in the memory of the machine; each GPU has its own copy of
    what it needs, and neither of the other two.  full_ranks: so many have the operator said here, others half of it;
    None for all.  beside_seconds: matrix elements and observables, whatever the back end.
    """

    backend: str
    operator_bytes: float
    vector_bytes: float
    other_bytes: float
    build_seconds: float
    product_seconds: float
    travel_seconds: float = 0.0
    layout: str = ""
    common_bytes: float = 0.0
    making_bytes: float = 0.0
    host_bytes: float = 0.0
    full_ranks: int | None = None
    beside_seconds: float = 0.0

    @property
    def own_bytes(self) -> float:
        """What each rank has for itself."""
        return self.operator_bytes + self.vector_bytes + self.other_bytes

    def bytes(self, sharing: int = 1) -> float:
        """What a rank needs in the mean of `sharing` ranks of a machine, of all those that have the largest operators,
        with its part of what they have in common."""
        full = sharing if self.full_ranks is None else min(max(self.full_ranks, 1), sharing)
        operator = self.operator_bytes * (full + sharing) / (2 * sharing)
        beside = max(operator + self.vector_bytes, self.making_bytes / sharing)
        return self.other_bytes + beside + self.common_bytes / sharing

    def fits(self, shares: Sequence[MemoryShare]) -> bool:
        """Whether it does, on all machines."""
        return all(self.bytes(share.ranks) <= share.bytes for share in shares)

    def tightest(self, shares: Sequence[MemoryShare]) -> MemoryShare:
        """Where most is lacking, or least is left."""
        return max(shares, key=lambda share: self.bytes(share.ranks) - share.bytes)

    def usual_seconds(self, block: int) -> float:
        """For all of a run: matrix elements, the operator, the products that a few lowest states take, in blocks of
        vectors, and what is observed of them."""
        return self.beside_seconds + self.build_seconds + USUAL_PRODUCTS / block * self.product_seconds


MOST_STATES = 10**12
"""Larger spaces are refused before their nonzeros are counted; the largest ever computed have some 4e10 states."""


@dataclass(frozen=True)
class Estimate:
    """Size and costs of a case.  counts: None where nonzeros cannot be counted.  device: "cpu" or "cuda".

    block: vectors that H is applied to at once.  ranks: processes that share the case.
    """

    dimension: int
    counts: Counts | None
    costs: tuple[Cost, ...]
    device: str
    block: int
    ranks: int = 1

    @property
    def nonzeros(self) -> int | None:
        """Of the half matrix with its diagonal, None where they cannot be counted."""
        return None if self.counts is None else self.counts.nonzeros

    def cost(self, backend: str) -> Cost:
        """That of one back end."""
        return next(cost for cost in self.costs if cost.backend == backend)


def estimate(problem: CaseSpace, choice: SolverSettings, states: int, device: str, ranks: int = 1) -> Estimate:
    """Size and costs on a device, "cpu" or "cuda"; on several ranks those of each, by the back ends that can be shared.

    Raises InputError for a space without states.
    """
    size, counts = counts_of(problem.space, valence=problem.whole)
    block = block_size(choice, states)
    if size == 0:
        parity = ("even", "odd")[problem.space.parity]
        raise InputError(
            f"There is no state with 2M = {problem.space.twice_M} and {parity} parity in this space. "
            "Lower M, take the other parity, or raise Nmax."
        )
    item = 8 if choice.precision == "double" else 4
    kept = min(max(choice.space, states + 3 * block), size) + 2 * block
    kept = LOBPCG_BLOCKS * block if choice.method == "lobpcg" else kept
    # the solver's; then all components of all states, as arrays for files, and with both signs for observables
    vectors = float(item * max(-(-size // ranks) * (kept + states), 4 * size * states if ranks > 1 else 0))
    found = _pair_counts(problem.space)
    costs = [_pairs_cost(found, problem.space.nucleons, size, item, block, vectors, device, ranks)]
    if counts is not None:
        shared = _csb_on_ranks if ranks > 1 else _csb_cost
        costs.insert(0, shared(counts.nonzeros, found, size, item, block, vectors, choice.layout, device, ranks))
    if size <= DENSE_LARGEST and ranks == 1:
        seconds, common = (size**2 / 1e5, size**2 * block / 1e9), PROGRAM_BYTES + item * found.elements
        costs.append(Cost("dense", float(item * size**2), vectors, RANK_BYTES, *seconds, common_bytes=common))
    beside = _element_seconds(found, problem) + OBSERVED_RATE * found.elements
    return Estimate(size, counts, tuple(replace(cost, beside_seconds=beside) for cost in costs), device, block, ranks)


def _element_seconds(found: PairCounts, problem: CaseSpace) -> float:
    """To make matrix elements, without a core from those of the relative motion."""
    first, by_root, by_element = CORE_ELEMENTS
    return by_element * found.elements + (first + by_root * found.elements**0.5) * (problem.core is None)


_pair_counts, _exceeds = lru_cache(maxsize=4)(count_pairs), lru_cache(maxsize=4)(exceeds)
"""Other solvers and numbers of ranks are tried for the same space."""


def _observed_bytes(found: PairCounts, ranks: int) -> float:
    """What observables take of each rank."""
    at_hand = OBSERVED_AT_HAND / (1 if ranks == 1 else 4)
    return COUPLED_BYTES * found.elements + BLOCKS_AT_ONCE * 8.0 * found.largest + at_hand


def _beside_blocks(
    found: PairCounts, nonzeros: int, item: int, vectors: float, counted: float, device: str, ranks: int
) -> Cost:
    """The cost of stored blocks without the blocks and without times.  counted: rows times columns of the largest
    rectangle that a rank counts at once."""
    kept = Cost("csb", 0.0, vectors, 0.0, 0.0, 0.0)
    elements, jumps = float(item * found.elements), (found.one_jumps, found.two_jumps)
    tables = elements + sum(size * number for size, number in zip(TABLE_BYTES, jumps, strict=True))
    if device != "cpu":
        sorting = SORTED_BYTES * min(LEAST_BAND, nonzeros / ranks)
        return replace(kept, other_bytes=2 * elements + sorting, host_bytes=elements + tables)
    making = sum(size * number for size, number in zip(MAKING_BYTES, jumps, strict=True))
    at_hand = min(AT_HAND / (1 if ranks == 1 else 4), NONZERO_AT_HAND * nonzeros / ranks)
    building = at_hand + ORDERED_BYTES * found.one_jumps / ranks + 4.0 * counted / (1 << RUN_BITS)
    other, common = RANK_BYTES + max(building, _observed_bytes(found, ranks)), PROGRAM_BYTES + elements + tables
    return replace(kept, other_bytes=other, common_bytes=common, making_bytes=max(making + elements - tables, 0.0))


def _csb_cost(
    nonzeros: int, found: PairCounts, size: int, item: int, block: int, vectors: float, layout: str, device: str,
    ranks: int,
) -> Cost:  # fmt: skip
    """That of stored blocks on one rank."""
    product = nonzeros * block / CSB_RATE
    if device == "cpu":
        product = nonzeros * (CORE_CSB[0] + CORE_CSB[1] * block)
    beside = _beside_blocks(found, nonzeros, item, vectors, float(size) ** 2, device, ranks)
    stored, build = nonzeros * (4.0 + item), nonzeros / FILL_RATE[device]
    return replace(beside, operator_bytes=stored, build_seconds=build, product_seconds=product)


def _csb_on_ranks(
    nonzeros: int, found: PairCounts, size: int, item: int, block: int, vectors: float, layout: str, device: str,
    ranks: int,
) -> Cost:  # fmt: skip
    """That of stored blocks, by the faster layout, or the one that is asked for.

    On a triangle of n_d block rows blocks on the diagonal are half full, so that the others are (n_d + 1) / n_d times
    the mean, and these are read twice, for H and for its transpose; dealt blocks come out even and are read once, but
    every rank needs whole vectors.
    """
    n_d = triangle_of(ranks)
    fill, travel_rate = FILL_RATE[device], TRAVEL_RATE[device]
    once = twice = nonzeros * block / CSB_RATE / ranks
    if device == "cpu":
        once, twice = (nonzeros * (times * CORE_CSB[0] + CORE_CSB[1] * block) / ranks for times in (1, 2))
    else:
        twice *= 2
    costs = []
    if layout != "triangle" or n_d is None:
        travel = 2.0 * item * size * block * (1 - 1 / ranks) / travel_rate
        bytes_own, build = nonzeros * (4.0 + item) / ranks, nonzeros / fill / ranks
        counted, own = size**2 / ranks, bytes_own + 6.0 * item * size * block
        beside = _beside_blocks(found, nonzeros, item, vectors, counted, device, ranks)
        beside = replace(beside, layout="dealt", operator_bytes=own)
        costs.append(replace(beside, build_seconds=build, product_seconds=once + travel, travel_seconds=travel))
    if layout != "dealt" and n_d is not None:
        most, part = (n_d + 1) / n_d, item * size * block / n_d
        travel = 2.0 * part * (1 + 1 - 2 / (n_d + 1)) / travel_rate
        bytes_own, build = most * nonzeros * (4.0 + item) / ranks, most * nonzeros / fill / ranks
        beside = _beside_blocks(found, nonzeros, item, vectors, (size / n_d) ** 2, device, ranks)
        full, seconds = n_d * (n_d - 1) // 2, most * twice + travel
        beside = replace(beside, layout="triangle", operator_bytes=bytes_own + 8.0 * part, full_ranks=full)
        costs.append(replace(beside, build_seconds=build, product_seconds=seconds, travel_seconds=travel))
    return min(costs, key=lambda cost: cost.product_seconds)


def _pairs_cost(
    found: PairCounts, nucleons: int, size: int, item: int, block: int, vectors: float, device: str, ranks: int
) -> Cost:
    """That of the matrix-free back end: dense products are dealt out; each rank holds whole vectors for a product."""
    elements, work = float(item * found.elements), (5.0 if ranks == 1 else 8.0) * item * size * block
    travel = 2.0 * item * size * block * (1 - 1 / ranks) / TRAVEL_RATE[device]
    if device != "cpu":
        free = size * nucleons * (nucleons - 1) / 2  # elements whose labels are not occupied, by which the rates go
        tables, product = 0.5 + free / TABLE_RATE, free * block / PAIRS_RATE / ranks + travel
        return Cost("pairs", work + 1e8, vectors, elements, tables, product, travel, host_bytes=elements)
    kept = min(8.0 * found.gathers / ranks, KEEP_BYTES)
    lost = 1 - kept * ranks / (8.0 * max(found.gathers, 1))
    places = (CORE_PLACES[0] * found.products + CORE_PLACES[1] * found.gathers) / ranks
    per_product, per_multiply, per_gather, per_element = CORE_PAIRS
    product = per_product * found.products + block * per_multiply * found.multiplications
    product += found.gathers * (per_gather + per_element * block)
    product = product / ranks + lost * places + travel
    gathered = min(WORK_BYTES, (8.0 + 2 * item) * found.gathers * block / ranks)
    other, common = RANK_BYTES + _observed_bytes(found, ranks), PROGRAM_BYTES + elements
    operator = work + kept + gathered
    return Cost("pairs", operator, vectors, other, 0.1 + places, product, travel, common_bytes=common)


def planned(
    case: Case, problem: CaseSpace, device: str, shares: Sequence[MemoryShare] = (), ranks: int = 1,
    count_seconds: float | None = None,
) -> tuple[Estimate, tuple[MemoryShare, ...], str]:
    """What a case costs each rank with a device, the memory that ranks may use, by machines or GPUs that differ in it,
    and the back end that it takes.  shares: what there is of it; none for this machine and all ranks on it.
    count_seconds: see `counts_of`."""
    if _exceeds(problem.space, MOST_STATES):
        also = "" if case.max_excitation is None else f" Take less than Nmax = {case.max_excitation}."
        raise InputError(
            f"{case.path}: {case.title} has more than {MOST_STATES:.0e} many-body states, of which one vector takes "
            f"{8e-12 * MOST_STATES:g} TB: more than any machine computes, and nonzeros are not counted.{also}"
        )
    refuse_too_many(case, counts_of(problem.space, problem.whole, count_seconds)[0], ranks)
    if problem.space.nucleons == 1 and ranks > 1:
        raise InputError(f"{case.path}: {case.title} has one nucleon outside its core. Start one rank, not {ranks}.")
    estimated = estimate(problem, case.solver, case.states, device, ranks)
    memory = memory_of(case.solver, shares, ranks)
    backend = choose_backend(estimated, case.solver, memory)
    if problem.space.nucleons == 1:  # there is no pair for the others to act on
        backend = "dense"
    neutrons_only = problem.space.protons == 0
    if ranks > 1 and backend == "csb" and (neutrons_only or estimated.dimension <= FEW_STATES):
        first_d = np.array([0, estimated.dimension]) if neutrons_only else problem.basis().first_d
        if ranks > most_ranks(first_d):
            if case.solver.backend == "csb":
                raise InputError(f"{case.path}: {case.title}: {too_few_blocks(first_d, ranks)}")
            backend = "pairs"
    return estimated, memory, backend


def choose_backend(estimated: Estimate, choice: SolverSettings, shares: Sequence[MemoryShare]) -> str:
    """The back end asked for; `auto` is the stored one where it fits in half of the memory, and building it and the
    usual number of products take less time than by `pairs`; else `pairs`."""
    if choice.backend != "auto":
        return choice.backend
    if scheme_named(choice.scheme).simple:
        return "csb"
    cost = {cost.backend: cost for cost in estimated.costs}
    if "csb" not in cost or not cost["csb"].fits([replace(share, bytes=0.5 * share.bytes) for share in shares]):
        return "pairs"
    pairs_first = cost["pairs"].usual_seconds(estimated.block) < cost["csb"].usual_seconds(estimated.block)
    return "pairs" if pairs_first else "csb"


def refuse_too_many(case: Case, size: int, ranks: int = 1) -> None:
    """Raises InputError for more states, or more ranks, than the space has states, and for ranks that do not share the
    back end, or not by the layout."""
    also = "" if case.max_excitation is None else f", or take more than Nmax = {case.max_excitation}"
    has = f"{case.title} has {size} many-body state{'s' * (size > 1)}"
    if size == 0:
        raise InputError(
            f"{case.path}: {case.title} has no many-body state of this parity. Set M closer to zero, take the other "
            f"parity, or remove these lines{also}."
        )
    if case.states > size:
        less = " or less" * (size > 1)
        raise InputError(f"{case.path}: states = {case.states}, but {has}. Set states = {size}{less}{also}.")
    if ranks > size:
        start = "one rank" if size == 1 else f"{size} ranks or fewer"
        raise InputError(f"{case.path}: {has}, fewer than the {ranks} ranks. Start {start}{also}.")
    if ranks > 1 and case.solver.backend not in ("auto", *SHARED):
        raise InputError(
            f"{case.path}: backend = '{case.solver.backend}' computes on one rank, but there are {ranks}. Set "
            f'backend = "{SHARED[0]}" or "auto", or start one rank.'
        )
    _refuse_scheme(case, ranks)
    if ranks > 1 and case.solver.layout == "triangle" and triangle_of(ranks) is None:
        near = [number for number in range(1, 2 * ranks + 3) if triangle_of(number)]
        fewer, more = max(n for n in near if n < ranks), min(n for n in near if n > ranks)
        raise InputError(
            f"{case.path}: layout = 'triangle' takes 1, 3, 6, 10, 15, 21, ... ranks, but there are {ranks}. Start "
            f'{fewer} or {more}, or set layout = "dealt".'
        )


def _refuse_scheme(case: Case, ranks: int) -> None:
    """Raises InputError for the scheme of plain operations where there are no stored blocks."""
    scheme = scheme_named(case.solver.scheme)
    if ranks > 1 and scheme.simple and case.solver.backend == "pairs":
        raise InputError(
            f"{case.path}: scheme {scheme.name} applies stored blocks by plain operations, but the back end is "
            '"pairs". Set backend = "csb" or another scheme.'
        )


def memory_of(choice: SolverSettings, shares: Sequence[MemoryShare], ranks: int = 1) -> tuple[MemoryShare, ...]:
    """What each rank may use: as the case says, else what there is, else its part of what is installed here."""
    found = tuple(shares) or (MemoryShare(float(installed_memory() or 8e9) / ranks, ranks),)
    if choice.memory_gb is None:
        return found
    return tuple(replace(share, bytes=1e9 * choice.memory_gb) for share in found)
