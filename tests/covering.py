"""Which combinations of a matrix of tests run each time: few that together have every pair of values.

    @pytest.mark.parametrize(("case", "size", "groups"), covering(CASES, (2, 4), (1, 2), possible=..., fast=...))

Most faults of combined choices need two of them (D. R. Kuhn, D. R. Wallace, A. M. Gallo, IEEE Trans. Softw. Eng. 30,
418 (2004)), so a pairwise covering array finds them with a fraction of the runs.  All others are marked slow.

    @pytest.mark.fast("metal", "*-4")             # of these cases, by the names that pytest shows; the others are slow
"""

from fnmatch import fnmatchcase
from itertools import combinations, product

import pytest


def always(*values):
    return True


def covering(*factors, possible=always, fast=always, together=2):
    """All possible combinations of one value of each factor; all but a covering array are marked slow.

    possible(*values): whether a combination makes sense; fast(*values): whether it may be in the array, which then
    has every pair that fast ones have.  together: how many values of different factors meet at least once; with 1,
    every value occurs.
    """
    every = [values for values in product(*factors) if possible(*values)]
    chosen = covering_array([values for values in every if fast(*values)], together)
    marks = [() if values in chosen else pytest.mark.slow for values in every]
    ids = ["-".join(map(word, values)) for values in every]
    return [pytest.param(*values, id=name, marks=mark) for values, name, mark in zip(every, ids, marks, strict=True)]


def word(value):
    """A value in the name of a test."""
    return " ".join(map(word, value)) if isinstance(value, tuple | list) else getattr(value, "__name__", str(value))


def covering_array(rows, together=2):
    """Those that together have all that all have; greedily, each time the first one that brings most."""
    missing, chosen = set().union(*(meetings(values, together) for values in rows)), []
    while missing:
        best = max(rows, key=lambda values: len(meetings(values, together) & missing))
        chosen.append(best)
        missing -= meetings(best, together)
    return chosen


def meetings(values, together):
    """What meets in a combination: sets of (number of the factor, value), told by its text."""
    named = [(number, repr(value)) for number, value in enumerate(values)]
    return set(combinations(named, together))


def but_slow(values, *dear):
    """Values for a parameter, those that are dear marked slow."""
    assert set(dear) <= set(values), f"{set(dear) - set(values)} is not there"
    return [pytest.param(value, marks=pytest.mark.slow) if value in dear else value for value in values]


def mark_slow(items):
    """The cases of a test that its mark `fast` does not name; each pattern of the mark has to name one."""
    mark = items[0].get_closest_marker("fast") if items else None
    if mark is None:
        return
    names = {item: item.callspec.id if hasattr(item, "callspec") else "" for item in items}
    unknown = [pattern for pattern in mark.args if not any(fnmatchcase(name, pattern) for name in names.values())]
    if unknown:
        raise pytest.UsageError(f"{items[0].nodeid}: no case has the name {', '.join(unknown)}")
    for item, name in names.items():
        if not any(fnmatchcase(name, pattern) for pattern in mark.args):
            item.add_marker(pytest.mark.slow)
