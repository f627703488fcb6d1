"""Tables made with NumPy, on the device where vectors are."""

import numpy as np
import torch


def tensor(array: np.ndarray, device: torch.device | str) -> torch.Tensor:
    """The array on a device, in its own number type; on a processor it shares the memory where it can."""
    return torch.from_numpy(np.asarray(array, order="C")).to(device)
