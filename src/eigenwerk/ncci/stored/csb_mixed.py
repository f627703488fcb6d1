"""Entries of H where one proton and one neutron jump: proton jumps times the neutron jumps that make up for them."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eigenwerk.ncci.basis.determinants import Determinants
from eigenwerk.ncci.basis.elements import Elements
from eigenwerk.ncci.basis.jumps import Jumps, stable_order
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.stored.csb_tables import OrderedJumps

KEPT = 1 << 28
"""Neutron jumps that are remembered at most, chosen for proton jumps; twenty bytes each."""

Part = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Rows, columns and values of some entries, 1-D tensors of equal length."""


@dataclass(frozen=True, eq=False)
class JumpGroup:
    """Proton jumps first to last (of those ordered by the sectors of both ends), row and column of one of them, and
    their kinds first_kind to last_kind: the different pairs (state out, state into)."""

    row: int
    column: int
    first: int
    last: int
    first_kind: int
    last_kind: int


@dataclass(frozen=True, eq=False)
class NeutronJumps:
    """Neutron jumps: determinants, states, signs; those that go with a group, in the number types of entries."""

    row_n: torch.Tensor
    column_n: torch.Tensor
    out_n: torch.Tensor
    into_n: torch.Tensor
    sign_n: torch.Tensor

    @cached_property
    def kinds(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The different pairs (state out, state into), and how many jumps have each."""
        width = int(self.into_n.max()) + 1
        count_x = torch.bincount(self.out_n * width + self.into_n)
        found_x = count_x.nonzero()[:, 0]
        return (found_x // width).int(), (found_x % width).int(), count_x[found_x]


class MixedTables:
    """What is the same for all proton jumps: matrix elements, and neutron jumps on a device; those that go with a group
    are remembered."""

    def __init__(
        self,
        basis: ManyBodyBasis,
        mixed: Elements,
        neutrons: OrderedJumps,
        dtype: torch.dtype,
        place: torch.dtype,
        device: torch.device,
    ) -> None:
        self.basis, self.dtype, self.place, self.device = basis, dtype, place, device
        self.elements = tuple(tensor(table, device) for table in (mixed.row_xx, mixed.column_xx, mixed.flat_z))
        self.offset_d = tensor(basis.offset_d, device).to(place)
        self.count_d = np.diff(basis.first_d)
        self.ordered = neutrons
        ends = (neutrons.row_z, neutrons.column_z, neutrons.out_z, neutrons.into_z, neutrons.sign_z)
        self.neutrons = NeutronJumps(*(tensor(array, device) for array in ends))
        self.matches: dict[tuple[int, ...], NeutronJumps] = {}
        self.kept = 0
        self.lock = threading.Lock()  # several threads make bands

    def matching(self, group: JumpGroup) -> NeutronJumps:
        """Neutron jumps between the runs of neutron determinants of both ends of a group."""
        starts = [int(self.basis.neutron_start_d[d]) for d in (group.row, group.column)]
        counts = [int(self.count_d[d]) for d in (group.row, group.column)]
        key = starts[0], starts[0] + counts[0], starts[1], starts[1] + counts[1]
        with self.lock:
            found = self.matches.get(key)
            if found is None:
                found = self._match(*key)
                if self.kept > KEPT:
                    self.matches.clear()
                    self.kept = 0
                self.matches[key] = found
                self.kept += len(found.row_n)
        return found

    def _match(self, row_start: int, row_stop: int, column_start: int, column_stop: int) -> NeutronJumps:
        """Neutron jumps between these runs; each begins with its bucket."""
        jumps, low, high = self.neutrons, 0, 0
        if row_start < row_stop and column_start < column_stop:
            bucket_d, cut_k = self.ordered.bucket_d, self.ordered.cut_k
            number = bucket_d[row_start] * self.ordered.buckets + bucket_d[column_start]
            low, high = int(cut_k[number]), int(cut_k[number + 1])
            rows = self.ordered.row_z[low:high]
            high = low + int(np.searchsorted(rows, np.array(row_stop, dtype=rows.dtype)))
        inside = (jumps.column_n[low:high] < column_stop).nonzero()[:, 0] + low
        return NeutronJumps(
            jumps.row_n[inside].to(self.place),
            jumps.column_n[inside].to(self.place),
            jumps.out_n[inside].int(),
            jumps.into_n[inside].int(),
            jumps.sign_n[inside].to(self.dtype),
        )


class MixedJumps:
    """Makes such entries of some proton jumps, in parts of about `part` entries."""

    def __init__(self, common: MixedTables, protons: Jumps) -> None:
        self.common = common
        self._order_protons(protons)

    def _order_protons(self, jumps: Jumps) -> None:
        """Jumps to lower determinants by the sectors of row and column; inside such a group by the row."""
        determinants, device = self.common.basis.protons, self.common.device
        row_z, column_z, out_z, into_z, self.sign_z = _lower(jumps, device)
        sector_d = tensor(_sector_numbers(determinants), device)
        key_z = sector_d[row_z] * len(determinants.sectors) + sector_d[column_z]
        order = stable_order(key_z)
        key_z, self.row_z, self.column_z = key_z[order], row_z[order], column_z[order]
        self.sign_z = self.sign_z[order].to(self.common.dtype)
        states = len(determinants.states)
        kind_z = key_z * states**2 + (out_z * states + into_z)[order]
        kinds, self.kind_z = torch.unique(kind_z, return_inverse=True)
        self.out_k, self.into_k = kinds // states % states, kinds % states
        _, size = torch.unique_consecutive(key_z, return_counts=True)
        _, width = torch.unique_consecutive(kinds // states**2, return_counts=True)
        last, last_kind = size.cumsum(0).tolist(), width.cumsum(0).tolist()
        heads = [array[size.cumsum(0) - size].tolist() for array in (self.row_z, self.column_z)]
        ends = zip(*heads, [0, *last], last, [0, *last_kind], last_kind, strict=False)
        self.groups = [JumpGroup(*numbers) for numbers in ends]
        self.row_host_z = self.row_z.cpu().numpy()

    def parts(self, start: int, stop: int, part: int) -> Iterator[Part]:
        """The entries whose row has a proton determinant from start to stop."""
        for group in self.groups:
            rows = self.row_host_z[group.first : group.last]
            if rows[0] >= stop or rows[-1] < start:
                continue
            low, high = group.first + np.searchsorted(rows, np.array([start, stop], dtype=rows.dtype))
            if low < high:
                others = self.common.matching(group)
                if len(others.row_n):
                    yield from self._outer(group, int(low), int(high), others, part)

    def count_rows(self) -> np.ndarray:
        """How many entries all parts have in the rows of each proton determinant."""
        total_d = torch.zeros(len(self.common.basis.protons), dtype=torch.int64, device=self.common.device)
        for group in self.groups:
            others = self.common.matching(group)
            if len(others.row_n):
                out, into, count_n = others.kinds
                coupled_x = (~torch.isnan(self._values(group, out, into)) * count_n).sum(1)
                some = slice(group.first, group.last)
                total_d.index_add_(0, self.row_z[some].long(), coupled_x[self.kind_z[some] - group.first_kind])
        return total_d.cpu().numpy()

    def _values(self, group: JumpGroup, out_n: torch.Tensor, into_n: torch.Tensor) -> torch.Tensor:
        """(kinds, n) matrix elements between (c, c') of the protons of a group and (d, d') of neutrons, NaN where no J
        couples them."""
        row_xx, column_xx, flat = self.common.elements
        kinds = slice(group.first_kind, group.last_kind)
        place = row_xx[self.out_k[kinds]].index_select(1, out_n)
        place += column_xx[self.into_k[kinds]].index_select(1, into_n)
        return flat[place]

    def _outer(self, group: JumpGroup, low: int, high: int, others: NeutronJumps, part: int) -> Iterator[Part]:
        """All products of proton jumps low to high with neutron jumps.  Matrix elements depend on the states only: they
        are taken once for each kind of proton jumps."""
        value_xz = self._values(group, others.out_n, others.into_n).to(self.common.dtype) * others.sign_n
        coupled_xz = ~torch.isnan(value_xz)
        all_coupled = bool(coupled_xz.all())
        step = max(1, part // len(others.row_n))
        for at in range(low, high, step):
            some = slice(at, min(at + step, high))
            kind = self.kind_z[some] - group.first_kind
            row, column = (
                self.common.offset_d[z[some]][:, None] + n
                for z, n in ((self.row_z, others.row_n), (self.column_z, others.column_n))
            )
            value = value_xz.index_select(0, kind).mul_(self.sign_z[some, None])
            if all_coupled:
                yield row.view(-1), column.view(-1), value.view(-1)
            else:
                keep = coupled_xz.index_select(0, kind).view(-1).nonzero()[:, 0]
                row, column, value = (array.view(-1).index_select(0, keep) for array in (row, column, value))
                yield row, column, value


def _sector_numbers(determinants: Determinants) -> np.ndarray:
    """The sector of every determinant."""
    sectors = determinants.sectors
    return np.repeat(np.arange(len(sectors)), [sector.stop - sector.start for sector in sectors])


def _lower(jumps: Jumps, device: torch.device) -> list[torch.Tensor]:
    """Row, column, state out, state into (int64) and sign of the jumps to lower determinants, on a device."""
    arrays = jumps.row_z, jumps.column_z, jumps.out_zi[:, 0].astype(np.int16), jumps.into_zi[:, 0].astype(np.int16)
    found = [tensor(array, device) for array in (*arrays, jumps.sign_z)]
    found = [array[found[1] < found[0]] for array in found]
    return [*found[:2], found[2].long(), found[3].long(), found[4]]
