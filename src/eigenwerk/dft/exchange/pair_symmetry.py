"""V_x of the orbitals that make it: each pair once.

    V_nm = v ρ_nm makes V_nm ψ_n of ψ_m, and its complex conjugate, the potential of the pair (m, n), V*_nm ψ_m of ψ_n

so that of the occupied orbitals that a rank holds only half of the pairs are convolved; what comes back to the sources
(`Mirror`) is added at the end.  A source stands alone on its grid, where targets may be two real orbitals: the second
orbital of what comes back to it is nobody's.  Orbitals of other ranks, those made by operations of the crystal and
empty ones take part as they do in `operator`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import torch

from eigenwerk.dft.exchange.mesh_orbitals import MeshOrbitals, MeshPoint, SourceBlock, blocks_of
from eigenwerk.dft.exchange.operator import ExchangeOperator, OwnBands
from eigenwerk.dft.exchange.pairs import Fields, Mirror, Targets
from eigenwerk.parallel.block_sizes import exchange_mirror_bytes, pairs_once

PIECES, BANDS_TOGETHER = 12, {"cpu": 2, "cuda": 32}
"""Blocks of bands of a point with itself, among which pairs come once; a block has a multiple of so many."""


@dataclass(frozen=True)
class OwnPoint:
    """A point k of this rank: its targets; bands from `first` on, of which `paired` are sources and targets alike;
    these times their weights as sources, without that of the partner; what comes back to them."""

    k: int
    targets: Targets
    first: int
    paired: int
    weighted: Fields
    mirror: Mirror


def applied_to_own(operator: ExchangeOperator, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor) -> torch.Tensor:
    """V_x of the orbitals that make it, as `ExchangeOperator.apply`; (s, k, n, G).

    occ_skn: occupations 0 to 1 of all irreducible points, in host memory.
    """
    sources, count = operator.sources(coeff_sknG, occ_skn), coeff_sknG.shape[2]
    out_sknG = torch.empty_like(coeff_sknG)
    with operator.basis.runtime.trace.span("exact exchange"):
        for s, x_knG in enumerate(coeff_sknG):
            own_k = [operator.to_bands(k, x_knG[k : k + 1]) for k in range(len(x_knG))]
            # each rank for itself: messages between them are the same
            found = _applied_once(operator, sources, s, own_k)
            for k, own in enumerate(own_k):
                image_1bW, rows_bI = found[k] if found else operator.of_bands(sources, s, k, own.x_1bW, own.rows_1bI)
                out_sknG[s, k] = operator.to_waves(k, image_1bW, rows_bI, count)[0]
    return out_sknG


def _applied_once(
    operator: ExchangeOperator, sources: MeshOrbitals, s: int, own_k: Sequence[OwnBands]
) -> list[tuple[torch.Tensor, torch.Tensor]] | None:
    """Of whole orbitals of all points of this rank, without the factor -α: local part (1, b, W), coefficients of rows
    (b, I).  None where this cannot be done, or does not pay."""
    point_k = _own_mesh_points(operator)
    if point_k is None or not _pays(operator, sources, s, own_k, point_k):
        return None
    points = [_own_point(operator, sources, s, k, one, point_k[k]) for k, one in enumerate(own_k)]
    place = {_name(point): k for k, point in enumerate(point_k)}
    for here in points:
        others = []
        for partner in operator.partners(here.k):
            k = place.get(_name(partner))
            if k is None:
                others.append(partner)
            else:
                _pair(operator, sources, s, here, points[k], partner, partner.weight / point_k[k].weight)
        for block in sources.blocks(s, others, operator.source_block()):
            operator.pairs.add(block, operator.table(here.k, block), here.targets)
    return [_result(operator, one, own.x_1bW.shape[1]) for one, own in zip(points, own_k, strict=True)]


def _name(point: MeshPoint) -> tuple[int, int, bool]:
    return point.irreducible, point.operation, point.reverses


def _own_mesh_points(operator: ExchangeOperator) -> list[MeshPoint] | None:
    """Points of the mesh that are this rank's own ones, as they are; None if some are missing."""
    if operator.atoms is not operator.occupied:
        return None
    symmetry, mesh = operator.basis.kpoints.symmetry, operator.stars.mesh
    found = dict[int, MeshPoint]()
    for point in mesh:
        o = point.operation
        same = not (point.reverses or point.flips or np.any(symmetry.translation_oc[o]))
        if same and np.array_equal(symmetry.reciprocal_occ[o], np.eye(3)):
            found.setdefault(point.irreducible, point)
    own = range(len(operator.basis.kpoints.point_kc))[operator.basis.own_k]
    return [found[k] for k in own] if all(k in found for k in own) else None


def _pays(
    operator: ExchangeOperator, sources: MeshOrbitals, s: int, own_k: Sequence[OwnBands], point_k: list[MeshPoint]
) -> bool:
    """Whether most partners are own ones, there is enough to do for each, and memory, unless less was asked for."""
    if operator.together or not point_k:
        return False
    sharing, points = operator.basis.form.orbitals_on_grid, operator.pairs.points
    paired = [_paired(operator, sources, s, one, point) for one, point in zip(own_k, point_k, strict=True)]
    grids, grid_bytes = min(paired) ** 2 / sharing, operator.basis.runtime.grid_bytes
    if not min(paired) or not pairs_once(len(point_k), len(operator.stars.mesh), grids, points, grid_bytes):
        return False
    itemsize = operator.pairs.dtype.itemsize
    fields = sum(one.x_1bW.shape[1] for one in own_k) / sharing * (16 + itemsize)
    fields += sum(paired) * (itemsize / sharing + 16)
    return fields * points <= exchange_mirror_bytes(grid_bytes)


def _paired(operator: ExchangeOperator, sources: MeshOrbitals, s: int, own: OwnBands, point: MeshPoint) -> int:
    """How many of this rank's bands of a point are sources and targets alike: whole grids of them."""
    sharing, filled = operator.basis.form.orbitals_on_grid, sources.filled(s, point)
    return max(0, min(filled, own.own_n.stop) - own.own_n.start) // sharing * sharing


def _own_point(
    operator: ExchangeOperator, sources: MeshOrbitals, s: int, k: int, own: OwnBands, point: MeshPoint
) -> OwnPoint:
    paired, first = _paired(operator, sources, s, own, point), own.own_n.start
    weight_b = sources.weights(s, point)[first : first + paired].to(own.x_1bW.device)
    x_1bW, rows_1bI = own.x_1bW[:, :paired] * weight_b[:, None], own.rows_1bI[:, :paired] * weight_b[:, None]
    targets = operator.targets(k, own.x_1bW, own.rows_1bI)
    out_nR = targets.out_tR.new_zeros((paired, operator.pairs.points))
    mirror = Mirror(out_nR, targets.out_tI.new_zeros((paired, targets.out_tI.shape[1])))
    return OwnPoint(k, targets, first, paired, operator.on_grid(k, x_1bW, rows_1bI), mirror)


def _pair(
    operator: ExchangeOperator, sources: MeshOrbitals, s: int, here: OwnPoint, there: OwnPoint, partner: MeshPoint,
    times: float,
) -> None:  # fmt: skip
    """Pairs of targets of one own point with sources of another, or of the same; times: weight of the partner in units
    of its own."""
    sharing, pairs = operator.basis.form.orbitals_on_grid, operator.pairs
    last, filled = there.first + there.paired, sources.filled(s, partner)
    occupied = slice(0, here.paired // sharing)
    empty = slice(occupied.stop, len(here.targets.u_tR))
    for block in _blocks(operator, sources, s, partner, [slice(0, there.first), slice(last, filled)]):
        pairs.add(block, operator.table(here.k, block), here.targets)
    paired = slice(there.first, last)
    for n, block in zip(_slices(operator, [paired]), _blocks(operator, sources, s, partner, [paired]), strict=True):
        table, u_nR = operator.table(here.k, block), pairs.orbitals(block)
        if empty.start < empty.stop:
            pairs.add(block, table, here.targets.some(empty))
        begin = n.start - there.first
        if there.k > here.k:
            weighted = here.weighted.times(times)
            mirror = there.mirror.some(slice(begin, begin + len(u_nR)))
            pairs.add_mirrored(block, table, here.targets.some(occupied), weighted, mirror)
        elif there.k == here.k:
            for t in blocks_of(here.paired, _width(operator, here.paired)):
                some = slice(t.start // sharing, t.stop // sharing)
                # sources of the same bands both ways, later ones once for both
                same = slice(max(0, t.start - begin), min(len(u_nR), t.stop - begin))
                later = slice(max(0, t.stop - begin), len(u_nR))
                if same.start < same.stop:
                    pairs.add(block.some(same, u_nR), table, here.targets.some(some))
                if later.start < later.stop:
                    mirror = here.mirror.some(slice(begin + later.start, begin + later.stop))
                    weighted = here.weighted.some(some).times(times)
                    pairs.add_mirrored(block.some(later, u_nR), table, here.targets.some(some), weighted, mirror)


def _slices(operator: ExchangeOperator, ranges: list[slice]) -> list[slice]:
    most = operator.source_block()
    pieces = [(one.start, n) for one in ranges for n in blocks_of(one.stop - one.start, most)]
    return [slice(first + n.start, first + n.stop) for first, n in pieces]


def _blocks(
    operator: ExchangeOperator, sources: MeshOrbitals, s: int, point: MeshPoint, ranges: list[slice]
) -> Iterator[SourceBlock]:
    return (sources.block(s, point, n) for n in _slices(operator, ranges))


def _width(operator: ExchangeOperator, paired: int) -> int:
    """Bands of a block, whole grids of them."""
    unit = BANDS_TOGETHER[operator.basis.runtime.device.type]
    return ceil(paired / PIECES / unit) * unit


def _result(operator: ExchangeOperator, point: OwnPoint, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    sharing = operator.basis.form.orbitals_on_grid
    sphere_map = operator.sphere_map.problems(slice(point.k, point.k + 1))

    def waves(field_tR: torch.Tensor, bands: int) -> torch.Tensor:
        return sphere_map.from_grid(field_tR.unflatten(1, operator.grid.size_c)[None], bands)

    image_1bW, rows_bI = waves(point.targets.out_tR, count), operator.rows(point.k, point.targets.out_tI, count)
    if point.paired:
        back = sharing * point.paired
        image_1bW[:, : point.paired] += waves(point.mirror.out_nR, back)[:, ::sharing]
        rows_bI[: point.paired] += operator.rows(point.k, point.mirror.out_nI, back)[::sharing]
    return image_1bW, rows_bI
