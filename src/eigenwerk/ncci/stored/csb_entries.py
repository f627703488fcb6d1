"""The nonzeros of H below the diagonal, band of proton determinants after band, and its diagonal.

Rows and columns that differ by two nucleons of one species, by one of one, or by one proton and one neutron are found
by combining jumps of the two species; nothing is searched and nothing is met twice.
"""

from collections.abc import Iterator
from copy import copy
from functools import cached_property

import numpy as np
import torch

from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.jumps import Jumps
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.stored.csb_mixed import MixedJumps, MixedTables, Part
from eigenwerk.ncci.stored.csb_tables import SpeciesJumps, tables
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.serial import ALONE

PART = 1 << 22
"""Entries that are made at once on a CPU, by one rank; a quarter where there are several, thirty times as many on a
GPU."""


def _within(jumps: Jumps, rows: tuple[int, int], columns: tuple[int, int]) -> np.ndarray | slice:
    """Which of them are between the determinants of a rectangle; may have some to higher determinants more."""
    first, last = np.searchsorted(jumps.row_z, np.array(rows, dtype=jumps.row_z.dtype)).tolist()
    if columns[0] == 0 and columns[1] >= rows[1]:
        return slice(first, last)  # a view: all to lower determinants are inside
    inside = (jumps.column_z[first:last] >= columns[0]) & (jumps.column_z[first:last] < columns[1])
    return first + np.flatnonzero(inside)


def _jumps_within(jumps: SpeciesJumps, rows: tuple[int, int], columns: tuple[int, int]) -> SpeciesJumps:
    """Those between the determinants of a rectangle."""
    same, two = (_within(z, rows, columns) for z in (jumps.same, jumps.two))
    return SpeciesJumps(jumps.same.take(same), jumps.mean_z[same], jumps.two.take(two), jumps.value_z[two])


class Entries:
    """Makes the entries of H on a device; `bands` cuts the proton determinants, `band_parts` makes one band.

    comm: ranks that make entries of the same H; what these are made of is in common on a machine.  Collective.
    """

    def __init__(
        self, basis: ManyBodyBasis, pairs: BasisPairs, dtype: torch.dtype, device: torch.device | str = "cpu",
        comm: Communicator = ALONE,
    ) -> None:  # fmt: skip
        self.basis, self.dtype, self.device = basis, dtype, torch.device(device)
        self.rows = self.columns = 0, len(basis.protons)
        self.place = torch.int32 if basis.dimension < 2**31 else torch.int64
        self.part = 30 * PART if self.device.type != "cpu" else PART if comm.size == 1 else PART // 4
        found = tables(basis, pairs, dtype, self.device, comm)
        self.mixed, self.protons, self.neutrons = found.mixed, found.protons, found.neutrons
        self.one_proton = found.one_proton
        self._mixed_tables = MixedTables(basis, self.mixed, found.one_neutron, dtype, self.place, self.device)

    @cached_property
    def both(self) -> MixedJumps:
        """Where a proton and a neutron jump; made when it is needed: of several ranks none needs it for all of H."""
        return MixedJumps(self._mixed_tables, self.one_proton)

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return tensor(array, self.device)

    def within(self, rows: tuple[int, int], columns: tuple[int, int]) -> "Entries":
        """The entries of a rectangle, cut at these proton determinants, as far as they are below the diagonal; places
        count from its corner.  What belongs to the neutrons is shared."""
        part = copy(self)
        part.rows, part.columns = rows, columns
        part.protons = _jumps_within(self.protons, rows, columns)
        part.one_proton = self.one_proton.take(_within(self.one_proton, rows, columns))
        part.both = MixedJumps(self._mixed_tables, part.one_proton)
        return part

    @property
    def corner(self) -> tuple[int, int]:
        """The state of the first row, and of the first column."""
        return int(self.basis.first_d[self.rows[0]]), int(self.basis.first_d[self.columns[0]])

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        first_d = self.basis.first_d
        return int(first_d[self.rows[1]]) - self.corner[0], int(first_d[self.columns[1]]) - self.corner[1]

    def row(self, determinant: int) -> int:
        """The first row of a proton determinant."""
        return int(self.basis.first_d[determinant]) - self.corner[0]

    def count(self) -> int:
        """How many entries there are; none is made for it."""
        return int(self.count_rows().sum())

    def count_rows(self) -> np.ndarray:
        """How many there are in the rows of each proton determinant, of all that H has; none is made for it.

        A jump inside one species counts once for each determinant of the other species that both ends have.
        """
        _, count_d = self._starts
        total_d = self.both.count_rows()
        for jumps in (self.protons.two, self.protons.same):
            np.add.at(total_d, jumps.row_z, np.minimum(count_d[jumps.row_z], count_d[jumps.column_z]))
        if self.on_diagonal:
            for low, high in self._sector_runs(*self.rows):
                both = (self._of_neutrons(jumps, low) for jumps in (self.neutrons.two, self.neutrons.same))
                total_d[low:high] += sum(chosen.stop - chosen.start for chosen in both)
        return total_d

    @property
    def on_diagonal(self) -> bool:
        """Whether the columns of the rows' own proton determinants are among the columns."""
        return self.columns[0] <= self.rows[0] and self.rows[1] <= self.columns[1]

    # --- bands -----------------------------------------------------------------------------------------------------

    def bands(self, rows: int) -> list[tuple[int, int]]:
        """Runs of proton determinants with about so many states each."""
        first, last = self.rows
        first_d = self.basis.first_d[first : last + 1]
        wanted = np.arange(first_d[0], first_d[-1], max(rows, 1))[1:]
        cuts = first + np.unique(np.concatenate([[0], np.searchsorted(first_d, wanted), [len(first_d) - 1]]))
        return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))

    def even_bands(self, most: int) -> list[tuple[int, int]]:
        """Runs of proton determinants whose rows have so many entries at most, or one determinant more."""
        first, last = self.rows
        end_d = np.cumsum(self.count_rows()[first:last])
        wanted = np.arange(most, end_d[-1] if len(end_d) else 0, most)
        cuts = first + np.unique(np.concatenate([[0], 1 + np.searchsorted(end_d, wanted), [last - first]]))
        return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))

    def band_parts(self, start: int, stop: int) -> Iterator[Part]:
        """All entries whose row has a proton determinant from start to stop, in parts."""
        row0, column0 = self.corner
        for row, column, value in self._all_parts(start, stop):
            yield row - row0 if row0 else row, column - column0 if column0 else column, value

    def _all_parts(self, start: int, stop: int) -> Iterator[Part]:
        """The same with places in H."""
        yield from self._two_protons(start, stop)
        yield from self._one_proton(start, stop)
        if self.on_diagonal:
            yield from self._neutrons_only(start, stop)
        yield from self.both.parts(start, stop, self.part)

    def _between(self, jumps: Jumps, start: int, stop: int) -> slice:
        ends = np.array([start, stop], dtype=jumps.row_z.dtype)  # another type would copy all rows
        return slice(*np.searchsorted(jumps.row_z, ends).tolist())

    # --- one species jumps, the other looks on ---------------------------------------------------------------------

    def _two_protons(self, start: int, stop: int) -> Iterator[Part]:
        chosen = self._between(self.protons.two, start, stop)
        row_z, column_z = self.protons.two.row_z[chosen], self.protons.two.column_z[chosen]
        for part, row, column, which, _ in self._spectators(row_z, column_z):
            value_z = self._tensor(self.protons.value_z[chosen][part]).to(self.dtype)
            yield row, column, value_z.index_select(0, which)

    def _spectators(self, row_z: np.ndarray, column_z: np.ndarray):
        """Proton jumps times the neutron determinants common to both ends: (slice of jumps, row, column, which jump of
        the slice, which neutron determinant)."""
        start_d, count_d = self._starts
        common_z = np.minimum(count_d[row_z], count_d[column_z])
        total_z = np.concatenate([[0], np.cumsum(common_z)])
        at = 0
        while at < len(row_z):
            end = max(at + 1, int(np.searchsorted(total_z, total_z[at] + self.part, side="right")) - 1)
            part = slice(at, end)
            common = self._tensor(common_z[part])
            jump = torch.arange(end - at, device=self.device, dtype=torch.int32)
            which = torch.repeat_interleave(jump, common)
            # number of the neutron determinant: a running count, set back at every jump
            shift = self._tensor(start_d[row_z[part]]) - (torch.cumsum(common, 0) - common)
            neutron = torch.arange(len(which), device=self.device, dtype=torch.int32)
            neutron += shift.to(torch.int32).index_select(0, which)
            row, column = (
                self._offset[self._tensor(z[part])].index_select(0, which) + neutron for z in (row_z, column_z)
            )
            yield part, row, column, which, neutron
            at = end

    @cached_property
    def _offset(self) -> torch.Tensor:
        return self._tensor(self.basis.offset_d).to(self.place)

    @cached_property
    def _starts(self) -> tuple[np.ndarray, np.ndarray]:
        return self.basis.neutron_start_d, np.diff(self.basis.first_d)

    def _one_proton(self, start: int, stop: int) -> Iterator[Part]:
        """One proton jumps: the mean field of the protons plus that of the neutrons of the state."""
        jumps, chosen = self.protons.same, self._between(self.protons.same, start, stop)
        fields, kind_z = self._fields(jumps, chosen, "p")
        mean_z, sign_z = self._tensor(self.protons.mean_z[chosen]), self._tensor(jumps.sign_z[chosen])
        occupied = self._occupied["n"]
        for part, row, column, which, neutron in self._spectators(jumps.row_z[chosen], jumps.column_z[chosen]):
            kind = kind_z[part][which]
            value = torch.zeros(len(row), dtype=torch.float64, device=self.device)
            for state_d in occupied:
                value += fields[kind, state_d[neutron]]
            yield row, column, (mean_z[part][which] + sign_z[part][which] * value).to(self.dtype)

    @cached_property
    def _occupied(self) -> dict[str, list[torch.Tensor]]:
        sides = {"p": self.basis.protons, "n": self.basis.neutrons}
        return {k: [self._tensor(state.astype(np.int64)) for state in side.occupied_di.T] for k, side in sides.items()}

    def _fields(self, jumps: Jumps, chosen: slice, species: str) -> tuple[torch.Tensor, torch.Tensor]:
        """(kinds, states of the other species) <c s|V|c' s> for the different (c, c') of jumps, and which each has."""
        states = len((self.basis.protons if species == "p" else self.basis.neutrons).states)
        key_z = jumps.out_zi[chosen, 0].astype(np.int64) * states + jumps.into_zi[chosen, 0]
        kinds, kind_z = np.unique(key_z, return_inverse=True)
        out, into = kinds[:, None] // states, kinds[:, None] % states
        other = np.arange(len((self.basis.neutrons if species == "p" else self.basis.protons).states))
        args = (out, other, into, other) if species == "p" else (other, out, other, into)
        return self._tensor(self.mixed.value(*np.broadcast_arrays(*args))), self._tensor(kind_z)

    def _neutrons_only(self, start: int, stop: int) -> Iterator[Part]:
        """Neutrons jump inside the run of neutron determinants of every proton determinant of the band."""
        for low, high in self._sector_runs(start, stop):
            for jumps, is_one in ((self.neutrons.two, False), (self.neutrons.same, True)):
                chosen = self._of_neutrons(jumps, low)
                if chosen.start == chosen.stop:
                    continue
                row_z, column_z, *values = (array[chosen] for array in self._neutron_tensors[is_one])
                step = max(1, self.part // len(row_z))
                for at in range(low, high, step):
                    protons = torch.arange(at, min(at + step, high), device=self.device)
                    offset = self._offset[protons][:, None]
                    value = self._mean_of_one(protons, *values) if is_one else values[0].expand(len(protons), -1)
                    row, column = ((offset + z).view(-1) for z in (row_z, column_z))
                    yield row, column, value.reshape(-1).to(self.dtype)

    def _of_neutrons(self, jumps: Jumps, proton: int) -> slice:
        """Jumps of neutrons inside the run of neutron determinants of a proton determinant."""
        first, count = (int(array[proton]) for array in self._starts)
        return self._between(jumps, first, first + count)

    def _mean_of_one(
        self, protons: torch.Tensor, mean_z: torch.Tensor, sign_z: torch.Tensor, kind_z: torch.Tensor
    ) -> torch.Tensor:
        """(protons, jumps) what one neutron that jumps feels of the others and of these proton determinants."""
        fields, _ = self._neutron_fields
        field = torch.zeros(len(fields), len(protons), dtype=torch.float64, device=self.device)
        for state_d in self._occupied["p"]:
            field += fields[:, state_d[protons]]
        return torch.addcmul(mean_z, sign_z, field.T[:, kind_z])

    @cached_property
    def _neutron_tensors(self) -> dict[bool, tuple[torch.Tensor, ...]]:
        """Row, column and values of neutron jumps: matrix elements of two; mean field, sign and kind of one (True)."""
        two, one = self.neutrons.two, self.neutrons.same
        _, kind_z = self._neutron_fields
        places = ((self._tensor(z).to(self.place) for z in (jumps.row_z, jumps.column_z)) for jumps in (two, one))
        row_2, column_2, row_1, column_1 = (z for pair in places for z in pair)
        mean_z, sign_z = self._tensor(self.neutrons.mean_z), self._tensor(one.sign_z).double()
        two_z = self._tensor(self.neutrons.value_z).to(self.dtype)
        return {False: (row_2, column_2, two_z), True: (row_1, column_1, mean_z, sign_z, kind_z)}

    @cached_property
    def _neutron_fields(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self._fields(self.neutrons.same, slice(0, len(self.neutrons.same)), "n")

    def _sector_runs(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The band cut where the sector of the protons changes."""
        return [
            (max(s.start, start), min(s.stop, stop))
            for s in self.basis.protons.sectors
            if s.start < stop and s.stop > start
        ]
