import csv
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis.determinants import all_determinants
from eigenwerk.ncci.basis.manybody import many_body_basis
from eigenwerk.ncci.basis.space import Truncation, no_core_space
from eigenwerk.ncci.orbitals import Orbitals, no_core_orbitals
from random_pairs import no_core_basis, valence_basis

SD_SHELL = Orbitals(np.array([0, 1, 0]), np.array([2, 0, 2]), np.array([3, 1, 5]))


def reference_cases(shared_dir, largest):
    path = shared_dir / "reference/ncci/tables/dims_nnz.csv"
    rows = csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#"))
    return [row for row in rows if int(row["dim"]) <= largest]


@pytest.mark.parametrize(("largest", "count"), [(1e5, 0), pytest.param(2.5e7, 35, marks=pytest.mark.slow)])
def test_dimensions_of_the_reference_table(shared_dir, largest, count):
    cases = reference_cases(shared_dir, largest)
    assert len(cases) > count
    for row in cases:
        basis = no_core_basis(*(int(row[name]) for name in ("Z", "N", "Nmax", "twoM")))
        assert basis.dimension == int(row["dim"]), (row["nucleus"], row["Nmax"])


@pytest.mark.parametrize(("protons", "neutrons", "twice_M", "dimension"), [(4, 4, 0, 28503), (6, 6, 0, 93710)])
def test_valence_spaces_of_24mg_and_28si(protons, neutrons, twice_M, dimension):
    assert valence_basis(SD_SHELL, SD_SHELL, protons, neutrons, twice_M, 0).dimension == dimension


def test_determinants_are_those_of_a_plain_search():
    states = no_core_orbitals(3).states()
    found = all_determinants(states, states.quanta_x, 3, 4)
    wanted = {c for c in combinations(range(len(states)), 3) if states.quanta_x[list(c)].sum() <= 4}
    assert {tuple(row) for row in found.occupied_di.tolist()} == wanted
    assert len(found) == len(wanted) == len(np.unique(found.key_d))


def test_number_of_a_state_leads_back_to_its_determinants():
    basis = no_core_basis(3, 4, 3, 1)
    every = np.arange(basis.dimension)
    proton_b, neutron_b = basis.split(every)
    assert np.array_equal(proton_b, basis.all_states()[0]) and np.array_equal(neutron_b, basis.all_states()[1])
    occupied_p, occupied_n = basis.protons.occupied_di[proton_b], basis.neutrons.occupied_di[neutron_b]
    assert np.array_equal(basis.find(occupied_p[:, ::-1], occupied_n), every)
    assert set(basis.weight_b()) == {4, 6}  # 3 in the lowest configuration, odd excitation up to 3


def test_states_are_those_of_a_plain_search_with_limits_per_species():
    common = no_core_space(2, 1, 3, 1)
    limits = Truncation(common.truncation.weight_p_a, common.truncation.weight_n_a, 2, 1, 2 + 1)
    basis = many_body_basis(replace(common, truncation=limits))
    states = common.orbitals_p.states()
    wanted = 0
    for pair, k in product(combinations(range(len(states)), 2), range(len(states))):
        chosen = [*pair, k]
        quanta = states.quanta_x[chosen]
        inside = quanta[:2].sum() <= 2 and quanta[2] <= 1 and quanta.sum() <= 3
        wanted += inside and quanta.sum() % 2 == 1 and states.twice_m_x[chosen].sum() == 1
    assert common.parity == 1 and basis.dimension == wanted > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3, 3, 2, 1), "M is an integer"),
        ((3, 3, -1, 0), "0 or more"),
        ((3, 3, 2, 40), "Lower M"),
        ((2, 2, 0, 2), "Lower M"),
    ],
)
def test_impossible_numbers_are_named(arguments, words):
    with pytest.raises(InputError, match=words):
        no_core_basis(*arguments)


def test_impossible_valence_spaces_are_named():
    with pytest.raises(InputError, match="hold 0 to 12"):
        valence_basis(SD_SHELL, SD_SHELL, 13, 2, 1, 0)
    with pytest.raises(InputError, match="Take the other parity"):
        valence_basis(SD_SHELL, SD_SHELL, 2, 2, 0, 1)
