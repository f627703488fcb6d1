import csv
import time
from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis import counting
from eigenwerk.ncci.basis.counting import count, dimension, exceeds, nonzeros_countable
from eigenwerk.ncci.basis.manybody import many_body_basis
from eigenwerk.ncci.basis.space import Truncation, no_core_space, valence_space
from eigenwerk.ncci.orbitals import Orbitals

SD_SHELL = Orbitals(np.array([0, 1, 0]), np.array([2, 0, 2]), np.array([3, 1, 5]))


def reference_cases(shared_dir):
    path = shared_dir / "reference/ncci/tables/dims_nnz.csv"
    return list(csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")))


def check_case(row):
    found = count(no_core_space(*(int(row[name]) for name in ("Z", "N", "Nmax", "twoM"))))
    parts = (found.dimension, found.nonzeros, found.one, found.pp, found.nn, found.pn)
    wanted = tuple(int(row[name]) for name in ("dim", "nnz_half", "one", "pp", "nn", "pn"))
    assert parts == wanted, (row["nucleus"], row["Nmax"], row["twoM"])


def is_fast(row):
    return int(row["dim"]) < 3 * 10**4


def test_small_cases_of_the_reference_table(shared_dir):
    cases = [row for row in reference_cases(shared_dir) if is_fast(row)]
    assert len(cases) > 5
    for row in cases:
        check_case(row)


@pytest.mark.slow
def test_large_cases_of_the_reference_table(shared_dir):
    cases = [row for row in reference_cases(shared_dir) if not is_fast(row)]
    assert len(cases) > 50
    for row in cases:
        check_case(row)


@pytest.mark.parametrize(
    ("protons", "neutrons", "twice_M", "nonzeros"), [(0, 2, 0, 101), (4, 5, 1, 5_117_260)], ids=["18O", "25Mg"]
)
def test_valence_spaces_have_the_nonzeros_that_mfdn_prints(protons, neutrons, twice_M, nonzeros):
    space = valence_space(SD_SHELL, SD_SHELL, protons, neutrons, twice_M, 0)
    found = count(space, like_j_even=True)
    assert found.nonzeros == nonzeros
    assert found.dimension == many_body_basis(space).dimension


def test_dimension_with_limits_per_species_is_that_of_the_basis():
    common = no_core_space(2, 2, 4, 0)
    limits = Truncation(common.orbitals_p.quanta_a, common.orbitals_n.quanta_a, 3, 2, 4)
    space = replace(common, truncation=limits)
    assert dimension(space) == many_body_basis(space).dimension > 0
    assert nonzeros_countable(common) and not nonzeros_countable(space)
    with pytest.raises(InputError, match="dimension alone"):
        count(space)


@pytest.mark.slow
def test_parts_of_a_space_tell_that_it_is_too_large():
    space = no_core_space(3, 3, 8, 0)
    states = dimension(space)
    assert exceeds(space, states - 1) and not exceeds(space, states) and exceeds(space, 10)
    assert exceeds(no_core_space(8, 8, 14, 0), 10**9)


def test_a_space_without_states_is_counted_as_empty():
    assert count(no_core_space(2, 2, 0, 2)).dimension == 0


@pytest.mark.fast("25Mg")
@pytest.mark.parametrize(
    ("protons", "neutrons", "twice_M"), [(4, 5, 1), (3, 8, 1), (0, 9, 1)], ids=["25Mg", "27Na", "25O"]
)
def test_leaving_states_out_of_tables_counts_what_the_series_do(monkeypatch, protons, neutrons, twice_M):
    space = valence_space(SD_SHELL, SD_SHELL, protons, neutrons, twice_M, 0)
    for even in (False, True):
        found = count(space, like_j_even=even)
        with monkeypatch.context() as patch:
            patch.setattr(counting, "_is_whole", lambda space: False)
            assert count(space, like_j_even=even) == found


def test_holes_are_counted_like_particles():
    """Two nucleons in a shell of 12 states, and ten."""
    few, many = (valence_space(SD_SHELL, SD_SHELL, *numbers, 0, 0) for numbers in ((2, 2), (10, 10)))
    assert count(few) == count(many) and count(few).dimension == 640


@pytest.mark.slow
def test_nearly_full_shells_are_counted_at_once():
    """134Te outside 100Sn has one neutron determinant, 128Xe more states than a 64-bit sum of series could hold."""
    shell = Orbitals(np.array([0, 0, 1, 1, 2]), np.array([5, 4, 2, 2, 0]), np.array([11, 7, 5, 3, 1]))
    found = count(valence_space(shell, shell, 2, 32, 0, 0), like_j_even=True)
    assert (found.dimension, found.one, found.pp, found.nn, found.pn) == (36, 70, 540, 0, 0)
    begin = time.process_time()
    found = count(valence_space(shell, shell, 4, 24, 0, 0))
    assert found.dimension == 9_332_053_548 and time.process_time() - begin < 10
