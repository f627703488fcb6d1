"""Jumps: pairs of determinants of one species that differ by one or two nucleons, with phases."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

from eigenwerk.ncci.basis.annihilation import Annihilated, take_one, take_two
from eigenwerk.ncci.basis.determinants import Determinants
from eigenwerk.ncci.basis.jumps_native import pairs_natively
from eigenwerk.ncci.device_arrays import tensor

PIECE = {"cpu": 1 << 23, "cuda": 1 << 28}
"""Pairs of entries that are looked at together, about."""


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
    start = torch.cumsum(size, 0) - size
    total = torch.cumsum(size**2, 0)
    wanted = torch.arange(0, int(total[-1]) if len(total) else 0, PIECE[group.device.type], device=group.device)
    cuts = [*torch.searchsorted(total, wanted, right=True).unique().tolist(), len(size)]
    pieces = [_pairs(start[low:high], size[low:high], det, states, lower) for low, high in pairwise(cuts)]
    one, other = (torch.cat(ends) for ends in zip(*pieces, strict=True)) if pieces else (det[:0], det[:0])
    del pieces
    by_row = stable_order(det[one])
    one, other = one[by_row], other[by_row]
    found = det[one], det[other], states[one], states[other], sign[one] * sign[other]
    row_z, column_z, out_zi, into_zi, sign_z = (array.cpu().numpy() for array in found)
    return Jumps(row_z, column_z, out_zi.view(np.uint16), into_zi.view(np.uint16), sign_z)


def _pairs(
    start: torch.Tensor, size: torch.Tensor, det: torch.Tensor, states: torch.Tensor, lower: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Both ends (places, int32) of the jumps inside some groups that begin at `start` and have `size` entries."""
    found = pairs_natively(start, size, det, states, lower)
    if found is not None:
        return found
    size_z = torch.repeat_interleave(size, size)
    here = torch.arange(len(size_z), dtype=torch.int64, device=det.device)
    here += torch.repeat_interleave(start - (torch.cumsum(size, 0) - size), size)
    one = torch.repeat_interleave(here.int(), size_z)
    start_z = torch.repeat_interleave(start, size)
    other = torch.arange(len(one), device=det.device)
    other += torch.repeat_interleave(start_z - (torch.cumsum(size_z, 0) - size_z), size_z)
    other = other.int()
    apart = det[one] > det[other] if lower else det[one] != det[other]
    if states.shape[1] == 2:
        for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
            apart &= states[:, i][one] != states[:, j][other]
    return one[apart], other[apart]


def stable_order(key_z: torch.Tensor) -> torch.Tensor:
    """The order that sorts numbers and leaves equal ones as they are."""
    if key_z.device.type == "cpu":
        return torch.from_numpy(np.argsort(key_z.numpy(), kind="stable"))  # several times faster than torch.sort
    return key_z.sort(stable=True)[1]
