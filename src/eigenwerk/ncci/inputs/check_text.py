"""What `eigenwerk ncci check` says of a case: its space, and what each back end would need."""

from collections.abc import Iterator, Sequence

from eigenwerk.ncci.basis.counting import nonzeros_countable
from eigenwerk.ncci.estimate import USUAL_PRODUCTS, Cost, Estimate, planned
from eigenwerk.ncci.inputs.inputs import Case, half
from eigenwerk.ncci.problem import CaseSpace
from eigenwerk.ncci.refusal import refuse_host_memory, refuse_what_does_not_fit
from eigenwerk.parallel.memory.main_memory import MemoryShare


def check_texts(
    case: Case, problem: CaseSpace, gpu_gb: float | None, host_gb: float | None, ranks: int, seconds: float
) -> Iterator[str]:
    """All that is said of a case, on processors here or on GPUs of so much memory, by `ranks` of them; counting may
    take `seconds`.  Raises InputError after what is to be said of a case that a run would refuse."""
    device, shares = ("cpu", ()) if gpu_gb is None else ("cuda", (MemoryShare(1e9 * gpu_gb),))
    estimated, memory, backend = planned(case, problem, device, shares, ranks, seconds)
    yield "\n".join(check_lines(case, problem, estimated, memory, backend))
    if device == "cpu" and case.solver.device.startswith("cuda"):
        yield (
            f'  judged as on processors of this machine; device = "{case.solver.device}" in the file wants a '
            "GPU: --gpu-gb GB judges by one"
        )
    refuse_what_does_not_fit(case, problem, estimated, backend, memory)
    if device == "cuda":
        cost = next((cost for cost in estimated.costs if cost.backend == backend), None)
        if cost is not None and host_gb is None:
            yield f"  {host_words(cost)}"
        refuse_host_memory(case, cost, ranks, None if host_gb is None else 1e9 * host_gb)


def check_lines(
    case: Case, problem: CaseSpace, estimated: Estimate, shares: Sequence[MemoryShare], backend: str
) -> list[str]:
    """The page for one case.  shares: what ranks may use; backend: the one that a run would take."""
    space = problem.space
    lines = [case.title, f"  nucleons     {space.protons} protons and {space.neutrons} neutrons that move"]
    lines.append(f"  orbitals     {len(space.orbitals_p)} of protons, {len(space.orbitals_n)} of neutrons")
    lines.append(
        f"  states       {_grouped(estimated.dimension)} with M = {half(space.twice_M)}, parity {'+-'[space.parity]}"
    )
    counts = estimated.counts
    if counts is None:
        why = (
            "counting takes longer than it may (--seconds allows more); csb is left out"
            if nonzeros_countable(space)
            else "protons and neutrons have limits of their own"
        )
        lines.append(f"  nonzeros     not counted: {why}")
    else:
        lines.append(
            f"  nonzeros     {_grouped(counts.nonzeros)} in the lower triangle with the diagonal "
            f"({counts.nonzeros / estimated.dimension:.0f} for each state)"
        )
        lines.append(
            f"               differing by one nucleon {_grouped(counts.one)}; by two: pp {_grouped(counts.pp)}, "
            f"nn {_grouped(counts.nn)}, pn {_grouped(counts.pn)}"
        )
    block, several = estimated.block, estimated.ranks > 1
    memory = min(share.bytes for share in shares)
    lines.append(
        f"  {case.solver.method}, blocks of {block}, {case.solver.precision} precision, {USUAL_PRODUCTS} products; "
        f"memory {memory / 1e9:.1f} GB{' for each rank' if several else ''}; times are rough, for one core or one GPU"
    )
    if several:
        lines.append(
            f"  memory and times are those of each of {estimated.ranks} ranks, which has "
            f"{_grouped(-(-estimated.dimension // estimated.ranks))} components of the solver's vectors"
        )
    beside = estimated.costs[0].beside_seconds
    lines.append(f"  matrix elements and observables take {_time(beside)} more; `in all` has them")
    in_common = any(cost.common_bytes for cost in estimated.costs)
    common = "     common" if several and in_common else ""
    lines.append(f"  back end   operator    vectors      other{common}      build   per product   in all   fits")
    for cost in estimated.costs:
        lines.append(_row(cost, block, bool(common), cost.fits(shares), cost.backend == backend))
    if several:
        lines += [_common_words(cost, shares, estimated.ranks) for cost in estimated.costs]
        travel = estimated.cost(backend).travel_seconds / block
        lines.append(f"  of each product {_time(travel)} are vectors on their way between ranks")
        lines += [f"  csb: blocks by layout {cost.layout}" for cost in estimated.costs if cost.layout]
    return lines


def _row(cost: Cost, block: int, apart: bool, fits: bool, chosen: bool) -> str:
    """`other` is all that is neither operator nor vectors; apart: but for what ranks have in common, in its column."""
    kept = cost.operator_bytes, cost.vector_bytes
    sizes = [*kept, cost.other_bytes, cost.common_bytes] if apart else [*kept, cost.bytes() - sum(kept)]
    return (
        f"  {cost.backend:<8s} {' '.join(f'{_bytes(size):>10s}' for size in sizes)} "
        f"{_time(cost.build_seconds):>10s} {_time(cost.product_seconds / block):>13s} "
        f"{_time(cost.usual_seconds(block)):>8s}   {'yes' if fits else 'no'}"
        + ("  <- a run takes this one" if chosen else "")
    )


def _common_words(cost: Cost, shares: Sequence[MemoryShare], ranks: int) -> str:
    """What each rank needs, what ranks of a machine have in common, and both together."""
    share, most = cost.tightest(shares), "" if cost.full_ranks is None else "up to "
    words = f"  with {cost.backend} each rank has {most}{_bytes(cost.own_bytes)} for itself"
    if cost.common_bytes:
        words += f"; ranks of one machine have {_bytes(cost.common_bytes)} in common, counted once"
    elif cost.host_bytes:
        words += f" on its GPU; ranks of one machine have {_bytes(cost.host_bytes)} in common in its memory"
    if share.ranks > 1:
        words += f"; {share.ranks} ranks on one need {_bytes(share.ranks * cost.bytes(share.ranks))} in all"
    return words


def host_words(cost: Cost) -> str:
    """That the memory of machines with GPUs was not judged."""
    return (
        f"not judged: {_bytes(cost.host_bytes)} that ranks have in common in the memory of each machine; --host-gb GB "
        "judges it"
    )


def _grouped(number: int) -> str:
    """1 234 567."""
    return f"{number:_}".replace("_", " ")


def _bytes(number: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number / 1e3:.0f} kB"


def _time(seconds: float) -> str:
    if seconds >= 7200:
        return f"{seconds / 3600:.0f} h"
    if seconds >= 120:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{1e3 * seconds:.1f} ms"
