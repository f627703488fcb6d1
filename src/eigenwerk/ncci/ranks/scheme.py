"""Schemes: by what the parts of a shared product travel, and in which order with the kernels, by name.

`plain`, `mpi`, `p2p` and `nccl` with its four variants are those of a published study of this problem on GPUs (Alperen
et al., "Optimizing Nuclear Configuration Interaction Calculations on GPUs"); `gloo` is for processors.  No torch here.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from eigenwerk.errors import InputError
from eigenwerk.parallel.links import LEAST_BLOCKS, MOST_BLOCKS, USUAL, Links

USUAL_BLOCKS = 8
"""Thread blocks of the fourth variant where none are named; published best ones are mostly 8 to 16."""

BLOCK_VARIABLES = ("NCCL_MIN_CTAS", "NCCL_MAX_CTAS")
"""Variables of the environment that count more for NCCL than what a communicator asks for."""


@dataclass(frozen=True)
class Schedule:
    """When calls of a product begin.

    quiet: the ranks of the call meet, and their devices finish, before each call.  kernel_first: on a GPU, the kernel
    beside which data travel is queued before the call.
    """

    quiet: bool = False
    kernel_first: bool = True


@dataclass(frozen=True)
class Scheme:
    """How the parts of a product travel.

    transport: "auto" or the one it needs.  simple: stored blocks are applied by plain operations in place of the tuned
    kernel.  messages: sums of a product are made by messages between pairs of ranks, and where the arrays lie.
    variant: of NCCL, 0 for other transports.  column, row: links of the two kinds of groups.
    """

    name: str
    transport: str
    meaning: str
    simple: bool = False
    messages: bool = False
    variant: int = 0
    schedule: Schedule = Schedule()
    column: Links = USUAL
    row: Links = USUAL

    @property
    def option(self) -> str:
        """As one asks for it on the command line."""
        return f"--scheme {self.name}"

    def check_ranks(self, ranks: int, said: str = "") -> None:
        """InputError if so many ranks have nothing to do with it.  said: where it was asked for, for messages."""
        if ranks == 1 and self.name != AUTO.name:
            raise InputError(
                f"{said or self.option} is about several ranks, but there is one rank alone. Start several "
                "(--ranks N, srun, mpirun, torchrun), or leave it out."
            )

    def check_world(self, ranks: int, transport: str) -> None:
        """InputError unless so many ranks, joined by this transport, can work by it."""
        self.check_ranks(ranks)
        if self.transport not in ("auto", transport):
            raise InputError(
                f"Scheme {self.name} travels by {self.transport}, but the ranks are joined by {transport}. Join them "
                f"by {self.transport}, or take another scheme."
            )

    def check_environment(self, said: str = "", environ: Mapping[str, str] = os.environ) -> None:
        """InputError if variables would count more than its thread blocks."""
        found = [f"{name} = {environ[name]}" for name in BLOCK_VARIABLES if environ.get(name)]
        if found and self.column.thread_blocks is not None:
            raise InputError(
                f"{said or self.option} says how many thread blocks NCCL takes, but so does the "
                f"environment ({', '.join(found)}), which NCCL heeds first. Unset {' and '.join(BLOCK_VARIABLES)}, or "
                "take another variant."
            )

    def transport_beside(self, transport: str, said: str = "") -> str:
        """The transport, given that of --transport.  InputError where the two contradict each other."""
        if "auto" in (transport, self.transport):
            return transport if self.transport == "auto" else self.transport
        if transport != self.transport:
            raise InputError(
                f"{said or self.option} travels by {self.transport}, but --transport is {transport}. Leave "
                "one of the two out."
            )
        return transport


AUTO = Scheme("auto", "auto", "the tuned kernel, and the best transport there is")

_HIGH, _NORMAL = Links(high_priority=True), Links(high_priority=False)

VARIANTS = {
    1: ("no more synchronisation than data need", Schedule(False, False), _NORMAL),
    2: ("ranks meet and devices finish before each call", Schedule(True, False), _NORMAL),
    3: ("and kernels are queued before the calls, which have a stream of high priority", Schedule(True, True), _HIGH),
    4: ("and a fixed number of thread blocks", Schedule(True, True), _HIGH),
}
"""Of NCCL: meaning, schedule, links."""

SCHEMES = (
    AUTO,
    Scheme("plain", "mpi", "plain operations for stored blocks, collectives of MPI", simple=True),
    Scheme("mpi", "mpi", "the tuned kernel, collectives of MPI"),
    Scheme("p2p", "mpi", "the same, but sums by messages, added where the arrays lie", messages=True),
    Scheme("nccl", "nccl", "the tuned kernel, collectives of NCCL", variant=3, schedule=VARIANTS[3][1]),
    Scheme("gloo", "gloo", "the tuned kernel, collectives of Gloo: for processors"),
)
"""By name; `nccl` has variants."""

SCHEME_USAGES = tuple(scheme.name + "[:VARIANT[:ROW[:COLUMN]]]" * bool(scheme.variant) for scheme in SCHEMES)
"""Values of --scheme.  ROW, COLUMN: thread blocks of NCCL for the communicators of block rows and columns."""


def scheme_named(text: str, place: str = "--scheme ") -> Scheme:
    """The scheme of a name such as mpi, nccl:2 or nccl:4:16:8; place: where it stands, for messages.

    Raises InputError for what is none, for other variants, and for thread blocks outside 1 ... 32.
    """
    name, *words = text.split(":")
    where = f'{place}"{text}"' if place.endswith("= ") else f"{place}{text}"
    scheme = next((scheme for scheme in SCHEMES if scheme.name == name), None)
    if scheme is None or len(words) > (3 if scheme.variant else 0) or not all(map(_is_number, words)):
        raise InputError(f"{where}: it can be {', '.join(SCHEME_USAGES)}.")
    if not words:
        return scheme
    variant, *blocks = map(int, words)
    if variant not in VARIANTS:
        raise InputError(f"{where}: NCCL has the variants {min(VARIANTS)} to {max(VARIANTS)} here.")
    if blocks and variant != max(VARIANTS):
        raise InputError(
            f"{where}: numbers of thread blocks belong to variant {max(VARIANTS)}: "
            f"{name}:{max(VARIANTS)}:{':'.join(map(str, blocks))}."
        )
    if not all(LEAST_BLOCKS <= count <= MOST_BLOCKS for count in blocks):
        raise InputError(f"{where}: NCCL takes {LEAST_BLOCKS} to {MOST_BLOCKS} thread blocks.")
    return _variant(scheme, variant, blocks)


def _variant(scheme: Scheme, variant: int, blocks: list[int]) -> Scheme:
    words, schedule, links = VARIANTS[variant]
    name = ":".join(map(str, (scheme.name, variant, *blocks)))
    row = column = links
    if variant == max(VARIANTS):
        in_row, in_column = (blocks[0], blocks[-1]) if blocks else (USUAL_BLOCKS, USUAL_BLOCKS)
        row, column = replace(links, thread_blocks=in_row), replace(links, thread_blocks=in_column)
    meaning = f"{scheme.meaning}; {words}"
    return replace(scheme, name=name, meaning=meaning, variant=variant, schedule=schedule, row=row, column=column)


def _is_number(word: str) -> bool:
    return word.isdecimal() and word.isascii() and len(word) <= 4
