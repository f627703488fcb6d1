"""Ranks in groups, of which each has images of its own; and what the groups tell each other."""

from dataclasses import dataclass, replace
from math import gcd, inf

import numpy as np

from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.plan.machine import H200, processor
from eigenwerk.dft.plan.plan import choose_layout
from eigenwerk.parallel.process_grid import ProcessGrid, make_process_grid
from eigenwerk.parallel.runtime import Runtime


@dataclass(frozen=True)
class ImageGroups:
    """count: how many groups; mine: that of this rank; whole: all ranks; own: those of this group."""

    count: int
    mine: int
    images: int
    whole: Runtime
    own: Runtime

    def group_of(self, number: int) -> int:
        """Which group computes an image; an end point goes with its neighbour."""
        inner = min(max(number, 1), self.images) - 1
        return inner * self.count // self.images

    def numbers(self) -> list[int]:
        """Images of this group, end points among them."""
        return [number for number in range(self.images + 2) if self.group_of(number) == self.mine]

    def gathered(self, rows: dict[int, np.ndarray], width: int) -> np.ndarray:
        """The rows of all images (images + 2, width) on all ranks, as the first rank of their group has them; zeros
        where nobody has one."""
        table = np.zeros((self.images + 2, width))
        if self.own.writes:
            for number, row in rows.items():
                table[number] = row
        return self.whole.world.sum(self.whole.tensor(table)).cpu().numpy()

    def worst(self, code: int) -> int:
        """The largest of all ranks' numbers."""
        return int(self.whole.world.max(self.whole.index([code])).item())


def image_groups(inputs: Inputs, images: int, runtime: Runtime) -> ImageGroups:
    """As many groups as divide both the ranks and the images; collective.  Raises InputError if KPAR does not fit."""
    world = runtime.world
    count = gcd(world.size, images)
    if count == 1:
        return ImageGroups(1, 0, images, runtime, runtime)
    members = world.size // count
    mine = world.rank // members
    kpar = inputs.incar.get("KPAR")
    machine = processor(inf) if runtime.device.type == "cpu" else H200
    groups = choose_layout(inputs.size, members, machine, kpar if isinstance(kpar, int) else None).groups
    own = replace(runtime, grid=_grid(runtime.grid, mine, groups), spare=_grid(runtime.spare, mine, groups))
    return ImageGroups(count, mine, images, runtime, own)


def _grid(grid: ProcessGrid, mine: int, groups: int) -> ProcessGrid:
    """The process grid of this group alone."""
    world = grid.world.split(mine, 0, "image")
    return make_process_grid(world, groups if world.size > 1 else 1)
