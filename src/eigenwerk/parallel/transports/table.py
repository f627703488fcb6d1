"""The transports, and the methods of reductions on top of them, each declared once (no torch here).

A new one is a file beside this one and an entry below; options, their help, the automatic choice and messages follow
from the entry.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from eigenwerk.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch.distributed import Store

    from eigenwerk.parallel.transports.layered import LayeredCommunicator
    from eigenwerk.parallel.transports.transport import TransportCommunicator
    from eigenwerk.record.trace import Trace

HERE = "eigenwerk.parallel.transports"


@dataclass(frozen=True)
class JoinRequest:
    """What a rank brings to be joined: a store that all ranks reach, its device, the network interface ("": any)."""

    rank: int
    size: int
    store: "Store"
    device: "torch.device"
    trace: "Trace"
    interface: str = ""


class OtherRanks(InputError):
    """A transport counts other ranks than the starter; all ranks get this error."""


@dataclass(frozen=True)
class Transport:
    """One way to join ranks.

    name: of --transport; title: in sentences; joins: kinds of devices.  own_gpu: every rank needs a GPU of its own.
    starters: who has to have started the ranks, empty for anybody; usual: under whom "auto" takes it, empty for
    anybody, and only where `package` is installed.  tag: of INCAR, false where "auto" is to leave it out.
    join: function of a `JoinRequest` that gives the communicator of all ranks, collective; named in words because it
    loads PyTorch.
    """

    name: str
    title: str
    joins: tuple[str, ...]
    join: str
    own_gpu: bool = False
    starters: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    package: str = ""
    tag: str = ""

    def world(self, request: JoinRequest) -> "TransportCommunicator":
        """The communicator of all ranks; collective.  InputError if something is missing, `OtherRanks`."""
        world: TransportCommunicator = resolve_name(self.join)(request)
        return world

    def check_starter(self, starter: str, size: int, words: str = "run DIR", option: str = "") -> None:
        """InputError if it cannot join ranks that somebody else has started; words: those after `eigenwerk`; option:
        that which asks for it, "" for --transport."""
        if size > 1 and self.starters and starter not in self.starters:
            option = option or f"--transport {self.name}"
            command = f"{self.starters[0]} -n {size} eigenwerk {words}" + f" {option}" * option.startswith("--")
            raise InputError(
                f"{option} cannot join ranks that {starter} starts. Start them by "
                f"{' or '.join(self.starters)}: {command}"
            )


TRANSPORTS = (
    Transport("nccl", "NCCL", ("cuda",), f"{HERE}.torch_distributed:join_by_nccl", own_gpu=True, tag="LUSENCCL"),
    Transport(
        "mpi", "MPI", ("cpu", "cuda"), f"{HERE}.mpi:join_by_mpi",
        starters=("mpirun", "srun"), usual=("mpirun",), package="mpi4py",
    ),
    Transport("gloo", "Gloo", ("cpu", "cuda"), f"{HERE}.torch_distributed:join_by_gloo"),
)  # fmt: skip
"""In the order in which "auto" looks at them; the last one always works."""

TRANSPORT_NAMES = ("auto", *(transport.name for transport in TRANSPORTS))
"""Values of --transport."""


@dataclass(frozen=True)
class ReductionMethod:
    """How ranks add arrays up.

    name: of --reductions; numbers: what may follow the name, each after a colon, handed to the layer; meaning: in
    words.  layer: class of a `LayeredCommunicator`, named in words because it loads PyTorch; "" for none.
    """

    name: str
    meaning: str
    layer: str = ""
    numbers: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """endpoints[:N[:BYTES]]."""
        return self.name + "".join(f"[:{number}" for number in self.numbers) + "]" * len(self.numbers)


REDUCTION_METHODS = (
    ReductionMethod("library", "those of the transport's library"),
    ReductionMethod("pairwise", "messages between pairs of ranks", f"{HERE}.pairwise:PairwiseCommunicator", ("BYTES",)),
    ReductionMethod(
        "endpoints", "multi-endpoint all-reduce", f"{HERE}.endpoints:EndpointCommunicator", ("N", "BYTES")
    ),
)
"""The first one is the default."""

REDUCTION_USAGES = tuple(method.usage for method in REDUCTION_METHODS)
"""Values of --reductions."""


@dataclass(frozen=True)
class Reductions:
    """A method with its numbers."""

    method: ReductionMethod = REDUCTION_METHODS[0]
    numbers: tuple[int, ...] = ()

    @staticmethod
    def of_text(text: str) -> "Reductions":
        """The value of --reductions, such as endpoints:4; InputError for what is none."""
        name, *numbers = text.split(":")
        for method in REDUCTION_METHODS:
            if method.name == name and len(numbers) <= len(method.numbers) and all(map(str.isdecimal, numbers)):
                return Reductions(method, tuple(map(int, numbers)))
        raise InputError(f"--reductions {text}: it can be {', '.join(REDUCTION_USAGES)}.")

    def on(self, world: "TransportCommunicator", device: "torch.device") -> "TransportCommunicator":
        """The communicator that adds up in this way; collective.  InputError where that cannot be."""
        if not self.method.layer:
            return world
        layer: LayeredCommunicator = resolve_name(self.method.layer)(world, *self.numbers)
        layer.check_device(device)
        return layer


def find_transport(name: str) -> Transport | None:
    """The transport of --transport NAME; None for "auto".  InputError if there is none of that name."""
    if name not in TRANSPORT_NAMES:
        raise InputError(f"--transport {name}: it can be {', '.join(TRANSPORT_NAMES)}.")
    return next((transport for transport in TRANSPORTS if transport.name == name), None)


def names_that_join(kind: str) -> Sequence[str]:
    """The transports for one kind of device."""
    return [transport.name for transport in TRANSPORTS if kind in transport.joins]
