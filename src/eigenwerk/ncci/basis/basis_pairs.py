"""The pairs of m-states that a many-body basis needs, with their matrix elements, ordered by weight."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.basis.pair_counting import KINDS, needed_pairs, pair_weights
from eigenwerk.ncci.interaction.pair_blocks import PairBlock, each_pair_block
from eigenwerk.ncci.interaction.two_body import TwoBody


@dataclass(frozen=True, eq=False)
class BasisPairs:
    """Pair blocks of a two-body operator for one basis; quanta_x of a block holds weights of the truncation.

    Blocks hold every pair that fits the truncation and no other, so a tighter limit on the weight of a pair is a
    leading part of a block.  alone_bb: of one nucleon, for which there are no pairs, H between its states.
    """

    blocks: Mapping[str, list[PairBlock]]
    alone_bb: np.ndarray | None = None

    def numbers(self, kind: str) -> dict[tuple[int, int], int]:
        """(2M, parity) -> position of the block."""
        return {(block.twice_M, block.parity): i for i, block in enumerate(self.blocks[kind])}


def basis_pairs(basis: ManyBodyBasis, two_body: TwoBody, dtype: type = np.float64) -> BasisPairs:
    """The pair blocks of an operator for a basis, their elements in a number type; they are made one block after the
    other.  Raises InputError if orbitals or pairs are missing."""
    for word, needed, given in (
        ("proton", basis.space.orbitals_p, two_body.orbitals_p),
        ("neutron", basis.space.orbitals_n, two_body.orbitals_n),
    ):
        if given.labels[: len(needed)] != needed.labels:
            raise InputError(
                f"The interaction's {word} orbitals {given.names()} do not begin with those of the basis, "
                f"{needed.names()}. Restrict it to the orbitals of the basis, in their order."
            )
    return BasisPairs({kind: list(_select(basis, kind, each_pair_block(two_body, kind), dtype)) for kind in KINDS})


def select_pairs(basis: ManyBodyBasis, blocks: Mapping[str, Sequence[PairBlock]]) -> BasisPairs:
    """Keeps the pairs that fit the truncation, ordered by weight.  Raises InputError if some are missing."""
    return BasisPairs({kind: list(_select(basis, kind, blocks[kind], np.float64)) for kind in KINDS})


def _select(basis: ManyBodyBasis, kind: str, blocks: Iterable[PairBlock], dtype: type) -> Iterator[PairBlock]:
    needed_xx = needed_pairs(basis.space, kind)
    weight_1, weight_2 = pair_weights(basis.space, kind)
    found = 0
    for block in blocks:
        inside = (block.first_x < len(weight_1)) & (block.second_x < len(weight_2))
        rows = np.flatnonzero(inside)
        rows = rows[needed_xx[block.first_x[rows], block.second_x[rows]]]
        weight = weight_1[block.first_x[rows]] + weight_2[block.second_x[rows]]
        rows = rows[np.argsort(weight, kind="stable")]
        found += len(rows)
        if len(rows):
            first, second = block.first_x[rows], block.second_x[rows]
            matrix: np.ndarray = block.matrix_xx[np.ix_(rows, rows)].astype(dtype, copy=False)
            weight = weight_1[first] + weight_2[second]
            yield replace(block, first_x=first, second_x=second, quanta_x=weight, matrix_xx=matrix)
    if found != needed_xx.sum():
        raise InputError(
            f"The interaction has {found} of the {int(needed_xx.sum())} {kind} pairs of m-states that the basis needs. "
            "Take one with more quanta, or lower Nmax."
        )
