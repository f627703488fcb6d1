"""Which device each rank uses and which transport joins them, from what all ranks know (no torch here).

Every rank takes these decisions from the same facts, so they agree, and errors are the same on all ranks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from eigenwerk.errors import InputError
from eigenwerk.parallel.launch.facts import DEVICES, TRANSPORTS, Placement, RankFacts, local_ranks

FIRST_MPI = "Start the ranks by MPI itself: mpirun -n {size} eigenwerk run DIR --transport mpi"


@dataclass(frozen=True)
class DeviceRequest:
    """What the user asks for: --device, --transport, LUSENCCL."""

    device: str = "auto"
    transport: str = "auto"
    nccl: bool = True

    def __post_init__(self) -> None:
        name, _, index = self.device.partition(":")
        if name not in DEVICES or (self.device != name and not (name == "cuda" and index.isdecimal())):
            raise InputError(f"--device {self.device}: it can be auto, cpu, cuda, or one GPU for all, like cuda:0.")
        if self.transport not in TRANSPORTS:
            raise InputError(f"--transport {self.transport}: it can be {', '.join(TRANSPORTS)}.")


@dataclass(frozen=True)
class TransportChoice:
    """The transport ("serial" for one rank), and why if that is not what one expects."""

    transport: str
    notes: tuple[str, ...] = ()


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
) -> TransportChoice:
    """The transport of all ranks.  InputError if the request cannot be met."""
    if len(placements) == 1:
        return TransportChoice("serial")
    if request.transport in ("auto", "nccl"):
        obstacle = _obstacle_to_nccl(request, placements)
        if obstacle is None:
            return TransportChoice("nccl")
        without = _auto_without_nccl(facts, starter)
        return TransportChoice(without, (f"NCCL is off: {obstacle}.",) if obstacle else ())
    if request.transport == "mpi" and starter in ("eigenwerk", "torchrun"):
        by = "--ranks" if starter == "eigenwerk" else "torchrun"
        raise InputError(f"--transport mpi does not work with {by}. {FIRST_MPI.format(size=len(placements))}")
    return TransportChoice(request.transport)


def _obstacle_to_nccl(request: DeviceRequest, placements: Sequence[Placement]) -> str | None:
    """Why NCCL cannot join these ranks; None if it can, "" if nobody expects it to."""
    if any(placement.device == "cpu" for placement in placements):
        if request.transport == "nccl":
            raise InputError(
                "--transport nccl joins GPUs, but the ranks compute on processors. Use --transport gloo or mpi, or "
                "--device cuda."
            )
        return ""
    for number, own in enumerate(placements):
        sharing = [other.rank for other in placements[number:] if (other.host, other.gpu) == (own.host, own.gpu)]
        if len(sharing) > 1:
            ranks = " and ".join(str(rank) for rank in sharing[:2])
            more = f" and {len(sharing) - 2} more" if len(sharing) > 2 else ""
            return f"ranks {ranks}{more} share one GPU ({own.device} of {own.host}), which it does not allow"
    if not request.nccl and request.transport == "auto":
        return "LUSENCCL = .FALSE. in INCAR"
    return None


def _auto_without_nccl(facts: list[RankFacts], starter: str) -> str:
    return "mpi" if starter == "mpirun" and all(fact.mpi4py for fact in facts) else "gloo"
