"""Vacancies and substitutions touch the atoms they name, and no others."""

import numpy as np
import pytest

from eigenwerk.dft.building.sites import find_atoms, nearest_atom, remove_atoms, replace_atoms
from eigenwerk.errors import InputError


def places(poscar, symbol):
    chosen = [atom for atom, other in enumerate(poscar.symbols) if other == symbol]
    return {tuple(np.round(scaled_c, 9)) for scaled_c in poscar.scaled_ac[chosen]}


def test_a_vacancy_takes_one_atom_away(arsenide):
    made = remove_atoms(arsenide, [5])
    assert made.species_runs == (("Ga", 4), ("As", 3))
    assert places(made, "As") == places(arsenide, "As") - {tuple(np.round(arsenide.scaled_ac[5], 9))}
    np.testing.assert_array_equal(made.selective_ac, np.delete(arsenide.selective_ac, 5, axis=0))


def test_a_species_without_atoms_disappears(arsenide):
    made = remove_atoms(arsenide, range(4))
    assert (made.species_runs, made.suffixes) == ((("As", 4),), ("",))


def test_a_substitution_keeps_the_place(arsenide):
    made = replace_atoms(arsenide, {6: "Bi"})
    assert made.species_runs == (("Ga", 4), ("As", 3), ("Bi", 1))
    assert places(made, "Bi") == {tuple(np.round(arsenide.scaled_ac[6], 9))}
    assert made.suffixes == ("_d", "", "")


def test_an_antisite_joins_the_run_of_its_element(arsenide):
    made = replace_atoms(arsenide, {0: "As", 4: "Ga"})
    assert made.species_runs == (("Ga", 4), ("As", 4))
    assert tuple(arsenide.scaled_ac[0]) in places(made, "As")
    assert tuple(arsenide.scaled_ac[4]) in places(made, "Ga")


def test_words_name_atoms(arsenide):
    assert find_atoms(arsenide, "3") == [2]
    assert find_atoms(arsenide, "As") == [4, 5, 6, 7]
    assert find_atoms(arsenide, "@0.24,0.26,1.25") == [4]
    assert find_atoms(arsenide, "As:3", taken=[5]) == [4, 6, 7]


def test_random_choices_follow_from_the_seed(arsenide):
    drawn = [tuple(find_atoms(arsenide, "As:2", seed)) for seed in range(20)]
    assert drawn == [tuple(find_atoms(arsenide, "As:2", seed)) for seed in range(20)]
    assert len(set(drawn)) > 3
    assert all(set(pair) <= {4, 5, 6, 7} for pair in drawn)


def test_the_nearest_atom_may_be_across_the_boundary(skewed):
    for atom, scaled_c in enumerate(skewed.scaled_ac):
        assert nearest_atom(skewed, scaled_c + np.array([0.95, -2.04, 1.03])) == atom


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("9", "There is no atom 9: the structure has atoms 1 to 8"),
        ("0", "There is no atom 0"),
        ("Bi", "There are no Bi atoms; the structure has 4 Ga, 4 As"),
        ("As:5", "asks for 5 atoms; there are 4 As atoms"),
        ("As:0", "asks for 0 atoms"),
        ("As:x", "names no atoms"),
        ("Xx", "names no atoms"),
        ("@1,2", "three direct coordinates"),
        ("@a,b,c", "three direct coordinates"),
    ],
)
def test_words_that_name_nothing_are_refused(arsenide, words, message):
    with pytest.raises(InputError, match=message):
        find_atoms(arsenide, words)


def test_an_empty_structure_and_unknown_elements_are_refused(arsenide):
    with pytest.raises(InputError, match="Leave at least one"):
        remove_atoms(arsenide, range(8))
    with pytest.raises(InputError, match="Qq is not a chemical element"):
        replace_atoms(arsenide, {0: "Qq"})
