"""Whether all ranks compute the same: the same program, case and interaction files."""

import hashlib
import json
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from eigenwerk import __version__
from eigenwerk.errors import InputError
from eigenwerk.ncci.inputs.inputs import Case
from eigenwerk.parallel.communicator import Communicator


def refuse_different_inputs(world: Communicator, cases: Sequence[Case]) -> None:
    """Raises InputError on every rank if one of them has another program, case or file than the first; collective."""
    if world.size == 1:
        return
    text = json.dumps([socket.gethostname(), fingerprints(cases)])
    raw_x = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)
    lengths = world.all_gather(torch.tensor([len(raw_x)])).tolist()
    texts = world.all_gather(raw_x, lengths).split(lengths)
    (_, first), *others = [json.loads(text.numpy().tobytes()) for text in texts]
    for rank, (host, known) in enumerate(others, start=1):
        for name in sorted(first.keys() | known.keys()):
            one, other = first.get(name, "none"), known.get(name, "none")
            if one != other:
                raise InputError(
                    f"Rank {rank} on {host} has another {name} than rank 0: {other} in place of {one}. All ranks need "
                    "the same program and files: copy them, or use a folder that all machines see."
                )


def fingerprints(cases: Sequence[Case]) -> dict[str, str]:
    """What has to agree where the same is to come out, by name: versions, settings, and the sums of files."""
    known = {"version of eigenwerk": __version__, "version of PyTorch": torch.__version__}
    for case in cases:
        settings = repr((replace(case, path=Path(case.path.name), given=frozenset()), sorted(case.given)))
        known[f"case {case.title}"] = hashlib.sha256(settings.encode()).hexdigest()[:16]
        inside = case.path.parent / case.interaction
        start = case.solver.start
        levels = None if start is None else start / "levels.h5" if start.is_dir() else start
        for path in (inside, case.orbitals, levels):
            if path is not None and path.is_file():
                known[f"file {path.name}"] = _sum(path)
    return known


def _sum(path: Path) -> str:
    """The beginning of its SHA-256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
