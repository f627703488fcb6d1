"""A plan as plain values, and the same in words."""

from collections.abc import Iterator
from typing import Any

from eigenwerk import __version__
from eigenwerk.cli.checking.check_document import band_lists
from eigenwerk.cli.checking.check_text import FAINT, HEAD, PLAIN, STYLES, Line, size, under_titles
from eigenwerk.cli.checking.output_sizes import FIRST_STEPS, FORCE_STEPS, steps_of_motion
from eigenwerk.cli.moving.table import clock
from eigenwerk.cli.moving.words import points
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.plan.dispersion_cost import correction_cost
from eigenwerk.dft.plan.exchange_cost import FORCES, application_seconds, done_once, expected_applications
from eigenwerk.dft.plan.plan import Plan
from eigenwerk.dft.settings.motion_kind import SCF_STEPS
from eigenwerk.io.vasp.elements import formula
from eigenwerk.shown import counted
from eigenwerk.units import HARTREE_EV

Document = dict[str, Any]

STEPS_BEFORE, STEPS_BETWEEN = 6, 3
"""Steps of self-consistency before there is exact exchange, and for each of its operators, on average."""


def document(inputs: Inputs, plan: Plan, others: list[Plan], smallest: Plan | None) -> Document:
    """Everything known; memory in bytes, times in seconds.

    others: plans of other numbers of devices; smallest: the plan with the fewest devices that fits.
    """
    sizes = plan.size
    return {
        "eigenwerk": __version__,
        "folder": str(inputs.folder),
        "title": inputs.setting("SYSTEM"),
        "formula": formula(inputs.poscar.symbols),
        "size": {
            "spins": sizes.spins, "kpoints": sizes.kpoints, "bands": sizes.bands, "plane_waves": sizes.plane_waves,
            "projectors": sizes.projectors, "wave_points": sizes.wave_points, "atoms": sizes.atoms,
        },
        "fits": plan.fits,
        "fixed_density": inputs.fixed_density and len(inputs.kpoints.point_kc),
        "motion": inputs.motion and {"kind": inputs.motion.kind, "ionic_steps": points(inputs)},
        "band_lists": band_lists(inputs),
        "exchange_applications": _applications(inputs) if sizes.mesh else None,
        "dispersion": _dispersion(inputs),
        "plan": _plan(plan),
        "others": [_plan(other) for other in others],
        "smallest": smallest and _plan(smallest),
    }  # fmt: skip


def _applications(inputs: Inputs) -> int:
    return expected_applications(inputs.parameters.energy_tolerance * HARTREE_EV)


def _dispersion(inputs: Inputs) -> Document | None:
    """Of a correction by positions: seconds of one thread, and threads at most."""
    correction = inputs.parameters.dispersion
    if correction is None:
        return None
    seconds, threads = correction_cost(correction, inputs.structure)
    return {"method": correction.method, "thread_seconds": seconds, "threads": threads}


def _plan(plan: Plan) -> Document:
    layout = plan.layout
    return {
        "device": plan.machine.name,
        "ranks": layout.ranks,
        "groups": layout.groups,
        "band_ranks": layout.band_ranks,
        "points_of_a_group": layout.points(plan.size.kpoints),
        "balance": layout.balance(plan.size.kpoints),
        "block": {"kpoints": plan.block, "bytes": plan.block_bytes, "grid_bytes": int(plan.machine.grid_bytes)},
        "memory": {
            "total": plan.memory.total,
            "device": plan.machine.memory,
            "usable": plan.memory_limit,
            "staying": {item.name: item.bytes for item in plan.memory.items if not item.passing},
            "passing": {item.name: item.bytes for item in plan.memory.items if item.passing},
        },
        "step": {"seconds": plan.cost.seconds, "phases": dict(plan.cost.phases)},
        "exchange": _exchange_seconds(plan) if plan.size.mesh else None,
        "fits": plan.fits,
    }


def _exchange_seconds(plan: Plan) -> Document:
    """Of an application, and of forces and stress."""
    asked = plan.size, plan.layout, plan.machine
    seconds = application_seconds(*asked)
    return {"seconds": seconds, "forces": FORCES[done_once(*asked)] * seconds}


def lines(found: Document) -> Iterator[Line]:
    """All lines with their styles."""
    sizes, plan = found["size"], found["plan"]
    yield f"eigenwerk {found['eigenwerk']} plan: {found['folder']}", HEAD
    yield f"{found['formula']}: {found['title']}", PLAIN
    spins = ", 2 spins" if sizes["spins"] == 2 else ""
    yield (
        f"{counted(sizes['kpoints'], 'k-point')}{spins}, {sizes['bands']} bands, {sizes['plane_waves']} plane waves, "
        f"{sizes['projectors']} projectors of {counted(sizes['atoms'], 'atom')}"
    ), PLAIN
    if found["fixed_density"]:
        count = counted(found["fixed_density"], "k-point")
        yield f"bands of {count} in a fixed density, as many at a time; a step is one sweep over those", PLAIN
    if found["motion"]:
        yield _motion(found["motion"], plan["step"]["seconds"]), PLAIN
    for one in found["band_lists"]:
        yield f"and, in the potential of the run, bands of {one['source']}: {counted(one['points'], 'k-point')}", PLAIN
    yield from under_titles((
        (f"Layout on {plan['ranks']} x {plan['device']}", _layout(plan)),
        ("Memory of the fullest rank", _memory(plan)),
        ("Time of one step", _time(plan)),
        ("Exact exchange", _exchange(plan, found["exchange_applications"])),
        ("Dispersion correction", _correction(found["dispersion"])),
        ("Other numbers of devices", _others(found["others"])),
    ))  # fmt: skip
    yield _verdict(found)


def _motion(motion: Document, seconds: float) -> str:
    """How many ionic steps, and about how long all of them take."""
    most = "at most " if motion["kind"] == "relaxation" else ""
    count = motion["ionic_steps"]
    took = clock((steps_of_motion(motion["kind"], count) + FORCE_STEPS * count) * seconds)
    usual = f"{FIRST_STEPS} steps for the first, {SCF_STEPS[motion['kind']]} for each other (as measured)"
    return f"{motion['kind']}: {most}{counted(count, 'ionic step')}; with {usual}, and forces, {took}"


def _layout(plan: Document) -> Iterator[Line]:
    groups = f"{counted(plan['groups'], 'k-group')} of {counted(plan['points_of_a_group'], 'k-point')}"
    yield f"  {groups}, {counted(plan['band_ranks'], 'band rank')} in each", PLAIN
    if plan["balance"] < 0.995:
        yield f"  k-points do not share out evenly: {100 * plan['balance']:.0f} % of the groups' time is used", FAINT
    block = plan["block"]
    yield f"  {counted(block['kpoints'], 'k-point')} solved together ({size(block['bytes'])} of orbitals)", PLAIN


def _memory(plan: Document) -> Iterator[Line]:
    memory = plan["memory"]
    usable = f"of {size(memory['device'])}, {size(memory['usable'])} of them usable"
    yield f"  {'total':<28}{size(memory['total']):>8}  {usable}", PLAIN
    for name, count in sorted(memory["staying"].items(), key=lambda item: -item[1]):
        yield f"  {name:<28}{size(count):>8}", FAINT
    ordered = sorted(memory["passing"].items(), key=lambda item: -item[1])
    for place, (name, count) in enumerate(ordered):
        yield f"  {name:<28}{size(count):>8}  {'for a while' if place == 0 else 'at another time'}", FAINT


def _time(plan: Document) -> Iterator[Line]:
    step = plan["step"]
    yield f"  {'total':<28}{duration(step['seconds']):>8}", PLAIN
    for name, seconds in sorted(step["phases"].items(), key=lambda item: -item[1]):
        if seconds > 0.005 * step["seconds"]:
            yield f"  {name:<28}{duration(seconds):>8}", FAINT


def _exchange(plan: Document, count: int | None) -> Iterator[Line]:
    """Seconds of an application, how many, and about how long all steps are with them."""
    if count is None or plan["exchange"] is None:
        return
    seconds, step = plan["exchange"]["seconds"], plan["step"]["seconds"]
    steps = STEPS_BEFORE + STEPS_BETWEEN * count
    yield f"  {'one application':<28}{duration(seconds):>8}  to all bands", PLAIN
    whole = duration(count * seconds + plan["exchange"]["forces"] + steps * step)
    yield f"  {'all together':<28}{whole:>8}  {count} of them, some {steps} steps, and forces", PLAIN


def _correction(found: Document | None) -> Iterator[Line]:
    """Once for each arrangement of the atoms, on the processor."""
    if found is not None:
        threads = f", shared by up to {found['threads']}" if found["threads"] > 1 else ""
        words = f"{duration(found['thread_seconds']):>8}  of one thread{threads}, beside the bands of the first step"
        yield f"  {found['method']:<28}{words}", PLAIN


def _others(plans: list[Document]) -> Iterator[Line]:
    if not plans:
        return
    yield f"  {'devices':>7} {'k-groups x band ranks':>22} {'memory':>9} {'step':>9} {'efficiency':>11}", PLAIN
    first = plans[0]["step"]["seconds"]
    for plan in plans:
        layout = f"{plan['groups']} x {plan['band_ranks']}"
        efficiency = f"{100 * first / (plan['ranks'] * plan['step']['seconds']):.0f} %"
        row = f"  {plan['ranks']:>7} {layout:>22} {size(plan['memory']['total']):>9} "
        row += f"{duration(plan['step']['seconds']):>9} {efficiency:>11}"
        yield row + ("" if plan["fits"] else "  does not fit"), PLAIN if plan["fits"] else FAINT


def _verdict(found: Document) -> Line:
    smallest, device = found["smallest"], size(found["plan"]["memory"]["device"])
    if not found["fits"]:
        remedy = "Lower ENCUT, NBANDS or the number of k-points."
        if smallest is not None:
            remedy = f"The smallest machine that does has {counted(smallest['ranks'], 'device')} of {device}."
        return f"It does not fit. {remedy}", STYLES["error"]
    if smallest is None:
        return "It fits.", "bold green"
    return f"It fits. The smallest machine has {counted(smallest['ranks'], 'device')} of {device}.", "bold green"


def duration(seconds: float) -> str:
    """Seconds with about three digits: 34 ms, 1.23 s, 340 s."""
    if seconds < 0.1:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"
