"""Rules for what was read from a file: each kind passes what fits and names the place of what does not."""

import numpy as np
import pytest

from eigenwerk.io.tree_check import (
    Array,
    Each,
    Flag,
    GroupRule,
    Maybe,
    Number,
    Numbers,
    Plain,
    Text,
    Texts,
    TreeProblem,
    check,
)  # fmt: skip

GOOD = {
    "lattice_cv": (Array("real", "3 3"), np.eye(3)),
    "eig_kn": (Array("real", "k n", -1, 1), np.zeros((2, 5))),
    "occ_kn": (Array("real", "k n"), np.zeros((2, 5), dtype="f4")),
    "index_kc": (Array("whole", "k 3"), np.zeros((2, 3), dtype="i4")),
    "coeff_nG": (Array("complex", "n G"), np.zeros((5, 7), dtype="c16")),
    "values": (Each(Array("real", "k ...", gaps=True)), {"a": np.array([1.0, np.nan]), "b": np.zeros((2, 9))}),
    "count_k": (Numbers("whole", "k", 1), (3, 4)),
    "energy": (Number(float), 3),
    "best": (Number(float, infinite=True), float("inf")),
    "steps": (Number(int, 0), 0),
    "converged": (Flag(), True),
    "words": (Text(), ""),
    "symbols": (Texts("k"), ["Si", "C"]),
    "nothing": (Maybe(Text()), None),
    "more": (Plain(), {"a": [1, "x", {"b": 2.0}]}),
}

BAD = {
    "lattice_cv": [None, "x", np.eye(2), np.full((3, 3), np.nan), np.eye(3, dtype="c16"), np.eye(3).tolist()],
    "eig_kn": [np.full((2, 5), 2.0), np.zeros(2)],
    "index_kc": [np.zeros((2, 3)), np.zeros((3, 3), dtype="i4")],
    "coeff_nG": [np.zeros((5, 7)), np.full((5, 7), np.inf * 1j)],
    "values": [None, [], {"a": np.zeros(3)}, {"a": 1.0}],
    "count_k": [(3,), (0, 1), (1.5, 2), 3, "ab", [None, None]],
    "energy": [True, "3", float("nan"), float("inf"), 1e11, 1j],
    "steps": [-1, 1.0, 2**70],
    "converged": [1, None, "yes"],
    "words": [None, 3, ["a"]],
    "symbols": ["SiC", ["Si"], ["Si", 2]],
    "nothing": [3],
    "more": [np.zeros(2), {"a": float("nan")}, [np.array("x")]],
}


def values():
    return {name: value for name, (_, value) in GOOD.items()}


RULES = GroupRule({name: rule for name, (rule, _) in GOOD.items()})


def test_what_fits_passes_and_letters_get_their_lengths():
    assert check(values(), RULES) == {"k": 2, "n": 5, "G": 7}
    assert check(values() | {"unknown": [1, 2]}, RULES)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, bad in BAD.items() for value in bad])
def test_what_does_not_fit_is_named(name, value):
    with pytest.raises(TreeProblem, match=f"/top/{name}"):
        check(values() | {name: value}, RULES, "/top")


def test_what_is_missing_or_too_much_is_named():
    with pytest.raises(TreeProblem, match="/top has no energy, words"):
        check({name: value for name, value in values().items() if name not in ("words", "energy")}, RULES, "/top")
    with pytest.raises(TreeProblem, match="/top/unknown"):
        check(values() | {"unknown": np.zeros(3)}, RULES, "/top")
    with pytest.raises(TreeProblem, match="not a group"):
        check([], RULES, "/top")
