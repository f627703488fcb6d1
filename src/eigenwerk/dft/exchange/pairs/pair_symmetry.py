"""V_x of the orbitals that make it: each pair once.

    V_nm = v ρ_nm makes V_nm ψ_n of ψ_m, and its complex conjugate, the potential of the pair (m, n), V*_nm ψ_m of ψ_n

so that of the occupied orbitals only half of the pairs are convolved, those of different ranks by one of the two
(pair_shares.py); what comes back to sources (`Mirror`) goes to their rank beside other work.  A source stands alone on
its grid, where targets may be two real orbitals: the second orbital of what comes back to it is nobody's.  Orbitals
that operations of the crystal make and empty ones take part as they do in `operator`: those of other ranks come while
pairs are done.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Protocol

import torch

from eigenwerk.dft.density.kinds.kind import filled_bands
from eigenwerk.dft.exchange.kernels.pair_loops import PairTable
from eigenwerk.dft.exchange.operator import ExchangeOperator
from eigenwerk.dft.exchange.pairs.mesh_orbitals import MeshOrbitals, MeshPart, OwnBands, SourceBlock, blocks_of
from eigenwerk.dft.exchange.pairs.mesh_points import MeshPoint
from eigenwerk.dft.exchange.pairs.pair_fields import Mirror, PairFields, Targets
from eigenwerk.dft.exchange.pairs.pair_shares import Meeting, Turn, width_of
from eigenwerk.parallel.memory.block_sizes import bytes_for_once, pairs_once
from eigenwerk.parallel.ring import WayBack
from eigenwerk.record.traffic import TRAVEL

PIECES, BANDS_TOGETHER = 12, {"cpu": 2, "cuda": 32}
"""Blocks of bands of a point with itself, among which pairs come once; a block has a multiple of so many."""


@dataclass(frozen=True)
class OwnPoint:
    """A point of this rank, the k-th of its k-group, as it is in the mesh: its targets, `bands` of them on each grid;
    the first `paired` bands are sources and targets alike; these times their weights as sources.  filling_t: w_k g f of
    targets, where it is wanted."""

    k: int
    point: MeshPoint
    targets: Targets
    bands: int
    paired: int
    weighted: PairFields
    filling_t: torch.Tensor | None = None

    def grids(self, t: slice) -> slice:
        """Those of some bands."""
        return slice(t.start // self.bands, -(-t.stop // self.bands))

    @property
    def count(self) -> int:
        """Bands, with those that fill up grids."""
        return len(self.targets.u_tR) * self.bands


class PairWork(Protocol):
    """What is wanted of pairs of sources with some bands t of an own point."""

    def plain(self, here: OwnPoint, sources: SourceBlock, table: PairTable, t: slice) -> None:
        """For the targets alone."""

    def both(
        self, here: OwnPoint, there: MeshPoint, sources: SourceBlock, table: PairTable, t: slice, mirror: Mirror
    ) -> None:
        """For targets and sources; there: the point of these, with its weight as a partner."""

    def mirror(self, sources: SourceBlock) -> Mirror:
        """Nothing, for these."""

    def vectors(self, mirror: Mirror, k: int) -> torch.Tensor:
        """A mirror of an irreducible point as it travels; used up; (n, x)."""

    def width(self, rank: int) -> int:
        """How long that is for orbitals of a rank."""


def applied_to_own(operator: ExchangeOperator, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor) -> torch.Tensor:
    """V_x of the orbitals that make it, as `ExchangeOperator.apply`; (s, k, n, G).

    occ_skn: occupations 0 to 1 of all irreducible points, in host memory.
    """
    out_sknG, count = torch.empty_like(coeff_sknG), coeff_sknG.shape[2]
    with operator.basis.runtime.trace.span("exact exchange"):
        own_sk = operator.own(coeff_sknG, operator.atoms)
        sources = operator.sources_of(own_sk, occ_skn)
        for s, own_k in enumerate(own_sk):
            if pays(operator, sources, s, count):
                points = [_own_point(operator, sources.own_part(s), s, k, one) for k, one in enumerate(own_k)]
                back_kbx = done_once(operator, sources, s, points, _Application(operator))
                found = [
                    _result(operator, here, own, back_bx)
                    for here, own, back_bx in zip(points, own_k, back_kbx, strict=True)
                ]
            else:
                found = operator.of_parts(sources.parts(s), s, own_k)
            for k, (image_1bW, rows_bI) in enumerate(found):
                out_sknG[s, k] = operator.to_waves(k, image_1bW, rows_bI, count)[0]
    return out_sknG


def pays(operator: ExchangeOperator, sources: MeshOrbitals, s: int, count: int) -> bool:
    """Whether pairs are to be done once, for `count` bands; collective, the same on all ranks.

    Most points of the mesh must be irreducible ones as they are, there must be enough to do for two of them, and
    memory, unless less was asked for.
    """
    irreducible, stars = sources.occ_skn.shape[1], operator.stars
    if operator.together or operator.atoms is not operator.occupied or len(stars.plain) < irreducible:
        return False
    grid, sharing = operator.basis.runtime.grid, operator.basis.form.orbitals_on_grid
    points, grid_bytes = operator.pairs.points, operator.basis.runtime.grid_bytes
    occ_kn = sources.occ_skn[s]
    least = min(
        filled_bands(occ_n[None, band_rank :: grid.band_ranks]) // sharing * sharing
        for occ_n in occ_kn
        for band_rank in range(grid.band_ranks)
    )
    if not least or not pairs_once(irreducible, len(stars.mesh), least**2 / sharing, points, grid_bytes):
        return False
    bands, occupied = (ceil(ceil(one / grid.band_ranks) / sharing) for one in (count, occ_kn.shape[1]))
    wanted = bytes_for_once(ceil(irreducible / grid.groups), bands, occupied, points, operator.pairs.dtype.itemsize)
    # GPUs may differ
    return operator.basis.runtime.world.all(wanted <= operator.basis.runtime.once_bytes)


def paired_bands(operator: ExchangeOperator, part: MeshPart, s: int, point: MeshPoint) -> int:
    """How many bands that a rank has of a point are sources and targets alike: whole grids of them."""
    sharing = operator.basis.form.orbitals_on_grid
    return part.filled(s, point) // sharing * sharing


def done_once(
    operator: ExchangeOperator, sources: MeshOrbitals, s: int, points: Sequence[OwnPoint], work: PairWork
) -> torch.Tensor:
    """All pairs that are this rank's; returns what became of its own orbitals as sources, as it travels; (k, b, x)."""
    runtime, like_x = operator.basis.runtime, sources.own_skbx
    world, bands = runtime.world, like_x.shape[2]
    back = WayBack(world, like_x.new_zeros((len(points), bands, work.width(world.rank))), runtime.trace, TRAVEL)
    parts = sources.parts(s)
    own = InHand(operator, s, next(parts), points, work)
    # half of the own work beside the first orbitals of others, half beside the last way back
    jobs = list(own.jobs(back.total_x))
    first = ceil(len(jobs) / 2) if world.size > 1 else len(jobs)
    for job in jobs[:first]:
        job()
    for part in parts:
        made_kbx = like_x.new_zeros((part.own_k.stop - part.own_k.start, bands, work.width(part.rank)))
        held = InHand(operator, s, part, points, work)
        for job in held.jobs(made_kbx):
            job()
        if held.turn.gives_back:
            back.start(part.rank, made_kbx)
    for job in jobs[first:]:
        job()
    back.finish()
    return back.total_x


class InHand:
    """The orbitals of a rank, in the hands of this one, and what there is to do with them."""

    def __init__(
        self, operator: ExchangeOperator, s: int, part: MeshPart, points: Sequence[OwnPoint], work: PairWork
    ):
        world = operator.basis.runtime.world
        self.operator, self.s, self.part, self.own, self.work = operator, s, part, points, work
        self.turn = Turn(world.rank, part.rank, world.size)
        names = {_name(point) for point in operator.stars.plain.values()}
        partners = [part.points(operator.partners(here.k)) for here in points]
        # of each own point, with weights of partners: plain ones by number, images
        self._plain = [{one.irreducible: one for one in points if _name(one) in names} for points in partners]
        self._images = [[one for one in points if _name(one) not in names] for points in partners]

    def jobs(self, made_kbx: torch.Tensor) -> Iterator[Callable[[], None]]:
        """Pieces of the work; what becomes of these orbitals is added to made_kbx."""
        for k in range(self.part.own_k.start, self.part.own_k.stop):
            point = next((plain[k] for plain in self._plain if k in plain), None)
            if point is not None:
                made_bx, paired = made_kbx[k - self.part.own_k.start], self._paired(point)
                for n in blocks_of(paired, self.operator.source_block()):
                    yield partial(self._meet, point, paired, n, made_bx)
        for x in range(len(self.own)):
            yield partial(self._rest, x)

    def _paired(self, point: MeshPoint) -> int:
        return paired_bands(self.operator, self.part, self.s, point)

    def _meet(self, point: MeshPoint, paired: int, n: slice, made_bx: torch.Tensor) -> None:
        """Some occupied orbitals of a point with those of all own points."""
        basis, k, found = self.operator.basis, point.irreducible, list[tuple[OwnPoint, Meeting]]()
        for here, plain in zip(self.own, self._plain, strict=True):
            if k in plain:
                width = width_of(here.paired, PIECES, BANDS_TOGETHER[basis.runtime.device.type])
                places = (basis.own_k.start + here.k, here.paired), (k, paired)
                found += [(here, one) for one in self.turn.meetings(*places, n, basis.form.orbitals_on_grid, width)]
        if not found:
            return
        block = self.part.block(self.s, point, n)
        u_nR, mirror = self.operator.pairs.orbitals(block), self.work.mirror(block)
        for here, one in found:
            some = slice(one.n.start - n.start, one.n.stop - n.start)
            sources, table = block.some(some, u_nR), self.operator.table(here.k, block)
            if one.both:
                self.work.both(here, point, sources, table, one.t, mirror.some(some))
            else:
                self.work.plain(here, sources, table, one.t)
        made_bx[n] += self.work.vectors(mirror, k)

    def _rest(self, x: int) -> None:
        """Of an own point: all bands with images, empty ones with all, occupied ones with a source that would be alone
        on its grid."""
        here, plain, size = self.own[x], list(self._plain[x].values()), self.operator.source_block()
        empty, occupied = slice(here.paired, here.count), slice(0, here.paired)
        wanted = [(self.part.blocks(self.s, self._images[x], size), slice(0, here.count))]
        if empty.start < empty.stop:
            wanted.append((self.part.blocks(self.s, plain, size), empty))
        for point in plain:
            alone = slice(self._paired(point), self.part.filled(self.s, point))
            if alone.start < alone.stop:
                wanted.append((iter([self.part.block(self.s, point, alone)]), occupied))
        for blocks, t in wanted:
            for block in blocks:
                self.work.plain(here, block, self.operator.table(here.k, block), t)


def _name(point: MeshPoint) -> tuple[int, int, bool]:
    return point.irreducible, point.operation, point.reverses


class _Application:
    """V_x of targets and sources."""

    def __init__(self, operator: ExchangeOperator):
        self.operator, self.pairs, self.stars = operator, operator.pairs, operator.stars

    def plain(self, here: OwnPoint, sources: SourceBlock, table: PairTable, t: slice) -> None:
        self.pairs.add(sources, table, here.targets.some(here.grids(t)))

    def both(
        self, here: OwnPoint, there: MeshPoint, sources: SourceBlock, table: PairTable, t: slice, mirror: Mirror
    ) -> None:
        some, more = here.grids(t), there.weight / self.stars.plain[there.irreducible].weight
        weighted = here.weighted.some(some).times(more)
        self.pairs.add_mirrored(sources, table, here.targets.some(some), weighted, mirror)

    def mirror(self, sources: SourceBlock) -> Mirror:
        count, proj_nI = len(sources.u_nR), sources.proj_nI
        return Mirror(proj_nI.new_zeros((count, self.pairs.points)), torch.zeros_like(proj_nI))

    def vectors(self, mirror: Mirror, k: int) -> torch.Tensor:
        return torch.cat([self.stars.vectors(mirror.out_nR, k), self.stars.rows(mirror.out_nI, k)], 1)

    def width(self, rank: int) -> int:
        return self.stars.width(rank)


def _own_point(operator: ExchangeOperator, part: MeshPart, s: int, k: int, own: OwnBands) -> OwnPoint:
    """With all bands as targets."""
    point = operator.stars.plain[operator.basis.own_k.start + k]
    paired = paired_bands(operator, part, s, point)
    weight_b1 = part.weights(s, point)[:paired, None].to(own.x_1bW.device)
    x_1bW, rows_1bI = own.x_1bW[:, :paired] * weight_b1, own.rows_1bI[:, :paired] * weight_b1
    targets = operator.targets(k, own.x_1bW, own.rows_1bI)
    return OwnPoint(
        k, point, targets, operator.basis.form.orbitals_on_grid, paired, operator.on_grid(k, x_1bW, rows_1bI)
    )


def _result(
    operator: ExchangeOperator, here: OwnPoint, own: OwnBands, back_bx: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    count, width = own.x_1bW.shape[1:]
    sphere_map = operator.sphere_map.problems(slice(here.k, here.k + 1))
    image_1bW = sphere_map.from_grid(here.targets.out_tR.unflatten(1, operator.grid.size_c)[None], count)
    rows_bI, back_bx = operator.rows(here.k, here.targets.out_tI, count), back_bx[: here.paired]
    image_1bW[0, : here.paired] += back_bx[:, :width]
    rows_bI[: here.paired] += back_bx[:, width:]
    return image_1bW, rows_bI
