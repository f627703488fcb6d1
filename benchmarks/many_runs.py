"""Many runs of a benchmark side by side, each with a process of its own, in calls of limited length.

Runs that a file of results has already are left out, so that a call goes on where the last one stopped.
"""

import argparse
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

LEAST = 5.0
"""Seconds below which no run is begun."""

Step = Callable[..., None]
"""Of what a run is about, the seconds that it may take, and whether the end of the call cuts them."""


def add_options(parser: argparse.ArgumentParser, results: Path, limit: float) -> None:
    """What the command lines of such benchmarks have in common."""
    parser.add_argument("-j", "--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--again", action="store_true", help="also what is in the file")
    parser.add_argument("--limit", type=float, default=limit, metavar="SECONDS", help="of one run")
    parser.add_argument("--stop-after", type=float, default=float("inf"), metavar="SECONDS", help="of the whole call")
    parser.add_argument("--source", default="", help="kept with each run: which version of the source it was")
    parser.add_argument("--json", type=Path, default=results, metavar="FILE", help="file of the results")


def do_all(wanted: Iterable[tuple[Any, ...]], step: Step, options: argparse.Namespace, reserve: float = 0.0) -> None:
    """step(*what, seconds, cut) for each, in that order; reserve: seconds before the end of the call for what is left
    to do after a run."""
    end = time.monotonic() + options.stop_after - reserve

    def one(what: tuple[Any, ...]) -> None:
        left = end - time.monotonic()
        if left > LEAST:
            step(*what, min(options.limit, left), left < options.limit)

    with ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(one, what) for what in wanted]:
            future.result()
