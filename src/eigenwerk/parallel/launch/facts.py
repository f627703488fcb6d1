"""What each rank knows about itself: plain values that all ranks share before they choose (no torch here)."""

from dataclasses import dataclass

DEVICES = ("auto", "cpu", "cuda")
"""Values of --device; cuda:0, cuda:1 ... as well."""


@dataclass(frozen=True)
class RankFacts:
    """One rank.

    host, pid: machine and process; local_rank: its number on the machine, None if the starter does not say.  gpus:
    those that PyTorch sees here; packages: those of transports that are installed.  cores: those the process may use;
    threads: as wished by OMP_NUM_THREADS, 0 without a request.
    """

    rank: int
    host: str
    pid: int = 0
    local_rank: int | None = None
    gpus: int = 0
    packages: tuple[str, ...] = ()
    cores: tuple[int, ...] = ()
    threads: int = 0


@dataclass(frozen=True)
class Placement:
    """What a rank computes with.

    device: "cpu" or "cuda:1"; gpu: a name that no other GPU has, title: its make, pci: its address on the PCI bus;
    threads, and the cores they may use.
    """

    rank: int
    host: str
    device: str = "cpu"
    gpu: str = ""
    title: str = ""
    threads: int = 1
    cores: tuple[int, ...] = ()
    pci: str = ""

    @property
    def kind(self) -> str:
        """ "cpu" or "cuda"."""
        return self.device.partition(":")[0]


def local_ranks(facts: list[RankFacts]) -> list[int]:
    """The number of each rank on its machine: as the starter says, else counted."""
    if all(fact.local_rank is not None for fact in facts):
        return [fact.local_rank or 0 for fact in facts]
    return [sum(other.host == fact.host for other in facts[: fact.rank]) for fact in facts]


def thread_shares(facts: list[RankFacts]) -> list[int]:
    """Threads of each rank: as wished, else its cores divided by the ranks that use some of the same."""
    return [fact.threads or _share(fact, facts) for fact in facts]


def _share(fact: RankFacts, facts: list[RankFacts]) -> int:
    mine = set(fact.cores)
    users = sum(other.host == fact.host and not mine.isdisjoint(other.cores) for other in facts)
    return max(1, len(mine) // max(1, users))
