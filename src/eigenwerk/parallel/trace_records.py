"""What all ranks recorded, brought together on rank 0."""

import json
import resource
import socket
from typing import Any

import torch

from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.runtime import Runtime


def gather_trace_records(runtime: Runtime) -> list[dict[str, Any]]:
    """On rank 0 the record of every rank in the order of ranks, elsewhere nothing; collective.

    Their own traffic is not in them.
    """
    text = json.dumps(own_trace_record(runtime), allow_nan=False)
    return [json.loads(other) for other in gather_texts(runtime.world, text)]


def own_trace_record(runtime: Runtime) -> dict[str, Any]:
    """The trace of this rank and where it ran, as docs/formats/eigenwerk_trace.md lists the fields of a rank."""
    device, trace = runtime.device, runtime.trace.as_dict(events=True)
    peak = {"host": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    name = "cpu"
    if device.type == "cuda":
        peak["device"] = torch.cuda.max_memory_allocated(device)
        name = f"{torch.cuda.get_device_name(device)} {torch.cuda.get_device_properties(device).uuid}"
    place = {"rank": runtime.world.rank, "host": socket.gethostname(), "device": name}
    trace.pop("format")
    trace.pop("version")
    return place | {"threads": torch.get_num_threads(), "peak_bytes": peak} | trace


def gather_texts(comm: Communicator, text: str) -> list[str]:
    """On rank 0 the texts of all ranks in their order, elsewhere nothing; collective.

    They travel through host memory, also where ranks have GPUs: NCCL would connect all pairs for it, 1.7 s with four.
    """
    raw_x = torch.frombuffer(bytearray(text.encode("utf-8")), dtype=torch.uint8)
    length_p = comm.gather(torch.tensor([len(raw_x)]))
    all_x = comm.gather(raw_x)
    if length_p is None or all_x is None:
        return []
    return [part_x.numpy().tobytes().decode("utf-8") for part_x in all_x.split(length_p.tolist())]
