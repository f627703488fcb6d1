"""Pair densities, potentials and what these make of orbitals in three passes over a GPU's memory (pair_passes.cu).

Densities are made plane by plane and transformed there; columns along the first axis are transformed, multiplied by the
interaction and transformed back; planes return to points and are used up there.  Between the passes there are only the
columns that the sphere of waves touches: of 32 bytes for each point and pair in single precision some 25 are moved.
`pair_loops_cuda` does the same with cuFFT in many more passes, for grids that these do not cover.
"""

from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
import torch

from eigenwerk.dft.exchange.kernels.pair_loops import PairTable
from eigenwerk.dft.exchange.kernels.pair_loops_cuda import C_REAL, tables_by_point
from eigenwerk.dft.exchange.pairs.pair_charges import PairCharges
from eigenwerk.parallel.kernels.cuda import integer, kernel, maybe_pointer, number, pointer, shared_bytes

SOURCE = "".join(
    Path(__file__).with_name(name).read_text(encoding="ascii") for name in ("short_transforms.cu", "pair_passes.cu")
)

LONGEST = 16
"""Of the short transforms that a thread does in its registers."""

TILE = 32
"""Columns of a block."""

BANKS = 16
"""Complex numbers in single precision that shared memory serves at a time."""

REGISTERS, REGISTERS_OF_THREAD, BLOCKS = 65536, 64, 4
"""Of a multiprocessor; of a thread, at least; blocks side by side, at most."""

SUMS = 24
"""Points of a plane that a thread holds in registers, at most if that is possible."""

POINTS_OF_PART = 24
"""Of a sphere in a plane, at most: as many as one thread adds up."""

STEPS = 4
"""Targets that a block of columns goes through with one interaction."""


def split(size: int) -> tuple[int, int] | None:
    """Two factors, as near to each other as can be, of a line's length; None if one would be too long."""
    first = max(a for a in range(1, isqrt(size) + 1) if size % a == 0)
    primes_kept = all(_smooth(factor) for factor in (first, size // first))
    return (first, size // first) if size // first <= LONGEST and primes_kept else None


def _smooth(size: int) -> bool:
    for prime in (2, 3, 5, 7):
        while size % prime == 0:
            size //= prime
    return size == 1


@dataclass(frozen=True)
class LaunchShape:
    """How threads share a grid: factors of its axes, threads of a block, rows from one k1 to the next, planes of a
    block, shared bytes of these and of columns."""

    size_c: tuple[int, int, int]
    factors_c: tuple[tuple[int, int], ...]
    threads: int
    pitch: int
    together: int
    plane_bytes: int
    column_bytes: int

    @staticmethod
    def of(size_c: tuple[int, int, int], itemsize: int, most_bytes: int) -> "LaunchShape | None":
        """None if axes cannot be split, or a plane does not fit into most_bytes; two planes if two blocks have room."""
        factors_c = [split(size) for size in size_c]
        if any(factors is None for factors in factors_c):
            return None
        first_c = tuple(factors for factors in factors_c if factors is not None)
        (_, (a2, b2), (a3, b3)), (n1, n2, n3) = first_c, size_c
        pitch = min(range(b2, b2 + 6), key=lambda rows: (_conflicts(a2, b2, rows), rows))
        one, turns = max(a2 * pitch, n2) * (n3 | 1) * itemsize, (n2 + n3) * itemsize
        together = 2 if 2 * (2 * one + turns) <= most_bytes else 1
        plane = together * one + turns
        column = (n1 * TILE + n1) * itemsize
        if max(plane, column) > most_bytes:
            return None

        steps = [(n3 * b2, together * a2)]
        steps += [(together * count, length) for count, length in ((n3 * a2, b2), (n2 * b3, a3), (n2 * a3, b3))]

        def merit(threads: int) -> tuple[bool, float]:
            made = LaunchShape(size_c, first_c, threads, pitch, together, plane, column)
            resident = threads * made.blocks(most_bytes, itemsize)
            return -(-n3 * b2 // threads) * a2 <= SUMS, _share(steps, threads) * resident**0.5

        threads = max(range(128, 513, 32), key=merit)
        return LaunchShape(size_c, first_c, threads, pitch, together, plane, column)

    @property
    def column_threads(self) -> int:
        """Of a block of columns."""
        return TILE * max(self.factors_c[0])

    def blocks(self, most_bytes: int, itemsize: int) -> int:
        """Blocks that a multiprocessor shall have room for."""
        by_registers = REGISTERS // (self.threads * REGISTERS_OF_THREAD * itemsize // 8)
        return max(1, min(BLOCKS, by_registers, most_bytes // self.plane_bytes))

    def macros(self, real: str, blocks: int, harmonics: int) -> list[str]:
        """For the source."""
        found = [f"REAL={real}", f"HARMONICS={harmonics}", f"THREADS={self.threads}", f"BLOCKS={blocks}"]
        found += [f"TILE={TILE}", f"COLUMN_THREADS={self.column_threads}", f"PITCH={self.pitch}"]
        found += [f"TOGETHER={self.together}"]
        for axis, (size, (a, b)) in enumerate(zip(self.size_c, self.factors_c, strict=True), 1):
            found += [f"N{axis}={size}", f"A{axis}={a}", f"B{axis}={b}"]
        return found


def _share(steps: list[tuple[int, int]], threads: int) -> float:
    """Of the time of so many threads that is work; steps: (transforms, their length)."""
    return sum(count * length for count, length in steps) / sum(
        -(-count // threads) * threads * length for count, length in steps
    )


def _conflicts(a: int, b: int, pitch: int) -> int:
    """Turns that shared memory takes for the rows of neighbouring waves."""
    row_y = np.array([y % a * pitch + y // a for y in range(a * b)])
    pieces = [row_y[first : first + BANKS] % BANKS for first in range(0, a * b, BANKS)]
    return sum(int(np.bincount(piece).max()) for piece in pieces)


@dataclass(frozen=True, eq=False)
class Columns:
    """column: place of each (third, second) wave among those kept, -1 if it is not; of those: place_j on the (second,
    third) axes, interaction_qxj."""

    column: torch.Tensor
    place_j: torch.Tensor
    interaction_qxj: torch.Tensor

    @staticmethod
    def of(kernel_qR: torch.Tensor, size_c: tuple[int, int, int]) -> "Columns":
        """Those where the interaction of any wave vector is not zero; the second axis is the faster one."""
        kernel_qxyz = kernel_qR.unflatten(1, size_c)
        kept_zy = (kernel_qxyz != 0).any(0).any(0).mT
        place_zy = torch.where(kept_zy, kept_zy.flatten().cumsum(0).view(kept_zy.shape) - 1, -1)
        chosen = torch.nonzero(kept_zy.flatten()).flatten()
        interaction_qxj = kernel_qxyz.transpose(2, 3).flatten(2).index_select(2, chosen)
        place_j = chosen % size_c[1] * size_c[2] + chosen // size_c[1]
        return Columns(place_zy.to(torch.int32).contiguous(), place_j, interaction_qxj.contiguous())


@dataclass(frozen=True, eq=False)
class ChargesThere:
    """Charges by points of the grid, for planes there.

    mask_R: points with any; of these, i: address_i in a plane of shared memory, those of each plane from first_x on;
    entries e of point i from begin_i on: atom_e, place_e on the axis S, table_Le = g_L.
    """

    mask_R: torch.Tensor
    first_x: torch.Tensor
    address_i: torch.Tensor
    begin_i: torch.Tensor
    atom_e: torch.Tensor
    table_Le: torch.Tensor
    place_e: torch.Tensor

    @staticmethod
    def of(charges: PairCharges, shape: LaunchShape) -> "ChargesThere":
        """Without what fills up."""
        (n1, n2, n3), (_, b2) = shape.size_c, shape.factors_c[1]
        table_SL, atom_S = tables_by_point(charges)
        chosen = torch.nonzero((table_SL != 0).any(1)).flatten()
        place_e = chosen[torch.argsort(charges.index_S[chosen], stable=True)]
        point_i, count_i = torch.unique_consecutive(charges.index_S[place_e], return_counts=True)
        # neighbours in the list shall be of one atom, whose charges they read
        plane_i, atom_i = point_i // (n2 * n3), atom_S[place_e[count_i.cumsum(0) - count_i]]
        order_i = torch.argsort(plane_i * charges.atoms + atom_i, stable=True)
        turn_e = torch.argsort(order_i).repeat_interleave(count_i)
        place_e, point_i, count_i = place_e[torch.argsort(turn_e, stable=True)], point_i[order_i], count_i[order_i]
        mask_R = torch.zeros(n1 * n2 * n3, dtype=torch.uint8, device=point_i.device)
        mask_R[point_i] = 1
        y_i, z_i = point_i // n3 % n2, point_i % n3
        address_i = (y_i // b2 * shape.pitch + y_i % b2) * (n3 | 1) + z_i
        first_x = begins(torch.bincount(point_i // (n2 * n3), minlength=n1))
        tables = atom_S[place_e].to(torch.int32), table_SL[place_e].mT.contiguous()
        return ChargesThere(mask_R, first_x, address_i.to(torch.int32), begins(count_i), *tables, place_e)


@dataclass(frozen=True, eq=False)
class ChargesBack:
    """Spheres cut into planes of the first axis and parts of few points, for planes back.

    first_x: where the parts e of each plane begin, points_e: where those of parts; of points: address_p in a plane of
    shared memory, place_p on the axis S, table_pL = g_L; parts of each atom: part_e from begin_a on.
    """

    first_x: torch.Tensor
    points_e: torch.Tensor
    address_p: torch.Tensor
    table_pL: torch.Tensor
    place_p: torch.Tensor
    begin_a: torch.Tensor
    part_e: torch.Tensor

    @staticmethod
    def of(charges: PairCharges, shape: LaunchShape) -> "ChargesBack":
        """Without what fills up."""
        (n1, n2, n3), (a2, b2) = shape.size_c, shape.factors_c[1]
        table_SL, atom_S = tables_by_point(charges)
        chosen = torch.nonzero((table_SL != 0).any(1)).flatten()
        key_p = charges.index_S[chosen] // (n2 * n3) * charges.atoms + atom_S[chosen]
        order = torch.argsort(key_p, stable=True)
        place_p, key_p = chosen[order], key_p[order]
        # the points of an atom in a plane, counted, and cut
        _, count = torch.unique_consecutive(key_p, return_counts=True)
        within_p = torch.arange(len(key_p), device=key_p.device) - (count.cumsum(0) - count).repeat_interleave(count)
        size_p = (-(-count // -(-count // POINTS_OF_PART))).repeat_interleave(count)
        pieces = -(-n2 * n3 // POINTS_OF_PART)
        part_key, count_e = torch.unique_consecutive(key_p * pieces + within_p // size_p, return_counts=True)
        plane_e, atom_e = part_key // pieces // charges.atoms, part_key // pieces % charges.atoms
        y_p, z_p = charges.index_S[place_p] // n3 % n2, charges.index_S[place_p] % n3
        address_p = (y_p // b2 + a2 * (y_p % b2)) * (n3 | 1) + z_p
        return ChargesBack(
            begins(torch.bincount(plane_e, minlength=n1)), begins(count_e), address_p.to(torch.int32),
            table_SL[place_p].contiguous(), place_p, begins(torch.bincount(atom_e, minlength=charges.atoms)),
            torch.argsort(atom_e, stable=True).to(torch.int32),
        )  # fmt: skip


def begins(count: torch.Tensor) -> torch.Tensor:
    """Where each of some groups begins, and where the last ends."""
    return torch.cat([count.new_zeros(1), count.cumsum(0)]).to(torch.int32)


@dataclass(frozen=True)
class Passed:
    """integral_xA = scale Σ_R g_A V; potential_xR = V, square_qR = Σ_x weight |Ω N ρ|² of pairs of a wave vector, if
    they are wanted."""

    integral_xA: torch.Tensor
    potential_xR: torch.Tensor | None
    square_qR: torch.Tensor | None


class PairPasses:
    """The passes for a grid, a device and a type of numbers."""

    def __init__(self, shape: LaunchShape, device: torch.device, dtype: torch.dtype, harmonics: int):
        self.shape = shape
        index, itemsize = device.index or 0, torch.empty(0, dtype=dtype).element_size()
        blocks = shape.blocks(shared_bytes(device.index or 0), itemsize)
        macros = shape.macros(C_REAL[dtype], blocks, harmonics)
        names = "planes_there", "columns", "planes_back"
        there, columns, back = (kernel(SOURCE, name, index, *macros) for name in names)
        self._there, self._back = there.with_shared(shape.plane_bytes), back.with_shared(shape.plane_bytes)
        self._columns = columns.with_shared(shape.column_bytes)
        self._spheres = kernel(SOURCE, "whole_spheres", index, *macros)
        turns = [np.exp(-2j * np.pi * np.arange(size) / size) for size in shape.size_c]
        self._turns = torch.as_tensor(np.concatenate(turns)).to(device, dtype)
        self._columns_of: WeakKeyDictionary[PairTable, Columns] = WeakKeyDictionary()
        self._charges_of: WeakKeyDictionary[PairCharges, tuple[ChargesThere, ChargesBack]] = WeakKeyDictionary()
        self._phases_of: WeakKeyDictionary[PairTable, tuple[torch.Tensor, torch.Tensor]] = WeakKeyDictionary()

    def _made_once(
        self, charges: PairCharges, table: PairTable
    ) -> "tuple[Columns, ChargesThere, ChargesBack, tuple[torch.Tensor | None, torch.Tensor | None]]":
        """What is made of tables when they are first seen, with the phases at the places of either way."""
        if table not in self._columns_of:
            self._columns_of[table] = Columns.of(table.kernel_qR, self.shape.size_c)
        if charges not in self._charges_of:
            self._charges_of[charges] = ChargesThere.of(charges, self.shape), ChargesBack.of(charges, self.shape)
        there, back = self._charges_of[charges]
        if table.phase_qS is not None and table not in self._phases_of:
            self._phases_of[table] = table.phase_qS[:, there.place_e], table.phase_qS[:, back.place_p]
        return self._columns_of[table], there, back, self._phases_of.get(table, (None, None))

    def __call__(
        self, u_nR: torch.Tensor, u_tR: torch.Tensor, charge_xA: torch.Tensor, charges: PairCharges,
        table: PairTable, q_n: torch.Tensor, weight_n: torch.Tensor, out_tR: torch.Tensor | None,
        scale: float, potential: bool = False, weight_x: torch.Tensor | None = None,
    ) -> Passed:  # fmt: skip
        """out_t += Σ_n w_n u_n V_nt, if it is wanted.

        potential: whether V is wanted; weight_x: of pairs, where sums of squares are.
        """
        shape, (n1, _, _) = self.shape, self.shape.size_c
        count_n, count_t, points = len(u_nR), len(u_tR), u_tR.shape[1]
        columns, there, back, phases = self._made_once(charges, table)
        kept, spheres = integer(columns.interaction_qxj.shape[2]), integer(len(there.place_e))
        field = u_tR.new_empty((count_n * count_t, n1, columns.interaction_qxj.shape[2]))
        u_nR, u_tR, charge_xA = u_nR.contiguous(), u_tR.contiguous(), charge_xA.contiguous()
        weight_n = weight_n.to(u_tR.real.dtype).contiguous()
        sources = pointer(u_nR), integer(not u_nR.is_complex())
        q, turns = pointer(q_n), pointer(self._turns)
        n, t = integer(count_n), integer(count_t)
        tables = there.mask_R, there.first_x, there.address_i, there.begin_i, there.atom_e, there.table_Le
        self._there(
            (n1, count_t, 1), shape.threads, *sources, pointer(u_tR), pointer(charge_xA), *map(pointer, tables),
            maybe_pointer(phases[0]), q, pointer(columns.column), turns, pointer(field), kept, n, t,
            integer(charge_xA.shape[1]), spheres,
        )  # fmt: skip
        square_nxj = None
        if weight_x is not None:
            weight_x = weight_x.to(u_tR.real.dtype).contiguous()
            square_nxj = field.real.new_empty((count_n, *field.shape[1:]))
        turns_of = 1 if square_nxj is not None else -(-count_t // STEPS)
        self._columns(
            (-(-field.shape[2] // TILE), turns_of, count_n), shape.column_threads, pointer(field),
            pointer(columns.interaction_qxj), q, turns, maybe_pointer(weight_x), maybe_pointer(square_nxj), kept, t,
        )  # fmt: skip
        parts = len(back.part_e)
        partial = field.new_empty((len(field), parts, charges.harmonics))
        potential_xR = u_tR.new_empty((len(field), points)) if potential else None
        lists = back.first_x, back.points_e, back.address_p, back.table_pL
        self._back(
            (n1, count_t, 1), shape.threads, pointer(field), *sources, pointer(weight_n), pointer(columns.column),
            turns, *map(pointer, lists), maybe_pointer(phases[1]), q, pointer(partial), maybe_pointer(out_tR),
            maybe_pointer(potential_xR), kept, n, t, integer(parts), spheres,
        )  # fmt: skip
        integral_xA = torch.empty_like(charge_xA)
        self._spheres(
            (-(-integral_xA.numel() // 256), 1, 1), 256, pointer(partial), pointer(back.begin_a),
            pointer(back.part_e), pointer(integral_xA), integer(parts), integer(integral_xA.shape[1]),
            integer(len(integral_xA)), number(scale),
        )  # fmt: skip
        square_qR = None
        if square_nxj is not None:
            place_qn = q_n == torch.arange(len(table.kernel_qR), device=q_n.device)[:, None]
            square_qy = (place_qn.to(torch.float64) @ square_nxj.flatten(1).to(torch.float64)).view(-1, n1, kept[0])
            square_qR = square_qy.new_zeros((len(square_qy), n1, points // n1))
            square_qR[:, :, columns.place_j] = square_qy
        return Passed(integral_xA, potential_xR, None if square_qR is None else square_qR.flatten(1))


def passes(
    size_c: tuple[int, int, int], device: torch.device, dtype: torch.dtype, harmonics: int
) -> PairPasses | None:
    """Those for a grid; None if they do not cover it."""
    shape = LaunchShape.of(size_c, torch.empty(0, dtype=dtype).element_size(), shared_bytes(device.index or 0))
    return None if shape is None else PairPasses(shape, device, dtype, harmonics)
