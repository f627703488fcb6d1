"""What is around the computation of every run: a device that is ready, threads, one clock, words where memory is short.

    with computing(runtime, inputs.parameters, threads):
        datasets = read_datasets(inputs, runtime)
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.steps.field_files import asked_fields
from eigenwerk.dft.runs.warm_up import warm_up
from eigenwerk.dft.scf.state import State
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.errors import EigenwerkError
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.io.paw.formats import read_dataset
from eigenwerk.parallel.clock_offset import clock_offset
from eigenwerk.parallel.device_clock import record_device
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.threads import intraop_threads


@contextmanager
def computing(runtime: Runtime, given: Parameters, threads: int | None) -> Iterator[None]:
    """A run's computation, on every rank; threads: of the processor (None: as torch is set).

    Raises EigenwerkError in place of whatever is raised where memory is short.
    """
    warm_up(runtime.device, given)
    with intraop_threads(threads, runtime.device), _memory_errors():
        record_device(runtime.trace, runtime.device)
        runtime.trace.clock_offset = clock_offset(runtime.world, runtime.device)
        yield


def read_datasets(inputs: Inputs, runtime: Runtime, start: State | None = None) -> dict[str, PawDataset]:
    """PAW data by element: the content of files, or that of the state to start from where it is the same."""
    known, datasets = {} if start is None else start.system.datasets, dict[str, PawDataset]()
    with runtime.trace.span("input files"):
        for symbol, data in inputs.data.items():
            same = symbol in known and known[symbol].sha256 == data.header.sha256
            datasets[symbol] = known[symbol] if same else read_dataset(data.path)
    return datasets


def calculation_of(inputs: Inputs, datasets: Mapping[str, PawDataset], runtime: Runtime) -> Calculation:
    """The calculation that inputs ask for."""
    asked = asked_fields(inputs.incar)
    return Calculation(inputs.structure, inputs.kpoints, inputs.parameters, datasets, runtime, asked=asked)


@contextmanager
def _memory_errors() -> Iterator[None]:
    """Say what to do when memory is short; torch has no exception of its own for it on a CPU."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError | torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
            raise
        raise EigenwerkError(
            f"Not enough memory ({error}). `eigenwerk check` estimates the need: lower ENCUT, NBANDS or the number of "
            "k-points, or use a machine with more memory."
        ) from error
