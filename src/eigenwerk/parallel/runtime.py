"""Where a calculation runs: device, number types and communicators, made once and carried by the basis."""

from dataclasses import dataclass, field

import numpy as np
import torch

from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.serial import SerialCommunicator
from eigenwerk.trace import Trace


@dataclass(frozen=True)
class Runtime:
    """Device, dtypes, communicator and trace of one calculation."""

    device: torch.device = torch.device("cpu")
    real: torch.dtype = torch.float64
    complex: torch.dtype = torch.complex128
    comm: Communicator = field(default_factory=SerialCommunicator)
    trace: Trace = field(default_factory=Trace)

    def tensor(self, values: object, dtype: torch.dtype | None = None) -> torch.Tensor:
        """A copy of `values` on the device; real dtype unless another is given."""
        return torch.tensor(np.asarray(values), dtype=dtype or self.real, device=self.device)

    def index(self, values: object) -> torch.Tensor:
        """An integer tensor on the device."""
        return torch.tensor(np.asarray(values), dtype=torch.int64, device=self.device)
