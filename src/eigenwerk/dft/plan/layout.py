"""How the ranks of a run share its work: k-groups times band ranks.

Each k-group holds its share of the irreducible k-points and spends no time on talking to other groups; within a group
the ranks share plane waves and bands, exchange orbitals, and solve the small dense problems one after the other.  So
groups come first, unless k-points that cannot be dealt out evenly leave ranks idle: 36 points on 8 groups keep 4 of
them waiting for the other 4, ceil(36 / 8) = 5 to 4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from eigenwerk.errors import InputError

NEARLY_EQUAL = 1.02
"""Of layouts whose times differ by less than this, the one with more k-groups is taken: estimates are rough."""


@dataclass(frozen=True)
class ProcessLayout:
    """groups x band_ranks ranks."""

    groups: int = 1
    band_ranks: int = 1

    @property
    def ranks(self) -> int:
        """All of them."""
        return self.groups * self.band_ranks

    def points(self, kpoints: int) -> int:
        """k-points of the group with most of them."""
        return ceil(kpoints / self.groups)

    def balance(self, kpoints: int) -> float:
        """Share of the time that the groups work on average, for k-points of equal cost."""
        return kpoints / (self.groups * self.points(kpoints))


def possible_layouts(ranks: int, kpoints: int) -> list[ProcessLayout]:
    """Every way to share the ranks in which no group is without k-points; most groups first."""
    fitting = [groups for groups in range(1, ranks + 1) if ranks % groups == 0 and groups <= kpoints]
    return [ProcessLayout(groups, ranks // groups) for groups in reversed(fitting)]


def wished_layout(ranks: int, kpoints: int, kpar: int) -> ProcessLayout:
    """The layout with KPAR groups.  One rank alone has no choice, so that any wish is fine.

    Raises InputError for a wish that ranks or k-points do not allow.
    """
    if ranks == 1:
        return ProcessLayout()
    layouts = {layout.groups: layout for layout in reversed(possible_layouts(ranks, kpoints))}
    if kpar in layouts:
        return layouts[kpar]
    choices = f"Set KPAR to {' or '.join(map(str, layouts))}, or remove it."
    if ranks % kpar:
        raise InputError(f"KPAR = {kpar} does not divide the {ranks} ranks. {choices}")
    raise InputError(f"KPAR = {kpar}, but there are {kpoints} irreducible k-points, so groups would idle. {choices}")


def fastest_layout(
    layouts: list[ProcessLayout], seconds: Callable[[ProcessLayout], float], room: Callable[[ProcessLayout], float]
) -> ProcessLayout:
    """The fastest of the layouts that fit; the one with most room left if none does.

    seconds: of a step; room: bytes left on the fullest rank, negative if it does not fit.
    """
    fitting = [layout for layout in layouts if room(layout) >= 0.0]
    if not fitting:
        return max(layouts, key=room)
    best = min(seconds(layout) for layout in fitting)
    return next(layout for layout in fitting if seconds(layout) <= NEARLY_EQUAL * best)
