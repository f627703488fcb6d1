"""Loops for pair densities as kernels of a GPU; the plain twin is `pair_loops`.

Each charge is added by the thread of a point, from a list of the charges that reach there: no order of threads matters.
"""

import ctypes
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch

from eigenwerk.dft.exchange.pair_charges import HARMONICS, PairCharges
from eigenwerk.dft.exchange.pair_loops import PairLoops
from eigenwerk.parallel.kernels.cuda import Kernel, can_compile, integer, kernel, number, pointer

SOURCE = Path(__file__).with_name("pair_loops.cu").read_text(encoding="ascii")

THREADS, TILE, SUM_TILE = 256, 8, 4
"""Threads of a block; targets of a thread where densities are formed, pairs of a block where integrals are."""

C_REAL = {torch.complex64: "float", torch.complex128: "double"}


class CudaLoops(PairLoops):
    """The kernels for a device and a type of numbers."""

    def __init__(self, device: torch.device, dtype: torch.dtype):
        macros = f"REAL={C_REAL[dtype]}", f"HARMONICS={HARMONICS}"

        def found(name: str, tile: int = TILE) -> Kernel:
            return kernel(SOURCE, name, device.index or 0, *macros, f"TILE={tile}")

        self._form, self._multiply = found("form_pairs"), found("multiply_pairs")
        self._accumulate, self._integrate = found("accumulate_pairs"), found("integrate_pairs", SUM_TILE)
        self._lists: WeakKeyDictionary[PairCharges, tuple[torch.Tensor, ...]] = WeakKeyDictionary()

    def form(
        self, u_nR: torch.Tensor, u_tR: torch.Tensor, charge_xA: torch.Tensor, charges: PairCharges,
        phase_S: torch.Tensor | None,
    ) -> torch.Tensor:  # fmt: skip
        """As in the plain twin."""
        count_n, count_t, points = len(u_nR), len(u_tR), u_tR.shape[1]
        grid_xR = u_tR.new_empty((count_n * count_t, points))
        start, order, atom, table = self._list(charges, points)
        turned = None if phase_S is None else phase_S[order]
        tensors = [u_nR.contiguous(), u_tR.contiguous(), charge_xA.contiguous(), start, atom, table]
        u, targets, charge, first, which, values = (pointer(tensor) for tensor in tensors)
        self._form(
            (-(-points // THREADS), -(-count_t // TILE), count_n), THREADS, u, integer(not u_nR.is_complex()), targets,
            charge, first, which, values, _maybe(turned), integer(turned is not None), pointer(grid_xR),
            integer(points), integer(count_t), integer(charge_xA.shape[1]), integer(len(order)),
        )  # fmt: skip
        return grid_xR

    def multiply(self, grid_xR: torch.Tensor, kernel_R: torch.Tensor) -> None:
        """As in the plain twin."""
        count, points = grid_xR.shape
        blocks = -(-points // THREADS), count, 1
        self._multiply(blocks, THREADS, pointer(grid_xR), pointer(kernel_R), integer(points))

    def integrals(
        self, field_xR: torch.Tensor, charges: PairCharges, phase_S: torch.Tensor | None, scale: float
    ) -> torch.Tensor:
        """As in the plain twin."""
        out_xA = field_xR.new_empty((len(field_xR), charges.atoms * HARMONICS))
        for part in charges.parts:
            atoms, _, count = part.table_aLP.shape
            turned = None if phase_S is None else phase_S[part.points]
            self._integrate(
                (atoms, -(-len(field_xR) // SUM_TILE), 1), THREADS, pointer(field_xR),
                pointer(charges.index_S[part.points]), pointer(part.table_aLP), _maybe(turned),
                integer(turned is not None), pointer(part.atom_a), pointer(out_xA), integer(count),
                integer(field_xR.shape[1]), integer(out_xA.shape[1]), integer(len(field_xR)),
                number(scale),
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

    def _list(self, charges: PairCharges, points: int) -> tuple[torch.Tensor, ...]:
        """Charges by point of the grid: where each point's begin, their places on the axis S, atoms and g_L."""
        if charges not in self._lists:
            tables, atoms = [], []
            for part in charges.parts:
                tables.append(part.table_aLP.movedim(1, 0).flatten(1))
                atoms.append(part.atom_a.repeat_interleave(part.table_aLP.shape[2]))
            table_LS, atom_S = torch.cat(tables, 1), torch.cat(atoms)
            order = torch.argsort(charges.index_S, stable=True)
            order = order[(table_LS[:, order] != 0).any(0)]  # not what fills up
            count_R = torch.bincount(charges.index_S[order], minlength=points)
            start = torch.cat([count_R.new_zeros(1), count_R.cumsum(0)]).to(torch.int32)
            self._lists[charges] = start, order, atom_S[order].to(torch.int32), table_LS[:, order].contiguous()
        return self._lists[charges]


def _maybe(tensor: torch.Tensor | None) -> tuple[int, Any]:
    return (0, ctypes.c_void_p) if tensor is None else pointer(tensor)


def loops(device: torch.device, dtype: torch.dtype) -> CudaLoops | None:
    """Those for complex numbers of this type; None where they cannot be compiled."""
    return CudaLoops(device, dtype) if can_compile() else None
