"""Loops for pair densities as kernels of a GPU; the plain twin is `pair_loops`.

Each charge is added by the thread of a point, from a list of the charges that reach there: no order of threads matters.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch

from eigenwerk.dft.exchange.kernels.pair_loops import PairLoops
from eigenwerk.dft.exchange.pairs.pair_charges import PairCharges
from eigenwerk.parallel.kernels.cuda import Kernel, can_compile, integer, kernel, maybe_pointer, number, pointer

SOURCE = Path(__file__).with_name("pair_loops.cu").read_text(encoding="ascii")

THREADS, TILE, SUM_TILE = 256, 8, 4
"""Threads of a block; targets of a thread where densities are formed, pairs of a block where integrals are."""

FEEL_THREADS, FEEL_TILE = 128, 32
"""Points of a block and pairs between two sums in double precision, for what tables feel."""

POINTS_OF_WARP = 256
"""Of a sphere: sums over the threads of fewer would take longer than what they sum."""

C_REAL = {torch.complex64: "float", torch.complex128: "double"}


class CudaLoops(PairLoops):
    """The kernels for a device, a type of numbers and as many charges of an atom."""

    def __init__(self, device: torch.device, dtype: torch.dtype, harmonics: int):
        tiles = f"TILE={TILE}", f"SUM_TILE={SUM_TILE}", f"FEEL_TILE={FEEL_TILE}"
        macros = f"REAL={C_REAL[dtype]}", f"HARMONICS={harmonics}", *tiles

        def found(name: str) -> Kernel:
            return kernel(SOURCE, name, device.index or 0, *macros)

        self._form, self._multiply = found("form_pairs"), found("multiply_pairs")
        self._accumulate, self._integrate = found("accumulate_pairs"), found("integrate_pairs")
        self._feel, self._mirror = found("feel_pairs"), found("mirror_pairs")
        self._lists: WeakKeyDictionary[PairCharges, ChargesByPoint] = WeakKeyDictionary()

    def form(
        self, u_nR: torch.Tensor, u_tR: torch.Tensor, charge_xA: torch.Tensor, charges: PairCharges,
        phase_qS: torch.Tensor | None, q_n: torch.Tensor,
    ) -> torch.Tensor:  # fmt: skip
        """As in the plain twin."""
        count_n, count_t, points = len(u_nR), len(u_tR), u_tR.shape[1]
        grid_xR = u_tR.new_empty((count_n * count_t, points))
        points_of = self.points_of(charges, points)
        tensors = [u_nR.contiguous(), u_tR.contiguous(), charge_xA.contiguous()]
        u, targets, charge = (pointer(tensor) for tensor in tensors)
        self._form(
            (-(-points // THREADS), -(-count_t // TILE), count_n), THREADS, u, integer(not u_nR.is_complex()), targets,
            charge, *points_of.arguments, maybe_pointer(phase_qS), pointer(q_n), pointer(grid_xR), integer(points),
            integer(count_t), integer(charge_xA.shape[1]), integer(len(charges.index_S)),
        )  # fmt: skip
        return grid_xR

    def multiply(self, grid_xR: torch.Tensor, kernel_qR: torch.Tensor, q_n: torch.Tensor) -> None:
        """As in the plain twin."""
        count, points = grid_xR.shape
        field, kernel, q = pointer(grid_xR), pointer(kernel_qR), pointer(q_n)
        targets = integer(count // len(q_n))
        self._multiply((-(-points // THREADS), count, 1), THREADS, field, kernel, q, integer(points), targets)

    def integrals(
        self, field_xR: torch.Tensor, charges: PairCharges, phase_qS: torch.Tensor | None, q_n: torch.Tensor,
        scale: float,
    ) -> torch.Tensor:  # fmt: skip
        """As in the plain twin."""
        out_xA = field_xR.new_empty((len(field_xR), charges.atoms * charges.harmonics))
        for part in charges.parts:
            atoms, _, count = part.table_aLP.shape
            phase = maybe_pointer(phase_qS, part.start)
            threads = 32 * min(max(1, count // POINTS_OF_WARP), THREADS // 32)
            self._integrate(
                (atoms, -(-len(field_xR) // SUM_TILE), 1), threads, pointer(field_xR),
                pointer(charges.index_S, part.start), pointer(part.table_aLP), phase, pointer(q_n),
                pointer(part.atom_a), pointer(out_xA), integer(count), integer(field_xR.shape[1]),
                integer(out_xA.shape[1]), integer(len(field_xR)), integer(len(field_xR) // len(q_n)),
                integer(len(charges.index_S)), number(scale),
            )  # fmt: skip
        return out_xA

    def accumulate(
        self, field_xR: torch.Tensor, u_nR: torch.Tensor, weight_n: torch.Tensor, out_tR: torch.Tensor
    ) -> None:
        """As in the plain twin."""
        u_nR, weight_n = u_nR.contiguous(), weight_n.to(field_xR.real.dtype).contiguous()
        count, points = out_tR.shape
        self._accumulate(
            (-(-points // THREADS), count, 1), THREADS, pointer(field_xR), pointer(u_nR),
            integer(not u_nR.is_complex()), pointer(weight_n), pointer(out_tR), integer(points), integer(count),
            integer(len(u_nR)),
        )  # fmt: skip

    def mirror(self, field_xR: torch.Tensor, u_tR: torch.Tensor, out_nR: torch.Tensor) -> None:
        """As in the plain twin."""
        u_tR, (count, points) = u_tR.contiguous(), out_nR.shape
        blocks = (-(-points // THREADS), count, 1)
        self._mirror(
            blocks, THREADS, pointer(field_xR), pointer(u_tR), pointer(out_nR), integer(points), integer(len(u_tR))
        )

    def add_table_slopes(
        self, field_xR: torch.Tensor, charge_xA: torch.Tensor, charges: PairCharges, phase_qS: torch.Tensor | None,
        q_n: torch.Tensor, slope_y: torch.Tensor,
    ) -> None:  # fmt: skip
        """As in the plain twin."""
        field_xR, charge_xA = field_xR.contiguous(), charge_xA.contiguous()
        for part in charges.parts:
            atoms, _, count = part.table_aLP.shape
            self._feel(
                (atoms, -(-count // FEEL_THREADS), 1), FEEL_THREADS, pointer(field_xR),
                pointer(charges.index_S, part.start), pointer(charge_xA), maybe_pointer(phase_qS, part.start),
                pointer(q_n), pointer(part.atom_a), pointer(part.of_tables(slope_y)), integer(count),
                integer(field_xR.shape[1]), integer(charge_xA.shape[1]), integer(len(field_xR)),
                integer(len(field_xR) // len(q_n)), integer(len(charges.index_S)),
            )  # fmt: skip

    def points_of(self, charges: PairCharges, points: int) -> "ChargesByPoint":
        """Charges by point of the grid; made once."""
        if charges not in self._lists:
            self._lists[charges] = ChargesByPoint.of(charges, points)
        return self._lists[charges]


@dataclass(frozen=True, eq=False)
class ChargesByPoint:
    """start_R: where the charges of each point begin; of those: atom_e, place_e on the axis S, table_eL = g_L."""

    start_R: torch.Tensor
    atom_e: torch.Tensor
    place_e: torch.Tensor
    table_eL: torch.Tensor

    @staticmethod
    def of(charges: PairCharges, points: int) -> "ChargesByPoint":
        """Without what fills up."""
        table_SL, atom_S = tables_by_point(charges)
        order = torch.argsort(charges.index_S, stable=True)
        order = order[(table_SL[order] != 0).any(1)]
        count_R = torch.bincount(charges.index_S[order], minlength=points)
        start_R = torch.cat([count_R.new_zeros(1), count_R.cumsum(0)]).to(torch.int32)
        narrow = atom_S[order].to(torch.int32), order.to(torch.int32)
        return ChargesByPoint(start_R, *narrow, table_SL[order].contiguous())

    @property
    def arguments(self) -> list[tuple[int, Any]]:
        """For a kernel."""
        return [pointer(one) for one in (self.start_R, self.atom_e, self.place_e, self.table_eL)]


def tables_by_point(charges: PairCharges) -> tuple[torch.Tensor, torch.Tensor]:
    """g_L (S, L) and atoms of all points of spheres."""
    table_SL = torch.cat([part.table_aLP.mT.flatten(0, 1) for part in charges.parts])
    return table_SL, torch.cat([part.atom_a.repeat_interleave(part.table_aLP.shape[2]) for part in charges.parts])


def loops(device: torch.device, dtype: torch.dtype, harmonics: int) -> CudaLoops | None:
    """Those for complex numbers of this type; None where they cannot be compiled."""
    return CudaLoops(device, dtype, harmonics) if can_compile() else None
