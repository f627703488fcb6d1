"""Jumps: pairs of determinants of one species that differ by one or two nucleons, with phases."""

from dataclasses import dataclass

import numpy as np

from eigenwerk.ncci.annihilation import Annihilated, take_one, take_two
from eigenwerk.ncci.determinants import Determinants


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


def one_jumps(determinants: Determinants) -> Jumps:
    """All ordered pairs that differ by one nucleon, whatever their 2M and parity."""
    taken = take_one(determinants)
    return _between(taken, determinants, taken.rest_z, taken.first_z[:, None])


def two_jumps(determinants: Determinants) -> Jumps:
    """All pairs row > column with equal 2M and parity that differ by two nucleons."""
    taken = take_two(determinants)
    bucket_d = determinants.twice_m_d * 2 + determinants.parity_d
    bucket_z = bucket_d[taken.det_z] - bucket_d.min(initial=0)
    group_z = taken.rest_z * (bucket_z.max(initial=0) + 1) + bucket_z
    states_zi = np.stack([taken.first_z, taken.second_z], axis=1)
    return _between(taken, determinants, group_z, states_zi, lower=True)


def _between(
    taken: Annihilated, determinants: Determinants, group_z: np.ndarray, states_zi: np.ndarray, lower: bool = False
) -> Jumps:
    """Jumps between all entries of a group (the same rest) that have no taken state in common."""
    order = np.argsort(group_z, kind="stable")
    group_z, states_zi = group_z[order], states_zi[order].astype(np.uint16)
    det_z, sign_z = taken.det_z[order].astype(np.int32), taken.sign_z[order]
    cuts = np.flatnonzero(np.diff(group_z, prepend=-1)) if len(group_z) else np.zeros(0, np.int64)
    size = np.diff(np.append(cuts, len(group_z)))
    start_z, size_z = np.repeat(cuts, size), np.repeat(size, size)
    one = np.repeat(np.arange(len(group_z), dtype=np.int32), size_z)
    other = np.repeat(start_z - (np.cumsum(size_z) - size_z), size_z) + np.arange(len(one))
    apart = det_z[one] > det_z[other] if lower else det_z[one] != det_z[other]
    if states_zi.shape[1] == 2:
        for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
            apart &= states_zi[one, i] != states_zi[other, j]
    one, other = one[apart], other[apart]
    by_row = np.argsort(det_z[one], kind="stable")
    one, other = one[by_row], other[by_row]
    return Jumps(det_z[one], det_z[other], states_zi[one], states_zi[other], sign_z[one] * sign_z[other])
