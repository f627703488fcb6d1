"""How evenly stored blocks of H come out on ranks, and what travels: exact counts, no ranks are started.

python benchmarks/ncci/layouts.py [Z N Nmax 2M]        (default 3 3 6 2: 6Li, Nmax 6, M = 1)
"""

import json
import platform
import sys
import time

import numpy as np
import torch

from eigenwerk import __version__
from eigenwerk.ncci.basis.basis_pairs import basis_pairs
from eigenwerk.ncci.basis.manybody import many_body_basis
from eigenwerk.ncci.basis.space import no_core_space
from eigenwerk.ncci.interaction.angular import total_spin
from eigenwerk.ncci.problem import pair_space
from eigenwerk.ncci.ranks.layout import cut_evenly, dealt, triangle, triangle_of
from eigenwerk.ncci.stored.csb_entries import Entries

RANKS = (2, 3, 4, 5, 6, 8, 10, 15)


def row(name, layout, cuts_d, basis, entries):
    """Spread of nonzeros and of states, rectangles of a rank, components that travel in a product."""
    size_i, load_p = np.diff(basis.first_d[cuts_d]), []
    for rank in range(layout.ranks):
        spans = [[(int(cuts_d[a]), int(cuts_d[b])) for a, b in both] for both in layout.rectangles(rank)]
        load_p.append(sum(entries.within(rows, columns).count() for rows, columns in spans))
    state_p = [sum(size_i[slice(*layout.home_p[rank])]) / len(layout.column(rank)) for rank in range(layout.ranks)]
    return {
        "layout": name, "ranks": layout.ranks, "block_rows": layout.block_rows,
        "rectangles": max(len(layout.rectangles(rank)) for rank in range(layout.ranks)),
        "nonzeros_max_over_mean": max(load_p) / np.mean(load_p), "states_max_over_mean": max(state_p) /
        np.mean(state_p), "travelling_over_states": layout.travelling(size_i.tolist()) / size_i.sum(),
        "nonzeros": sum(load_p),
    }  # fmt: skip


def main(numbers):
    begin = time.perf_counter()
    space = no_core_space(*numbers)
    basis = many_body_basis(space)
    # which elements there are is all that counts
    pairs = basis_pairs(basis, total_spin(pair_space(space), sum(numbers[:2])))
    entries = Entries(basis, pairs, torch.float32)
    count_d = entries.count_rows()
    for ranks in RANKS:
        found = [("dealt", *dealt(count_d, ranks, lambda d, c: entries.within((d, d + 1), (0, c)).count()))]
        if n_d := triangle_of(ranks):
            found.append(("triangle", triangle(n_d), cut_evenly(basis.first_d, n_d)))
        for name, layout, cuts_d in found:
            print(json.dumps(row(name, layout, cuts_d, basis, entries)), flush=True)
    about = {"case": numbers, "states": basis.dimension, "seconds": time.perf_counter() - begin}
    about |= {"program": __version__, "python": platform.python_version(), "processor": platform.processor()}
    print(json.dumps(about))


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [3, 3, 6, 2])
