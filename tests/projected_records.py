"""Records of runs with projections on atoms, for tests of files and their readers."""

from dataclasses import replace

import numpy as np

from eigenwerk.io.vasp.output.record import ProjectionRecord
from eigenwerk.io.vasp.output.weights.projections import F, columns


def with_projections(record, lorbit=11, kinds=F):
    """Random weights in the columns of LORBIT, kinds: numbers of l, and parts of the density of states."""
    random, names = np.random.default_rng(3), columns(lorbit, kinds)
    final, count = record.final, len(record.symbols)
    weight_sknaL = random.random((*final.eig_skn.shape, count, len(names))) / len(names) / count
    phase_sknaL = None
    if lorbit == 12:
        phase_sknaL = np.sqrt(weight_sknaL) * np.exp(2j * np.pi * random.random(weight_sknaL.shape))
    partial_sxaL = random.random((*final.dos.total_sx.shape, count, len(names)))
    projections = ProjectionRecord(names, weight_sknaL, np.full(count, 1.1), phase_sknaL)
    dos = replace(final.dos, partial_sxaL=partial_sxaL)
    return replace(record, final=replace(final, dos=dos, projections=projections))
