"""How many threads a calculation can use: a step of a small cell is over before many of them are awake."""

from math import ceil

from eigenwerk.dft.plan.job_size import JobSize
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import processor
from eigenwerk.dft.plan.step_cost import step_cost

SECONDS_OF_THREAD = 0.08
"""Of one core's estimated time for a step, that each thread should have.

Measured on 16 cores, seconds of a whole run with 1, 2, 4, 8, 16 threads: silicon 8 x 8 x 8 (0.05 s estimated) 0.42,
0.45, 0.68, 1.35, 3.15; MgO8 4 x 4 x 4 (0.25 s) 1.61, 1.15, 0.99, 1.55, 1.76; 64 silicon atoms (1.4 s) 7.9, 5.1, 3.5,
3.0, 3.1.
"""

FEWEST = 2
"""Worth it in any calculation."""


def useful_threads(size: JobSize, cores: int) -> int:
    """So many of the cores."""
    one_core = processor(memory=0.0, cores=1)
    return min(cores, max(FEWEST, ceil(step_cost(size, ProcessLayout(), one_core).seconds / SECONDS_OF_THREAD)))
