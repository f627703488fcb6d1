"""How many states are computed where a case does not say."""

from collections.abc import Sequence
from dataclasses import replace

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis.counting import dimension, exceeds
from eigenwerk.ncci.inputs.input_settings import USUAL_STATES
from eigenwerk.ncci.inputs.inputs import Case
from eigenwerk.ncci.sources import source_of


def with_usual_states(cases: Sequence[Case]) -> tuple[list[Case], str]:
    """The cases of a file with no more states than the smallest of their spaces has, and a remark if that is fewer than
    usual; as they are where the file says how many.

    Levels of a series are compared, so all cases have as many.  Cases that cannot be computed are passed over: they are
    refused in words of their own.
    """
    cases = list(cases)
    if any("states" in case.given or case.states != USUAL_STATES for case in cases):
        return cases, ""
    sizes: list[tuple[int, Case]] = []
    for case in cases:
        try:
            space = source_of(case).problem(case).space
        except InputError:
            continue
        if not exceeds(space, USUAL_STATES - 1) and (size := dimension(space)):
            sizes.append((size, case))
    if not sizes:
        return cases, ""
    fewest, smallest = min(sizes, key=lambda found: found[0])
    more = "" if len(cases) == 1 else "; leave this Nmax out for more"
    return (
        [replace(case, states=fewest) for case in cases],
        f"states     {fewest} in place of the usual {USUAL_STATES}: {smallest.title} has no more{more}",
    )
