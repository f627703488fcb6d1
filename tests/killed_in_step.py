"""`eigenwerk` whose process is killed in one of the four steps of a product, or at a part of the observables, as a
machine that fails would.

python killed_in_step.py STEP RANK NUMBER ncci run ...      (kill -9 of RANK at the NUMBER-th time)
"""

import os
import signal
import sys

from eigenwerk.cli.main import main
from eigenwerk.ncci.ranks.four_steps import RowGroup
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.ncci.results.observation import Observation
from eigenwerk.parallel.transports.transport import TransportCommunicator

PLACES = {
    "all-gather": (Segments, "whole"),
    "broadcast": (RowGroup, "start_broadcast"),
    "reduce": (TransportCommunicator, "start_reduce"),
    "reduce-scatter": (Segments, "own_sum"),
    "observables": (Observation, "compute"),
}


def killing(verb, number):
    """The verb, but for the time when it kills."""
    times = 0

    def call(*args, **kwargs):
        nonlocal times
        times += 1
        if times == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return verb(*args, **kwargs)

    return call


if __name__ == "__main__":
    step, rank, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if os.environ.get("RANK", "0") == rank:
        owner, name = PLACES[step]
        setattr(owner, name, killing(getattr(owner, name), number))
    sys.exit(main(sys.argv[4:]))
