"""The Hamiltonian as small dense products: which rests, pairs and states belong together.

H = sum over pairs ab, cd of one kind <ab|V|cd> a+_a a+_b a_d a_c.  With the identity over the rests S (determinants
with two nucleons less) between a+a+ and aa, H acts on a vector v by: gather x_cd = <S| a_d a_c |v>; multiply with the
matrix of the pairs; add y_ab to the states a+_a a+_b |S>.  All rests with the same quantum numbers share a leading
part of one matrix, so that the product is a dense one, pairs x pairs times pairs x rests.

A rest is a proton part and a neutron part.  The number of the state S + cd is address_left + address_right, and the
sign is a product too; the two tables are small because each knows one species only.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eigenwerk.ncci.basis.annihilation import Annihilated, take_none, take_one, take_two
from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.interaction.pair_blocks import PairBlock


class PairProduct(NamedTuple):
    """One dense product: the first `pairs` pairs of a block, for all rests of a left and a right sector.

    left_start, left_rows: where the table of the left sector begins and how many rests it has; likewise right.
    Entry (label, row) of a table stands at start + label * rows + row.
    """

    block: int
    pairs: int
    left_start: int
    left_rows: int
    right_start: int
    right_rows: int


@dataclass(frozen=True, eq=False)
class Side:
    """Tables of one species: address_z is what a (label, rest) adds to the number of a state; sign_z is 0 where
    the label is occupied already, else +1 or -1."""

    address_z: np.ndarray
    sign_z: np.ndarray


@dataclass(frozen=True, eq=False)
class KindProducts:
    """All products with one kind of pairs.

    left_labels[block], right_labels[block]: for every pair of a block the label that it has in the tables: a state
    (pn), the pair itself (pp left, nn right), or 0 (the other species looks on).
    """

    kind: str
    blocks: list[PairBlock]
    left_labels: list[np.ndarray]
    right_labels: list[np.ndarray]
    left: Side
    right: Side
    tasks: list[PairProduct]

    @property
    def gathers(self) -> int:
        """Elements that one product gathers, those of occupied labels included."""
        return sum(task.pairs * task.left_rows * task.right_rows for task in self.tasks)

    @property
    def multiplications(self) -> int:
        """Multiply-adds of the dense products."""
        return sum(task.pairs**2 * task.left_rows * task.right_rows for task in self.tasks)


def all_tasks(basis: ManyBodyBasis, pairs: BasisPairs) -> list[KindProducts]:
    """The products of all three kinds of pairs."""
    return [kind_tasks(basis, pairs, kind) for kind in ("pp", "nn", "pn")]


def kind_tasks(basis: ManyBodyBasis, pairs: BasisPairs, kind: str) -> KindProducts:
    """The products of one kind of pairs: nucleons taken out of both species, sectors of what is left combined."""
    take = (take_none, take_one, take_two)
    left, right = take[kind.count("p")](basis.protons), take[kind.count("n")](basis.neutrons)
    blocks = pairs.blocks[kind]
    left_labels, right_labels = zip(*(_labels(block, kind) for block in blocks), strict=True) if blocks else ((), ())
    found = _sector_products(basis, pairs, kind, left, right)
    left_side, left_start = _side(left, pairs, kind, "p", found, left_labels, basis.offset_d)
    right_side, right_start = _side(right, pairs, kind, "n", found, right_labels, np.arange(len(basis.neutrons)))
    tasks = []
    for i, j, block, count in found:
        key_l, key_r = _table_key(kind, "p", i, block), _table_key(kind, "n", j, block)
        rows_l, rows_r = (side[k].stop - side[k].start for side, k in ((left.sectors, i), (right.sectors, j)))
        tasks.append(PairProduct(block, count, left_start[key_l], rows_l, right_start[key_r], rows_r))
    return KindProducts(kind, blocks, list(left_labels), list(right_labels), left_side, right_side, tasks)


def _labels(block: PairBlock, kind: str) -> tuple[np.ndarray, np.ndarray]:
    count = np.arange(len(block.first_x))
    if kind == "pn":
        return block.first_x, block.second_x
    return (count, 0 * count) if kind == "pp" else (0 * count, count)


def _sector_products(
    basis: ManyBodyBasis, pairs: BasisPairs, kind: str, left: Annihilated, right: Annihilated
) -> list[tuple[int, int, int, int]]:
    """(left sector, right sector, block, pairs) of everything that is not empty."""
    numbers, space, limits, found = pairs.numbers(kind), basis.space, basis.space.truncation, []
    for i, one in enumerate(left.sectors):
        for j, other in enumerate(right.sectors):
            key = space.twice_M - one.twice_M - other.twice_M, (space.parity + one.parity + other.parity) % 2
            if key not in numbers:
                continue
            room = limits.max_total - one.weight - other.weight
            if kind != "pn":
                room = min(room, limits.max_p - one.weight if kind == "pp" else limits.max_n - other.weight)
            block = pairs.blocks[kind][numbers[key]]
            count = int(np.searchsorted(block.quanta_x, room, side="right"))
            if count:
                found.append((i, j, numbers[key], count))
    return found


def _table_key(kind: str, species: str, sector: int, block: int) -> tuple[int, int]:
    """Pairs of like nucleons have a table for every sector and block; one nucleon or none for every sector."""
    return (sector, block) if kind == 2 * species else (sector, 0)


def _side(
    taken: Annihilated,
    pairs: BasisPairs,
    kind: str,
    species: str,
    found: list[tuple[int, int, int, int]],
    labels: tuple[np.ndarray, ...],
    address_d: np.ndarray,
) -> tuple[Side, dict[tuple[int, int], int]]:
    """The tables of one species as flat arrays, and where each begins."""
    width: dict[tuple[int, int], int] = {}
    for i, j, block, count in found:
        key = _table_key(kind, species, i if species == "p" else j, block)
        width[key] = max(width.get(key, 0), int(labels[block][:count].max()) + 1)
    start, total = {}, 0
    for key in sorted(width):
        start[key] = total
        total += width[key] * (taken.sectors[key[0]].stop - taken.sectors[key[0]].start)
    side = Side(np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int8))
    sector_z, block_z, label_z = _entry_labels(taken, pairs, kind, species)
    shape = len(taken.sectors), max(len(pairs.blocks[kind]), 1)
    start_cb, width_cb = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for key in width:
        start_cb[key], width_cb[key] = start[key], width[key]
    rows_c = np.array([sector.stop - sector.start for sector in taken.sectors], dtype=np.int64)
    first_c = np.array([sector.start for sector in taken.sectors], dtype=np.int64)
    used = (block_z >= 0) & (label_z < width_cb[sector_z, block_z])
    sector_z, block_z, label_z = sector_z[used], block_z[used], label_z[used]
    place = start_cb[sector_z, block_z] + label_z * rows_c[sector_z] + taken.rest_z[used] - first_c[sector_z]
    side.address_z[place] = address_d[taken.det_z[used]]
    side.sign_z[place] = taken.sign_z[used]
    return side, start


def _entry_labels(taken: Annihilated, pairs: BasisPairs, kind: str, species: str):
    """Sector, block (-1: none) and label of every entry."""
    rows = [sector.stop - sector.start for sector in taken.sectors]
    per_rest = np.repeat(np.arange(len(rows)), rows)
    sector_z = per_rest[taken.rest_z]
    if kind != 2 * species:
        return sector_z, np.zeros_like(sector_z), taken.first_z
    states = max((int(block.second_x.max()) + 1 for block in pairs.blocks[kind]), default=0)
    number_xx, place_xx = np.full((states, states), -1), np.zeros((states, states), dtype=np.int64)
    for number, block in enumerate(pairs.blocks[kind]):
        number_xx[block.first_x, block.second_x] = number
        place_xx[block.first_x, block.second_x] = np.arange(len(block.first_x))
    known = (taken.first_z < states) & (taken.second_z < states)
    first, second = np.where(known, taken.first_z, 0), np.where(known, taken.second_z, 0)
    if not states:
        return sector_z, np.full(len(sector_z), -1), np.zeros(len(sector_z), dtype=np.int64)
    return sector_z, np.where(known, number_xx[first, second], -1), place_xx[first, second]
