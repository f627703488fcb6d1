"""Jumps: pairs of determinants of one species that differ by one or two nucleons, with phases."""

from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.ncci.basis.annihilation import Annihilated, take_one, take_two
from eigenwerk.ncci.basis.determinants import Determinants
from eigenwerk.ncci.device_arrays import tensor


@dataclass(frozen=True, eq=False)
class Jumps:
    """Jumps z from determinant column_z to row_z: |row> = sign a+_out a_into |column> and the like for two.

    out_zi: states (z, 1 or 2) occupied in the row only; into_zi: in the column only; sign_z: phase, int8.
    Ordered by the row.
    """

    row_z: np.ndarray
    column_z: np.ndarray
    out_zi: np.ndarray
    into_zi: np.ndarray
    sign_z: np.ndarray

    def __len__(self) -> int:
        return len(self.row_z)

    def take(self, chosen: np.ndarray | slice) -> "Jumps":
        """Some of them."""
        return Jumps(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def one_jumps(determinants: Determinants, device: torch.device | str = "cpu") -> Jumps:
    """All ordered pairs that differ by one nucleon, whatever their 2M and parity; sought on `device`."""
    taken = take_one(determinants)
    return _between(taken, taken.rest_z, taken.first_z[:, None], device)


def two_jumps(determinants: Determinants, device: torch.device | str = "cpu") -> Jumps:
    """All pairs row > column with equal 2M and parity that differ by two nucleons."""
    taken = take_two(determinants)
    bucket_d = determinants.twice_m_d * 2 + determinants.parity_d
    bucket_z = bucket_d[taken.det_z] - bucket_d.min(initial=0)
    group_z = taken.rest_z * (bucket_z.max(initial=0) + 1) + bucket_z
    states_zi = np.stack([taken.first_z, taken.second_z], axis=1)
    return _between(taken, group_z, states_zi, device, lower=True)


def _between(
    taken: Annihilated,
    group_z: np.ndarray,
    states_zi: np.ndarray,
    device: torch.device | str,
    lower: bool = False,
) -> Jumps:
    """Jumps between all entries of a group (the same rest) that have no taken state in common."""
    order = np.argsort(group_z, kind="stable")
    group, states = (tensor(array[order], device) for array in (group_z, states_zi.astype(np.int16)))
    det, sign = (tensor(array[order], device) for array in (taken.det_z.astype(np.int32), taken.sign_z))
    _, size = torch.unique_consecutive(group, return_counts=True)
    start_z, size_z = (torch.repeat_interleave(values, size) for values in (torch.cumsum(size, 0) - size, size))
    one = torch.repeat_interleave(torch.arange(len(group), dtype=torch.int32, device=device), size_z)
    other = torch.arange(len(one), device=device)
    other += torch.repeat_interleave(start_z - (torch.cumsum(size_z, 0) - size_z), size_z)
    other = other.int()
    apart = det[one] > det[other] if lower else det[one] != det[other]
    if states.shape[1] == 2:
        for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
            apart &= states[:, i][one] != states[:, j][other]
    one, other = one[apart], other[apart]
    by_row = stable_order(det[one])
    one, other = one[by_row], other[by_row]
    found = det[one], det[other], states[one], states[other], sign[one] * sign[other]
    row_z, column_z, out_zi, into_zi, sign_z = (array.cpu().numpy() for array in found)
    return Jumps(row_z, column_z, out_zi.view(np.uint16), into_zi.view(np.uint16), sign_z)


def stable_order(key_z: torch.Tensor) -> torch.Tensor:
    """The order that sorts numbers and leaves equal ones as they are."""
    if key_z.device.type == "cpu":
        return torch.from_numpy(np.argsort(key_z.numpy(), kind="stable"))  # several times faster than torch.sort
    return key_z.sort(stable=True)[1]
