"""What `eigenwerk ncci check` says of a case: its space, and what each back end would need."""

from eigenwerk.ncci.estimate import USUAL_PRODUCTS, Cost, Estimate
from eigenwerk.ncci.inputs import Case, half
from eigenwerk.ncci.problem import CaseSpace


def check_lines(case: Case, problem: CaseSpace, estimated: Estimate, memory: float, backend: str) -> list[str]:
    """The page for one case.  backend: the one that a run would take."""
    space = problem.space
    lines = [case.title, f"  nucleons     {space.protons} protons and {space.neutrons} neutrons that move"]
    lines.append(f"  orbitals     {len(space.orbitals_p)} of protons, {len(space.orbitals_n)} of neutrons")
    lines.append(
        f"  states       {_grouped(estimated.dimension)} with M = {half(space.twice_M)}, parity {'+-'[space.parity]}"
    )
    counts = estimated.counts
    if counts is None:
        lines.append("  nonzeros     not counted: protons and neutrons have limits of their own")
    else:
        lines.append(
            f"  nonzeros     {_grouped(counts.nonzeros)} in the lower triangle with the diagonal "
            f"({counts.nonzeros / estimated.dimension:.0f} for each state)"
        )
        lines.append(
            f"               differing by one nucleon {_grouped(counts.one)}; by two: pp {_grouped(counts.pp)}, "
            f"nn {_grouped(counts.nn)}, pn {_grouped(counts.pn)}"
        )
    block = estimated.block
    lines.append(
        f"  {case.solver.method}, blocks of {block}, {case.solver.precision} precision, {USUAL_PRODUCTS} products; "
        f"memory {memory / 1e9:.1f} GB; times are rough, for one core or one GPU"
    )
    if estimated.ranks > 1:
        lines.append(
            f"  memory and times are those of each of {estimated.ranks} ranks, which has "
            f"{_grouped(-(-estimated.dimension // estimated.ranks))} components of the solver's vectors"
        )
    lines.append("  back end   operator    vectors      other      build   per product   in all   fits")
    for cost in estimated.costs:
        lines.append(_row(cost, block, memory, cost.backend == backend))
    if estimated.ranks > 1:
        travel = estimated.cost(backend).travel_seconds / block
        lines.append(f"  of each product {_time(travel)} are vectors on their way between ranks")
        lines += [f"  csb: blocks by layout {cost.layout}" for cost in estimated.costs if cost.layout]
    return lines


def _row(cost: Cost, block: int, memory: float, chosen: bool) -> str:
    whole = cost.usual_seconds(block)
    fits = "yes" if cost.bytes <= memory else "no"
    return (
        f"  {cost.backend:<8s} {_bytes(cost.operator_bytes):>10s} {_bytes(cost.vector_bytes):>10s} "
        f"{_bytes(cost.other_bytes):>10s} "
        f"{_time(cost.build_seconds):>10s} {_time(cost.product_seconds / block):>13s} {_time(whole):>8s}   {fits}"
        + ("  <- a run takes this one" if chosen else "")
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
