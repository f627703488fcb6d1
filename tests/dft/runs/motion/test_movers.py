"""What a band is told of its atoms."""

from types import SimpleNamespace

import numpy as np
import pytest

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.runs.motion.movers import make_band
from eigenwerk.motion.saddle.saddle_settings import BandSettings
from eigenwerk.units import BOHR_ANGSTROM

pytest.importorskip("ase")


def turns(edges, place_xav, free=True):
    """Whether a path through these places, in angstrom, may turn; free: whether all atoms are."""
    images = [SimpleNamespace(scaled_ac=place_av / edges) for place_av in place_xav]
    symbols = ("H",) * len(place_xav[0])
    structure = Structure(np.diag(edges) / BOHR_ANGSTROM, symbols, images[0].scaled_ac)
    free_ac = np.ones((len(symbols), 3), bool)
    free_ac[-1] = free
    inputs = SimpleNamespace(structure=structure, images=images)
    return make_band(inputs, SimpleNamespace(settings=BandSettings(0), free_ac=free_ac)).turns


@pytest.mark.parametrize(("edge", "free"), [(8.0, True), (4.0, False)])
def test_a_molecule_turns_where_there_is_vacuum_on_all_sides(edge, free):
    place_xav = np.array([[[3.9, 4, 4], [4.9, 4, 4]], [[4.0, 4, 4], [5.2, 4, 4]]])
    assert turns([edge] * 3, place_xav) is free
    slab_xav = np.concatenate([place_xav, place_xav + [2.5, 0, 0]], axis=1)
    assert not turns([5.0, 8.0, 8.0], slab_xav)


def test_a_molecule_that_is_held_does_not_turn():
    place_xav = np.array([[[3.9, 4, 4], [4.9, 4, 4]], [[4.0, 4, 4], [5.2, 4, 4]]])
    assert not turns([8.0] * 3, place_xav, free=False)
