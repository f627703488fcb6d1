"""Orbitals of all k-points and plane waves in one place, for files that do not depend on the layout."""

from dataclasses import dataclass

import numpy as np
import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.basis.wave_form import partners
from eigenwerk.parallel.process_grid import ProcessGrid, share


@dataclass(frozen=True)
class WholeOrbitals:
    """All orbitals on the host, complex, on whole spheres, however they were computed.

    count_k plane waves; index_kGc and coeff_sknG, padded along G to the longest sphere.
    """

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
    spheres: list[tuple[np.ndarray, np.ndarray]] = []
    index_khc, form = basis.index_khc.to(device), basis.form.on(device)
    for group in range(grid.groups):
        for k in range(*share(points, grid.groups, group).indices(points)):
            index_hc = torch.empty((count_k[k], 3), dtype=index_khc.dtype, device=device)
            coeff_hsn = torch.empty((count_k[k], spins, bands), dtype=basis.runtime.complex, device=device)
            if group == grid.group:
                here = slice(k - own.start, k - own.start + 1)
                wave_snh = form.waves(coeff_sknG[:, here.start], here)
                index_hc = _whole_sphere(grid, index_khc[here.start], count_k[k])
                coeff_hsn = _whole_sphere(grid, wave_snh.movedim(-1, 0), count_k[k])
            if grid.bands.rank == 0:
                index_hc = _from_group(grid, index_hc, group)
                coeff_hsn = _from_group(grid, coeff_hsn, group)
            if grid.world.rank == 0:
                whole = _host(index_hc), _host(coeff_hsn.movedim(0, -1))
                spheres.append(with_partners(*whole, basis.kpoints.point_kc[k]) if form.real_in_space else whole)
    return _padded(spheres) if spheres else None


def with_partners(index_hc: np.ndarray, coeff_xh: np.ndarray, point_c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole spheres (index_Gc, coeff_xG) from the kept waves of orbitals that are real in space."""
    partner_hc = partners(index_hc, point_c)
    pair_h = (partner_hc != index_hc).any(axis=1)
    index_Gc = np.concatenate([index_hc, partner_hc[pair_h]])
    return index_Gc, np.concatenate([coeff_xh, coeff_xh[..., pair_h].conj()], axis=-1)


def _padded(spheres: list[tuple[np.ndarray, np.ndarray]]) -> WholeOrbitals:
    """All k-points in one array each."""
    count_k = tuple(len(index_Gc) for index_Gc, _ in spheres)
    spins, bands, _ = spheres[0][1].shape
    index_kGc = np.zeros((len(spheres), max(count_k), 3), dtype=np.int32)
    coeff_sknG = np.zeros((spins, len(spheres), bands, max(count_k)), dtype=spheres[0][1].dtype)
    for k, (index_Gc, coeff_snG) in enumerate(spheres):
        index_kGc[k, : count_k[k]] = index_Gc
        coeff_sknG[:, k, :, : count_k[k]] = coeff_snG
    return WholeOrbitals(count_k, index_kGc, coeff_sknG)


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
