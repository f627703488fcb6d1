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
from eigenwerk.ncci.ranks.layout import block_rows_for, cut_evenly, dealt, triangle, triangle_of
from eigenwerk.ncci.stored.csb_entries import Entries

RANKS = (2, 3, 4, 5, 6, 8, 10, 15)


def counts(basis, entries, parts):
    """Nonzeros of every block on or below the diagonal, and states of the block rows."""
    cuts = cut_evenly(basis.first_d, parts)
    count_ij = np.zeros((parts, parts))
    for i in range(parts):
        for j in range(i + 1):
            rows, columns = ((int(cuts[k]), int(cuts[k + 1])) for k in (i, j))
            count_ij[i, j] = entries.within(rows, columns).count()
    return count_ij, np.diff(basis.first_d[cuts])


def row(layout, count_ij, size_i):
    """Spread of nonzeros and of states, components that travel in a product."""
    load_p = np.array([sum(count_ij[block] for block in layout.blocks(rank)) for rank in range(layout.ranks)])
    state_p = [sum(size_i[slice(*layout.home_p[rank])]) / len(layout.column(rank)) for rank in range(layout.ranks)]
    return {
        "ranks": layout.ranks, "block_rows": layout.block_rows, "nonzeros_max_over_mean": load_p.max() / load_p.mean(),
        "states_max_over_mean": max(state_p) / np.mean(state_p), "travelling_over_states":
        layout.travelling(size_i.tolist()) / size_i.sum(), "nonzeros": int(load_p.sum()),
    }  # fmt: skip


def main(numbers):
    begin = time.perf_counter()
    space = no_core_space(*numbers)
    basis = many_body_basis(space)
    # which elements there are is all that counts
    pairs = basis_pairs(basis, total_spin(pair_space(space), sum(numbers[:2])))
    entries = Entries(basis, pairs, torch.float32)
    found, known = [], {}
    for ranks in RANKS:
        kinds = {"dealt": block_rows_for(ranks)} | ({"triangle": triangle_of(ranks)} if triangle_of(ranks) else {})
        for name, parts in kinds.items():
            known.setdefault(parts, counts(basis, entries, parts))
            count_ij, size_i = known[parts]
            layout = dealt(count_ij + 1, ranks) if name == "dealt" else triangle(parts)
            found.append({"layout": name, **row(layout, count_ij, size_i)})
            print(json.dumps(found[-1]), flush=True)
    about = {"case": numbers, "states": basis.dimension, "seconds": time.perf_counter() - begin}
    about |= {"program": __version__, "python": platform.python_version(), "processor": platform.processor()}
    print(json.dumps(about))


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [3, 3, 6, 2])
