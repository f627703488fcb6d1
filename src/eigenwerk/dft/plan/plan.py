"""Before a run: the layout it should have, the memory and time it needs, and whether it fits at all."""

from dataclasses import dataclass, replace

from eigenwerk.dft.plan.job_size import JobSize
from eigenwerk.dft.plan.layout import ProcessLayout, fastest_layout, possible_layouts, wished_layout
from eigenwerk.dft.plan.machine import Machine
from eigenwerk.dft.plan.memory import MemoryEstimate, estimate_memory
from eigenwerk.dft.plan.step_cost import StepCost, points_per_block, step_cost
from eigenwerk.errors import InputError

MOST_DEVICES = 1024
"""Larger machines are not looked at."""


@dataclass(frozen=True)
class Plan:
    """One way to run a job: layout, k-points in a block of the eigensolver, memory of the fullest rank, a step's time.

    memory_limit: bytes that a rank may use of its device.
    """

    size: JobSize
    machine: Machine
    layout: ProcessLayout
    block: int
    memory: MemoryEstimate
    cost: StepCost

    @property
    def memory_limit(self) -> float:
        """What a rank may use: fragments between free and used memory are of no use."""
        return self.machine.memory * (1.0 - self.machine.spare)

    @property
    def fits(self) -> bool:
        """Whether every rank has room."""
        return self.memory.total <= self.memory_limit

    @property
    def block_bytes(self) -> int:
        """Coefficients of one block of k-points, what `Runtime.block_bytes` has to be for this plan."""
        waves = -(-self.size.plane_waves // self.layout.band_ranks)
        return self.size.number_bytes * self.block * self.size.bands * waves


def plan_layout(size: JobSize, layout: ProcessLayout, machine: Machine) -> Plan:
    """The plan of a given layout, with the largest blocks of k-points that fit."""
    block = points_per_block(size, layout, machine)
    cost = step_cost(size, layout, machine)
    while True:
        plan = Plan(size, machine, layout, block, estimate_memory(size, layout, machine, block), cost)
        if plan.fits or block == 1:
            return plan
        block -= 1


def choose_layout(size: JobSize, ranks: int, machine: Machine, groups: int | None = None) -> ProcessLayout:
    """How a run shares its work when KPAR does not say: the fastest layout that fits.

    groups: KPAR, if it is given.  Raises InputError if KPAR does not suit the ranks or the k-points.
    """
    if groups is not None:
        return wished_layout(ranks, size.kpoints, groups)
    plans = {layout: plan_layout(size, layout, machine) for layout in possible_layouts(ranks, size.kpoints)}
    return fastest_layout(
        list(plans),
        seconds=lambda layout: plans[layout].cost.seconds,
        room=lambda layout: plans[layout].memory_limit - plans[layout].memory.total,
    )


def make_plan(size: JobSize, ranks: int, machine: Machine, groups: int | None = None) -> Plan:
    """The plan of the layout that `choose_layout` takes."""
    return plan_layout(size, choose_layout(size, ranks, machine, groups), machine)


def smallest_plan(size: JobSize, machine: Machine) -> Plan | None:
    """The plan with the fewest devices of this kind that fits; None beyond `MOST_DEVICES`."""
    ranks = 1
    while ranks <= MOST_DEVICES:
        plan = make_plan(size, ranks, machine)
        if plan.fits:
            return plan
        ranks = ranks + 1 if ranks < 16 else 2 * ranks
    return None


def require_room(size: JobSize, layout: ProcessLayout, machine: Machine) -> Plan:
    """The plan of a layout that fits; raises InputError with the numbers and the smallest change that would run."""
    plan = plan_layout(size, layout, machine)
    if plan.fits:
        return plan
    most = max((item for item in plan.memory.items), key=lambda item: item.bytes)
    raise InputError(
        f"This run needs {plan.memory.total / 1e9:.1f} GB on each of {layout.ranks} rank{'s' * (layout.ranks > 1)} "
        f"({most.name}: {most.bytes / 1e9:.1f} GB), and there are {plan.memory_limit / 1e9:.1f} GB. {_remedy(plan)}"
    )


def _fitting_blocks(plan: Plan) -> int:
    """The most orbitals at a time with which exact exchange has room; 0 if it never has."""
    for block in (32, 16, 8, 4, 2, 1):
        size = replace(plan.size, exchange_block=block)
        if plan_layout(size, plan.layout, plan.machine).fits:
            return block
    return 0


def _remedy(plan: Plan) -> str:
    """The smallest change after which the run would fit."""
    size, machine, ranks = plan.size, plan.machine, plan.layout.ranks
    if size.mesh and (blocks := _fitting_blocks(plan)):
        return f"With NBLOCK_FOCK = {blocks} (orbitals that exact exchange is applied to at a time) it would fit."
    other = make_plan(size, ranks, machine)
    if other.fits:
        needed = f"{other.memory.total / 1e9:.1f} GB"
        return f"With KPAR = {other.layout.groups} it would need {needed}: set that, or remove KPAR."
    more = smallest_plan(size, machine)
    if more is not None:
        coarser = ", NBANDS or the number of k-points" if size.mesh else " or NBANDS"
        return f"{more.layout.ranks} such ranks, each with that much memory, would do; or lower ENCUT{coarser}."
    if size.exact:
        return "Remove ALGO = Exact: the iterative solvers need no such matrices."
    return "Lower ENCUT, NBANDS or the number of k-points, or use ranks with more memory."
