"""Orbitals of all k-points and plane waves in one place, for files that do not depend on the layout."""

from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.dft.basis import PlaneWaveBasis
from eigenwerk.parallel.process_grid import ProcessGrid, share


@dataclass(frozen=True)
class WholeOrbitals:
    """All orbitals on the host: count_k plane waves, index_kGc and coeff_sknG padded along G to the longest sphere."""

    count_k: tuple[int, ...]
    index_kGc: np.ndarray
    coeff_sknG: np.ndarray


def whole_orbitals(grid: ProcessGrid, basis: PlaneWaveBasis, coeff_sknG: torch.Tensor) -> WholeOrbitals | None:
    """Gather the orbitals on rank 0, k-point by k-point; None on other ranks.  Collective over `grid`.

    coeff_sknG: on a device that the grid's communicators can send from.
    """
    points = len(basis.kpoints.point_kc)
    device, own = coeff_sknG.device, basis.own_k
    count_k = grid.kpoints.all_gather(torch.tensor(basis.count_k, device=device)).tolist()
    spins, _, bands, _ = coeff_sknG.shape
    result = None
    if grid.world.rank == 0:
        longest = max(count_k)
        result = WholeOrbitals(
            tuple(count_k),
            np.zeros((points, longest, 3), dtype=np.int32),
            np.zeros((spins, points, bands, longest), dtype=_host(coeff_sknG[:0]).dtype),
        )
    index_kGc = basis.index_kGc.to(device)
    for group in range(grid.groups):
        for k in range(*share(points, grid.groups, group).indices(points)):
            index_Gc = torch.empty((count_k[k], 3), dtype=index_kGc.dtype, device=device)
            coeff_Gsn = coeff_sknG.new_empty((count_k[k], spins, bands))
            if group == grid.group:
                index_Gc = _whole_sphere(grid, index_kGc[k - own.start], count_k[k])
                coeff_Gsn = _whole_sphere(grid, coeff_sknG[:, k - own.start].movedim(-1, 0), count_k[k])
            if grid.bands.rank == 0:
                index_Gc = _from_group(grid, index_Gc, group)
                coeff_Gsn = _from_group(grid, coeff_Gsn, group)
            if result is not None:
                result.index_kGc[k, : count_k[k]] = _host(index_Gc)
                result.coeff_sknG[:, k, :, : count_k[k]] = _host(coeff_Gsn.movedim(0, -1))
    return result


def _whole_sphere(grid: ProcessGrid, share_Gx: torch.Tensor, count: int) -> torch.Tensor:
    """The shares of the band ranks one after the other, without padding; on other ranks than the first, anything."""
    whole_Gx = grid.bands.gather(share_Gx.contiguous())
    return share_Gx if whole_Gx is None else whole_Gx[:count]


def _from_group(grid: ProcessGrid, array_x: torch.Tensor, group: int) -> torch.Tensor:
    """What the first band rank of a group holds, for that of group 0."""
    if group == 0 or grid.group not in (0, group):
        return array_x
    if grid.group == group:
        grid.kpoints.send(array_x.contiguous(), 0)
        return array_x
    return grid.kpoints.receive(array_x, group)


def _host(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
