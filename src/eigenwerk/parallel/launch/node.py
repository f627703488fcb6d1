"""What a machine consists of, as the system tells in /sys and /proc: cores, NUMA domains, GPUs, network cards.

Everything that cannot be read is left out; nothing here is needed for a calculation.
"""

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SYSTEM = Path("/")


@dataclass(frozen=True)
class NetworkCard:
    """A network card: kind ("ethernet" or "infiniband"), Gbit/s, and whether it is in use."""

    name: str
    kind: str
    speed: float = 0.0
    up: bool = True


@dataclass(frozen=True)
class Node:
    """One machine.

    cores: logical ones that work; physical: the physical core of each (threads of one core have the same); domains:
    the NUMA domain of each; quota: how many cores a container or job may keep busy, None without a limit.  gpus: NUMA
    domain of each GPU by its address on the PCI bus (-1 unknown).  cards: of the network.
    """

    cores: tuple[int, ...] = ()
    physical: Mapping[int, str] = field(default_factory=dict)
    domains: Mapping[int, int] = field(default_factory=dict)
    quota: float | None = None
    gpus: Mapping[str, int] = field(default_factory=dict)
    cards: tuple[NetworkCard, ...] = ()

    def domains_of(self, cores: tuple[int, ...]) -> set[int]:
        """The NUMA domains of some cores."""
        return {self.domains[core] for core in cores if core in self.domains}

    def physical_count(self, cores: tuple[int, ...]) -> int:
        """How many physical cores some logical ones are."""
        return len({self.physical.get(core, str(core)) for core in cores})


def read_node(system: Path = SYSTEM) -> Node:
    """This machine; another root than / serves tests."""
    cpus = system / "sys/devices/system/cpu"
    cores = number_list(_text(cpus / "online")) or tuple(range(os.cpu_count() or 1))
    siblings = {core: _text(cpus / f"cpu{core}/topology/thread_siblings_list") or str(core) for core in cores}
    return Node(
        cores, siblings, dict(_domains(system)), _quota(system), dict(_gpus(system)),
        (*_ethernet(system), *_infiniband(system)),
    )  # fmt: skip


def node_words(node: Node) -> dict[str, Any]:
    """A node as values that JSON can hold."""
    return asdict(node)


def node_of_words(words: dict[str, Any]) -> Node:
    """What `node_words` made, after a way through JSON, which has no tuples and no keys but words."""
    cards = tuple(NetworkCard(**card) for card in words["cards"])
    by_core = {name: {int(core): value for core, value in words[name].items()} for name in ("physical", "domains")}
    return Node(**words | by_core | {"cores": tuple(words["cores"]), "cards": cards})


def number_list(text: str) -> tuple[int, ...]:
    """0-3,8 -> 0 1 2 3 8; nothing for text that is no such list."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        return ()
    ends = [part.partition("-")[::2] for part in text.split(",")]
    return tuple(number for first, last in ends for number in range(int(first), int(last or first) + 1))


def _domains(system: Path) -> Iterator[tuple[int, int]]:
    for path in (system / "sys/devices/system/node").glob("node[0-9]*"):
        for core in number_list(_text(path / "cpulist")):
            yield core, int(path.name.removeprefix("node"))


def _quota(system: Path) -> float | None:
    """The smallest limit of the control groups that hold this process (both versions of them)."""
    group = next((line[3:] for line in _text(system / "proc/self/cgroup").splitlines() if line.startswith("0::")), "/")
    root = system / "sys/fs/cgroup"
    limits = [_share(*_text(folder / "cpu.max").split()[:2]) for folder in _upwards(root, group.strip("/"))]
    limits.append(_share(_text(root / "cpu/cpu.cfs_quota_us"), _text(root / "cpu/cpu.cfs_period_us")))
    return min((limit for limit in limits if limit is not None), default=None)


def _upwards(root: Path, group: str) -> Iterator[Path]:
    folder = root / group
    yield folder
    while folder != root and root in folder.parents:
        folder = folder.parent
        yield folder


def _share(quota: str = "", period: str = "") -> float | None:
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else None


def _gpus(system: Path) -> Iterator[tuple[str, int]]:
    """NVIDIA's cards that compute (3D controllers and VGA)."""
    for path in sorted((system / "sys/bus/pci/devices").glob("*")):
        if _text(path / "vendor") == "0x10de" and _text(path / "class")[:6] in ("0x0302", "0x0300"):
            yield path.name.lower(), _number(path / "numa_node")


def _ethernet(system: Path) -> Iterator[NetworkCard]:
    for path in sorted((system / "sys/class/net").glob("*")):
        if (path / "device").exists():  # others are bridges, loops and the like
            megabits = max(0, _number(path / "speed"))
            yield NetworkCard(path.name, "ethernet", megabits / 1000, _text(path / "operstate") == "up")


def _infiniband(system: Path) -> Iterator[NetworkCard]:
    for path in sorted((system / "sys/class/infiniband").glob("*")):
        for port in sorted((path / "ports").glob("*")):
            rate = re.match(r"[\d.]+", _text(port / "rate"))
            yield NetworkCard(
                path.name, "infiniband", float(rate[0]) if rate else 0.0, "ACTIVE" in _text(port / "state")
            )


def _number(path: Path) -> int:
    text = _text(path)
    return int(text) if re.fullmatch(r"-?\d+", text) else -1


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def whole(cores: float) -> int:
    """Cores that a limit leaves, at least one."""
    return max(1, math.floor(cores + 1e-6))
