"""Wishes are done in their order, with the numbers the user sees, and described."""

import numpy as np
import pytest

from eigenwerk.dft.building.build import BuildRequest, built
from eigenwerk.dft.building.slab import SlabCut
from eigenwerk.errors import InputError


def test_numbers_are_those_after_the_supercell_and_before_any_edit(arsenide):
    made, done = built(arsenide, BuildRequest(matrix_cc=np.diag([2, 1, 1]), replacing=["9:Bi"], removing=["1", "10"]))
    assert made.species_runs == (("Ga", 7), ("As", 6), ("Bi", 1))
    assert done == ("2 x 1 x 1 supercell", "Bi for As 9", "without Ga 1", "without As 10")
    assert made.title == "GaAs; 2 x 1 x 1 supercell; Bi for As 9; without Ga 1; without As 10"
    bismuth_c = made.scaled_ac[made.symbols.index("Bi")]
    np.testing.assert_allclose(bismuth_c, [0.125, 0.25, 0.25])


def test_slab_then_supercell(copper):
    made, done = built(copper, BuildRequest(SlabCut((1, 1, 1), 3, 10.0), np.diag([2, 2, 1]), title="my slab"))
    assert len(made.symbols) == 12
    assert (made.title, done) == ("my slab", ("(1 1 1) slab, 3 layers, 10 Å vacuum", "2 x 2 x 1 supercell"))


def test_two_draws_never_take_the_same_atom(arsenide):
    made, _ = built(arsenide, BuildRequest(replacing=["As:Bi:2", "As:Sb:2"]))
    assert made.species_runs == (("Ga", 4), ("Bi", 2), ("Sb", 2))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (BuildRequest(), "Nothing to do"),
        (BuildRequest(replacing=["5"]), "5 is no replacement"),
        (BuildRequest(replacing=["5:Bi"], removing=["5"]), "As 5 would be changed twice"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(arsenide, asked, words):
    with pytest.raises(InputError, match=words):
        built(arsenide, asked)


def test_atoms_that_meet_are_refused(copper):
    """Without vacuum the third layer lies on the first of the next slab."""
    with pytest.raises(InputError, match=r"0\.000 Å apart. Check the vacuum"):
        built(copper, BuildRequest(SlabCut((1, 0, 0), 3, 0.0)))
