"""Where the ranks of a run first meet: a store of torch.distributed that all of them reach.

It is made from what the starter says (`environment`).  Ranks of one machine meet in a folder that only their user can
look into, unless torchrun or MASTER_PORT bring a store by TCP, which anybody may call.  mpirun says no address: on
several machines the ranks meet by mpi4py.
"""

import hashlib
import json
import os
import socket
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from torch.distributed import DistError, FileStore, PrefixStore, Store, TCPStore

from eigenwerk.errors import EigenwerkError, InputError
from eigenwerk.parallel.launch.environment import OWN_FOLDER, Launch
from eigenwerk.parallel.launch.secret import private_folder, remove_abandoned

MEETING_LIMIT = 300.0
"""Seconds that ranks wait for each other at the start; on slow file systems PyTorch takes minutes to load."""


def make_store(launch: Launch, environ: Mapping[str, str] = os.environ) -> Store:
    """The store of this run; collective.  EigenwerkError if the ranks do not find each other."""
    try:
        if environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # torchrun keeps the store, also between attempts
            store: Store = _store(launch, launch.address, launch.port, here=False)
            return PrefixStore(f"eigenwerk/{environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
        if environ.get(OWN_FOLDER):
            return _store_in(launch, Path(environ[OWN_FOLDER]))
        if launch.address is not None and launch.port is not None:
            return _store(launch, launch.address, launch.port)
        if launch.local_size == launch.size:
            return _store_by_file(launch)
        return _store_by_mpi(launch)
    except (DistError, OSError) as error:
        raise EigenwerkError(
            f"The {launch.size} ranks started by {launch.starter} have not found each other within "
            f"{MEETING_LIMIT:g} seconds (this is rank {launch.rank} on {socket.gethostname()}; "
            f"{str(error).splitlines()[0]}). One may have ended at its start: look for its message above. On several "
            "machines set MASTER_ADDR to the name of the first one and MASTER_PORT to a free port."
        ) from error


def store_all_gather(store: Store, launch: Launch, name: str, value: Any) -> list[Any]:
    """What all ranks say about something, in the order of ranks; collective.  Values that JSON can hold."""
    store.set(f"{name}/{launch.rank}", json.dumps(value))
    return [json.loads(store.get(f"{name}/{rank}")) for rank in range(launch.size)]


def _store(launch: Launch, address: str | None, port: int | None, here: bool = True) -> TCPStore:
    """Rank 0 has it, the others find it."""
    return TCPStore(
        address or "127.0.0.1", port or 0, launch.size if here else None, here and launch.rank == 0,
        timedelta(seconds=MEETING_LIMIT), wait_for_workers=False,
    )  # fmt: skip


def _store_in(launch: Launch, folder: Path) -> FileStore:
    """A file in a folder that nobody else can look into."""
    store = FileStore(str(folder / "store"), launch.size)
    store.set_timeout(timedelta(seconds=MEETING_LIMIT))
    return store


def _store_by_file(launch: Launch) -> Store:
    """Rank 0 makes a folder and writes its name to a file whose name only this run has."""
    path = meeting_file(launch)
    if launch.rank == 0:
        remove_abandoned(path.parent)
        folder = Path(tempfile.mkdtemp(prefix=f"{socket.gethostname()}-{os.getpid()}-", dir=path.parent))
        new = folder / "meeting.json"
        new.write_text(json.dumps({"folder": str(folder), "process": os.getpid()}))
        new.replace(path)
    else:
        folder = _folder_in(path)
    store = _store_in(launch, folder)
    store_all_gather(store, launch, "met", True)
    if launch.rank == 0:
        path.unlink(missing_ok=True)
    return store


def meeting_file(launch: Launch) -> Path:
    """In the user's own folder for temporary files, with the run in its name."""
    run = launch.job or f"children of {os.getppid()}"
    return private_folder() / f"{hashlib.sha256(run.encode()).hexdigest()[:16]}.json"


def _folder_in(path: Path) -> Path:
    """The folder, once the file is there and its writer lives: a killed run may have left one of the same name."""
    limit = time.monotonic() + MEETING_LIMIT
    while time.monotonic() < limit:
        with suppress(OSError, ValueError, KeyError):
            found = json.loads(path.read_text())
            os.kill(found["process"], 0)
            return Path(found["folder"])
        time.sleep(0.02)
    raise TimeoutError(f"rank 0 has not written {path}")


def _store_by_mpi(launch: Launch) -> Store:
    """Rank 0 broadcasts its address by MPI."""
    try:
        from mpi4py import MPI
    except ImportError:
        raise InputError(
            f"mpirun started {launch.size} ranks on several machines without saying where the first one is. "
            "Install mpi4py, or set MASTER_ADDR to the name of the first machine and MASTER_PORT to a free port "
            "(mpirun -x MASTER_ADDR=... -x MASTER_PORT=...)."
        ) from None
    if launch.rank == 0:
        store = _store(launch, "0.0.0.0", 0)
        MPI.COMM_WORLD.bcast((socket.getfqdn(), store.port), root=0)
        return store
    address, port = MPI.COMM_WORLD.bcast(None, root=0)
    return _store(launch, address, port)
