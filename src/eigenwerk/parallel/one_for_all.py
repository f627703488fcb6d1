"""What the first rank finds out or does, for all ranks; its errors are everybody's."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from eigenwerk.errors import InputError
from eigenwerk.parallel.communicator import Communicator


def one_for_all(comm: Communicator, find: Callable[[], Any]) -> Any:
    """What `find` gives on rank 0, on every rank; collective.  `find` is called there alone, and must not communicate.

    It gives None, a number, a text, an array, or lists and mappings of those (tuples arrive as lists), which travel in
    host memory.  Its InputError is raised on every rank, so that all take the same way.
    """
    if comm.size == 1:
        return find()
    text = ""
    if comm.rank == 0:
        try:
            text = json.dumps({"found": find()}, default=_encoded)
        except InputError as error:
            text = json.dumps({"problem": str(error)})
    raw_x = torch.frombuffer(bytearray(text.encode("utf-8") or b"-"), dtype=torch.uint8)
    length = int(comm.broadcast(torch.tensor(len(raw_x))))
    raw_x = comm.broadcast(raw_x if comm.rank == 0 else torch.empty(length, dtype=torch.uint8))
    told = json.loads(raw_x.numpy().tobytes(), object_hook=_decoded)
    if "problem" in told:
        raise InputError(told["problem"])
    return told["found"]


def _encoded(value: object) -> dict[str, Any]:
    """An array as JSON has it."""
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray) or value.dtype.kind == "O":
        raise TypeError(f"{type(value).__name__} cannot be told to other ranks")
    data = b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
    return {"array": value.dtype.str, "shape": value.shape, "data": data}


def _decoded(found: dict[str, Any]) -> Any:
    if found.keys() != {"array", "shape", "data"}:
        return found
    flat = np.frombuffer(bytearray(b64decode(found["data"])), dtype=np.dtype(found["array"]))
    return flat.reshape(found["shape"])
