"""How many GPUs this machine gives us, and their memory, found without loading PyTorch, which takes seconds."""

import ctypes
import os
import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

DEVICES = Path("/dev")

DRIVER = "libcuda.so.1"


def count_gpus(environ: Mapping[str, str] = os.environ, devices: Path = DEVICES) -> int:
    """NVIDIA GPUs that the PyTorch of this environment would use; 0 if it is made for processors only."""
    if not torch_knows_cuda():
        return 0
    here = len([path for path in devices.glob("nvidia*") if re.fullmatch(r"nvidia\d+", path.name)])
    wanted = environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return here
    # the list ends at the first number that does not exist, -1 for example
    named = []
    for word in filter(None, wanted.replace(" ", "").split(",")):
        if re.fullmatch(r"-?\d+", word) and not 0 <= int(word) < here:
            break
        named.append(word)
    return min(len(named), here)


def torch_knows_cuda() -> bool:
    """Whether the installed PyTorch was made for CUDA, as its file of versions says."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    version = Path(spec.origin).with_name("version.py")
    return version.is_file() and re.search(r"^cuda\b[^=]*= *'", version.read_text(), re.MULTILINE) is not None


def smallest_memory_of_gpus() -> float | None:
    """Bytes of the GPU that has least, of those that programs see; None if the driver does not tell.

    The driver is asked, through ctypes; no GPU is given a context, so no memory of theirs is taken.
    """
    try:
        driver = ctypes.CDLL(DRIVER)
        total_of = driver.cuDeviceTotalMem_v2
        count, handle, total = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
        if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
            return None
        found = []
        for gpu in range(count.value):
            if driver.cuDeviceGet(ctypes.byref(handle), gpu) or total_of(ctypes.byref(total), handle):
                return None
            found.append(float(total.value))
    except (OSError, AttributeError):
        return None
    return min(found, default=None)


def wake_gpu(device: str, rank: int = 0) -> threading.Thread | None:
    """Begin to make ready the GPU meant by "auto", "cuda" or "cuda:1"; None where no GPU is meant or there is none.

    The driver starts and makes the context that PyTorch will use, while Python still loads that.  It is asked through
    ctypes, so that nothing has to be loaded for it and Python goes on meanwhile.  With PyTorch's own calls this takes
    0.3 s later on, and seconds on machines with many GPUs.
    rank: among those of this machine, which share its GPUs out in this order.  Not to be called in a process that
    starts ranks, which must not hold memory of their GPUs.
    """
    found = re.fullmatch(r"auto|cuda(?::([0-9]+))?", device)
    gpus = count_gpus()
    if found is None or not gpus:
        return None
    number = rank % gpus if found[1] is None else int(found[1])
    # a daemon: were the driver to hang, PyTorch would hang there too, where the watchdogs look
    thread = threading.Thread(target=_make_context, args=(number,), name="early GPU", daemon=True)
    thread.start()
    return thread


def _make_context(device: int) -> None:
    """What cannot be done here PyTorch tries again, and tells why it fails."""
    with suppress(OSError, AttributeError):
        driver, handle, context = ctypes.CDLL(DRIVER), ctypes.c_int(), ctypes.c_void_p()
        if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(handle), device) == 0:
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle)
