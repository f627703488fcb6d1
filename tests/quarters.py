"""Which slow tests a check of a commit runs, and in which order: a quarter of them, in turn.

The number of a commit says which quarter, and, where the time does not suffice for all of it, with which file it
begins, so that no test is left out for ever.  Those marked `ci` are in each quarter and begin it.
"""

import zlib

QUARTERS = 4
STRIDE = (5**0.5 - 1) / 2
"""By this part of the files each turn begins later: after n turns the places are spread evenly, whatever n is."""


def in_quarter(item, number):
    """Whether a test belongs to the quarter of a commit: slow ones to one by name, `ci` and fast ones to all."""
    if item.get_closest_marker("slow") is None or item.get_closest_marker("ci"):
        return True
    return zlib.crc32(item.nodeid.encode()) % QUARTERS == number % QUARTERS


def in_turn(items, number):
    """The tests of a quarter: files with `ci` first, then from another file on at each turn; in a file `ci` first.

    A file stays in one piece, for one worker runs it.
    """
    files = list(dict.fromkeys(file_of(item) for item in items))
    begin = int(number // QUARTERS * STRIDE % 1 * len(files))
    place = {name: order for order, name in enumerate(files[begin:] + files[:begin])}
    urgent = {file_of(item) for item in items if item.get_closest_marker("ci")}

    def rank(item):
        name = file_of(item)
        return name not in urgent, place[name], item.get_closest_marker("ci") is None

    return sorted(items, key=rank)


def file_of(item):
    return item.nodeid.partition("::")[0]
