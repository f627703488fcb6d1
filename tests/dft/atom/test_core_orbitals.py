"""Core orbitals: which shells, with the density of the data set, and what is refused."""

from dataclasses import replace

import pytest

from eigenwerk.dft.atom.core_orbitals import core_orbitals, core_shells, density_error
from eigenwerk.errors import InputError

SHELLS = {
    "H": "", "O": "1s", "Mg": "1s", "Si": "1s 2s 2p", "Ti": "1s 2s 2p", "Zn": "1s 2s 3s 2p 3p",
    "Ga": "1s 2s 3s 2p 3p 3d", "Pb": "1s 2s 3s 4s 5s 2p 3p 4p 5p 3d 4d 4f",
}  # fmt: skip


@pytest.mark.parametrize("symbol", SHELLS)
def test_shells_and_density_are_those_of_the_data_set(dataset, symbol):
    data = dataset(symbol)
    found = core_orbitals(data)
    assert " ".join(one.name for one in found) == SHELLS[symbol]
    assert sum(2 * (2 * one.l + 1) for one in found) == data.core
    assert density_error(data, list(found)) < 3e-6
    highest = max((state.e for state in data.states if state.f > 0), default=0.0)
    assert all(one.energy < highest for one in found)


def test_cores_that_are_no_whole_shells_are_refused(dataset):
    with pytest.raises(InputError, match=r"9 core electrons of Si do not fill whole shells .*1s 2s 2p hold 10"):
        core_shells(replace(dataset("Si"), core=9.0))


def test_another_density_than_that_of_the_data_set_is_refused(dataset):
    silicon = dataset("Si")
    wrong = replace(silicon, relativity="non-relativistic")
    with pytest.raises(InputError, match=r"for Si \(1s 2s 2p\) miss the core density of the data set by 0.0\d+ electr"):
        core_orbitals(wrong)
