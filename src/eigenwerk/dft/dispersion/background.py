"""The correction of an arrangement, once, beside everything else: D4 of 64 atoms takes half a minute of a processor."""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.dispersion.correction import D2, DispersionCorrection
from eigenwerk.dft.dispersion.library_energy import library_energy
from eigenwerk.dft.dispersion.pairwise import pair_energy
from eigenwerk.dft.dispersion.position_energy import PositionEnergy

KEPT = 16
"""Arrangements whose corrections are kept."""

Key = tuple[str, tuple[str, ...], bytes, bytes]

_found: OrderedDict[Key, Future[PositionEnergy]] = OrderedDict()
_lock = Lock()


def position_energy(correction: DispersionCorrection, structure: Structure, workers: int = 1) -> PositionEnergy:
    """The correction of a structure."""
    if correction.method == D2:
        return pair_energy(correction, structure)
    return library_energy(correction, structure, workers)


def begun(correction: DispersionCorrection, structure: Structure, workers: int = 1) -> Future[PositionEnergy]:
    """The same, which a thread has begun with, or which was found before; workers: threads of its own."""
    key = repr(correction), structure.symbols, structure.scaled_ac.tobytes(), structure.lattice_cv.tobytes()
    with _lock:
        if key not in _found:
            _found[key] = _in_thread(lambda: position_energy(correction, structure, workers))
            while len(_found) > KEPT:
                _found.popitem(last=False)
        return _found[key]


def _in_thread(work: Callable[[], PositionEnergy]) -> Future[PositionEnergy]:
    """What a thread makes of it, for which the end of the process does not wait."""
    future: Future[PositionEnergy] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # it is raised where the result is asked for
            future.set_exception(error)

    Thread(target=run, daemon=True, name="dispersion correction").start()
    return future
