"""V_x of the orbitals that make it: each pair once.

    V_nm = v ρ_nm makes V_nm ψ_n of ψ_m, and its complex conjugate, the potential of the pair (m, n), V*_nm ψ_m of ψ_n

so that of the occupied orbitals that a rank holds only half of the pairs are convolved; what comes back to the sources
(`Mirror`) is added at the end.  A source stands alone on its grid, where targets may be two real orbitals: the second
orbital of what comes back to it is nobody's.  Orbitals of other ranks, those made by operations of the crystal and
empty ones take part as they do in `operator`: those of other ranks come while pairs are done.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil

import numpy as np
import torch

from eigenwerk.dft.exchange.mesh_orbitals import MeshPart, MeshPoint, OwnBands, blocks_of
from eigenwerk.dft.exchange.operator import ExchangeOperator
from eigenwerk.dft.exchange.pairs import Fields, Mirror, Targets
from eigenwerk.parallel.block_sizes import exchange_mirror_bytes, pairs_once

PIECES, BANDS_TOGETHER = 12, {"cpu": 2, "cuda": 32}
"""Blocks of bands of a point with itself, among which pairs come once; a block has a multiple of so many."""


@dataclass(frozen=True)
class OwnPoint:
    """A point k of this rank, as it is in the mesh: its targets; the first `paired` bands are sources and targets
    alike; these times their weights as sources, without that of the partner; what comes back to them."""

    k: int
    point: MeshPoint
    targets: Targets
    paired: int
    weighted: Fields
    mirror: Mirror


def applied_to_own(operator: ExchangeOperator, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor) -> torch.Tensor:
    """V_x of the orbitals that make it, as `ExchangeOperator.apply`; (s, k, n, G).

    occ_skn: occupations 0 to 1 of all irreducible points, in host memory.
    """
    out_sknG, count = torch.empty_like(coeff_sknG), coeff_sknG.shape[2]
    with operator.basis.runtime.trace.span("exact exchange"):
        own_sk = operator.own(coeff_sknG, operator.atoms)
        sources = operator.sources_of(own_sk, occ_skn)
        for s, own_k in enumerate(own_sk):
            parts = sources.parts(s)
            own_part = next(parts)
            # each rank for itself: messages between them are the same
            points = _held(operator, own_part, s, own_k)
            if points is None:
                found = operator.of_parts(chain((own_part,), parts), s, own_k)
            else:
                _add_once(operator, own_part, s, points)
                _add_others(operator, parts, s, points)
                found = [_result(operator, here, own.x_1bW.shape[1]) for here, own in zip(points, own_k, strict=True)]
            for k, (image_1bW, rows_bI) in enumerate(found):
                out_sknG[s, k] = operator.to_waves(k, image_1bW, rows_bI, count)[0]
    return out_sknG


def _held(
    operator: ExchangeOperator, sources: MeshPart, s: int, own_k: Sequence[OwnBands]
) -> "list[OwnPoint] | None":
    """All points of this rank, on the grid; None where pairs cannot be done once, or that does not pay."""
    point_k = _own_mesh_points(operator)
    if point_k is None or not _pays(operator, sources, s, own_k, point_k):
        return None
    return [_own_point(operator, sources, s, k, one, point_k[k]) for k, one in enumerate(own_k)]


def _add_once(operator: ExchangeOperator, sources: MeshPart, s: int, points: Sequence[OwnPoint]) -> None:
    """Exchange with the orbitals of this rank, and with their images."""
    place = {_name(one.point): one for one in points}
    for here in points:
        images = []
        for partner in sources.points(operator.partners(here.k)):
            there = place.get(_name(partner))
            if there is None:
                images.append(partner)
            else:
                _pair(operator, sources, s, here, there, partner, partner.weight / there.point.weight)
        _add(operator, sources, s, here, images)


def _add_others(operator: ExchangeOperator, parts: Iterable[MeshPart], s: int, points: Sequence[OwnPoint]) -> None:
    """Exchange with the orbitals of other ranks."""
    for sources in parts:
        for here in points:
            _add(operator, sources, s, here, operator.partners(here.k))


def _add(
    operator: ExchangeOperator, sources: MeshPart, s: int, here: OwnPoint, partners: Sequence[MeshPoint]
) -> None:
    for block in sources.blocks(s, partners, operator.source_block()):
        operator.pairs.add(block, operator.table(here.k, block), here.targets)


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
    operator: ExchangeOperator, sources: MeshPart, s: int, own_k: Sequence[OwnBands], point_k: list[MeshPoint]
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


def _paired(operator: ExchangeOperator, sources: MeshPart, s: int, own: OwnBands, point: MeshPoint) -> int:
    """How many of this rank's bands of a point are sources and targets alike: whole grids of them."""
    sharing, filled = operator.basis.form.orbitals_on_grid, sources.filled(s, point)
    return min(filled, own.x_1bW.shape[1]) // sharing * sharing


def _own_point(
    operator: ExchangeOperator, sources: MeshPart, s: int, k: int, own: OwnBands, point: MeshPoint
) -> OwnPoint:
    paired = _paired(operator, sources, s, own, point)
    weight_b = sources.weights(s, point)[:paired].to(own.x_1bW.device)
    x_1bW, rows_1bI = own.x_1bW[:, :paired] * weight_b[:, None], own.rows_1bI[:, :paired] * weight_b[:, None]
    targets = operator.targets(k, own.x_1bW, own.rows_1bI)
    out_nR = targets.out_tR.new_zeros((paired, operator.pairs.points))
    mirror = Mirror(out_nR, targets.out_tI.new_zeros((paired, targets.out_tI.shape[1])))
    return OwnPoint(k, point, targets, paired, operator.on_grid(k, x_1bW, rows_1bI), mirror)


def _pair(
    operator: ExchangeOperator, sources: MeshPart, s: int, here: OwnPoint, there: OwnPoint, partner: MeshPoint,
    times: float,
) -> None:  # fmt: skip
    """Pairs of targets of one own point with sources of another, or of the same; times: weight of the partner in units
    of its own."""
    sharing, pairs = operator.basis.form.orbitals_on_grid, operator.pairs
    filled = sources.filled(s, partner)
    occupied = slice(0, here.paired // sharing)
    empty = slice(occupied.stop, len(here.targets.u_tR))
    if there.paired < filled:  # one that would be alone on its grid
        block = sources.block(s, partner, slice(there.paired, filled))
        pairs.add(block, operator.table(here.k, block), here.targets)
    for n in blocks_of(there.paired, operator.source_block()):
        block = sources.block(s, partner, n)
        table, u_nR = operator.table(here.k, block), pairs.orbitals(block)
        if empty.start < empty.stop:
            pairs.add(block, table, here.targets.some(empty))
        begin = n.start
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
