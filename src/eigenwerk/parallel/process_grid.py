"""Ranks in a grid: k-groups times band ranks."""

from dataclasses import dataclass, field

from eigenwerk.errors import InputError
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.serial import SerialCommunicator


@dataclass(frozen=True)
class ProcessGrid:
    """The ranks of a run and the groups they form; rank = group * band_ranks + band rank.

    world: all ranks.  bands: the ranks of this k-group, which share bands and plane waves of the same k-points;
    kpoints: the ranks with the same band rank, one of each k-group.
    """

    world: Communicator = field(default_factory=SerialCommunicator)
    bands: Communicator = field(default_factory=lambda: SerialCommunicator("bands"))
    kpoints: Communicator = field(default_factory=lambda: SerialCommunicator("kpoints"))

    @property
    def groups(self) -> int:
        """Number of k-groups."""
        return self.kpoints.size

    @property
    def band_ranks(self) -> int:
        """Ranks of a k-group."""
        return self.bands.size

    @property
    def group(self) -> int:
        """The k-group of this rank."""
        return self.kpoints.rank

    def own(self, count: int) -> slice:
        """The k-points of this group, out of `count`: neighbours, and as many as in other groups, or one more."""
        return share(count, self.groups, self.group)


def share(count: int, parts: int, part: int) -> slice:
    """Which of `count` things belong to one of several parts: contiguous, the first parts one longer if need be."""
    size, longer = divmod(count, parts)
    start = part * size + min(part, longer)
    return slice(start, start + size + (part < longer))


def make_process_grid(world: Communicator, groups: int = 1) -> ProcessGrid:
    """Split all ranks into k-groups; collective.  Raises InputError if the ranks cannot be shared equally."""
    if groups < 1 or world.size % groups:
        raise InputError(
            f"KPAR = {groups} does not divide the {world.size} ranks. Set KPAR to "
            f"{' or '.join(str(n) for n in range(1, world.size + 1) if world.size % n == 0)}, or remove it."
        )
    band_ranks = world.size // groups
    group, band_rank = divmod(world.rank, band_ranks)
    bands = world.split(group, band_rank, "bands") if band_ranks > 1 else SerialCommunicator("bands")
    kpoints = world.split(band_rank, group, "kpoints") if groups > 1 else SerialCommunicator("kpoints")
    return ProcessGrid(world, bands, kpoints)
