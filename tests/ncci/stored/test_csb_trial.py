"""The layout that a short trial takes: the same on all ranks, with the product of one rank whichever it is."""

import numpy as np
import pytest

from covering import but_slow
from eigenwerk.ncci.matrix_free.pairs import pairs_hamiltonian
from eigenwerk.ncci.solve.operators import NuclearHamiltonian, Sharing
from eigenwerk.ncci.stored import csb_trial
from eigenwerk.ncci.stored.csb_trial import LayoutTrial, ProductWork
from eigenwerk.parallel.process_grid import ProcessGrid
from eigenwerk.parallel.runtime import Runtime
from random_pairs import no_core_basis, random_pairs, random_vectors

SPACE = (3, 3, 4, 2)


@pytest.mark.parametrize(
    ("dealt", "triangle", "usual", "taken"),
    [(1.0, 0.8, "dealt", "triangle"), (1.0, 0.95, "dealt", "dealt"), (1.0, 0.8, "triangle", "triangle"),
     (0.8, 1.0, "triangle", "dealt"), (0.95, 1.0, "triangle", "triangle")],
)  # fmt: skip
def test_the_usual_layout_stays_unless_the_other_is_clearly_faster(dealt, triangle, usual, taken):
    trial = LayoutTrial({"dealt": 1e-3 * dealt, "triangle": 1e-3 * triangle})
    assert trial.taken(usual) == taken
    assert trial.words.startswith("tried: dealt") and " ms for a product" in trial.words


def product_by_trial(world, pretended):
    """The own components of H x, what was tried and the names of groups; pretended: what the trial is to find."""
    basis = no_core_basis(*SPACE)
    found = []

    def instead(*arguments):
        found.append(measured(*arguments))
        return found[0] if pretended is None else LayoutTrial(pretended)

    measured = csb_trial.tried
    import eigenwerk.ncci.stored.csb_on_ranks as module

    module.tried = instead
    try:
        sharing = Sharing("dealt", work=ProductWork(2_000_000, 2))
        operator = NuclearHamiltonian(basis, random_pairs(basis), "csb", Runtime(grid=ProcessGrid(world)), sharing)
    finally:
        module.tried = measured
    x_nb = random_vectors(2, basis.dimension)
    y_ns = operator.first(x_nb[None, :, operator.segments.own])[0].numpy()
    return y_ns, found[0].seconds, operator.shared_about, world.trace.as_dict()["groups"]


@pytest.mark.slow
@pytest.mark.ranks
@pytest.mark.parametrize("taken", but_slow((None, "triangle", "dealt"), None, "dealt"))
def test_three_ranks_take_one_layout_and_make_the_product_of_one(ranks, taken):
    pretended = None if taken is None else {"dealt": 1.0, "triangle": 1.0} | {taken: 0.1}
    parts, seconds, about, _ = zip(*ranks(3).run(product_by_trial, pretended), strict=True)
    basis = no_core_basis(*SPACE)
    wanted = pairs_hamiltonian(basis, random_pairs(basis)).apply(random_vectors(2, basis.dimension)).numpy()
    assert np.abs(np.concatenate(parts, axis=1) - wanted).max() <= 1e-13 * np.abs(wanted).max()
    assert seconds[0] == seconds[1] == seconds[2] and seconds[0].keys() == {"dealt", "triangle"}
    assert all(value > 0 for value in seconds[0].values())
    assert about[0] == about[1] == about[2] and "tried: dealt" in about[0]["layout_trial"]
    assert taken in (None, about[0]["layout"])
    wanted_layout = LayoutTrial(seconds[0] if pretended is None else pretended).taken("dealt")
    assert about[0]["layout"] == wanted_layout


def work_on_two(world):
    basis = no_core_basis(2, 2, 2, 0)
    sharing = Sharing("dealt", work=ProductWork(2_000, 1))
    return NuclearHamiltonian(basis, random_pairs(basis), "csb", Runtime(grid=ProcessGrid(world)), sharing).shared_about


@pytest.mark.ranks
def test_where_there_is_no_triangle_there_is_nothing_to_try(ranks):
    for about in ranks(2).run(work_on_two):
        assert about["layout"] == "dealt" and "layout_trial" not in about
