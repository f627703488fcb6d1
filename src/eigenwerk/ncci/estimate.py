"""What a case would cost, before anything is built: states, nonzeros, memory and time of each back end."""

from dataclasses import dataclass, replace

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis.counting import Counts, count, dimension, nonzeros_countable
from eigenwerk.ncci.basis.pair_counting import PairCounts, count_pairs
from eigenwerk.ncci.basis.space import ManyBodySpace
from eigenwerk.ncci.inputs import Case, SolverSettings, block_size
from eigenwerk.ncci.problem import CaseSpace
from eigenwerk.ncci.ranks.layout import triangle_of
from eigenwerk.ncci.ranks.scheme import scheme_named
from eigenwerk.parallel.main_memory import installed_memory

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

KEEP_BYTES = 1 << 31
"""Memory for such places."""

TRAVEL_RATE = {"cpu": 2e9, "cuda": 3e11}
"""Bytes per second that reach each rank in all-gather and reduce-scatter: between processes of one machine by Gloo or
MPI, between H200 by NCCL (`benchmarks/README.md`, collectives)."""

PROCESS_BYTES = 0.3e9
"""Python, PyTorch and the program, before anything is computed."""

JUMP_BYTES, BUILD_BYTES = 30.0, 0.3e9
"""While nonzeros are built: for each pair of determinants that differ by one nucleon; for entries at hand, at most,
else twice the matrix elements.  A fit to what was measured (`benchmarks/ncci/memory.py`)."""

COUPLED_BYTES, BLOCKS_AT_ONCE = 3.2, 4
"""Observables: J-coupled elements of all operators, for each element between m-states; blocks of m-states at once."""

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
    """One back end, for each rank: bytes of the operator, of vectors, and of all else (the program, matrix elements
    between pairs, what building and observables take); seconds to build and per product, and how many of these vectors
    travel; how ranks share stored blocks."""

    backend: str
    operator_bytes: float
    vector_bytes: float
    other_bytes: float
    build_seconds: float
    product_seconds: float
    travel_seconds: float = 0.0
    layout: str = ""

    @property
    def bytes(self) -> float:
        """All of it."""
        return self.operator_bytes + self.vector_bytes + self.other_bytes

    def usual_seconds(self, block: int) -> float:
        """To build it and to make the products that a few lowest states take, in blocks of vectors."""
        return self.build_seconds + USUAL_PRODUCTS / block * self.product_seconds


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


def counts_of(space: ManyBodySpace, valence: bool) -> tuple[int, Counts | None]:
    """Dimension, and the nonzeros by kinds where protons and neutrons share one limit."""
    if not nonzeros_countable(space):
        return dimension(space), None
    found = count(space, like_j_even=valence)
    return found.dimension, found


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
    found = count_pairs(problem.space)
    elements = float(item * found.elements)
    costs = [_pairs_cost(found, problem.space.nucleons, size, item, block, vectors, device, ranks)]
    if ranks > 1:
        if counts is not None:
            shared = _csb_on_ranks(counts.nonzeros, found, size, item, block, vectors, choice.layout, device, ranks)
            costs.insert(0, shared)
        return Estimate(size, counts, tuple(costs), device, block, ranks)
    if counts is not None:
        stored, build = counts.nonzeros * (4.0 + item), counts.nonzeros / FILL_RATE[device]
        product = counts.nonzeros * block / CSB_RATE
        other = 2 * elements
        if device == "cpu":
            product = counts.nonzeros * (CORE_CSB[0] + CORE_CSB[1] * block)
            other += PROCESS_BYTES + min(BUILD_BYTES, 2 * elements) + JUMP_BYTES * found.jumps
        costs.insert(0, Cost("csb", stored, vectors, other, build, product))
    if size <= DENSE_LARGEST:
        dense = float(item * size**2)
        costs.append(Cost("dense", dense, vectors, elements + PROCESS_BYTES, size**2 / 1e5, size**2 * block / 1e9))
    return Estimate(size, counts, tuple(costs), device, block)


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
    elements = float(item * found.elements)
    other, fill, travel_rate = 2 * elements, FILL_RATE[device], TRAVEL_RATE[device]
    once = twice = nonzeros * block / CSB_RATE / ranks
    if device == "cpu":
        other += PROCESS_BYTES + min(BUILD_BYTES, 2 * elements) + JUMP_BYTES * found.jumps
        once, twice = (nonzeros * (times * CORE_CSB[0] + CORE_CSB[1] * block) / ranks for times in (1, 2))
    else:
        twice *= 2
    costs = []
    if layout != "triangle" or n_d is None:
        travel = 2.0 * item * size * block * (1 - 1 / ranks) / travel_rate
        bytes_own, build = nonzeros * (4.0 + item) / ranks, 1.5 * nonzeros / fill / ranks
        work = 6.0 * item * size * block
        costs.append(Cost("csb", bytes_own + work, vectors, other, build, once + travel, travel, layout="dealt"))
    if layout != "dealt" and n_d is not None:
        most, part = (n_d + 1) / n_d, item * size * block / n_d
        travel = 2.0 * part * (1 + 1 - 2 / (n_d + 1)) / travel_rate
        bytes_own, build = most * nonzeros * (4.0 + item) / ranks, most * nonzeros / fill / ranks
        seconds = most * twice + travel
        costs.append(Cost("csb", bytes_own + 8.0 * part, vectors, other, build, seconds, travel, layout="triangle"))
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
        return Cost("pairs", work + 1e8, vectors, elements, tables, product, travel)
    kept = min(8.0 * found.gathers / ranks, KEEP_BYTES)
    lost = 1 - kept * ranks / (8.0 * max(found.gathers, 1))
    places = (CORE_PLACES[0] * found.products + CORE_PLACES[1] * found.gathers) / ranks
    per_product, per_multiply, per_gather, per_element = CORE_PAIRS
    product = per_product * found.products + block * per_multiply * found.multiplications
    product += found.gathers * (per_gather + per_element * block)
    product = product / ranks + lost * places + travel
    gathered = min(WORK_BYTES, 40.0 * found.gathers * block)
    observables = COUPLED_BYTES * found.elements + BLOCKS_AT_ONCE * 8.0 * found.largest
    other = PROCESS_BYTES + elements + observables
    return Cost("pairs", work + kept + gathered, vectors, other, 0.1 + places, product, travel)


def planned(
    case: Case, problem: CaseSpace, device: str, device_bytes: float | None, ranks: int = 1
) -> tuple[Estimate, float, str]:
    """What a case costs each rank with a device, or a part of it, of so many bytes, the bytes that it may use, and the
    back end that it takes."""
    estimated = estimate(problem, case.solver, case.states, device, ranks)
    refuse_too_many(case, estimated.dimension, ranks)
    memory = memory_of(case.solver, device_bytes, ranks)
    return estimated, memory, choose_backend(estimated, case.solver, memory)


def choose_backend(estimated: Estimate, choice: SolverSettings, memory: float) -> str:
    """The back end asked for; `auto` is the stored one where it fits in half of the memory, and building it and the
    usual number of products take less time than by `pairs`; else `pairs`."""
    if choice.backend != "auto":
        return choice.backend
    if scheme_named(choice.scheme).simple:
        return "csb"
    cost = {cost.backend: cost for cost in estimated.costs}
    if "csb" not in cost or cost["csb"].bytes >= 0.5 * memory:
        return "pairs"
    pairs_first = cost["pairs"].usual_seconds(estimated.block) < cost["csb"].usual_seconds(estimated.block)
    return "pairs" if pairs_first else "csb"


def refuse_too_many(case: Case, size: int, ranks: int = 1) -> None:
    """Raises InputError for more states, or more ranks, than the space has states, and for ranks that do not share the
    back end, or not by the layout."""
    also = "" if case.max_excitation is None else f", or leave Nmax = {case.max_excitation} out"
    has = f"{case.title} has {size} many-body state{'s' * (size > 1)}"
    if case.states > size:
        raise InputError(f"{case.path}: states = {case.states}, but {has}. Set states = {size} or less{also}.")
    if ranks > size:
        raise InputError(f"{case.path}: {has}, fewer than the {ranks} ranks. Start {size} or fewer{also}.")
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


def refuse_what_does_not_fit(case: Case, problem: CaseSpace, estimated: Estimate, backend: str, memory: float) -> None:
    """Raises InputError that names the smallest change with which the case would fit."""
    if backend == "dense" and estimated.dimension > DENSE_LARGEST:
        raise InputError(
            f"{case.path}: backend = 'dense' is for tests, up to {DENSE_LARGEST} states; this case has "
            f'{estimated.dimension}. Set backend = "auto".'
        )
    need = estimated.cost(backend).bytes if backend in [cost.backend for cost in estimated.costs] else 0.0
    if need <= memory:
        return
    on = f"on each of {estimated.ranks} ranks " if estimated.ranks > 1 else ""
    raise InputError(
        f"{case.path}: {case.title} needs {need / 1e9:.1f} GB {on}with back end {backend} ({estimated.dimension} states"
        + ("" if estimated.nonzeros is None else f", {estimated.nonzeros} nonzeros")
        + f"), but there are {memory / 1e9:.1f} GB. {_remedy(case, problem, memory, estimated.ranks)}"
    )


def _remedy(case: Case, problem: CaseSpace, memory: float, ranks: int) -> str:
    """The first of some changes that fits."""
    changes = [('backend = "pairs"', replace(case.solver, backend="pairs"))]
    single = replace(case.solver, backend="pairs", precision="single")
    changes.append(('backend = "pairs" and precision = "single"', single))
    for space in (100, 60, 30, max(2, case.states + 3 * block_size(case.solver, case.states))):
        if space < case.solver.space:
            words = f'backend = "pairs", precision = "single" and space = {space}'
            changes.append((words, replace(single, space=space)))
    for words, choice in changes:
        tried = estimate(problem, choice, case.states, "cpu", ranks)
        if tried.cost("pairs").bytes <= memory:
            return f"It would fit with {words} in [solver] ({tried.cost('pairs').bytes / 1e9:.1f} GB)."
    if case.max_excitation is not None and case.max_excitation >= 2:
        return f"No setting of the solver makes it fit; take Nmax = {case.max_excitation - 2}, or a larger machine."
    return "No setting of the solver makes it fit; take a larger machine."


def memory_of(choice: SolverSettings, device_bytes: float | None, ranks: int = 1) -> float:
    """Bytes that each rank may use: as the case says, else those of the device, else its part of what is installed."""
    if choice.memory_gb is not None:
        return 1e9 * choice.memory_gb
    return device_bytes or float(installed_memory() or 8e9) / ranks
