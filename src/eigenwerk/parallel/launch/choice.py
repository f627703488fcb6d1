"""Which device each rank uses and which transport joins them, from what all ranks know (no torch here).

Every rank takes these decisions from the same facts, so they agree, and errors are the same on all ranks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eigenwerk.errors import InputError
from eigenwerk.parallel.launch.facts import DEVICES, Placement, RankFacts, local_ranks
from eigenwerk.parallel.transports.table import TRANSPORTS, Reductions, Transport, find_transport, names_that_join


@dataclass(frozen=True)
class DeviceRequest:
    """What the user asks for: --device, --transport, --reductions.

    off: transports that "auto" leaves out, with the reason.  insists: the option that takes no other transport than
    this one, "" if there is none; words: the command after `eigenwerk`, for messages.
    """

    device: str = "auto"
    transport: str = "auto"
    reductions: Reductions = field(default_factory=Reductions)
    off: Mapping[str, str] = field(default_factory=dict)
    insists: str = ""
    words: str = "run DIR"

    def __post_init__(self) -> None:
        name, _, index = self.device.partition(":")
        if name not in DEVICES or (self.device != name and not (name == "cuda" and index.isdecimal())):
            raise InputError(f"--device {self.device}: it can be auto, cpu, cuda, or one GPU for all, like cuda:0.")
        find_transport(self.transport)

    def check_starter(self, starter: str, ranks: int) -> None:
        """InputError if the transport cannot join so many ranks of this starter."""
        transport = find_transport(self.transport)
        if transport is not None:
            transport.check_starter(starter, ranks, self.words, self.insists)

    def check_size(self, ranks: int) -> None:
        """InputError if it asks for what so many ranks do not do."""
        method = self.reductions.method
        if ranks == 1 and method.layer:
            raise InputError(
                f"--reductions {method.name} is about sums over ranks, but there is one rank alone. Start several "
                "(--ranks N, srun, mpirun, torchrun), or leave it out."
            )


def choose_devices(request: DeviceRequest, facts: list[RankFacts]) -> list[str]:
    """The device of every rank.  InputError if there is no such GPU."""
    name, _, index = request.device.partition(":")
    blind = [fact for fact in facts if fact.gpus <= int(index or 0)]
    if name == "cpu" or (name == "auto" and blind):
        return ["cpu"] * len(facts)
    if blind:
        number = f"only {blind[0].gpus}" if blind[0].gpus else "none"
        raise InputError(
            f"--device {request.device}, but on {blind[0].host} PyTorch sees {number} of the GPUs that takes. Look at "
            "nvidia-smi, CUDA_VISIBLE_DEVICES, and whether this PyTorch was made for CUDA; or use --device cpu."
        )
    if index:
        return [f"cuda:{int(index)}"] * len(facts)
    return [f"cuda:{local % fact.gpus}" for fact, local in zip(facts, local_ranks(facts), strict=True)]


def choose_transport(
    request: DeviceRequest, facts: list[RankFacts], placements: Sequence[Placement], starter: str
) -> tuple[Transport, tuple[str, ...]]:
    """The transport of several ranks, the first one that nothing speaks against, and notes if one expects another.

    Where the wished one cannot work among these ranks, it is that of "auto", or an InputError if an option insists.
    InputError for a wish against reason.
    """
    wanted = request.transport
    notes: tuple[str, ...] = ()
    for transport in TRANSPORTS:
        if transport.name == wanted:
            _check_wish(transport, request, placements, starter)
        elif wanted != "auto" or not _is_usual(transport, facts, placements, starter):
            continue
        obstacle = _obstacle(transport, request, placements)
        if obstacle is None:
            break
        if transport.name == wanted and request.insists:
            raise InputError(
                f"{request.insists} travels by {transport.title}, which is not possible: {obstacle}. Give every rank a "
                "GPU of its own, or take another scheme."
            )
        wanted, notes = "auto", (*notes, f"{transport.title} is off: {obstacle}.")
    return transport, notes


def _check_wish(
    transport: Transport, request: DeviceRequest, placements: Sequence[Placement], starter: str
) -> None:
    transport.check_starter(starter, len(placements), request.words, request.insists)
    if any(placement.kind not in transport.joins for placement in placements):
        others = " or ".join(names_that_join("cpu"))
        option = request.insists or f"--transport {transport.name}"
        change = f"Use {option.split()[0]} {others}" if option.startswith("--") else f"Take {others} there"
        raise InputError(
            f"{option} joins GPUs, but the ranks compute on processors. {change}, or --device cuda."
        )


def _is_usual(
    transport: Transport, facts: list[RankFacts], placements: Sequence[Placement], starter: str
) -> bool:
    """Whether one expects "auto" to think of it; no words are lost about others."""
    installed = not transport.package or all(transport.package in fact.packages for fact in facts)
    started = not transport.usual or starter in transport.usual
    return installed and started and all(placement.kind in transport.joins for placement in placements)


def _obstacle(transport: Transport, request: DeviceRequest, placements: Sequence[Placement]) -> str | None:
    """Why it cannot join these ranks, or is not to; None if it can."""
    for number, own in enumerate(placements if transport.own_gpu else ()):
        sharing = [other.rank for other in placements[number:] if (other.host, other.gpu) == (own.host, own.gpu)]
        if len(sharing) > 1:
            ranks = " and ".join(str(rank) for rank in sharing[:2])
            more = f" and {len(sharing) - 2} more" if len(sharing) > 2 else ""
            return f"ranks {ranks}{more} share one GPU ({own.device} of {own.host}), which it does not allow"
    return request.off.get(transport.name) if request.transport != transport.name else None
