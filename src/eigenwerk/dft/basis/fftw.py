"""Whose FFTs a process uses: FFTW's plans where they are faster than PyTorch's, decided in one place (`for_thread`).

That is measured once for each kind of transform and kept on the disk.
FFTW comes with pyFFTW (`pip install 'eigenwerk[fftw]'`).  The answer of a measurement is stored with FFTW's plans
("wisdom"), by kind of processor, in the folder of compiled kernels; the next process does not measure again.
"""

import json
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np
import torch

from eigenwerk.parallel.kernels.cache import cached, processor

try:
    import pyfftw
except ImportError:
    pyfftw = None

Plans = TypeVar("Plans")

PLANNING_SECONDS = 1.0
"""At most for each plan that is made for the first time."""

TIMED_RUNS = 5

ALIGNMENT = 64
"""Bytes; where arrays of PyTorch begin, and those that plans are made with."""

DOUBLE = (torch.float64, torch.complex128)
"""Number types that FFTW gets unasked: in single precision it rounds otherwise, which can change the number of
steps."""

_OF_THREAD = threading.local()
_PLANNING = threading.RLock()
"""FFTW makes one plan at a time."""

_CHOSEN: dict[Hashable, bool] = {}
"""Whether FFTW does a kind of transforms."""


def for_thread(
    kind: Hashable, direction: str, array: torch.Tensor, make: Callable[[str], Plans],
    times: Callable[[], tuple[float, float]], single: bool = False,
) -> Plans | None:  # fmt: skip
    """make(direction), once for each thread since plans carry the arrays they work on; None: PyTorch is to do it.

    FFTW does it where it is installed, for arrays of a processor in double precision, and if it is the faster one.
    kind: what is transformed, with an own repr.  times: seconds of FFTW and of PyTorch for it.  single: in single
    precision as well.
    """
    # what shall be differentiated is transformed by PyTorch
    fitting = array.dtype in DOUBLE or (single and array.dtype == torch.complex64)
    if pyfftw is None or not array.is_cpu or not fitting or array.requires_grad:
        return None
    plans = _OF_THREAD.__dict__.setdefault("plans", {})
    if (kind, direction) not in plans:
        with _PLANNING:
            plans[kind, direction] = make(direction) if _faster(kind, times) else None
    found: Plans | None = plans[kind, direction]
    return found


class Pass:
    """FFTs along an axis of a part of some array, to the same part of the same array or of another one.

    Arrays are as torch makes them, beginning at a multiple of 64 bytes; aligned: False where they may not.
    """

    def __init__(
        self, part: tuple[slice, ...], source: np.ndarray, target: np.ndarray, axis: int, direction: str,
        threads: int = 1, aligned: bool = True,
    ):  # fmt: skip
        """FFTW's best way for arrays like `scratch` ones, which are overwritten."""
        self.part, self._home = part, (source[part], target[part])
        self._plan = pyfftw.FFTW(
            *self._home, axes=(axis,), direction=direction, threads=threads, planning_timelimit=PLANNING_SECONDS,
            flags=("FFTW_MEASURE",) if aligned else ("FFTW_MEASURE", "FFTW_UNALIGNED"),
        )  # fmt: skip

    def __call__(self, source: np.ndarray, target: np.ndarray) -> None:
        """Transform; the plan holds both arrays then."""
        self._plan.update_arrays(source[self.part], target[self.part])
        self._plan.execute()

    def let_go(self) -> None:
        """Hold the scratch arrays again, which are memory only if they were planned with."""
        self._plan.update_arrays(*self._home)


def scratch(shape: Sequence[int], dtype: str) -> np.ndarray:
    """An array to plan with; where plans are known it is never touched."""
    return np.asarray(pyfftw.empty_aligned(tuple(shape), dtype=dtype, n=ALIGNMENT))


def fits(array: torch.Tensor) -> bool:
    """Whether an array of the right size lies in memory as `scratch` ones do."""
    return array.is_contiguous() and array.data_ptr() % ALIGNMENT == 0


def library() -> str:
    """Whose FFTs this process has used on processors."""
    return "FFTW" if any(_CHOSEN.values()) else "PyTorch"


def seconds(work: Callable[[], object]) -> float:
    """The shortest of some runs: what the work takes where nothing disturbs it."""
    times = []
    for _ in range(TIMED_RUNS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def _faster(kind: Hashable, times: Callable[[], tuple[float, float]]) -> bool:
    """Whether FFTW is the faster one."""
    if kind not in _CHOSEN:
        _CHOSEN[kind] = _measured(kind, times)
    return _CHOSEN[kind]


def _measured(kind: Hashable, times: Callable[[], tuple[float, float]]) -> bool:
    """By times() or what is stored of it; FFTW gets the plans that were made then."""
    def measure() -> bytes:
        by_fftw, by_torch = times()
        plans = [part.decode() for part in pyfftw.export_wisdom()]
        return json.dumps({"FFTW_seconds": by_fftw, "PyTorch_seconds": by_torch, "plans": plans}).encode()

    found = json.loads(cached((repr(kind), pyfftw.fftw_version, torch.__version__, processor()), measure))
    pyfftw.import_wisdom(tuple(part.encode() for part in found["plans"]))
    return bool(found["FFTW_seconds"] < found["PyTorch_seconds"])
