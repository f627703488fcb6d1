"""The one table of eigensolvers: every entry is one that a run can ask for and that exists."""

from inspect import signature
from pkgutil import resolve_name

import pytest

from eigenwerk.eigensolvers import ALGOS, AUTOMATIC, EIGENSOLVERS, NUMBERS, SEQUENCES
from eigenwerk.io.vasp.input.incar import parse_incar

NAMES = [solver.name for solver in EIGENSOLVERS]
GIVEN = {"tolerance", "wanted_weight_kn", "eigh"}


@pytest.mark.parametrize("solver", EIGENSOLVERS, ids=NAMES)
def test_an_entry_names_a_function_below_dft_that_takes_its_arguments(solver):
    """Functions are named in words, which tests of the floors do not see: `linalg`, or dft itself."""
    folder = "eigenwerk.dft.scf." if solver.dense else "eigenwerk.linalg."
    assert solver.function.startswith(folder)
    taken = set(signature(resolve_name(solver.function)).parameters)
    assert {*GIVEN, *solver.first, *solver.later, *solver.always, *solver.of_job} <= taken
    assert not solver.keeps or "proj_kni" in taken


def test_names_are_unique_and_every_one_can_be_asked_for():
    for name in ("name", "short", "title", "function"):
        assert len({getattr(solver, name) for solver in EIGENSOLVERS}) == len(EIGENSOLVERS)
    assert set(ALGOS.values()) == {AUTOMATIC, *SEQUENCES} - {"davidson, conjugate"}
    assert len(NUMBERS) == sum(sequence.request.number is not None for sequence in SEQUENCES.values())


@pytest.mark.parametrize("word", ALGOS)
def test_incar_knows_every_word(word):
    incar = parse_incar(f"ALGO = {word.upper()}")
    assert incar.values["ALGO"] == word and not incar.problems


@pytest.mark.parametrize(("number", "word"), NUMBERS.items())
def test_incar_knows_every_number(number, word):
    incar = parse_incar(f"IALGO = {number}")
    assert incar.values["IALGO"] == number and not incar.problems and word in ALGOS
