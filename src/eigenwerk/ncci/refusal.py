"""Refuses what does not fit in memory, with the changes with which it would."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import ceil

from eigenwerk.errors import InputError
from eigenwerk.ncci.estimate import DENSE_LARGEST, SHARED, Cost, Estimate, estimate
from eigenwerk.ncci.inputs.inputs import Case, SolverSettings, block_size
from eigenwerk.ncci.problem import CaseSpace
from eigenwerk.ncci.ranks.layout import triangle_of
from eigenwerk.parallel.memory.main_memory import MemoryShare, installed_memory

MOST_RANKS = 4096
"""Up to so many are tried."""

Shares = Sequence[MemoryShare]


def refuse_what_does_not_fit(case: Case, problem: CaseSpace, estimated: Estimate, backend: str, shares: Shares) -> None:
    """Raises InputError that names the smallest changes with which the case would fit.

    shares: what ranks may use, as `estimate.planned` gives it.
    """
    if backend == "dense" and estimated.dimension > DENSE_LARGEST:
        raise InputError(
            f"{case.path}: backend = 'dense' is for tests, up to {DENSE_LARGEST} states; this case has "
            f'{estimated.dimension}. Set backend = "auto".'
        )
    cost = next((cost for cost in estimated.costs if cost.backend == backend), None)
    if cost is None or cost.fits(shares):
        return
    share = cost.tightest(shares)
    raise InputError(
        f"{case.path}: {case.title} needs {_needed(cost, share, estimated.ranks)} with back end {backend} "
        f"({estimated.dimension} states"
        + ("" if estimated.nonzeros is None else f", {estimated.nonzeros} nonzeros")
        + f"), but there are {_gb(share.bytes)}{' for each' if estimated.ranks > 1 else ''}. "
        + _remedy(case, problem, estimated, cost, shares)
    )


def refuse_host_memory(case: Case, cost: Cost | None, ranks: int, bytes_host: float | None) -> None:
    """Raises InputError where what ranks on GPUs have in common does not fit the memory of their machine.

    bytes_host: of each machine, None where it is not known.
    """
    if cost is None or bytes_host is None or cost.host_bytes <= bytes_host:
        return
    other = "" if cost.backend == "pairs" else ', or backend = "pairs" in [solver], which has less in common'
    raise InputError(
        f"{case.path}: {case.title} on {ranks} GPU{'s' * (ranks > 1)} with back end {cost.backend} needs "
        f"{_gb(cost.host_bytes)} in the memory of each machine, which ranks there have in common (matrix elements, "
        f"jumps), but there are {_gb(bytes_host)}. Take machines with more{other}."
    )


def _gb(size: float) -> str:
    """With three digits where these are behind the point: what is needed differs from what there is."""
    return f"{size / 1e9:.1f} GB" if size >= 1e10 else f"{size / 1e9:.3g} GB"


def _needed(cost: Cost, share: MemoryShare, ranks: int) -> str:
    """How much, and where."""
    need = cost.bytes(share.ranks)
    if ranks == 1:
        return _gb(need)
    words = f"{_gb(need)} on each of {ranks} ranks"
    if share.ranks == 1 or not cost.common_bytes:
        return words
    whole = f"{_gb(share.ranks * need)} on a machine with {share.ranks} of them"
    return f"{words} ({whole}, which have {_gb(cost.common_bytes)} in common)"


def _remedy(case: Case, problem: CaseSpace, estimated: Estimate, cost: Cost, shares: Shares) -> str:
    """The first setting of the solver that fits; other numbers of ranks, or more memory, where these help."""

    def tried(backend: str, choice: SolverSettings, ranks: int) -> Cost:
        return estimate(problem, choice, case.states, estimated.device, ranks).cost(backend)

    found = []
    for words, choice in _changes(case):
        other = tried("pairs", choice, estimated.ranks)
        if other.fits(shares):
            found.append(f"{words} in [solver] ({_gb(_each(other, shares))})")
            break
    number = None
    if cost.backend in SHARED:
        most = min(MOST_RANKS, estimated.dimension)
        same = partial(tried, cost.backend, case.solver)
        number = _ranks_that_fit(case, estimated.ranks, most, shares, same)
    if number:
        found.append(f"{number} rank{'s' * (number > 1)}")
    installed, (share, *others) = installed_memory(), shares
    each = _each(cost, shares)
    on_host = estimated.device == "cpu" and not others
    if case.solver.memory_gb is not None and on_host and share.ranks * each <= (installed or 0.0):
        found.append(f"memory_gb = {ceil(each / 1e8) / 10:g}")
    nmax = case.max_excitation or 0
    wider = f"take {f'Nmax = {nmax - 2}, ' if nmax >= 2 else ''}a larger machine, or several"
    if not found:
        return f"No setting of the solver makes it fit; {wider}."
    return f"It would fit with {', or with '.join(found)}" + ("." if "[solver]" in found[0] else f"; else {wider}.")


def _each(cost: Cost, shares: Shares) -> float:
    """Bytes of each rank where there is least room."""
    return cost.bytes(cost.tightest(shares).ranks)


def _changes(case: Case) -> Iterator[tuple[str, SolverSettings]]:
    """Settings of the solver that take less and less memory, with their words."""
    yield 'backend = "pairs"', replace(case.solver, backend="pairs")
    single = replace(case.solver, backend="pairs", precision="single")
    yield 'backend = "pairs" and precision = "single"', single
    for space in (100, 60, 30, max(2, case.states + 3 * block_size(case.solver, case.states))):
        if space < case.solver.space:
            words = f'backend = "pairs", precision = "single" and space = {space}'
            yield words, replace(single, space=space)


def _ranks_that_fit(case: Case, ranks: int, most: int, shares: Shares, cost_of: Callable[[int], Cost]) -> int | None:
    """The nearest number of ranks, up to `most`, with which the same back end fits; None if there is none.

    More than there are where these bring memory (limits of each rank, GPUs, other machines), fewer where ranks share
    one machine.
    """
    alone = len(shares) == 1 and shares[0].ranks == ranks and cost_of(ranks).common_bytes > 0
    own_limit, installed = case.solver.memory_gb is not None, installed_memory() or 0.0
    numbers = range(ranks - 1, 0, -1) if alone and not own_limit else range(ranks + 1, most + 1)
    for number in numbers:
        if case.solver.layout == "triangle" and triangle_of(number) is None:
            continue
        there = shares
        if alone:
            size = shares[0].bytes if own_limit else shares[0].bytes * ranks / number
            there = (MemoryShare(size, number),)
        cost = cost_of(number)
        if cost.fits(there):
            return number if not (alone and own_limit) or number * cost.bytes(number) <= installed else None
    return None
