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

    count_k plane waves; index_kGc and coeff_sknG, padded along G to the longest sphere.  rounding_sknGx: what real
    vectors lack that are made of these coefficients (`WaveForm.rounding`), None if nobody asked, or nothing.
    """

    count_k: tuple[int, ...]
    index_kGc: np.ndarray
    coeff_sknG: np.ndarray
    rounding_sknGx: np.ndarray | None = None


def whole_orbitals(
    grid: ProcessGrid, basis: PlaneWaveBasis, coeff_sknG: torch.Tensor, exact: bool = False
) -> WholeOrbitals | None:
    """Gather the orbitals on rank 0, k-point by k-point; None on other ranks.  Collective over `grid`.

    coeff_sknG: on a device that the grid's communicators can send from.  exact: whether the vectors are to come back to
    the last bit.
    """
    points = len(basis.kpoints.point_kc)
    device, own = coeff_sknG.device, basis.own_k
    count_k = grid.kpoints.all_gather(torch.tensor(basis.count_k, device=device)).tolist()
    spins, _, bands, _ = coeff_sknG.shape
    spheres: list[tuple[np.ndarray, np.ndarray, np.ndarray | None]] = []
    index_khc, form = basis.index_khc.to(device), basis.form.on(device)
    exact = exact and form.real
    parts = 2 if exact else 1  # coefficients, and what rounding takes from them
    for group in range(grid.groups):
        for k in range(*share(points, grid.groups, group).indices(points)):
            index_hc = torch.empty((count_k[k], 3), dtype=index_khc.dtype, device=device)
            coeff_hxsn = torch.empty((count_k[k], parts, spins, bands), dtype=basis.runtime.complex, device=device)
            if group == grid.group:
                here = slice(k - own.start, k - own.start + 1)
                x_snG = coeff_sknG[:, here.start]
                wave_snh = form.waves(x_snG, here)
                both = [wave_snh, form.rounding(x_snG, wave_snh, here)] if exact else [wave_snh]
                index_hc = _whole_sphere(grid, index_khc[here.start], count_k[k])
                coeff_hxsn = _whole_sphere(grid, torch.stack(both).movedim(-1, 0), count_k[k])
            if grid.bands.rank == 0:
                index_hc = _from_group(grid, index_hc, group)
                coeff_hxsn = _from_group(grid, coeff_hxsn, group)
            if grid.world.rank == 0:
                spheres.append(_sphere(_host(index_hc), _host(coeff_hxsn.movedim(0, -1)), basis, k))
    return _padded(spheres) if spheres else None


def _sphere(
    index_hc: np.ndarray, coeff_xsnh: np.ndarray, basis: PlaneWaveBasis, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Whole sphere, coefficients and roundings; the partners of kept waves follow from these and lack nothing."""
    form, wave_snh, rounding_snGx = basis.form, coeff_xsnh[0], None
    whole = with_partners(index_hc, wave_snh, basis.kpoints.point_kc[k]) if form.real_in_space else (index_hc, wave_snh)
    if len(coeff_xsnh) > 1:
        rounding_snGx = np.zeros((*whole[1].shape, form.numbers), dtype=np.int8)
        for x, part_snh in enumerate((coeff_xsnh[1].real, coeff_xsnh[1].imag)[: form.numbers]):
            rounding_snGx[..., : len(index_hc), x] = part_snh
    return *whole, rounding_snGx


def with_partners(index_hc: np.ndarray, coeff_xh: np.ndarray, point_c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole spheres (index_Gc, coeff_xG) from the kept waves of orbitals that are real in space."""
    partner_hc = partners(index_hc, point_c)
    pair_h = (partner_hc != index_hc).any(axis=1)
    index_Gc = np.concatenate([index_hc, partner_hc[pair_h]])
    return index_Gc, np.concatenate([coeff_xh, coeff_xh[..., pair_h].conj()], axis=-1)


def _padded(spheres: list[tuple[np.ndarray, np.ndarray, np.ndarray | None]]) -> WholeOrbitals:
    """All k-points in one array each."""
    count_k = tuple(len(index_Gc) for index_Gc, _, _ in spheres)
    spins, bands, _ = spheres[0][1].shape
    index_kGc = np.zeros((len(spheres), max(count_k), 3), dtype=np.int32)
    coeff_sknG = np.zeros((spins, len(spheres), bands, max(count_k)), dtype=spheres[0][1].dtype)
    first_snGx, rounding_sknGx = spheres[0][2], None
    if first_snGx is not None:
        rounding_sknGx = np.zeros((*coeff_sknG.shape, first_snGx.shape[-1]), dtype=np.int8)
    for k, (index_Gc, coeff_snG, rounding_snGx) in enumerate(spheres):
        index_kGc[k, : count_k[k]] = index_Gc
        coeff_sknG[:, k, :, : count_k[k]] = coeff_snG
        if rounding_sknGx is not None:
            rounding_sknGx[:, k, :, : count_k[k]] = rounding_snGx
    return WholeOrbitals(count_k, index_kGc, coeff_sknG, rounding_sknGx)


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
