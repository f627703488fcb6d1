"""A GPU gets ready while Python still loads PyTorch: the driver starts and makes the context that PyTorch will use.

Only the driver is asked, through ctypes, so that nothing has to be loaded for it and Python goes on meanwhile.  With
PyTorch's own calls this takes 0.3 s later on, and seconds on machines with many GPUs.
"""

import ctypes
import re
import threading
from contextlib import suppress

from eigenwerk.parallel.launch.gpus import DRIVER, count_gpus


def wake_gpu(device: str, rank: int = 0) -> threading.Thread | None:
    """Begin to make ready the GPU meant by "auto", "cuda" or "cuda:1"; None where no GPU is meant or there is none.

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
