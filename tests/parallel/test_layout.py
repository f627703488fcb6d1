"""k-groups: the user's wish where it fits, else what balances k-points with little communication."""

import pytest

from eigenwerk.errors import InputError
from eigenwerk.parallel.layout import k_groups


@pytest.mark.parametrize(
    ("ranks", "kpoints", "groups"),
    [(1, 10, 1), (4, 8, 4), (4, 1, 1), (2, 3, 1), (4, 6, 2), (8, 4, 4), (3, 100, 3), (4, 100, 4), (6, 4, 2)],
)
def test_groups_without_a_wish(ranks, kpoints, groups):
    assert k_groups(ranks, kpoints, None) == groups


def test_a_wish_is_kept():
    assert [k_groups(4, 8, kpar) for kpar in (1, 2, 4)] == [1, 2, 4]


def test_one_rank_takes_any_wish():
    assert k_groups(1, 8, 4) == 1


def test_wishes_that_do_not_fit():
    with pytest.raises(InputError, match=r"KPAR = 3 does not divide the 4 ranks. Set KPAR to one of 1, 2, 4"):
        k_groups(4, 8, 3)
    with pytest.raises(InputError, match=r"KPAR = 4, but there are 2 irreducible k-points.*one of 1, 2, or"):
        k_groups(4, 2, 4)
