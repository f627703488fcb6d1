"""Do ranks, threads, cores, GPUs and network cards fit each other?  What is wrong, and what to do about it.

    for remark in check_binding(placements, {host: read_node()}):
        print(remark.severity, remark.text)

Pure logic on what `facts` and `node` know (no torch here).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from eigenwerk.parallel.launch.facts import Placement
from eigenwerk.parallel.launch.node import Node, whole
from eigenwerk.shown import counted

SLOW_NETWORK = 25.0
"""Gbit/s below which ranks of several machines wait for each other most of the time."""

IDLE_SHARE = 0.5
"""Share of the cores that have to be busy before idle ones are not worth a word."""


@dataclass(frozen=True)
class Remark:
    """severity: "warning" if the run will be slow, "note" if it could be faster; text: what, and a remedy."""

    severity: str
    text: str


def check_binding(placements: Sequence[Placement], nodes: Mapping[str, Node]) -> list[Remark]:
    """What does not fit, machine by machine, in the order of ranks.  Machines without a `Node` are left out."""
    hosts = list(dict.fromkeys(placement.host for placement in placements))
    found: list[Remark] = []
    for host in hosts:
        if host in nodes:
            here = [placement for placement in placements if placement.host == host]
            for check in CHECKS:
                found += check(here, nodes[host])
    if len(hosts) > 1:
        found += _network({host: nodes[host] for host in hosts if host in nodes})
    return found


def _threads(here: Sequence[Placement], node: Node) -> Iterator[Remark]:
    """More threads than cores: each waits for the others."""
    cores = _cores(here, node)
    threads = sum(placement.threads for placement in here)
    if threads <= cores:
        return
    fitting = max(1, cores // len(here))
    most = max(1, cores // max(placement.threads for placement in here))
    remedy = f"set OMP_NUM_THREADS={fitting}"
    if len(here) > 1 and fitting * len(here) > cores:
        remedy = f"use {cores} ranks"
    elif len(here) > 1 and most < len(here):
        remedy += f", or use {most} rank{'s' if most > 1 else ''}"
    why = ""
    if node.quota is not None and whole(node.quota) < len(_union(here)):
        why = f" (of {len(_union(here))}, this container or job may keep so many busy)"
    each = {placement.threads for placement in here}
    shown = f"{len(here)} x {each.pop()} threads" if len(each) == 1 and len(here) > 1 else f"{threads} threads"
    yield Remark("warning", f"{here[0].host}: {shown} on {counted(cores, 'core')}{why}: {remedy}.")


def _pinned(here: Sequence[Placement], node: Node) -> Iterator[Remark]:
    """A starter that binds a rank to fewer cores than it has threads, while others lie idle."""
    if sum(placement.threads for placement in here) > _cores(here, node):
        return  # said already
    tight = [placement for placement in here if 0 < len(placement.cores) < placement.threads]
    if tight:
        placement = tight[0]
        yield Remark(
            "warning",
            f"{placement.host}: rank {placement.rank} has {placement.threads} threads, but its starter binds it to "
            f"{counted(len(placement.cores), 'core')}: mpirun --bind-to none or --map-by slot:PE={placement.threads}, "
            f"srun --cpus-per-task={placement.threads}.",
        )


def _idle(here: Sequence[Placement], node: Node) -> Iterator[Remark]:
    """Several ranks that leave most of a machine to nobody; where GPUs compute, cores may idle."""
    available = node.physical_count(node.cores)
    if node.quota is not None:
        available = min(available, whole(node.quota))
    busy = sum(placement.threads for placement in here)
    if len(here) > 1 and busy < IDLE_SHARE * available and all(placement.device == "cpu" for placement in here):
        more = available // len(here)
        yield Remark(
            "note",
            f"{here[0].host}: {counted(busy, 'thread')} in all on {available} cores: OMP_NUM_THREADS={more} or more "
            "ranks would use the others.",
        )


def _hyperthreads(here: Sequence[Placement], node: Node) -> Iterator[Remark]:
    """Two threads on one physical core share its arithmetic."""
    cores, threads = _union(here), sum(placement.threads for placement in here)
    physical = node.physical_count(cores)
    if len(here) > 1 and physical < threads <= _cores(here, node):
        yield Remark(
            "note",
            f"{here[0].host}: {threads} threads on {physical} physical cores, two on some, which gains nothing: "
            f"OMP_NUM_THREADS={max(1, physical // len(here))}.",
        )


def _gpus(here: Sequence[Placement], node: Node) -> Iterator[Remark]:
    """Ranks that share a GPU, and GPUs that nobody uses."""
    used = [placement.gpu for placement in here if placement.gpu]
    if not used:
        return
    count = len(set(used))
    if len(used) > count:
        yield Remark(
            "warning",
            f"{here[0].host}: {len(used)} ranks share {counted(count, 'GPU')}; they take turns, and each needs memory "
            f"of its own: use {counted(count, 'rank')} here.",
        )
    elif count < len(node.gpus) and len(here) > 1:
        yield Remark("note", f"{here[0].host}: {count} of {len(node.gpus)} GPUs are used, one for each rank.")


def _nearness(here: Sequence[Placement], node: Node) -> Iterator[Remark]:
    """Ranks bound to cores far from their GPU."""
    for placement in here:
        domain, mine = node.gpus.get(placement.pci, -1), node.domains_of(placement.cores)
        if domain >= 0 and mine and domain not in mine:
            yield Remark(
                "warning",
                f"{placement.host}: rank {placement.rank} is bound to cores of NUMA domain {min(mine)}, but its GPU "
                f"{placement.device} is at domain {domain}: start it without binding, or "
                f"numactl --cpunodebind={domain}.",
            )


def _network(nodes: Mapping[str, Node]) -> Iterator[Remark]:
    """Machines whose fastest card in use is slow, and fast cards that are not in use."""
    for host, node in nodes.items():
        best = max((card for card in node.cards if card.up), key=lambda card: card.speed, default=None)
        down = [card for card in node.cards if not card.up and card.kind == "infiniband"]
        if down:
            yield Remark("warning", f"{host}: the network card {down[0].name} (InfiniBand) has no active port.")
        if best is not None and 0 < best.speed < SLOW_NETWORK:
            yield Remark(
                "warning",
                f"{host}: the fastest network card, {best.name}, moves {best.speed:g} Gbit/s; ranks on several "
                "machines will wait for each other. Use one machine, or one k-group on each (KPAR).",
            )


CHECKS: tuple[Callable[[Sequence[Placement], Node], Iterator[Remark]], ...] = (
    _threads, _pinned, _idle, _hyperthreads, _gpus, _nearness,
)  # fmt: skip


def _union(here: Sequence[Placement]) -> tuple[int, ...]:
    return tuple(sorted({core for placement in here for core in placement.cores}))


def _cores(here: Sequence[Placement], node: Node) -> int:
    """Cores that the ranks of a machine can keep busy together."""
    mine = len(_union(here)) or len(node.cores)
    return mine if node.quota is None else min(mine, whole(node.quota))
