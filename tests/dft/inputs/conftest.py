"""Hundreds of tests here read inputs of a few crystals: what those cost is computed once for each."""

import pickle

import pytest

from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.inputs.steps import crystal
from eigenwerk.dft.plan import job_size


def kept(function, answers={}):  # noqa: B006 (one for all modules of a session)
    """A function whose answer depends on its arguments alone, with the answers that it has given."""

    def ask(*arguments):
        key = function.__name__, pickle.dumps(arguments)
        if key not in answers:
            answers[key] = function(*arguments)
        return answers[key]

    return ask


@pytest.fixture(scope="module", autouse=True)
def known_crystals():
    """Operations of a crystal, and how many waves its density has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crystal, "find_symmetry", kept(find_symmetry))
        patch.setattr(job_size, "count_density_waves", kept(job_size.count_density_waves))
        yield
