"""From the ranks we are given to a Runtime: devices, transport, communicators, watchdog.

    with init_ranks(find_launch(), lambda: StartRequest(DeviceRequest(device="cuda"))) as team:
        run_inputs(inputs, runtime=team.runtime)

One rank works the same way: it has a device, and nobody to communicate with or to watch.
"""

import json
import os
import socket
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import torch
from torch.distributed import DistError, PrefixStore, Store

from eigenwerk.errors import EigenwerkError, InputError
from eigenwerk.parallel.launch.binding import Remark, check_binding
from eigenwerk.parallel.launch.choice import DeviceRequest, choose_devices, choose_transport
from eigenwerk.parallel.launch.environment import Launch, wished_threads
from eigenwerk.parallel.launch.facts import Placement, RankFacts, local_ranks, thread_shares
from eigenwerk.parallel.launch.node import Node, node_of_words, node_words, read_node
from eigenwerk.parallel.launch.rendezvous import make_store, store_all_gather
from eigenwerk.parallel.launch.secret import own_secret
from eigenwerk.parallel.memory.device_memory import smallest_memory
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.threads import HOST_THREADS
from eigenwerk.parallel.transports.table import TRANSPORTS, JoinRequest, OtherRanks
from eigenwerk.parallel.transports.torch_distributed import gloo_world
from eigenwerk.parallel.transports.transport import TransportCommunicator
from eigenwerk.parallel.watch.coordinator import AT_WORK, FIRST_READS, GRACE, JOINS, PREPARES
from eigenwerk.parallel.watch.watchdog import Watchdog
from eigenwerk.record.trace import Trace

Say = Callable[[str], None]

CONNECTION_WORDS = ("gloo", "nccl", "connection", "broken pipe", "timed out waiting")
"""In the errors by which transports say that the other end is gone."""


@dataclass(frozen=True)
class StartRequest:
    """What the ranks have to know before they choose.

    groups: the number of k-groups for a number of ranks that compute on "cpu" or "cuda" and have so many bytes each
    (None if unknown); the same on every rank.
    """

    request: DeviceRequest = field(default_factory=DeviceRequest)
    groups: Callable[[int, str, float | None], int] = lambda ranks, kind, memory: 1


@dataclass
class FromFirst:
    """What the first rank alone finds out and all ranks get, before `prepare`; found by `find`, a value for JSON."""

    find: Callable[[], Any]
    value: Any = None

    def share(self, store: Store, launch: Launch) -> None:
        """From the first rank to all; collective."""
        if launch.rank == 0:
            self.value = self.find()
            store.set("from first", json.dumps(self.value))
        else:
            self.value = json.loads(store.get("from first"))


@dataclass(frozen=True)
class Team:
    """The ranks at work, as one of them sees it.

    placements: of all ranks; transport: in words; watchdog: None for one rank that nobody watches; notes: what was
    chosen otherwise than one might expect, and why; remarks: whether ranks, threads and devices fit the machines.
    """

    runtime: Runtime
    launch: Launch
    placements: tuple[Placement, ...]
    transport: str
    watchdog: Watchdog | None = None
    notes: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()

    @property
    def placement(self) -> Placement:
        """This rank's."""
        return self.placements[self.runtime.world.rank]

    def protect(self, rescue: Callable[[], str]) -> None:
        """From now on, if a step takes too long after a request to stop, save by this; see `Watchdog`."""
        if self.watchdog is not None:
            self.watchdog.rescue = rescue

    @property
    def stop(self) -> int | None:
        """The signal that asks all ranks to stop, None without one."""
        return None if self.watchdog is None else self.watchdog.stop

    def step_finished(self, step: object = None) -> None:
        """To be called at the end of each step; collective.  KeyboardInterrupt on all ranks if they stop now."""
        if self.watchdog is not None and self.watchdog.step_finished(self.runtime.world.any) is not None:
            raise KeyboardInterrupt


def traceback_text(error: Exception) -> str:
    """The traceback of an error."""
    return "".join(traceback.format_exception(error)).rstrip()


@contextmanager
def init_ranks(
    launch: Launch,
    prepare: Callable[[], StartRequest] = StartRequest,
    *,
    first: FromFirst | None = None,
    trace: Trace | None = None,
    watchdog: Watchdog | None = None,
    tell: Say | None = None,
    cleanup: Callable[[], None] | None = None,
    grace: float = GRACE,
    until: float | None = None,
    last: bool = False,
    explain: Callable[[Exception], str] = traceback_text,
) -> Iterator[Team]:
    """The ranks of this run, from their meeting to their parting; collective.

    first: of several ranks, shared before `prepare`, which reads what has to be read; errors in them are treated like
    those inside.
    watchdog: of one rank alone, which may have one before PyTorch is loaded; several get theirs here, with tell,
    cleanup, grace, until and last.
    explain: words for an error that was not raised on purpose.  Inside, on several ranks, an exception of one
    ends all of them, with its reason told once; only the KeyboardInterrupt of `Team.step_finished` passes.
    """
    trace = trace or Trace()
    if not launch.several:
        yield replace(_init_one(launch, prepare().request, trace), watchdog=watchdog)
        return
    with trace.span("meeting of ranks"):
        store = make_store(launch)
    local = launch.local_size == launch.size
    try:
        watchdog = Watchdog(
            store, launch.rank, launch.size, secret=own_secret(), tell=tell, cleanup=cleanup, local=local,
            address=launch.address, told_by_parent=launch.starter == "eigenwerk", grace=grace, until=until, last=last,
        )  # fmt: skip
    except DistError as error:
        raise EigenwerkError(
            f"Rank 0 ended before rank {launch.rank} on {socket.gethostname()} could meet it "
            f"({str(error).splitlines()[0]}). Look for its message above."
        ) from error
    with watchdog:
        try:
            watchdog.reached(FIRST_READS if first is not None and launch.rank == 0 else PREPARES)
            with trace.span("input files"):
                if first is not None:
                    first.share(store, launch)
                    watchdog.reached(PREPARES)
                wanted = prepare()
            watchdog.reached(JOINS)
            with trace.span("meeting of ranks"):
                team = _init_several(launch, wanted, store, trace, local)
            watchdog.reached(AT_WORK)
            try:
                yield replace(team, watchdog=watchdog)
            except KeyboardInterrupt:
                team.runtime.world.close()
                raise
            team.runtime.world.close()
        except Exception as error:
            _fail(watchdog, error, explain)


def _init_one(launch: Launch, request: DeviceRequest, trace: Trace) -> Team:
    request.check_size(1)
    facts = [_facts(launch)]
    placement = _placement(facts[0], choose_devices(request, facts)[0], thread_shares(facts)[0])
    runtime = Runtime(device=_use(placement), trace=trace)
    remarks = check_binding([placement], {placement.host: read_node()})
    return Team(runtime, launch, (placement,), "", remarks=tuple(remarks))


def _init_several(launch: Launch, wanted: StartRequest, store: Store, trace: Trace, local: bool) -> Team:
    request = wanted.request
    facts = [RankFacts(**_tuples(words)) for words in store_all_gather(store, launch, "facts", asdict(_facts(launch)))]
    device, threads = choose_devices(request, facts)[launch.rank], thread_shares(facts)[launch.rank]
    mine = _placement(facts[launch.rank], device, threads)
    told = store_all_gather(store, launch, "placements", asdict(mine))
    placements = tuple(Placement(**_tuples(words)) for words in told)
    torch_device, interface = _use(mine), "lo" if local else ""
    here = JoinRequest(launch.rank, launch.size, store, torch_device, trace, interface)
    world, notes = _join(request, facts, placements, launch.starter, here)
    world = request.reductions.on(world, torch_device)
    memory = smallest_memory(world, torch_device)
    grid = make_process_grid(world, wanted.groups(world.size, torch_device.type, memory))
    spare = gloo_world(launch.rank, launch.size, PrefixStore("spare", store), interface=interface)
    runtime = Runtime(device=torch_device, grid=grid, trace=trace, spare=make_process_grid(spare, grid.groups))
    remarks = check_binding(placements, _nodes(launch, store, facts))
    return Team(runtime, launch, placements, world.path, notes=notes, remarks=tuple(remarks))


def _facts(launch: Launch) -> RankFacts:
    """What this rank knows about itself."""
    return RankFacts(
        launch.rank, socket.gethostname(), os.getpid(), launch.local_rank,
        gpus=torch.cuda.device_count() if torch.cuda.is_available() else 0,
        packages=tuple(one.package for one in TRANSPORTS if one.package and find_spec(one.package)),
        cores=tuple(sorted(os.sched_getaffinity(0))), threads=wished_threads(),
    )  # fmt: skip


def _placement(fact: RankFacts, device: str, threads: int) -> Placement:
    if device == "cpu":
        return Placement(fact.rank, fact.host, threads=threads, cores=fact.cores)
    threads = fact.threads or min(threads, HOST_THREADS)
    properties = torch.cuda.get_device_properties(torch.device(device))
    gpu = str(getattr(properties, "uuid", device))
    place = [getattr(properties, f"pci_{part}_id", 0) for part in ("domain", "bus", "device")]
    pci = "{:04x}:{:02x}:{:02x}.0".format(*place)
    return Placement(fact.rank, fact.host, device, gpu, properties.name, threads, fact.cores, pci)


def _nodes(launch: Launch, store: Store, facts: list[RankFacts]) -> dict[str, Node]:
    """The machines, each read by its first rank."""
    first = local_ranks(facts)[launch.rank] == 0
    told = store_all_gather(store, launch, "nodes", node_words(read_node()) if first else None)
    return {fact.host: node_of_words(words) for fact, words in zip(facts, told, strict=True) if words is not None}


def _use(placement: Placement) -> torch.device:
    """The device, made the current one, so that libraries that ask for no device take it."""
    device = torch.device(placement.device)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    return device


def _tuples(words: dict[str, Any]) -> dict[str, Any]:
    """JSON has no tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in words.items()}


def _join(
    request: DeviceRequest, facts: list[RankFacts], placements: tuple[Placement, ...], starter: str, mine: JoinRequest
) -> tuple[TransportCommunicator, tuple[str, ...]]:
    """The communicator of all ranks, with notes; by another transport than first chosen if that one counts others."""
    transport, notes = choose_transport(request, facts, placements, starter)
    try:
        return transport.world(mine), notes
    except OtherRanks as error:
        if transport.name == request.transport:
            raise InputError(f"--transport {transport.name}: {error}.") from error
        off = {**request.off, transport.name: str(error)}
        return _join(replace(request, off=off), facts, placements, starter, mine)


def _fail(watchdog: Watchdog, error: Exception, explain: Callable[[Exception], str]) -> None:
    """End all ranks because of an error of this one."""
    if isinstance(error, EigenwerkError):
        watchdog.fail(str(error), error.exit_code)
    if isinstance(error, torch.AcceleratorError):
        watchdog.fail(
            f"The GPU reports an error: {str(error).splitlines()[0]}. If that happens again on this GPU only, look at "
            "`nvidia-smi -q` and the system's log, and leave it out (CUDA_VISIBLE_DEVICES).", 1,
        )  # fmt: skip
    if is_secondary(error):
        watchdog.fail(f"The connection to other ranks broke: {str(error).splitlines()[0]}", 1, secondary=True)
    watchdog.fail(explain(error), 1)


def is_secondary(error: Exception) -> bool:
    """Whether an error may only mean that another rank is gone."""
    if isinstance(error, DistError) or type(error).__module__.startswith("mpi4py"):
        return True
    words = str(error).lower()
    return isinstance(error, RuntimeError) and any(word in words for word in CONNECTION_WORDS)
