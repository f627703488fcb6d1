"""The diagonal of the Hamiltonian."""

import numpy as np
import torch

from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.interaction.pair_blocks import PairBlock

PIECE = {"cpu": 1 << 20, "cuda": 1 << 24}
"""So many states are worked on at once."""


def diagonal(
    basis: ManyBodyBasis, pairs: BasisPairs, device: torch.device | str = "cpu", own: slice | None = None
) -> torch.Tensor:
    """<b|H|b> = sum of <xy|V|xy> over the occupied pairs of b, (b,) float64 on a device; own: of these states only."""
    begin, end = (0, basis.dimension) if own is None else (own.start, own.stop)
    states_p, states_n = len(basis.protons.states), len(basis.neutrons.states)
    own_p = tensor(_like_pairs(basis.protons.occupied_di, _elements(pairs.blocks["pp"], states_p)), device)
    own_n = tensor(_like_pairs(basis.neutrons.occupied_di, _elements(pairs.blocks["nn"], states_n)), device)
    mixed_xy = tensor(_elements(pairs.blocks["pn"], states_p, states_n), device)
    occupied_p, occupied_n, first_d, offset_d = (
        tensor(array.astype(np.int64), device)
        for array in (basis.protons.occupied_di, basis.neutrons.occupied_di, basis.first_d, basis.offset_d)
    )
    found_b = torch.empty(end - begin, dtype=torch.float64, device=device)
    step = PIECE[found_b.device.type]
    for first in range(begin, end, step):
        state_b = torch.arange(first, min(first + step, end), device=device)
        proton_b = torch.searchsorted(first_d, state_b, right=True) - 1
        neutron_b = state_b - offset_d[proton_b]
        # what the protons of each determinant of this piece do to a neutron in every state
        low, high = int(proton_b[0]), int(proton_b[-1]) + 1
        field_dy = mixed_xy.new_zeros(high - low, mixed_xy.shape[1])
        for occupied_d in occupied_p[low:high].T:
            field_dy += mixed_xy[occupied_d]
        value_b = own_p[proton_b] + own_n[neutron_b]
        for occupied_b in occupied_n[neutron_b].T:
            value_b += field_dy[proton_b - low, occupied_b]
        found_b[first - begin : first - begin + len(state_b)] = value_b
    return found_b


def _elements(blocks: list[PairBlock], rows: int, columns: int | None = None) -> np.ndarray:
    """<xy|V|xy> as a matrix of m-states; 0 for pairs that do not occur."""
    matrix_xy = np.zeros((rows, rows if columns is None else columns))
    for block in blocks:
        matrix_xy[block.first_x, block.second_x] = np.diagonal(block.matrix_xx)
    return matrix_xy


def _like_pairs(occupied_di: np.ndarray, element_xx: np.ndarray) -> np.ndarray:
    """Sum over the pairs i < j of one species in every determinant."""
    occupied_di = occupied_di.astype(np.int64)
    total_d = np.zeros(len(occupied_di))
    for j in range(occupied_di.shape[1]):
        for i in range(j):
            total_d += element_xx[occupied_di[:, i], occupied_di[:, j]]
    return total_d
